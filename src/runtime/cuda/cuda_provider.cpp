#include "runtime/cuda/cuda_provider.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/cuda/convolution_form.h"
#include "runtime/cuda/gpu_kernels.h"
#include "runtime/cuda/kernel_revision.h"
#include "runtime/cuda/reference_on_host.h"
#include "runtime/lower/pointwise_table.h"
#include "runtime/reference_kernel.h"

namespace hone::runtime {

namespace {

std::string machine_text(const cuda_kernels::GpuKernels& kernels) {
  const cuda::Context& context = *kernels.device->context();
  std::string text =
      fmt::format("cuda {}, sm_{}, {} SMs, driver {}", context.name(), context.architecture().number,
                  context.multiprocessors(), cuda::cuda_version_text(context.driver().version()));
  if (kernels.cache != nullptr)
    text += ", NVRTC " + cuda::cuda_version_text(kernels.cache->compiler_version());
  if (kernels.products != nullptr) text += fmt::format(", cuBLASLt {}", kernels.products->version());
  if (kernels.cudnn != nullptr) text += ", cuDNN " + kernels.cudnn->library().version_text();
  return text;
}

// Epilogues of products and convolutions are one table; which goes with which is the lowerings' to say.
void add_convolutions(graph::Capabilities& takes) {
  takes.products = {DType::kF32, DType::kF16, DType::kBF16};
  takes.epilogue_operators = cuda_kernels::kMostEpilogue;
  for (const graph::EpilogueCapability& row : cuda_kernels::convolution_epilogues()) {
    if (takes.find_epilogue(row.op) == nullptr) takes.epilogue.push_back(row);
  }
}

graph::Capabilities capabilities_of(const cuda_kernels::GpuKernels& kernels) {
  graph::Capabilities takes;
  if (kernels.products != nullptr) {
    takes.products = {DType::kF32, DType::kF16, DType::kBF16};
    takes.widened_sums = {DType::kF16, DType::kBF16};
    takes.epilogue = cuda_kernels::product_epilogues();
    takes.epilogue_operators = cuda_kernels::kMostEpilogue;
    takes.bias_gradients = takes.products;
  }
  if (kernels.cudnn != nullptr) add_convolutions(takes);
  constexpr int kFirstWithTf32 = 80;
  takes.tf32_products =
      takes.products.holds(DType::kF32) && kernels.device->context()->architecture().number >= kFirstWithTf32;
  takes.attention = takes.split_attention =
      kernels.cudnn != nullptr || kernels.cache != nullptr;  // of some; passes ask about each
  if (kernels.cache == nullptr) return takes;
  // Reorders, and what stands between convolutions, are generated.
  if (kernels.cudnn != nullptr) {
    takes.convolution_layout = Layout::kChannelsLast;
    takes.laid_out = {DType::kF32, DType::kF16, DType::kBF16, DType::kBool};
  }
  takes.narrow_normalizations = true;
  takes.pointwise = pointwise_capabilities();
  // Values live in registers: so many of each kernel's leave room for enough threads.
  takes.pointwise_operators = 64;
  takes.pointwise_inputs = 16;
  return takes;
}

}  // namespace

CudaProvider::CudaProvider(cuda_kernels::GpuKernels kernels)
    : kernels_(std::move(kernels)), machine_(machine_text(kernels_)), takes_(capabilities_of(kernels_)) {}

Result<std::unique_ptr<const Provider>> CudaProvider::make(int index) {
  HONE_ASSIGN(const std::shared_ptr<const cuda::Driver> driver, cuda::Driver::load());
  HONE_ASSIGN(cuda::ContextPointer context, cuda::Context::of_device(driver, index));
  const cuda::LibraryPlaces places = cuda::LibraryPlaces::of_this_process();
  HONE_ASSIGN(std::shared_ptr<const cuda::Nvrtc> nvrtc, cuda::Nvrtc::load(places, driver->version()));
  cuda_kernels::GpuKernels kernels{
      .device = std::make_shared<CudaDevice>(context, places), .cache = {}, .products = {}};
  kernels.cache = std::make_shared<cuda::KernelCache>(std::move(nvrtc), context->architecture(),
                                                      driver->version(), cuda::KernelCache::default_folder());
  HONE_ASSIGN(kernels.products, cuda::BlasLt::load(context, places));
  // Models without convolutions need none; those with some are told of each.
  auto cudnn = cuda::Cudnn::load(context, places);
  if (cudnn.ok())
    kernels.cudnn = std::make_shared<JudgedGraphs>(*std::move(cudnn));
  else
    kernels.no_cudnn = cudnn.error().message;
  return std::unique_ptr<const Provider>(std::make_unique<CudaProvider>(std::move(kernels)));
}

// A lane has the same kernels as the whole GPU.
Result<bool> CudaProvider::finds_gpu(const std::string& library, const cuda::LibraryPlaces& places) {
  const auto driver = cuda::Driver::load(library);
  if (!driver.ok()) return false;
  int count = 0;
  if ((*driver)->functions().device_get_count(&count) != cuda::DriverCode::kSuccess || count == 0)
    return false;
  for (const cuda::LibraryName& name : {cuda::nvrtc_name(), cuda::blas_lt_name()})
    HONE_CHECK(cuda::find_library(name, places, (*driver)->version()));
  return true;
}

std::string CudaProvider::signature(Share) const {
  return fmt::format("{}, kernels {}", machine_, cuda_kernels::kernel_revision());
}

double CudaProvider::longest_in_lane_us() const {
  constexpr double kFillsTheGpu = 30;
  return kFillsTheGpu;
}

std::vector<Trait> CudaProvider::traits() const {
  const cuda::Context& context = *kernels_.device->context();
  std::vector<Trait> traits = {
      {"GPU", context.name()},
      {"architecture", fmt::format("sm_{}", context.architecture().number)},
      {"multiprocessors", std::to_string(context.multiprocessors())},
      {"driver's CUDA", cuda::cuda_version_text(context.driver().version())},
      {"NVRTC",
       kernels_.cache == nullptr ? "none" : cuda::cuda_version_text(kernels_.cache->compiler_version())},
      {"cuBLASLt", kernels_.products == nullptr ? "none" : fmt::format("{}", kernels_.products->version())},
      {"cuDNN", kernels_.cudnn == nullptr ? "none" : kernels_.cudnn->library().version_text()}};
  return traits;
}

Result<std::vector<Candidate>> CudaProvider::candidates(const graph::Graph& graph, const graph::Node& node,
                                                        Share) const {
  std::vector<Candidate> found;
  std::string why_not;
  const LowerContext context{graph, node};
  if (node.custom != nullptr) return cuda_kernels::plugin_candidates(context, kernels_);
  if (kernels_.cache != nullptr) cuda_kernels::lower_order(context, kernels_, found);
  if (kernels_.cache != nullptr && kernels_.products != nullptr)
    cuda_kernels::lower_recurrent(context, kernels_, found);
  if (node.has_output(0)) {
    if (kernels_.cache != nullptr) {
      cuda_kernels::lower_pointwise(context, kernels_, found);
      cuda_kernels::lower_quantize(context, kernels_, found);
      cuda_kernels::lower_integer_product(context, kernels_, found);
      cuda_kernels::lower_rows(context, kernels_, found);
      cuda_kernels::lower_copies(context, kernels_, found);
      cuda_kernels::lower_gather(context, kernels_, found);
      cuda_kernels::lower_scatter_reduce(context, kernels_, found);
      cuda_kernels::lower_reduction(context, kernels_, found);
      cuda_kernels::lower_suppression(context, kernels_, found);
      cuda_kernels::lower_einsum(context, kernels_, found);
      cuda_kernels::lower_choice(context, kernels_, found);
      cuda_kernels::lower_sampling(context, kernels_, found);
      cuda_kernels::lower_pad(context, kernels_, found);
      cuda_kernels::lower_pooling(context, kernels_, found);
      cuda_kernels::lower_resize(context, kernels_, found);
      cuda_kernels::lower_of_training(context, kernels_, found);
    }
    if (kernels_.products != nullptr) cuda_kernels::lower_product(context, kernels_, found);
    cuda_kernels::lower_bias_gradient(context, kernels_, found);
    why_not = cuda_kernels::lower_convolution(context, kernels_, found);
    if (why_not.empty()) why_not = cuda_kernels::lower_weight_gradient(context, kernels_, found);
    if (kernels_.cache != nullptr) cuda_kernels::lower_own_depthwise(context, kernels_, found);
    if (why_not.empty()) why_not = cuda_kernels::lower_attention(context, kernels_, found);
    if (why_not.empty()) why_not = cuda_kernels::lower_attention_gradient(context, kernels_, found);
    if (kernels_.cache != nullptr) cuda_kernels::lower_own_attention(context, kernels_, found);
  }
  if (found.empty() && ReferenceNode::can_run(graph, node))
    found.push_back(cuda_kernels::reference_on_host(kernels_.device, graph, node, std::move(why_not)));
  return found;
}

}  // namespace hone::runtime
