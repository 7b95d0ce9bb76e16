// What a convolution's or product's kernel does to its result before it stores it: which operators can be
// such a step is one table, which read_epilogue() reads and the provider's capabilities are made from.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/capabilities.h"
#include "kernels/cpu/dnnl/post_op.h"
#include "runtime/lower/group_view.h"

namespace hone::runtime::cpu {

// The operators behind the anchor, as a kernel's epilogue.
struct Epilogue {
  std::vector<kernels::PostOp> post_ops;
  std::vector<std::size_t> operand_inputs;  // of the plan's node, one for each binary post-op
};

// The post-ops at the end of `post_ops`, from a quantisation on, that a library's kernel cannot compute and that
// are done on its finished result instead; takes them off the list. None if the result is needed otherwise.
std::vector<kernels::PostOp> take_own_tail(std::vector<kernels::PostOp>& post_ops);
// A result as they see it: so many runs of floats, one after another, each of one block of channels; one run
// where no step is a channel's.
struct ResultRuns {
  int64_t count = 1, floats = 0;
  int64_t blocks = 1;  // of channels, in turns
};
ResultRuns runs_of(const Shape& shape, Layout layout);
// All threads at work.
void apply_to_result(std::span<const kernels::PostOp> tail, float* values, const ResultRuns& runs) noexcept;

// Steps behind a quantisation that are a constant of a channel, as the kernels of `layout` compute them: with the
// numbers in them. False if the layout has none. Inputs that need not be read then are added to `unread`.
bool take_channel_steps(const GroupView& group, Layout layout, Epilogue& epilogue,
                        std::vector<std::size_t>& unread);

// Whether the first step makes f32 of a narrow result: then the kernel stores its sums as they are.
bool is_widened(const GroupView& group);

// nullopt if the group holds something that no epilogue expresses. Operand shapes are those in the graph.
std::optional<Epilogue> read_epilogue(const GroupView& group);

// The operators that an epilogue may hold.
std::vector<graph::EpilogueCapability> epilogue_capabilities();

}  // namespace hone::runtime::cpu
