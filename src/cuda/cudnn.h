// cuDNN: the library, and its descriptors as objects that give themselves back. What graphs are made of them is in
// cudnn_convolution.h. One library object serves a context and all its streams and may be used by several threads at once.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "cuda/context.h"
#include "cuda/cudnn_abi.h"
#include "cuda/library.h"

#include "core/result.h"

namespace hone::cuda {

class Cudnn;

// A descriptor of the backend API. It belongs to one thread until it is finalised; then all may read it. The library
// outlives it.
class CudnnObject {
 public:
  CudnnObject() = default;  // none
  static Result<CudnnObject> make(const Cudnn& library, CudnnDescriptor kind);
  CudnnObject(CudnnObject&& other) noexcept { swap(other); }
  CudnnObject& operator=(CudnnObject&& other) noexcept {
    CudnnObject taken(std::move(other));
    swap(taken);
    return *this;
  }
  CudnnObject(const CudnnObject&) = delete;
  CudnnObject& operator=(const CudnnObject&) = delete;
  ~CudnnObject();

  CudnnDescriptorHandle get() const { return handle_; }
  explicit operator bool() const { return handle_ != nullptr; }

  // Numbers, modes and types: what they are to the library follows from their C++ type.
  template <typename T>
  Status set(CudnnAttribute attribute, std::span<const T> values) const {
    return set(attribute, type_of<T>(), static_cast<int64_t>(values.size()), values.data());
  }
  template <typename T>
  Status set(CudnnAttribute attribute, const T& value) const {
    return set(attribute, std::span<const T>(&value, 1));
  }
  Status set(CudnnAttribute attribute, const CudnnObject& object) const;
  Status set(CudnnAttribute attribute, CudnnAttributeType type, int64_t count, const void* elements) const;
  Status finalise() const;

  // How many there are; the first `values.size()` of them.
  template <typename T>
  Result<int64_t> get(CudnnAttribute attribute, std::span<T> values) const {
    return get(attribute, type_of<T>(), static_cast<int64_t>(values.size()), values.data());
  }
  template <typename T>
  Result<T> get_one(CudnnAttribute attribute) const {
    T value{};
    HONE_CHECK(get(attribute, std::span(&value, 1)));
    return value;
  }
  // A descriptor is copied into one that was made before.
  Result<int64_t> get(CudnnAttribute attribute, CudnnAttributeType type, int64_t most, void* elements) const;

 private:
  template <typename T>
  static constexpr CudnnAttributeType type_of();
  void swap(CudnnObject& other) noexcept {
    std::swap(library_, other.library_);
    std::swap(handle_, other.handle_);
    std::swap(kind_, other.kind_);
  }
  std::string call_text(std::string_view call) const;

  const Cudnn* library_ = nullptr;
  CudnnDescriptorHandle handle_ = nullptr;
  CudnnDescriptor kind_{};
};

class Cudnn {
 public:
  static Result<std::shared_ptr<const Cudnn>> load(ContextPointer context, const LibraryPlaces& places);
  // For a GPU that is not here but described, by the JSON of cuDNN's device properties (since 9.11): graphs are judged and
  // plans made as on that GPU, and nothing can run. It takes no driver.
  static Result<std::shared_ptr<const Cudnn>> load_for_described(const LibraryPlaces& places,
                                                                 std::string_view device_json);
  ~Cudnn();
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  int version() const { return version_; }  // 91900 is 9.19.0
  std::string version_text() const;
  const CudnnFunctions& functions() const { return functions_; }
  Status check(CudnnCode code, std::string_view call) const;
  Status make_current() const;

  // Which device `object` is for: by the handle of one that is here, else by what describes it. The other does nothing.
  Status set_handle(const CudnnObject& object, CudnnAttribute attribute) const;
  Status set_described_device(const CudnnObject& object, CudnnAttribute attribute) const;

  // Gives one run of `plan` to the stream.
  Status execute(const CudnnObject& plan, const CudnnObject& pack, StreamHandle stream) const;

 private:
  Cudnn() = default;
  Status take_library(const LibraryPlaces& places, int driver_version);

  ContextPointer context_;  // null: a device that is described
  CudnnFunctions functions_;
  std::string path_;
  int version_ = 0;
  mutable std::mutex handle_mutex_;  // a handle has one stream at a time
  CudnnHandle handle_ = nullptr;
  CudnnObject device_;
};

template <typename T>
constexpr CudnnAttributeType CudnnObject::type_of() {
  using enum CudnnAttributeType;
  if constexpr (std::is_same_v<T, int64_t>) return kInt64;
  if constexpr (std::is_same_v<T, float>) return kFloat;
  if constexpr (std::is_same_v<T, double>) return kDouble;
  if constexpr (std::is_same_v<T, bool>) return kBoolean;
  if constexpr (std::is_same_v<T, char>) return kChar;
  if constexpr (std::is_same_v<T, void*>) return kPointer;
  if constexpr (std::is_same_v<T, CudnnDataType>) return kDataType;
  if constexpr (std::is_same_v<T, CudnnPointwise>) return kPointwiseMode;
  if constexpr (std::is_same_v<T, CudnnReduction>) return kReductionOperator;
  if constexpr (std::is_same_v<T, CudnnConvolutionMode>) return kConvolutionMode;
  if constexpr (std::is_same_v<T, CudnnHeuristic>) return kHeuristicMode;
  if constexpr (std::is_same_v<T, CudnnKnob>) return kKnobType;
  if constexpr (std::is_same_v<T, CudnnNumericalNote>) return kNumericalNote;
  if constexpr (std::is_same_v<T, CudnnBehaviorNote>) return kBehaviorNote;
}

}  // namespace hone::cuda
