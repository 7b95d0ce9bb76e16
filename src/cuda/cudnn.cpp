#include "cuda/cudnn.h"

#include <array>

#include <fmt/format.h>

namespace hone::cuda {
namespace {

constexpr int kOldest = 90100, kFirstWithDescribedDevices = 91100;

std::string number_text(int version) {
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

// For messages.
std::string_view descriptor_name(CudnnDescriptor kind) {
  using enum CudnnDescriptor;
  switch (kind) {
    case kPointwise:
      return "a pointwise function";
    case kConvolution:
      return "a convolution";
    case kEngine:
      return "an engine";
    case kEngineConfig:
      return "an engine's configuration";
    case kHeuristics:
      return "heuristics";
    case kPlan:
      return "an execution plan";
    case kKnobChoice:
      return "a knob";
    case kConvolutionForward:
      return "a convolution operation";
    case kConvolutionBackwardData:
      return "a transposed convolution";
    case kConvolutionBackwardFilter:
      return "a weight gradient operation";
    case kPointwiseOperation:
      return "a pointwise operation";
    case kOperationGraph:
      return "an operation graph";
    case kVariantPack:
      return "the addresses of a run";
    case kTensor:
      return "a tensor";
    case kProduct:
    case kProductOperation:
      return "a product";
    case kReduction:
    case kReductionOperation:
      return "a reduction";
    case kReshapeOperation:
      return "a reshape";
    case kAttention:
      return "attention";
    case kDeviceProperties:
      return "the properties of a device";
  }
  return "a descriptor";
}

}  // namespace

// --- descriptors ---

Result<CudnnObject> CudnnObject::make(const Cudnn& library, CudnnDescriptor kind) {
  CudnnObject object;
  object.kind_ = kind;
  HONE_CHECK(library.check(library.functions().create_descriptor(kind, &object.handle_),
                           fmt::format("cudnnBackendCreateDescriptor of {}", descriptor_name(kind))));
  object.library_ = &library;
  return object;
}

CudnnObject::~CudnnObject() {
  if (handle_ != nullptr) library_->functions().destroy_descriptor(handle_);
}

std::string CudnnObject::call_text(std::string_view call) const {
  return fmt::format("{} of {}", call, descriptor_name(kind_));
}

Status CudnnObject::set(CudnnAttribute attribute, CudnnAttributeType type, int64_t count,
                        const void* elements) const {
  const CudnnCode code = library_->functions().set_attribute(handle_, attribute, type, count, elements);
  if (code == CudnnCode::kSuccess) [[likely]]
    return {};
  return library_->check(code, fmt::format("{}, attribute {}", call_text("cudnnBackendSetAttribute"),
                                           static_cast<int>(attribute)));
}

Status CudnnObject::set(CudnnAttribute attribute, const CudnnObject& object) const {
  return set(attribute, CudnnAttributeType::kDescriptor, 1, &object.handle_);
}

Status CudnnObject::finalise() const {
  const CudnnCode code = library_->functions().finalise(handle_);
  if (code == CudnnCode::kSuccess) [[likely]]
    return {};
  return library_->check(code, call_text("cudnnBackendFinalize"));
}

Result<int64_t> CudnnObject::get(CudnnAttribute attribute, CudnnAttributeType type, int64_t most,
                                 void* elements) const {
  int64_t count = 0;
  const CudnnCode code =
      library_->functions().get_attribute(handle_, attribute, type, most, &count, elements);
  if (code != CudnnCode::kSuccess)
    return library_
        ->check(code, fmt::format("{}, attribute {}", call_text("cudnnBackendGetAttribute"),
                                  static_cast<int>(attribute)))
        .error();
  return count;
}

// --- the library ---

Status Cudnn::take_library(const LibraryPlaces& places, int driver_version) {
  HONE_ASSIGN(const FoundLibrary library, find_library(cudnn_name(), places, driver_version));
  path_ = library.path;
  HONE_CHECK(take_functions(library, functions_));
  version_ = static_cast<int>(functions_.get_version());
  if (version_ < kOldest)
    return unsupported(fmt::format("{} is cuDNN {}, and hone uses it from {} on: pip install {}", path_,
                                   number_text(version_), number_text(kOldest), cudnn_name().pip));
  return {};
}

Result<std::shared_ptr<const Cudnn>> Cudnn::load(ContextPointer context, const LibraryPlaces& places) {
  std::shared_ptr<Cudnn> cudnn(new Cudnn);
  HONE_CHECK(cudnn->take_library(places, context->driver().version()));
  cudnn->context_ = std::move(context);
  HONE_CHECK(cudnn->make_current());
  HONE_CHECK(cudnn->check(cudnn->functions_.create(&cudnn->handle_), "cudnnCreate"));
  return std::shared_ptr<const Cudnn>(std::move(cudnn));
}

Result<std::shared_ptr<const Cudnn>> Cudnn::load_for_described(const LibraryPlaces& places,
                                                               std::string_view device_json) {
  std::shared_ptr<Cudnn> cudnn(new Cudnn);
  HONE_CHECK(cudnn->take_library(places, 0));
  if (cudnn->version_ < kFirstWithDescribedDevices)
    return unsupported(
        fmt::format("{} is cuDNN {}, which makes plans for the GPU in the machine alone: {} "
                    "is the first that makes them for one that is described",
                    cudnn->path_, number_text(cudnn->version_), number_text(kFirstWithDescribedDevices)));
  HONE_ASSIGN(cudnn->device_, CudnnObject::make(*cudnn, CudnnDescriptor::kDeviceProperties));
  HONE_CHECK(cudnn->device_.set(CudnnAttribute::kDeviceJson,
                                std::span<const char>(device_json.data(), device_json.size())));
  HONE_CHECK(cudnn->device_.finalise());
  return std::shared_ptr<const Cudnn>(std::move(cudnn));
}

Cudnn::~Cudnn() {
  device_ = {};
  if (handle_ != nullptr && make_current().ok()) functions_.destroy(handle_);
}

std::string Cudnn::version_text() const { return number_text(version_); }

Status Cudnn::make_current() const { return context_ == nullptr ? Status() : context_->make_current(); }

Status Cudnn::check(CudnnCode code, std::string_view call) const {
  if (code == CudnnCode::kSuccess) [[likely]]
    return {};
  std::array<char, 512> why{};
  functions_.get_last_error(why.data(), why.size());
  why.back() = '\0';
  const char* const name = functions_.get_error_string(code);
  std::string text = fmt::format("{} ({} {}): {} ({}){}{}", call, path_, number_text(version_),
                                 name == nullptr ? "unknown error" : name, static_cast<int>(code),
                                 why[0] == '\0' ? "" : ": ", why.data());
  const bool not_done = static_cast<int>(code) / 1000 == static_cast<int>(CudnnCode::kNotSupported) / 1000;
  return not_done ? unsupported(std::move(text)) : io_error(std::move(text));
}

Status Cudnn::set_handle(const CudnnObject& object, CudnnAttribute attribute) const {
  return handle_ == nullptr ? Status() : object.set(attribute, CudnnAttributeType::kHandle, 1, &handle_);
}

Status Cudnn::set_described_device(const CudnnObject& object, CudnnAttribute attribute) const {
  return device_ ? object.set(attribute, device_) : Status();
}

Status Cudnn::execute(const CudnnObject& plan, const CudnnObject& pack, StreamHandle stream) const {
  if (handle_ == nullptr) return unsupported("cuDNN was loaded for a GPU that is not here: nothing runs");
  HONE_CHECK(make_current());
  const std::lock_guard lock(handle_mutex_);
  HONE_CHECK(check(functions_.set_stream(handle_, stream), "cudnnSetStream"));
  const CudnnCode code = functions_.execute(handle_, plan.get(), pack.get());
  if (code == CudnnCode::kSuccess) [[likely]]
    return {};
  return check(code, "cudnnBackendExecute");
}

}  // namespace hone::cuda
