// The pointwise program of a node: of one pointwise operator, of a batch normalisation by given statistics, or of a group
// of them, over the memory as it lies, whatever its layout. The one place where graphs become programs: providers compile them, each for its device.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "kernels/pointwise/program.h"
#include "runtime/lower/group_view.h"

namespace hone::runtime {

// Memory that a program reads.
struct ProgramInput {
  std::size_t input = 0;  // of the plan's node
  // A constant whose channels do not fill the blocks of the result: the kernel keeps a copy that does.
  Tensor constant = {};
  Shape shape = {};  // the constant's, with the result's rank

  bool is_packed() const { return constant.defined(); }
};

// How a tensor lies in memory: the extents of its storage, outermost first, and which logical axis each
// walks.
struct Storage {
  Shape extents;
  std::vector<std::size_t> axis;  // logical axis
  std::vector<int64_t>
      axis_stride;  // what one step means along the logical axis (16 for a block of channels)
};

class ProgramOfNode {
 public:
  // Both must outlive this.
  ProgramOfNode(const LowerContext& context, const GroupView& group) : context_(context), group_(group) {}

  // Whether a program computes the node.
  bool build();

  const kernels::PointwiseProgram& program() const { return program_; }
  const std::vector<ProgramInput>& inputs() const { return inputs_; }

  // Inputs of the plan's node that the kernel does not read: numbers of its program, and what it has packed.
  // One that is such a number in one place may still be read as memory in another.
  std::vector<std::size_t> unread() const;
  // An input that lies exactly as the result does, of the same element size: the result may overwrite it.
  std::optional<std::size_t> overwritable() const;

 private:
  int operand(graph::ValueId value);
  int memory(const graph::TensorType& type, std::size_t input, const Tensor* constant);
  bool is_vector(graph::ValueId value) const;
  int operand_along_axis(const graph::Node& node, graph::ValueId value);
  bool add_batch_normalization(const graph::Node& node);
  bool add_node(const graph::Node& node);

  const LowerContext& context_;
  const GroupView& group_;
  Storage storage_;
  kernels::PointwiseProgram program_;
  std::vector<ProgramInput> inputs_;  // one for each of the program's
  std::vector<std::size_t> folded_;   // inputs that became constants of the program
  std::unordered_map<graph::ValueId, int> values_;
};

}  // namespace hone::runtime
