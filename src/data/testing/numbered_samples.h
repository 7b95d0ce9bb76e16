// For tests: a data set whose samples say which they are, with files that can be damaged.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "data/dataset.h"

namespace hone::data::testing {

// Sample i: "value" f32[3] of i, "label" i64 [] of i.
class NumberedSamples final : public Dataset {
 public:
  explicit NumberedSamples(int64_t size) : size_(size) {}
  std::set<int64_t> corrupt_ones, missing_ones;
  int64_t odd_one = -1;  // has another shape
  int slow_ms = 0;       // for odd samples, so that workers finish out of order

  std::span<const Field> fields() const override { return fields_; }
  int64_t size() const override { return size_; }
  std::string name_of(int64_t index) const override { return "sample" + std::to_string(index); }
  Result<Sample> read(int64_t index) const override {
    if (slow_ms > 0 && index % 2 == 1) std::this_thread::sleep_for(std::chrono::milliseconds(slow_ms));
    if (corrupt_ones.contains(index)) return corrupt(name_of(index) + ": it is damaged");
    if (missing_ones.contains(index)) return not_found(name_of(index) + ": it is not there");
    Tensor value(DType::kF32, {index == odd_one ? 4 : 3});
    for (float& x : value.as<float>()) x = static_cast<float>(index);
    return Sample{value, Tensor::scalar_i64(index)};
  }

 private:
  int64_t size_;
  std::vector<Field> fields_ = {{"value", DType::kF32, {3}}, {"label", DType::kI64, {}}};
};

}  // namespace hone::data::testing
