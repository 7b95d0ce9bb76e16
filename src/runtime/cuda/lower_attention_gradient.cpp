// hone.AttentionGradient on a GPU in half types by cuDNN: of the result and the sums that the forward pass kept, or of ones
// that are computed again first. What cuDNN does not take is spelled out (passes/spell_out.h).
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "runtime/cuda/attention_graph.h"
#include "runtime/cuda/gpu_kernels.h"
#include "runtime/cuda/judged_graphs.h"

namespace hone::runtime::cuda_kernels {
namespace {

constexpr std::size_t kAligned = 256;
std::size_t aligned(std::size_t bytes) { return (bytes + kAligned - 1) / kAligned * kAligned; }

// The result and its sums, computed again where nobody kept them.
class ForwardAgain {
 public:
  ForwardAgain(std::shared_ptr<const cuda::Attention> graph, std::shared_ptr<const cuda::CudnnPlan> plan)
      : graph_(graph), workspace_bytes_(plan->workspace_bytes), runs_(std::move(graph), std::move(plan)) {
    const cuda::AttentionDesc& desc = graph_->desc();
    const auto rows = static_cast<std::size_t>(desc.batch * desc.heads * desc.queries);
    result_bytes_ = aligned(rows * static_cast<std::size_t>(desc.value_dim) * dtype_size(desc.dtype));
    sums_bytes_ = aligned(rows * dtype_size(DType::kF32));
  }
  std::size_t result_bytes() const { return result_bytes_; }
  std::size_t kept_bytes() const { return result_bytes_ + sums_bytes_; }
  std::size_t workspace_bytes() const { return workspace_bytes_; }
  Status run(const cuda::AttentionOperands& operands, void* workspace, cuda::StreamHandle stream) {
    return runs_.run(graph_->operands(operands), workspace, stream);
  }

 private:
  std::shared_ptr<const cuda::Attention> graph_;
  std::size_t workspace_bytes_ = 0, result_bytes_ = 0, sums_bytes_ = 0;
  cuda::CudnnRuns runs_;
};

class GpuAttentionGradient : public Kernel {
 public:
  GpuAttentionGradient(std::string implementation, NodeAttention node,
                       std::shared_ptr<const cuda::AttentionGradient> graph,
                       std::shared_ptr<const cuda::CudnnPlan> plan, std::unique_ptr<ForwardAgain> again)
      : implementation_(std::move(implementation)),
        node_(std::move(node)),
        graph_(graph),
        workspace_bytes_(aligned(std::max(plan->workspace_bytes, again ? again->workspace_bytes() : 0))),
        runs_(std::move(graph), std::move(plan)),
        again_(std::move(again)),
        numbers_{.scale = node_.scale} {}

  std::string implementation() const override { return implementation_; }
  bool reads(std::size_t input) const override {
    return std::find(node_.unread.begin(), node_.unread.end(), input) == node_.unread.end();
  }
  // The workspace, what the graph keeps between its parts, and the result and sums that are computed again.
  std::size_t scratch_bytes() const override {
    return workspace_bytes_ + graph_->scratch_bytes() + (again_ ? again_->kept_bytes() : 0);
  }

  Status enqueue(const KernelArguments& arguments, Queue& queue) override {
    const cuda::StreamHandle stream = static_cast<CudaQueue&>(queue).stream();
    auto* const scratch = static_cast<std::byte*>(arguments.scratch);
    cuda::AttentionGradientOperands operands{
        .forward = {.q = address_of(node_.q, arguments.inputs),
                    .k = address_of(node_.k, arguments.inputs),
                    .v = address_of(node_.v, arguments.inputs),
                    .mask = node_.mask ? arguments.inputs[node_.mask->input] : nullptr,
                    .numbers = &numbers_},
        .d_o = address_of(node_.out, arguments.inputs),
        .dq = place_of(node_.gradients[0], arguments.outputs),
        .dk = place_of(node_.gradients[1], arguments.outputs),
        .dv = place_of(node_.gradients[2], arguments.outputs),
        .scratch = scratch + workspace_bytes_};
    if (again_) {
      std::byte* const kept = scratch + workspace_bytes_ + graph_->scratch_bytes();
      operands.forward.o = kept;
      operands.forward.sums = kept + again_->result_bytes();
      HONE_CHECK(again_->run(operands.forward, scratch, stream));
    } else {
      operands.forward.o = const_cast<void*>(arguments.inputs[node_.kept->result]);
      operands.forward.sums = const_cast<void*>(arguments.inputs[node_.kept->sums]);
    }
    return runs_.run(graph_->operands(operands), scratch, stream);
  }

 private:
  std::string implementation_;
  NodeAttention node_;
  std::shared_ptr<const cuda::AttentionGradient> graph_;
  std::size_t workspace_bytes_ = 0;
  cuda::CudnnRuns runs_;
  std::unique_ptr<ForwardAgain> again_;
  cuda::AttentionNumbers numbers_;
};

// What the candidates of one description share; `forward` is null where its results are kept.
struct GradientOffer {
  NodeAttention node;
  std::shared_ptr<const JudgedAttention> forward;
  std::shared_ptr<const JudgedAttentionGradient> judged;
};

Result<std::unique_ptr<Kernel>> make_gradient(const GradientOffer& offer, const cuda::CudnnEngine& engine,
                                              const std::string& implementation) {
  HONE_ASSIGN(auto plan, offer.judged->graph->plan(engine));
  std::unique_ptr<ForwardAgain> again;
  if (offer.forward != nullptr) {
    HONE_ASSIGN(auto forward_plan, offer.forward->graph->plan(offer.forward->engines.front()));
    again = std::make_unique<ForwardAgain>(offer.forward->graph, std::move(forward_plan));
  }
  return std::unique_ptr<Kernel>(std::make_unique<GpuAttentionGradient>(
      implementation, offer.node, offer.judged->graph, std::move(plan), std::move(again)));
}

void add_candidates(const GradientOffer& offer, std::string_view what, std::vector<Candidate>& found) {
  for (std::size_t i = 0; i < offer.judged->engines.size(); ++i) {
    const cuda::CudnnEngine& engine = offer.judged->engines[i];
    const std::string name = fmt::format("{}, {}", what, engine.name());
    const std::string implementation =
        fmt::format("{}{} (guess {} of {})", name, offer.forward ? ", the attention computed again" : "",
                    i + 1, offer.judged->engines.size());
    found.push_back({.name = name, .make = [offer, engine, implementation] {
                       return make_gradient(offer, engine, implementation);
                     }});
  }
}

}  // namespace

std::string lower_attention_gradient(const LowerContext& context, const GpuKernels& kernels,
                                     std::vector<Candidate>& found) {
  const GroupView group(context);
  const graph::Node* const gradient = find_attention_gradient(group);
  if (gradient == nullptr || (group.is_group() && group.kind() != graph::GroupKind::kAttention)) return {};
  if (kernels.cudnn == nullptr) return kernels.no_cudnn;
  const auto node = attention_gradient_of_node(group);
  if (!node) return "no gradient of an attention over nothing";
  const auto read = library_attention(group, *gradient, *node);
  if (const auto* const why = std::get_if<std::string>(&read)) return *why;
  cuda::AttentionGradientDesc desc{.forward = std::get<cuda::AttentionDesc>(read),
                                   .d_o = library_strides(node->out),
                                   .dq = library_strides(node->gradients[0]),
                                   .dk = library_strides(node->gradients[1]),
                                   .dv = library_strides(node->gradients[2])};
  desc.forward.sums = true;
  GradientOffer offer{.node = *node, .forward = {}, .judged = kernels.cudnn->judge(desc)};
  if (offer.judged->engines.empty()) return offer.judged->why_not;
  if (!node->kept) {
    offer.forward = kernels.cudnn->judge(desc.forward);
    if (offer.forward->engines.empty()) return offer.forward->why_not;
  }
  add_candidates(offer, "cuDNN attention gradient", found);
  // Behind those, for who measures: only somebody who does not ask for the same bits each time has candidates measured.
  desc.deterministic = false;
  offer.judged = kernels.cudnn->judge(desc);
  add_candidates(offer, "cuDNN attention gradient by atomics", found);
  return {};
}

}  // namespace hone::runtime::cuda_kernels
