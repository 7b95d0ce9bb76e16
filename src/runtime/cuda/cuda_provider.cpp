#include "runtime/cuda/cuda_provider.h"

#include <fmt/format.h>

#include "runtime/cuda/lower_pointwise.h"
#include "runtime/cuda/reference_on_host.h"
#include "runtime/lower/pointwise_table.h"
#include "runtime/reference_kernel.h"

namespace hone::runtime {

CudaProvider::CudaProvider(cuda::ContextPointer context, std::shared_ptr<cuda::KernelCache> kernels)
    : device_(std::make_shared<CudaDevice>(context)),
      kernels_(std::move(kernels)),
      machine_(fmt::format("cuda {}, sm_{}, driver {}", context->name(), context->architecture().number,
                           cuda::cuda_version_text(context->driver().version()))) {}

Result<std::unique_ptr<const Provider>> CudaProvider::make(int index) {
  HONE_ASSIGN(const std::shared_ptr<const cuda::Driver> driver, cuda::Driver::load());
  HONE_ASSIGN(cuda::ContextPointer context, cuda::Context::of_device(driver, index));
  HONE_ASSIGN(std::shared_ptr<const cuda::Nvrtc> nvrtc,
              cuda::Nvrtc::load(cuda::LibraryPlaces::of_this_process(), driver->version()));
  auto kernels = std::make_shared<cuda::KernelCache>(std::move(nvrtc), context->architecture(),
                                                     driver->version(), cuda::KernelCache::default_folder());
  return std::unique_ptr<const Provider>(
      std::make_unique<CudaProvider>(std::move(context), std::move(kernels)));
}

std::string CudaProvider::signature(Share share) const {
  return share == Share::kLane ? machine_ + ", a lane" : machine_;
}

Result<std::vector<Candidate>> CudaProvider::candidates(const graph::Graph& graph, const graph::Node& node,
                                                        Share) const {
  std::vector<Candidate> found;
  if (kernels_ != nullptr && node.has_output(0))
    cuda_kernels::lower_pointwise({graph, node}, {device_, kernels_}, found);
  if (found.empty() && ReferenceNode::can_run(graph, node))
    found.push_back(cuda_kernels::reference_on_host(device_, graph, node));
  return found;
}

const graph::Capabilities& CudaProvider::capabilities() const {
  static const graph::Capabilities takes = [] {
    graph::Capabilities made;
    made.pointwise = pointwise_capabilities();
    // Values live in registers: so many of each kernel's leave room for enough threads.
    made.pointwise_operators = 64;
    made.pointwise_inputs = 16;
    return made;
  }();
  return kernels_ != nullptr ? takes : Provider::capabilities();
}

}  // namespace hone::runtime
