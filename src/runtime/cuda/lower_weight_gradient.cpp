// hone.ConvWeightGradient on a GPU: cuDNN's engines as candidates. Of images whose channels lie last the library computes
// filters that lie so, too; a generated kernel brings them into the plain layout.
#include <array>

#include <fmt/format.h>

#include "core/window.h"
#include "kernels/cuda/strided_copy.h"
#include "runtime/cuda/convolution_form.h"
#include "runtime/cuda/gpu_kernels.h"
#include "runtime/cuda/judged_graphs.h"

namespace hone::runtime::cuda_kernels {
namespace {

constexpr std::size_t kFilterAlignment = 256;  // of the filters within the scratch

std::variant<cuda::ConvolutionDesc, std::string> weight_gradient_desc(const LowerContext& context) {
  const graph::TensorType& x = context.in(0);
  const graph::TensorType& g = context.in(1);
  cuda::ConvolutionDesc desc;
  desc.dtype = x.dtype;
  desc.weight_gradient = true;
  desc.channels_last = x.layout == Layout::kChannelsLast;
  desc.x = x.shape();
  desc.w = context.out_shape();
  desc.y = g.shape();
  if (x.dtype != DType::kF32 && x.dtype != DType::kF16 && x.dtype != DType::kBF16)
    return fmt::format("cuDNN has no weight gradients of {}", dtype_name(x.dtype));
  if (g.dtype != x.dtype || context.out().dtype != x.dtype) return "a weight gradient of several types";
  if (x.layout != g.layout || channel_block(x.layout) > 1 || context.out().layout != Layout::kPlain)
    return fmt::format("cuDNN has no weight gradient of {} and {}", layout_name(x.layout),
                       layout_name(g.layout));
  // cuDNN 9.19 computes some of these wrongly on Hopper, and says nothing.
  if (desc.channels_last && desc.w[1] != desc.x[1])
    return "cuDNN's weight gradients of grouped convolutions are not to be trusted with channels last";
  if (x.rank() < 3 || x.rank() > 5 || element_count(desc.x) == 0 || element_count(desc.y) == 0 ||
      element_count(desc.w) == 0)
    return "a weight gradient of such images";
  auto windows = read_windows(context.node.attributes, std::span(desc.w).subspan(2));
  if (!windows.ok()) return windows.error().message;
  const auto placed = place_windows(*windows, std::span(desc.x).subspan(2));
  if (!placed.ok() || *placed != Shape(desc.y.begin() + 2, desc.y.end())) return "its windows do not fit";
  for (const Window& window : windows->axes) {
    if (window.pad_begin < 0 || window.pad_end < 0) return "cuDNN has no negative padding";
    desc.strides.push_back(window.stride);
    desc.dilations.push_back(window.dilation);
    desc.pads_begin.push_back(window.pad_begin);
    desc.pads_end.push_back(window.pad_end);
  }
  return desc;
}

struct WeightGradientTraits {
  std::string implementation;
  std::optional<FilterCopy> unpack;
  std::size_t filter_bytes = 0;
};

class GpuWeightGradient : public Kernel {
 public:
  GpuWeightGradient(WeightGradientTraits traits, std::shared_ptr<const cuda::Convolution> graph,
                    std::shared_ptr<const cuda::CudnnPlan> plan, LoadedKernel unpack)
      : traits_(std::move(traits)),
        graph_(graph),
        filters_at_((plan->workspace_bytes + kFilterAlignment - 1) / kFilterAlignment * kFilterAlignment),
        scratch_bytes_(traits_.unpack ? filters_at_ + traits_.filter_bytes : plan->workspace_bytes),
        runs_(std::move(graph), std::move(plan)),
        unpack_(std::move(unpack)) {}

  std::string implementation() const override { return traits_.implementation; }
  std::size_t scratch_bytes() const override { return scratch_bytes_; }

  Status enqueue(const KernelArguments& arguments, Queue& queue) override {
    auto& cuda_queue = static_cast<CudaQueue&>(queue);
    void* result = arguments.outputs[0];
    void* filters = traits_.unpack ? static_cast<std::byte*>(arguments.scratch) + filters_at_ : result;
    const cuda::ConvolutionOperands operands{
        .x = arguments.inputs[0], .w = filters, .y = arguments.inputs[1]};
    HONE_CHECK(runs_.run(graph_->operands(operands), arguments.scratch, cuda_queue.stream()));
    if (!traits_.unpack) return {};
    std::array<void*, 2> parameters = {&filters, &result};
    return cuda_queue.launch(unpack_.function, traits_.unpack->shape, parameters,
                             kernels::gpu::kStridedCopyEntry, cuda::Launch::kEarly);
  }

 private:
  WeightGradientTraits traits_;
  std::shared_ptr<const cuda::Convolution> graph_;
  std::size_t filters_at_ = 0, scratch_bytes_ = 0;
  cuda::CudnnRuns runs_;
  LoadedKernel unpack_;
};

Result<std::unique_ptr<Kernel>> make_weight_gradient(const GpuKernels& kernels,
                                                     const std::shared_ptr<const JudgedConvolution>& judged,
                                                     const WeightGradientTraits& traits,
                                                     const cuda::CudnnEngine& engine) {
  HONE_ASSIGN(const auto plan, judged->graph->plan(engine));
  if (plan->workspace_bytes > most_workspace(judged->graph->desc()))
    return unsupported(
        fmt::format("cuDNN's {} wants {} MiB of workspace", engine.name(), plan->workspace_bytes >> 20));
  LoadedKernel unpack;
  if (traits.unpack) {
    HONE_ASSIGN(unpack, load_kernel(kernels, traits.unpack->source, hone::kernels::gpu::kStridedCopyEntry));
  }
  return std::unique_ptr<Kernel>(
      std::make_unique<GpuWeightGradient>(traits, judged->graph, plan, std::move(unpack)));
}

}  // namespace

std::string lower_weight_gradient(const LowerContext& context, const GpuKernels& kernels,
                                  std::vector<Candidate>& found) {
  if (context.node.op != "hone.ConvWeightGradient") return {};
  if (kernels.cudnn == nullptr) return kernels.no_cudnn;
  const auto read = weight_gradient_desc(context);
  if (const auto* const why = std::get_if<std::string>(&read)) return *why;
  const cuda::ConvolutionDesc& desc = std::get<cuda::ConvolutionDesc>(read);
  WeightGradientTraits traits;
  if (desc.channels_last && !lies_alike(desc.w)) {
    if (kernels.cache == nullptr) return "nothing brings its filters into the plain layout";
    traits.unpack = filter_copy(desc.w, desc.dtype, false);
    if (!traits.unpack) return "no kernel brings its filters into the plain layout";
    traits.filter_bytes = static_cast<std::size_t>(element_count(desc.w)) * dtype_size(desc.dtype);
  }
  const auto judged = kernels.cudnn->judge(desc);
  if (judged->engines.empty()) return judged->why_not;
  for (std::size_t i = 0; i < judged->engines.size(); ++i) {
    const cuda::CudnnEngine& engine = judged->engines[i];
    traits.implementation =
        fmt::format("cuDNN weight gradient {} ({}, guess {} of {})", engine.name(),
                    desc.channels_last ? "channels_last" : "plain", i + 1, judged->engines.size());
    found.push_back(
        {.name = "cuDNN weight gradient " + engine.name(), .make = [kernels, judged, traits, engine] {
           return make_weight_gradient(kernels, judged, traits, engine);
         }});
  }
  return {};
}

}  // namespace hone::runtime::cuda_kernels
