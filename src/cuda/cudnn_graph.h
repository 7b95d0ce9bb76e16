// A graph of operations for cuDNN: the library's engines for it, plans of them, and runs. What the operations are is their
// makers' to say (cudnn_convolution.h, cudnn_attention.h).
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

// One of the library's kernels, as it can be asked for again: the same numbers mean the same as long as the version and
// the GPU are the same.
struct CudnnEngine {
  struct Knob {
    CudnnKnob type{};
    int64_t value = 0;
    friend bool operator==(const Knob&, const Knob&) = default;
  };
  int64_t index = 0;
  std::vector<Knob> knobs;
  bool compiled_when_made = false;  // its kernel is generated, which takes a second
  std::string name() const;         // "engine 38 (2=1, 14=4)"
  friend bool operator==(const CudnnEngine& a, const CudnnEngine& b) {
    return a.index == b.index && a.knobs == b.knobs;
  }
};

// A kernel ready to run; of any number of threads.
struct CudnnPlan {
  std::vector<CudnnObject> config;  // what the plan refers to
  CudnnObject plan;
  std::size_t workspace_bytes = 0;
};

// What addresses of tensors are aligned to.
inline constexpr std::size_t kCudnnAlignment = 16;

CudnnDataType cudnn_type(DType dtype);  // of f32, f16, bf16, i32, bool

// Finished graphs may be used by several threads at once.
class CudnnGraph {
 public:
  const Cudnn& library() const { return *library_; }

  // The library's best guesses first, at most `most`: those that compute what the operations say (no TF32, no reduced
  // sums, no transforms) and the same each time. None: it does not do this graph.
  Result<std::vector<CudnnEngine>> engines(std::size_t most) const;
  // Made once for each engine. An error where the engine is none for this GPU.
  Result<std::shared_ptr<const CudnnPlan>> plan(const CudnnEngine& engine) const;

 protected:
  // `rounds`: engines may multiply on tensor cores, which is exact for halves and rounds f32.
  CudnnGraph(std::shared_ptr<const Cudnn> library, bool rounds)
      : library_(std::move(library)), tensor_cores_(rounds) {}

  // --- for makers ---
  enum class Kept : uint8_t { kMemory, kVirtual, kByValue };  // a number by value is read when a run is given
  Result<CudnnDescriptorHandle> add_tensor(int64_t uid, DType dtype, const Shape& extents,
                                           const std::vector<int64_t>& strides, Kept kept = Kept::kMemory);
  Result<CudnnObject> new_object(CudnnDescriptor kind) const { return CudnnObject::make(*library_, kind); }
  static Status give(const CudnnObject& to, CudnnAttribute attribute, CudnnDescriptorHandle object) {
    return to.set(attribute, CudnnAttributeType::kDescriptor, 1, &object);
  }
  void keep(CudnnObject object) { parts_.push_back(std::move(object)); }
  Status add_operation(CudnnObject operation);  // finalises it
  Status finish();                              // when all operations are there

 private:
  Result<std::vector<CudnnEngine>> guesses(CudnnHeuristic mode) const;
  Result<std::vector<CudnnEngine>> all_engines() const;
  Result<std::optional<CudnnEngine>> read_config(const CudnnObject& config) const;
  Result<bool> is_exact(const CudnnObject& engine, CudnnEngine& into) const;
  Result<CudnnObject> engine_object(int64_t index) const;
  Result<std::vector<CudnnObject>> make_config(const CudnnEngine& engine) const;

  std::shared_ptr<const Cudnn> library_;
  bool tensor_cores_;
  std::vector<CudnnObject> parts_;  // what the graph refers to
  std::vector<CudnnDescriptorHandle> operations_;
  CudnnObject graph_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::shared_ptr<const CudnnPlan>> plans_;  // by the engine's name
};

// Where a tensor of a graph lies in a run; the number of one by value lies on the host.
struct CudnnOperand {
  int64_t uid = 0;
  const void* address = nullptr;
  friend bool operator==(const CudnnOperand&, const CudnnOperand&) = default;
};

// Runs of one plan. Of one thread at a time.
class CudnnRuns {
 public:
  CudnnRuns(std::shared_ptr<const CudnnGraph> graph, std::shared_ptr<const CudnnPlan> plan)
      : graph_(std::move(graph)), plan_(std::move(plan)) {}
  Status run(std::span<const CudnnOperand> operands, void* workspace, StreamHandle stream);

 private:
  Status pack(std::span<const CudnnOperand> operands, void* workspace);

  std::shared_ptr<const CudnnGraph> graph_;
  std::shared_ptr<const CudnnPlan> plan_;
  std::vector<CudnnOperand> packed_;  // what `pack_` holds: plans give the same addresses each time
  void* workspace_ = nullptr;
  CudnnObject pack_;
};

}  // namespace hone::cuda
