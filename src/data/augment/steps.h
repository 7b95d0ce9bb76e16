// Numbers of augmentation's steps in a sample's random stream. A number once given stays: changing one changes what
// every seed gives.
#pragma once

#include <cstdint>

namespace hone::data {

enum AugmentStep : uint64_t {
  kCropStep,
  kFlipStep,
  kTurnStep,
  kRotateStep,
  kScaleStep,
  kElasticStep,
  kBrightnessStep,
  kContrastStep,
  kGammaStep,
  kNoiseStep,
};

}  // namespace hone::data
