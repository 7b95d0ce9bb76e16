// Synthetic digits: 0 to 9 drawn by a pen along strokes, each slanted, turned, stretched, shifted and of another width, on
// a noisy ground. Drawn, not written by people: it is easier than MNIST, and an accuracy on it says that training works,
// nothing about handwriting. The same seed and index give the same picture.
#pragma once

#include <cstdint>
#include <memory>

#include "core/result.h"
#include "data/dataset.h"

namespace hone::data {

struct DigitsOptions {
  int64_t samples = 6000;
  int64_t side = 28;    // pixels
  double noise = 0.12;  // standard deviation of a pixel, where ink is 1
  uint64_t seed = 1;
};

// Fields: "image" f32 [1, side, side], "label" i64 [].
Result<std::shared_ptr<const Dataset>> make_digits(const DigitsOptions& options = {});

}  // namespace hone::data
