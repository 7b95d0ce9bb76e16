// Cross entropy of scores with classes, and negative log likelihood, in f32. Of the scores nothing is written but, on
// request, the log-probabilities: a sample needs the logarithm of its sum of exponentials and one score.
#pragma once

#include <cstdint>
#include <optional>

#include "core/result.h"

namespace hone::kernels {

enum class LossReductionKind : uint8_t { kMean, kSum, kNone };

// Scores [outer, classes, inner], targets [outer, inner].
struct CrossEntropyDesc {
  int64_t outer = 1;
  int64_t classes = 1;
  int64_t inner = 1;
  bool normalised = false;  // scores are log-probabilities already: negative log likelihood
  std::optional<int64_t> ignored = {};
  LossReductionKind reduction = LossReductionKind::kMean;
};

struct CrossEntropyArguments {
  const float* scores = nullptr;
  const int64_t* targets = nullptr;
  const float* weights = nullptr;      // [classes]; null: 1
  float* loss = nullptr;               // [1], or of each sample
  float* log_probabilities = nullptr;  // like the scores; null: not wanted
  void* scratch = nullptr;             // of scratch_bytes()
};

class CrossEntropy {
 public:
  static Result<CrossEntropy> create(const CrossEntropyDesc& desc);
  std::size_t scratch_bytes() const;
  // The first target that is no class, if there is one; the losses are then not defined.
  std::optional<int64_t> execute(const CrossEntropyArguments& arguments) const noexcept;

 private:
  CrossEntropyDesc desc_;
};

}  // namespace hone::kernels
