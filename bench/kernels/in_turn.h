// What the benchmarks share that time several kernels of one layer in turn: their options, random data, the
// interleaved measurement. Which layers and kernels is each program's own matter.
#pragma once

#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/tensor.h"

namespace hone::bench {

struct Options {
  int threads = 1;
  double seconds = 0;  // a layer, shared by its variants
  std::string only;    // layers whose name has this in it
};

// [--threads N] [--seconds S] [--only SUBSTRING], over the given defaults.
inline Options parse_options(int count, char** arguments, Options options) {
  for (int i = 1; i + 1 < count; i += 2) {
    const std::string name = arguments[i];
    if (name == "--threads") options.threads = std::atoi(arguments[i + 1]);
    if (name == "--seconds") options.seconds = std::atof(arguments[i + 1]);
    if (name == "--only") options.only = arguments[i + 1];
  }
  return options;
}

inline Tensor random_tensor(const Shape& shape, unsigned seed) {
  Tensor tensor(DType::kF32, shape);
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 1);
  for (float& value : tensor.as<float>()) value = normal(random);
  return tensor;
}

// One thing to time.
struct Variant {
  std::string name;
  std::function<void()> run;
  std::function<std::vector<float>()> output = {};  // in plain order; empty if not compared
  std::vector<double> seconds = {};
};

// Round-robin over the variants until the time is spent, so that a noisy neighbour hits all alike.
inline void measure(std::vector<Variant>& variants, double seconds) {
  constexpr int kLeastRounds = 5, kMostRounds = 2000;
  for (Variant& variant : variants) variant.run();
  const int64_t end = now_ns() + static_cast<int64_t>(seconds * 1e9);
  for (int round = 0; round < kLeastRounds || (now_ns() < end && round < kMostRounds); ++round) {
    for (Variant& variant : variants) {
      const int64_t begin = now_ns();
      variant.run();
      variant.seconds.push_back(static_cast<double>(now_ns() - begin) * 1e-9);
    }
  }
}

}  // namespace hone::bench
