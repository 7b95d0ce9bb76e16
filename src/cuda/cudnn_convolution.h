// Convolutions by cuDNN's graph API: what is computed as data, the library's engines for it, plans of them, and runs.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cuda/cudnn.h"

#include "core/dtype.h"
#include "core/shape.h"

namespace hone::cuda {

// What is done to each number before it is stored.
struct ConvolutionActivation {
  std::optional<CudnnPointwise> mode;  // nullopt: nothing
  // Of ReLU: what lies below `low` becomes low + slope · (x - low), what lies above `high` becomes high.
  double low = 0, high = 0, slope = 0;
  bool has_high = false;
  double alpha = 1;  // Elu's, Swish's and Softplus's number
  friend bool operator==(const ConvolutionActivation&, const ConvolutionActivation&) = default;
};

// y = activation(x * w + added + bias): the order in which the library's compiled engines have them. Shapes are N, C,
// spatial…, and of w K, C / groups, spatial…; one to three spatial axes. All lie row-major in that order or, with
// `channels_last`, as N, spatial…, C and K, spatial…, C / groups. Numbers of f16 and bf16 are multiplied exactly, summed in
// f32, and rounded once, behind the activation.
struct ConvolutionDesc {
  DType dtype = DType::kF32;  // of all operands: f32, f16, bf16
  bool tf32 = false;          // f32 rounded to 10 bits before it is multiplied: lossy
  // The transposed convolution, that by which y's gradient is x's: x has w's first extent as channels.
  bool transposed = false;
  bool channels_last = false;
  Shape x, w, y;
  Shape strides, dilations, pads_begin,
      pads_end;  // a number a spatial axis; of a transposed one those of what it transposes
  bool added = false, bias = false;  // one that lies as y does; a number for each of y's channels
  ConvolutionActivation activation = {};
  friend bool operator==(const ConvolutionDesc&, const ConvolutionDesc&) = default;
};

// Device addresses of one run, aligned to kConvolutionAlignment.
struct ConvolutionOperands {
  const void* x = nullptr;
  const void* w = nullptr;
  const void* added = nullptr;  // null where the convolution has none; `bias`, too
  const void* bias = nullptr;
  void* y = nullptr;
  void* workspace = nullptr;
  friend bool operator==(const ConvolutionOperands&, const ConvolutionOperands&) = default;
};
inline constexpr std::size_t kConvolutionAlignment = 16;

// One of the library's kernels, as it can be asked for again: the same numbers mean the same as long as the version and
// the GPU are the same.
struct ConvolutionEngine {
  struct Knob {
    CudnnKnob type{};
    int64_t value = 0;
    friend bool operator==(const Knob&, const Knob&) = default;
  };
  int64_t index = 0;
  std::vector<Knob> knobs;
  bool compiled_when_made = false;  // its kernel is generated, which takes a second
  std::string name() const;         // "engine 38 (2=1, 14=4)"
  friend bool operator==(const ConvolutionEngine& a, const ConvolutionEngine& b) {
    return a.index == b.index && a.knobs == b.knobs;
  }
};

// A kernel ready to run; of any number of threads.
struct ConvolutionPlan {
  std::vector<CudnnObject> config;  // what the plan refers to
  CudnnObject plan;
  std::size_t workspace_bytes = 0;
};

// May be used by several threads at once.
class Convolution {
 public:
  // An error where the library does not take such a graph at all.
  static Result<std::shared_ptr<const Convolution>> make(std::shared_ptr<const Cudnn> library,
                                                         const ConvolutionDesc& desc);

  const ConvolutionDesc& desc() const { return desc_; }
  const Cudnn& library() const { return *library_; }

  // The library's best guesses first, at most `most`: those that compute what the description says (no TF32, no reduced
  // sums, no transforms) and the same each time. None: it does not do this convolution.
  Result<std::vector<ConvolutionEngine>> engines(std::size_t most) const;
  // Made once for each engine. An error where the engine is none for this GPU.
  Result<std::shared_ptr<const ConvolutionPlan>> plan(const ConvolutionEngine& engine) const;

 private:
  Convolution() = default;
  Status build();
  Result<CudnnDescriptorHandle> add_tensor(int64_t uid, DType dtype, const Shape& shape, bool is_virtual);
  Status add_convolution(CudnnDescriptorHandle y);
  Status add_pointwise(const ConvolutionActivation& what, CudnnDescriptorHandle x, CudnnDescriptorHandle b,
                       CudnnDescriptorHandle y);
  Result<std::vector<ConvolutionEngine>> guesses(CudnnHeuristic mode) const;
  Result<std::vector<ConvolutionEngine>> all_engines() const;
  Result<std::optional<ConvolutionEngine>> read_config(const CudnnObject& config) const;
  Result<bool> is_exact(const CudnnObject& engine, ConvolutionEngine& into) const;
  Result<CudnnObject> engine_object(int64_t index) const;
  Result<std::vector<CudnnObject>> make_config(const ConvolutionEngine& engine) const;

  std::shared_ptr<const Cudnn> library_;
  ConvolutionDesc desc_;
  std::vector<CudnnObject> parts_;  // what the graph refers to
  std::vector<CudnnDescriptorHandle> operations_;
  CudnnDescriptorHandle x_ = nullptr, w_ = nullptr;
  CudnnObject graph_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const ConvolutionPlan>> plans_;  // by the engine's name
};

// Runs of one plan. Of one thread at a time.
class ConvolutionRuns {
 public:
  ConvolutionRuns(std::shared_ptr<const Convolution> convolution, std::shared_ptr<const ConvolutionPlan> plan)
      : convolution_(std::move(convolution)), plan_(std::move(plan)) {}
  Status run(const ConvolutionOperands& operands, StreamHandle stream);

 private:
  Status pack(const ConvolutionOperands& operands);

  std::shared_ptr<const Convolution> convolution_;
  std::shared_ptr<const ConvolutionPlan> plan_;
  ConvolutionOperands packed_;  // what `pack_` holds: plans give the same addresses each time
  CudnnObject pack_;
};

}  // namespace hone::cuda
