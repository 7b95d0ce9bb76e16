// Attention on a GPU in half types, alone and with the splits of its group: cuDNN's engines as candidates. It takes no masks,
// causal ones neither, and not f32: such attention stays products and a softmax, and one that the model has as an operator
// runs on the host and says why.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/cuda/gpu_kernels.h"
#include "runtime/cuda/judged_graphs.h"
#include "runtime/lower/attention_of_node.h"

namespace hone::runtime::cuda_kernels {
namespace {

struct GpuAttentionTraits {
  std::string implementation;
  NodeAttention node;
};

class GpuAttention : public Kernel {
 public:
  GpuAttention(GpuAttentionTraits traits, std::shared_ptr<const cuda::Attention> graph,
               std::shared_ptr<const cuda::CudnnPlan> plan)
      : traits_(std::move(traits)),
        graph_(graph),
        scratch_bytes_(plan->workspace_bytes),
        runs_(std::move(graph), std::move(plan)),
        scale_(traits_.node.scale) {}

  std::string implementation() const override { return traits_.implementation; }
  std::size_t scratch_bytes() const override { return scratch_bytes_; }
  bool reads(std::size_t input) const override {
    const auto& unread = traits_.node.unread;
    return std::find(unread.begin(), unread.end(), input) == unread.end();
  }

  Status enqueue(const KernelArguments& arguments, Queue& queue) override {
    const auto at = [&](const AttentionOperand& operand) {
      return static_cast<const std::byte*>(arguments.inputs[operand.input]) +
             static_cast<std::size_t>(operand.offset) * kHalfBytes;
    };
    const cuda::AttentionOperands operands{.q = at(traits_.node.q),
                                           .k = at(traits_.node.k),
                                           .v = at(traits_.node.v),
                                           .o = arguments.outputs[0],
                                           .scale = &scale_};
    return runs_.run(graph_->operands(operands), arguments.scratch, static_cast<CudaQueue&>(queue).stream());
  }

 private:
  static constexpr std::size_t kHalfBytes = 2;

  GpuAttentionTraits traits_;
  std::shared_ptr<const cuda::Attention> graph_;
  std::size_t scratch_bytes_ = 0;
  cuda::CudnnRuns runs_;
  alignas(cuda::kCudnnAlignment) float scale_;
};

cuda::AttentionDesc::Strides library_strides(const AttentionOperand& operand) {
  return {operand.strides[0], operand.strides[1], operand.strides[2]};
}

// Empty where the library may be asked.
std::string why_no_attention(const GroupView& group, const NodeAttention& node) {
  const graph::Node& attention = group.last();
  for (std::size_t i = 0; i < 3; ++i) {
    const graph::TensorType& type = group.type(attention.inputs[i]);
    if (type.dtype != DType::kF16 && type.dtype != DType::kBF16)
      return fmt::format("cuDNN's attention is of f16 and bf16, not of {}", dtype_name(type.dtype));
    if (type.layout != Layout::kPlain || type.dtype != group.type(attention.inputs[0]).dtype)
      return "its operands differ in type or layout";
  }
  if (node.masked || node.causal) return "cuDNN's one operation for attention has no masks";
  for (const AttentionOperand& operand : {node.q, node.k, node.v}) {
    if (operand.offset % 8 != 0) return "an operand begins within 16 bytes of another";
  }
  return {};
}

}  // namespace

std::string lower_attention(const LowerContext& context, const GpuKernels& kernels,
                            std::vector<Candidate>& found) {
  const GroupView group(context);
  if (group.last().op != "Attention" || (group.is_group() && group.kind() != graph::GroupKind::kAttention))
    return {};
  if (kernels.cudnn == nullptr) return kernels.no_cudnn;
  const auto node = attention_of_node(group);
  if (!node) return "no attention with a cache, a cap, or more results than one";
  if (std::string why = why_no_attention(group, *node); !why.empty()) return why;
  const cuda::AttentionDesc desc{.dtype = group.type(group.last().inputs[0]).dtype,
                                 .batch = node->batch,
                                 .heads = node->q.heads,
                                 .kv_heads = node->k.heads,
                                 .queries = node->q.rows,
                                 .keys = node->k.rows,
                                 .head_dim = node->q.columns,
                                 .value_dim = node->v.columns,
                                 .q = library_strides(node->q),
                                 .k = library_strides(node->k),
                                 .v = library_strides(node->v),
                                 .o = library_strides(node->out)};
  const auto judged = kernels.cudnn->judge(desc);
  for (std::size_t i = 0; i < judged->engines.size(); ++i) {
    const cuda::CudnnEngine& engine = judged->engines[i];
    const GpuAttentionTraits traits{
        fmt::format("cuDNN attention, {} (guess {} of {})", engine.name(), i + 1, judged->engines.size()),
        *node};
    found.push_back({.name = "cuDNN attention, " + engine.name(),
                     .make = [judged, engine, traits]() -> Result<std::unique_ptr<Kernel>> {
                       HONE_ASSIGN(auto plan, judged->graph->plan(engine));
                       return std::unique_ptr<Kernel>(
                           std::make_unique<GpuAttention>(traits, judged->graph, std::move(plan)));
                     }});
  }
  return judged->why_not;
}

}  // namespace hone::runtime::cuda_kernels
