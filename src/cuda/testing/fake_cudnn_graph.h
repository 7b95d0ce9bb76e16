// What the fake cuDNN (fake_cudnn.cpp) keeps of descriptors, the program that a graph of operations is, and a run of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "cuda/cudnn_abi.h"

namespace hone::cuda::fake_cudnn {

using Attribute = CudnnAttribute;
using Type = CudnnAttributeType;
using Kind = CudnnDescriptor;

// A descriptor: its attributes as they were given.
struct Value {
  Type type{};
  int64_t count = 0;
  std::vector<std::byte> bytes;
};
struct Object {
  Kind kind{};
  bool final = false;
  std::map<Attribute, Value> values;

  bool has(Attribute attribute) const { return values.contains(attribute); }
  template <typename T>
  std::vector<T> all(Attribute attribute) const {
    const auto found = values.find(attribute);
    if (found == values.end()) return {};
    std::vector<T> elements(static_cast<size_t>(found->second.count));
    std::memcpy(static_cast<void*>(elements.data()), found->second.bytes.data(), elements.size() * sizeof(T));
    return elements;
  }
  template <typename T>
  T one(Attribute attribute, T otherwise = {}) const {
    const auto found = values.find(attribute);
    if (found != values.end())
      std::memcpy(static_cast<void*>(&otherwise), found->second.bytes.data(), sizeof(T));
    return otherwise;
  }
  const Object& object(Attribute attribute) const { return *one<const Object*>(attribute); }
};

inline bool is_operation(Kind kind) {
  return kind == Kind::kConvolutionForward || kind == Kind::kConvolutionBackwardData ||
         kind == Kind::kConvolutionBackwardFilter || kind == Kind::kPointwiseOperation ||
         kind == Kind::kAttention || kind == Kind::kProductOperation || kind == Kind::kReductionOperation ||
         kind == Kind::kReshapeOperation;
}

struct TensorView {
  int64_t uid = 0;
  CudnnDataType type{};
  bool is_virtual = false, by_value = false;
  int64_t alignment = 0;
  std::vector<int64_t> extents, strides;

  explicit TensorView(const Object& object)
      : uid(object.one<int64_t>(Attribute::kTensorUid)),
        type(object.one<CudnnDataType>(Attribute::kTensorDataType)),
        is_virtual(object.one<bool>(Attribute::kTensorIsVirtual)),
        by_value(object.one<bool>(Attribute::kTensorIsByValue)),
        alignment(object.one<int64_t>(Attribute::kTensorAlignment)),
        extents(object.all<int64_t>(Attribute::kTensorDimensions)),
        strides(object.all<int64_t>(Attribute::kTensorStrides)) {}
  bool channels_last() const { return strides[1] == 1 && (extents[1] > 1 || strides.back() != 1); }
  int64_t count() const {
    int64_t all = 1;
    for (const int64_t extent : extents) all *= extent;
    return all;
  }
  // No element lies on another, and none is left out.
  bool is_packed() const {
    std::vector<size_t> axes;
    for (size_t i = 0; i < extents.size(); ++i) {
      if (extents[i] > 1) axes.push_back(i);
    }
    std::sort(axes.begin(), axes.end(), [&](size_t a, size_t b) { return strides[a] < strides[b]; });
    int64_t next = 1;
    for (const size_t axis : axes) {
      if (strides[axis] != next) return false;
      next *= extents[axis];
    }
    return true;
  }
};

struct ConvolutionView {
  TensorView x, w, y;            // of the forward convolution
  bool backward = false;         // x is what is computed
  bool weight_gradient = false;  // w is
  std::vector<int64_t> dilations, strides, pre, post;
  int64_t groups() const { return x.extents[1] / w.extents[1]; }
};
struct Step {
  CudnnPointwise mode{};
  double low = 0, high = 0, slope = 0, elu = 1, softplus = 1, swish = 1;
  std::optional<TensorView> b;
  TensorView y;
};
struct AttentionView {
  TensorView q, k, v, o, scale;
};
// Products, functions, reductions and views, each of tensors that were there before (fake_cudnn_composition.cpp): what is
// composed of attention, or of its gradient.
struct ComposedStep {
  Kind kind{};
  CudnnPointwise mode{};
  CudnnReduction reduction{};
  int64_t axis = 0;
  TensorView x;
  std::optional<TensorView> b, t;
  TensorView y;
};
struct Composition {
  std::vector<ComposedStep> steps;
  CudnnDataType type() const { return steps.front().x.type; }
};
// A convolution and what follows it, attention, or a composition.
struct Program {
  std::optional<ConvolutionView> convolved;
  std::vector<Step> steps;
  std::optional<AttentionView> attention;
  std::optional<Composition> composition = {};
  std::vector<TensorView> memory;  // what a run gives addresses of

  const ConvolutionView& convolution() const { return *convolved; }
  const TensorView& result() const {
    if (attention) return attention->o;
    if (composition) return composition->steps.back().y;
    if (!steps.empty()) return steps.back().y;
    if (convolution().weight_gradient) return convolution().w;
    return convolution().backward ? convolution().x : convolution().y;
  }
};

// nullopt for any other graph, and for one whose shapes do not fit.
std::optional<Program> read_program(const Object& graph);
std::optional<Program> read_composition(const std::vector<const Object*>& operations);

// A run of a program: the addresses of its tensors in memory.
struct ProgramRun {
  Program program;
  bool wrong = false;  // of an engine that computes something else: NaN
  bool tf32 = false;   // f32 on tensor cores: rounded before it is multiplied
  std::map<int64_t, void*> at;
  std::map<int64_t, float> by_value = {};  // numbers, as they were when the run was given

  void compute() const;
};
void compute_composition(const ProgramRun& run);

// A number of memory in one of the library's types.
double load(const void* data, CudnnDataType type, int64_t at);
void store(void* data, CudnnDataType type, int64_t at, double value);

}  // namespace hone::cuda::fake_cudnn
