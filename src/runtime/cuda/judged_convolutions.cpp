#include "runtime/cuda/judged_convolutions.h"

#include <algorithm>

namespace hone::runtime {
namespace {

// Engines that are measured. Kernels that the library generates take it a second each.
constexpr std::size_t kMostEngines = 16, kMostGenerated = 4;

}  // namespace

std::shared_ptr<const JudgedConvolution> JudgedConvolutions::judge(const cuda::ConvolutionDesc& desc) {
  const std::lock_guard lock(mutex_);
  for (const auto& known : known_) {
    if (known->desc == desc) return known;
  }
  known_.push_front(std::make_shared<const JudgedConvolution>(ask(desc)));
  return known_.front();
}

// What the library guesses it mostly can do; that it can is known of the first at least, or there is none.
JudgedConvolution JudgedConvolutions::ask(const cuda::ConvolutionDesc& desc) const {
  JudgedConvolution judged{.desc = desc, .convolution = {}, .engines = {}, .why_not = {}};
  const auto convolution = cuda::Convolution::make(library_, desc);
  if (!convolution.ok()) {
    judged.why_not = convolution.error().message;
    return judged;
  }
  judged.convolution = *convolution;
  const auto engines = (*convolution)->engines(kMostEngines);
  if (!engines.ok()) {
    judged.why_not = engines.error().message;
    return judged;
  }
  judged.why_not = "cuDNN has no engine that computes it exactly";
  std::size_t generated = 0;
  for (const cuda::ConvolutionEngine& engine : *engines) {
    if (engine.compiled_when_made && ++generated > kMostGenerated) continue;
    if (judged.engines.empty()) {
      const auto plan = (*convolution)->plan(engine);
      if (!plan.ok()) {
        judged.why_not = plan.error().message;
        continue;
      }
    }
    judged.engines.push_back(engine);
  }
  if (!judged.engines.empty()) judged.why_not.clear();
  return judged;
}

}  // namespace hone::runtime
