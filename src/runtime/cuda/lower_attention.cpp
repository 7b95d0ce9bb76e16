// Attention on a GPU in half types, alone and with the splits of its group: cuDNN's engines as candidates. It is not of f32:
// such attention stays products and a softmax, and one that the model has as an operator runs on the host and says why.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/cuda/attention_graph.h"
#include "runtime/cuda/gpu_kernels.h"
#include "runtime/cuda/judged_graphs.h"

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
        sums_at_((plan->workspace_bytes + kAligned - 1) / kAligned * kAligned),
        scratch_bytes_(traits_.node.gives_sums ? plan->workspace_bytes : sums_at_ + graph->sums_bytes()),
        runs_(std::move(graph), std::move(plan)),
        numbers_{.scale = traits_.node.scale} {}

  std::string implementation() const override { return traits_.implementation; }
  std::size_t scratch_bytes() const override { return scratch_bytes_; }
  bool reads(std::size_t input) const override {
    const auto& unread = traits_.node.unread;
    return std::find(unread.begin(), unread.end(), input) == unread.end();
  }

  Status enqueue(const KernelArguments& arguments, Queue& queue) override {
    const NodeAttention& node = traits_.node;
    const cuda::AttentionOperands operands{
        .q = address_of(node.q, arguments.inputs),
        .k = address_of(node.k, arguments.inputs),
        .v = address_of(node.v, arguments.inputs),
        .mask = node.mask ? arguments.inputs[node.mask->input] : nullptr,
        .o = arguments.outputs[0],
        .sums =
            node.gives_sums ? arguments.outputs[1] : static_cast<std::byte*>(arguments.scratch) + sums_at_,
        .numbers = &numbers_};
    return runs_.run(graph_->operands(operands), arguments.scratch, static_cast<CudaQueue&>(queue).stream());
  }

 private:
  GpuAttentionTraits traits_;
  std::shared_ptr<const cuda::Attention> graph_;
  static constexpr std::size_t kAligned = 256;
  std::size_t sums_at_ = 0, scratch_bytes_ = 0;  // of the scratch, behind the library's workspace
  cuda::CudnnRuns runs_;
  cuda::AttentionNumbers numbers_;
};

}  // namespace

std::string lower_attention(const LowerContext& context, const GpuKernels& kernels,
                            std::vector<Candidate>& found) {
  const GroupView group(context);
  const bool is_attention = group.last().op == "Attention" || group.last().op == "hone.AttentionWithSums";
  if (!is_attention || (group.is_group() && group.kind() != graph::GroupKind::kAttention)) return {};
  if (kernels.cudnn == nullptr) return kernels.no_cudnn;
  const auto node = attention_of_node(group);
  if (!node) return "no attention with a cache, a cap, or more results than one";
  const auto read = library_attention(group, group.last(), *node);
  if (const auto* const why = std::get_if<std::string>(&read)) return *why;
  cuda::AttentionDesc desc = std::get<cuda::AttentionDesc>(read);
  desc.sums = node->gives_sums;
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
