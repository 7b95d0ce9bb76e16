// Which values share memory when a graph runs in its order: views of their input, results written over an
// operand that dies, parts of a concatenation written straight into the whole, parts of a split read straight
// from it. Decides aliases and lifetimes; a plan's memory_plan.h then places what is left.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/graph.h"

namespace hone::graph {

// Where a value's bytes are: inside the buffer of `root`, `offset` bytes from its start. A value that owns
// its memory is its own root.
struct BufferPlace {
  ValueId root;
  std::size_t offset = 0;
};

// Nodes that need no kernel because their outputs are only other names or parts of memory that is there
// anyway. Decided before kernels are made: a view (Reshape, Squeeze, Identity, …), a Split or Slice whose
// parts are contiguous, a Concat whose parts are contiguous and whose inputs can be produced in place.
class BufferAssignment {
 public:
  explicit BufferAssignment(const Graph& graph);

  bool elided(NodeId node) const { return elided_[node.index]; }
  const BufferPlace& place(ValueId value) const { return places_[value.index]; }

  // Lets output 0 of `node` take over the memory of its input number `input`, if that is safe: nothing reads
  // those bytes later, both have the same size, and the bytes are the plan's own. Call for nodes in order.
  // Returns whether it did.
  bool try_in_place(NodeId node, std::size_t input);

  // The last node that reads any value in `root`'s buffer; the number of nodes if an output of the graph lies
  // there.
  uint32_t last_use(ValueId root) const { return last_use_[root.index]; }
  // The first node that writes it.
  uint32_t first_definition(ValueId root) const { return first_definition_[root.index]; }

 private:
  void place_view(NodeId id);
  bool place_parts_of_input(NodeId id);
  bool place_parts_of_output(NodeId id);
  void find_lifetimes();
  void merge(ValueId value, ValueId root, std::size_t offset);

  const Graph& graph_;
  std::vector<bool> elided_;
  std::vector<BufferPlace> places_;
  std::vector<uint32_t> last_use_;
  std::vector<uint32_t> first_definition_;
};

}  // namespace hone::graph
