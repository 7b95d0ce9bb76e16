// Which values share memory when a graph runs in its order: views of their input, results written over an
// operand that dies, parts of a concatenation written straight into the whole, parts of a split read straight
// from it, next values written over the state that they follow. Decides aliases and lifetimes; a plan's
// memory_plan.h then places what is left.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace hone::graph {

// Where a value's bytes are: inside the buffer of `root`, `offset` bytes from its start. A value that owns
// its memory is its own root.
struct BufferPlace {
  ValueId root;
  std::size_t offset = 0;
};

// Whether values of this type can lie in memory that is laid out before anything runs. Others (extents that
// are known only when a node has run, strings) own their memory, one by one; nodes that touch them are never
// elided.
bool has_place(const TensorType& type);

// Nodes that need no kernel because their outputs are only other names or parts of memory that is there
// anyway. Decided before kernels are made: a view (Reshape, Squeeze, Identity, …), a Split or Slice whose
// parts are contiguous, a Concat whose parts are contiguous and whose inputs can be produced in place; parts begin at
// multiples of 16 bytes.
class BufferAssignment {
 public:
  explicit BufferAssignment(const Graph& graph);

  bool elided(NodeId node) const { return elided_[node.index]; }
  const BufferPlace& place(ValueId value) const { return places_[value.index]; }

  // Lets output number `output` of `node` take over the memory of its input number `input`, if that is safe:
  // nothing reads those bytes later, both have the same size, and the bytes are the plan's own. Of the
  // graph's inputs only a state is, for its next value. Call for nodes in order. Returns whether it did.
  bool try_in_place(NodeId node, std::size_t input, std::size_t output = 0);

  // Lets the next value of a state be computed into the state's own buffer, if that is safe: when the first
  // node writes there, no node reads the state any more, and nobody is given its old value. Returns whether
  // next_in_place() holds.
  bool try_next_in_place(const StatePair& pair);
  // Whether the next value lies where its state lies. Where it does not, it has to be copied there when the
  // step ends.
  bool next_in_place(const StatePair& pair) const;
  // Whether the end of a step writes over the buffer of `root`: a state whose next value lies elsewhere. What
  // is given out from there must be saved first.
  bool overwritten_at_end(ValueId root) const;
  // The last node that reads the buffer of `root`, if any does; the number of nodes if it is given out.
  std::optional<uint32_t> last_read(ValueId root) const;

  // The last node that reads any value in `root`'s buffer; the number of nodes if an output of the graph lies
  // there.
  uint32_t last_use(ValueId root) const { return last_use_[root.index]; }
  // The first node that writes it.
  uint32_t first_definition(ValueId root) const { return first_definition_[root.index]; }

 private:
  void place_view(NodeId id);
  bool place_parts_of_input(NodeId id);
  bool place_parts_of_output(NodeId id);
  bool all_aligned(std::size_t offset, std::span<const ValueId> parts) const;
  void find_lifetimes();
  void merge(ValueId value, ValueId root, std::size_t offset);
  bool may_replace(ValueId value, ValueId state) const;
  void take_over(ValueId value, ValueId root, std::size_t offset);

  const Graph& graph_;
  std::vector<bool> placed_;  // whether all that a node reads and writes has its place
  std::vector<bool> elided_;
  std::vector<BufferPlace> places_;
  std::vector<uint32_t> last_use_;
  std::vector<uint32_t> reads_end_;  // one past the last node that reads; 0: none does
  std::vector<uint32_t> first_definition_;
};

}  // namespace hone::graph
