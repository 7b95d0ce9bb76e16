// Conv and ConvTranspose on a GPU, alone and with an epilogue: cuDNN's engines as candidates (convolution_form.h,
// judged_graphs.h). Where it has none that adds a bias, a generated kernel does behind it; so it does with the function behind a
// convolution of each channel alone, so that the two are measured against our own kernel for both (lower_depthwise.cpp).
#include <algorithm>
#include <mutex>

#include <fmt/format.h>

#include "kernels/cuda/depthwise.h"
#include "kernels/cuda/pointwise.h"
#include "kernels/cuda/strided_copy.h"
#include "runtime/cuda/convolution_form.h"
#include "runtime/cuda/gpu_kernels.h"
#include "runtime/cuda/gpu_launches.h"
#include "runtime/cuda/judged_graphs.h"

namespace hone::runtime::cuda_kernels {
namespace {

// Weights in the library's layout, brought to the device when the first kernel of a node is made.
class PackedOperands {
 public:
  PackedOperands(std::shared_ptr<CudaDevice> device, const ConvolutionForm& form)
      : device_(std::move(device)),
        weights_(form.packed_w),
        bias_(form.packed_bias),
        repack_(form.repack_w) {}

  struct Addresses {
    const void* w = nullptr;
    const void* bias = nullptr;
    std::size_t bytes = 0;
  };
  Result<Addresses> on_device() {
    const std::lock_guard lock(mutex_);
    if (!brought_) {
      HONE_ASSIGN(w_, bring(repack_ && weights_.defined() ? with_channels_last(weights_) : weights_));
      HONE_ASSIGN(b_, bring(bias_));
      brought_ = true;
    }
    return Addresses{w_.address(), b_.address(), w_.bytes() + b_.bytes()};
  }

 private:
  Result<Memory> bring(const Tensor& tensor) const {
    if (!tensor.defined()) return Memory();
    HONE_ASSIGN(Memory memory, device_->allocate(tensor.bytes()));
    HONE_ASSIGN(const std::unique_ptr<Queue> queue, device_->make_queue());
    HONE_CHECK(queue->copy_in(memory.address(), tensor.data(), tensor.bytes()));
    HONE_CHECK(queue->wait());
    return memory;
  }

  std::shared_ptr<CudaDevice> device_;
  Tensor weights_, bias_;
  bool repack_ = false;
  std::mutex mutex_;
  bool brought_ = false;
  Memory w_, b_;
};

// What a kernel of our own does to what has been computed, in place: adds a bias for each channel, or computes a function.
struct BehindLaunch {
  bool bias = false;
  cuda::KernelSource source;
  cuda::LaunchShape shape;
  int64_t elements = 0;
};

struct GpuConvolutionTraits {
  std::string implementation;
  std::size_t x = 0;
  std::optional<std::size_t> w, added, bias;
  std::vector<std::size_t> unread;
  std::optional<BehindLaunch> behind;  // where it reads the bias, the library does not
  std::optional<FilterCopy> repack;    // of weights that are computed, into the scratch
  std::size_t repacked_bytes = 0;
};

constexpr std::size_t kRepackedAlignment = 256;

class GpuConvolution : public Kernel {
 public:
  GpuConvolution(GpuConvolutionTraits traits, std::shared_ptr<PackedOperands> packed,
                 PackedOperands::Addresses addresses, std::shared_ptr<const cuda::Convolution> graph,
                 std::shared_ptr<const cuda::CudnnPlan> plan)
      : traits_(std::move(traits)),
        packed_(std::move(packed)),
        addresses_(addresses),
        graph_(graph),
        repacked_at_((plan->workspace_bytes + kRepackedAlignment - 1) / kRepackedAlignment *
                     kRepackedAlignment),
        scratch_bytes_(traits_.repack ? repacked_at_ + traits_.repacked_bytes : plan->workspace_bytes),
        runs_(std::move(graph), std::move(plan)) {}

  void go_on_by(LoadedKernel kernel) { behind_kernel_ = std::move(kernel); }
  void repack_by(LoadedKernel kernel) { repack_kernel_ = std::move(kernel); }

  std::string implementation() const override { return traits_.implementation; }
  std::size_t scratch_bytes() const override { return scratch_bytes_; }
  std::size_t packed_bytes() const override { return addresses_.bytes; }
  bool reads(std::size_t input) const override {
    return std::find(traits_.unread.begin(), traits_.unread.end(), input) == traits_.unread.end();
  }

  Status enqueue(const KernelArguments& arguments, Queue& queue) override {
    const auto input = [&](const std::optional<std::size_t>& i, const void* packed) {
      return i ? arguments.inputs[*i] : packed;
    };
    auto& cuda_queue = static_cast<CudaQueue&>(queue);
    const void* bias = input(traits_.bias, addresses_.bias);
    const void* w = input(traits_.w, addresses_.w);
    if (traits_.repack) {
      const void* repacked = static_cast<const std::byte*>(arguments.scratch) + repacked_at_;
      std::array<void*, 2> parameters = {&w, &repacked};
      HONE_CHECK(cuda_queue.launch(repack_kernel_.function, traits_.repack->shape, parameters,
                                   kernels::gpu::kStridedCopyEntry, cuda::Launch::kEarly));
      w = repacked;
    }
    const cuda::ConvolutionOperands operands{.x = arguments.inputs[traits_.x],
                                             .w = w,
                                             .added = input(traits_.added, nullptr),
                                             .bias = behind_adds_bias() ? nullptr : bias,
                                             .y = arguments.outputs[0]};
    HONE_CHECK(runs_.run(graph_->operands(operands), arguments.scratch, cuda_queue.stream()));
    if (!traits_.behind) return {};
    void* y = arguments.outputs[0];
    int64_t elements = traits_.behind->elements;
    std::array<void*, 4> parameters = {&y, &bias, &y, &elements};
    std::span<void*> given = parameters;
    if (!behind_adds_bias()) {
      parameters[1] = &y;
      parameters[2] = &elements;
      given = given.first(3);
    }
    return cuda_queue.launch(behind_kernel_.function, traits_.behind->shape, given,
                             kernels::gpu::kPointwiseEntry, cuda::Launch::kEarly);
  }

 private:
  bool behind_adds_bias() const { return traits_.behind && traits_.behind->bias; }

  GpuConvolutionTraits traits_;
  std::shared_ptr<PackedOperands> packed_;
  PackedOperands::Addresses addresses_;
  std::shared_ptr<const cuda::Convolution> graph_;
  std::size_t repacked_at_ = 0, scratch_bytes_ = 0;
  cuda::CudnnRuns runs_;
  LoadedKernel behind_kernel_, repack_kernel_;
};

// The function as an instruction of `value`.
int activated(kernels::PointwiseProgram& program, const cuda::ConvolutionActivation& activation, int value) {
  using cuda::CudnnPointwise;
  using kernels::PointwiseOp;
  const auto apply = [&](PointwiseOp op, double alpha = 0, double beta = 0) {
    return program.apply(op, value, -1, -1, static_cast<float>(alpha), static_cast<float>(beta));
  };
  switch (*activation.mode) {
    case CudnnPointwise::kRelu:
      if (activation.has_high) return apply(PointwiseOp::kClip, activation.low, activation.high);
      return activation.slope == 0 ? apply(PointwiseOp::kRelu)
                                   : apply(PointwiseOp::kLeakyRelu, activation.slope);
    case CudnnPointwise::kSigmoid:
      return apply(PointwiseOp::kSigmoid);
    case CudnnPointwise::kTanh:
      return apply(PointwiseOp::kTanh);
    case CudnnPointwise::kElu:
      return apply(PointwiseOp::kElu, activation.alpha);
    case CudnnPointwise::kSoftplus:
      return apply(PointwiseOp::kSoftplus);
    case CudnnPointwise::kSwish:
      return apply(PointwiseOp::kSwish, activation.alpha);
    case CudnnPointwise::kGeluErf:
      return apply(PointwiseOp::kGeluErf);
    case CudnnPointwise::kGeluTanh:
      return apply(PointwiseOp::kGeluTanh);
    default:
      return -1;
  }
}

// Of `desc`: its bias, or its function.
std::optional<BehindLaunch> behind_launch_of(const cuda::ConvolutionDesc& desc, bool adds_bias) {
  const int64_t channels = desc.y[1], places = element_count(std::span(desc.y).subspan(2));
  kernels::PointwiseProgram program;
  std::vector<int64_t> own, bias;  // strides of the result, and of a number a channel
  if (desc.channels_last) {
    program.shape = {desc.y[0] * places, channels};
    own = {channels, 1};
    bias = {0, 1};
  } else {
    program.shape = {desc.y[0], channels, places};
    own = {channels * places, places, 1};
    bias = {0, 1, 0};
  }
  const int y = program.input(desc.dtype, own);
  const int value = adds_bias ? program.apply(kernels::PointwiseOp::kAdd, y, program.input(desc.dtype, bias))
                              : activated(program, desc.activation, y);
  if (value < 0) return std::nullopt;
  program.output(value, desc.dtype);
  auto generated = kernels::gpu::generate_pointwise(program);
  if (!generated.ok()) return std::nullopt;
  const auto shape =
      line_of_blocks((generated->elements + generated->elements_a_block - 1) / generated->elements_a_block,
                     kernels::gpu::kPointwiseBlock);
  if (!shape) return std::nullopt;
  return BehindLaunch{adds_bias, std::move(generated->source), *shape, generated->elements};
}

std::vector<std::size_t> unread_inputs(const LowerContext& context, const ConvolutionForm& form) {
  std::vector<std::size_t> unread;
  for (std::size_t i = 0; i < context.node.inputs.size(); ++i) {
    if (i != form.x && form.w != i && form.added != i && form.bias != i) unread.push_back(i);
  }
  return unread;
}

struct Offer {
  std::shared_ptr<const JudgedConvolution> judged;
  GpuConvolutionTraits traits;
  std::shared_ptr<PackedOperands> packed;
};

Result<std::unique_ptr<Kernel>> make_convolution(const GpuKernels& kernels, const Offer& offer,
                                                 const cuda::CudnnEngine& engine) {
  HONE_ASSIGN(const auto plan, offer.judged->graph->plan(engine));
  if (plan->workspace_bytes > most_workspace(offer.judged->graph->desc()))
    return unsupported(
        fmt::format("cuDNN's {} wants {} MiB of workspace", engine.name(), plan->workspace_bytes >> 20));
  HONE_ASSIGN(const PackedOperands::Addresses addresses, offer.packed->on_device());
  auto kernel =
      std::make_unique<GpuConvolution>(offer.traits, offer.packed, addresses, offer.judged->graph, plan);
  if (offer.traits.behind) {
    HONE_ASSIGN(LoadedKernel behind,
                load_kernel(kernels, offer.traits.behind->source, hone::kernels::gpu::kPointwiseEntry));
    kernel->go_on_by(std::move(behind));
  }
  if (offer.traits.repack) {
    HONE_ASSIGN(LoadedKernel copy,
                load_kernel(kernels, offer.traits.repack->source, hone::kernels::gpu::kStridedCopyEntry));
    kernel->repack_by(std::move(copy));
  }
  return std::unique_ptr<Kernel>(std::move(kernel));
}

constexpr int64_t kGeneralEngine =
    0;  // of cuDNN: takes nearly everything, an order of magnitude slower than the others

bool only_general(const JudgedConvolution& judged) {
  return std::all_of(judged.engines.begin(), judged.engines.end(),
                     [](const cuda::CudnnEngine& engine) { return engine.index == kGeneralEngine; });
}

bool is_fast(const JudgedConvolution& judged) { return !judged.engines.empty() && !only_general(judged); }

cuda::ConvolutionDesc without_function(const cuda::ConvolutionDesc& desc) {
  cuda::ConvolutionDesc alone = desc;
  alone.activation = {};
  return alone;
}

// Whether the library has fast engines for the convolution, but none that computes the function with it (MobileNet's
// Clip): two kernels are then faster than one.
bool better_apart(const GpuKernels& kernels, const ConvolutionForm& form, const JudgedConvolution& together) {
  if (!form.desc.activation.mode || is_fast(together)) return false;
  return is_fast(*kernels.cudnn->judge(without_function(form.desc)));
}

// By the library where it is fast for both, or for neither; with what it has not by a kernel of our own behind it.
std::string judge_form(const GpuKernels& kernels, const ConvolutionForm& form, Offer& offer) {
  offer.judged = kernels.cudnn->judge(form.desc);
  if (better_apart(kernels, form, *offer.judged)) {
    // As a group only where there is one kernel for both, which then has to be the faster one.
    const bool own = kernels.cache != nullptr && hone::kernels::gpu::generate_depthwise(form.desc).ok();
    if (own) offer.traits.behind = behind_launch_of(form.desc, /*adds_bias=*/false);
    if (!offer.traits.behind)
      return offer.judged->engines.empty()
                 ? offer.judged->why_not
                 : "cuDNN has only its general engine for the convolution with this function behind it";
    offer.judged = kernels.cudnn->judge(without_function(form.desc));
    return offer.judged->why_not;
  }
  const bool bias_alone = form.desc.bias && !form.desc.added && !form.desc.activation.mode;
  if (!offer.judged->engines.empty() || !bias_alone || kernels.cache == nullptr) return offer.judged->why_not;
  cuda::ConvolutionDesc without = form.desc;
  without.bias = false;
  offer.judged = kernels.cudnn->judge(without);
  offer.traits.behind = behind_launch_of(form.desc, /*adds_bias=*/true);
  return offer.traits.behind ? offer.judged->why_not : "no kernel adds its bias";
}

}  // namespace

std::string lower_convolution(const LowerContext& context, const GpuKernels& kernels,
                              std::vector<Candidate>& found) {
  const GroupView group(context);
  if (graph::product_kind(group.anchor()) != graph::GroupKind::kConvolution ||
      (group.is_group() && group.kind() != graph::GroupKind::kConvolution))
    return {};
  if (kernels.cudnn == nullptr) return kernels.no_cudnn;
  auto read = read_convolution_form(context, group);
  if (const auto* const why = std::get_if<std::string>(&read)) return *why;
  const ConvolutionForm& form = std::get<ConvolutionForm>(read);
  Offer offer{.judged = {},
              .traits = {.implementation = {},
                         .x = form.x,
                         .w = form.w,
                         .added = form.added,
                         .bias = form.bias,
                         .unread = unread_inputs(context, form),
                         .behind = {},
                         .repack = {},
                         .repacked_bytes = 0},
              .packed = std::make_shared<PackedOperands>(kernels.device, form)};
  if (form.w && form.repack_w) {
    if (kernels.cache == nullptr) return "nothing brings computed weights into its layout";
    offer.traits.repack = filter_copy(form.desc.w, form.desc.dtype, true);
    if (!offer.traits.repack) return "no kernel brings its weights into its layout";
    offer.traits.repacked_bytes =
        static_cast<std::size_t>(element_count(form.desc.w)) * dtype_size(form.desc.dtype);
  }
  if (std::string why = judge_form(kernels, form, offer); !why.empty()) return why;
  const std::vector<cuda::CudnnEngine>& engines = offer.judged->engines;
  for (std::size_t i = 0; i < engines.size(); ++i) {
    offer.traits.implementation =
        fmt::format("cuDNN {}{}{}{} ({}, guess {} of {})", form.desc.tf32 ? "tf32 " : "", engines[i].name(),
                    group.is_group() ? " with epilogue" : "",
                    !offer.traits.behind        ? ""
                    : offer.traits.behind->bias ? ", then the bias"
                                                : ", then the function",
                    form.desc.channels_last ? "channels_last" : "plain", i + 1, engines.size());
    found.push_back({.name = "cuDNN " + engines[i].name(), .make = [kernels, offer, engine = engines[i]] {
                       return make_convolution(kernels, offer, engine);
                     }});
  }
  return {};
}

}  // namespace hone::runtime::cuda_kernels
