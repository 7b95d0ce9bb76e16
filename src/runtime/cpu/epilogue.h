// What a convolution's or product's kernel does to its result before it stores it: which operators can be
// such a step is one table, which read_epilogue() reads and the provider's capabilities are made from.
#pragma once

#include <optional>
#include <vector>

#include "graph/capabilities.h"
#include "kernels/cpu/dnnl/post_op.h"
#include "runtime/cpu/group_view.h"

namespace hone::runtime::cpu {

// The operators behind the anchor, as a kernel's epilogue.
struct Epilogue {
  std::vector<kernels::PostOp> post_ops;
  std::vector<std::size_t> operand_inputs;  // of the plan's node, one for each binary post-op
};

// The post-op at the end of `post_ops` that a library's kernel cannot compute and that is done on its
// finished result instead; takes it off the list.
std::optional<kernels::PostOp> take_own_last(std::vector<kernels::PostOp>& post_ops);
// `op` on `count` floats, all threads at work.
void apply_to_result(const kernels::PostOp& op, float* values, int64_t count) noexcept;

// nullopt if the group holds something that no epilogue expresses. Operand shapes are those in the graph.
std::optional<Epilogue> read_epilogue(const GroupView& group);

// The operators that an epilogue may hold.
std::vector<graph::EpilogueCapability> epilogue_capabilities();

}  // namespace hone::runtime::cpu
