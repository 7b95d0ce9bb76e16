// Kernels from a function: what a lowering returns without writing a class for each operator.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/kernel.h"

namespace hone::runtime::cpu {

struct KernelTraits {
  std::string implementation;
  FastAlgorithm algorithm = {};
  std::size_t scratch_bytes = 0;
  std::size_t packed_bytes = 0;
  std::vector<std::size_t> unread = {};  // inputs that the kernel packed or knows
  std::optional<std::size_t> in_place = std::nullopt;
  std::vector<std::size_t> in_place_of = {};  // instead: an input for each output
};

template <typename F>
class FunctionKernel : public Kernel {
 public:
  FunctionKernel(KernelTraits traits, F function)
      : traits_(std::move(traits)), function_(std::move(function)) {}
  std::string implementation() const override { return traits_.implementation; }
  FastAlgorithm algorithm() const override { return traits_.algorithm; }
  std::size_t scratch_bytes() const override { return traits_.scratch_bytes; }
  std::size_t packed_bytes() const override { return traits_.packed_bytes; }
  bool reads(std::size_t input) const override {
    return std::find(traits_.unread.begin(), traits_.unread.end(), input) == traits_.unread.end();
  }
  std::optional<std::size_t> in_place_input() const override { return in_place_input_of(0); }
  std::optional<std::size_t> in_place_input_of(std::size_t output) const override {
    if (output < traits_.in_place_of.size()) return traits_.in_place_of[output];
    return output == 0 ? traits_.in_place : std::nullopt;
  }
  Status enqueue(const KernelArguments& arguments, Queue&) override { return function_(arguments); }

 private:
  KernelTraits traits_;
  F function_;
};

// `function`: Status(const KernelArguments&), must not allocate.
template <typename F>
std::unique_ptr<Kernel> make_kernel(KernelTraits traits, F function) {
  return std::make_unique<FunctionKernel<F>>(std::move(traits), std::move(function));
}

// An argument of a kernel as the f32 numbers that it holds.
inline const float* f32(const void* argument) { return static_cast<const float*>(argument); }
inline float* f32(void* argument) { return static_cast<float*>(argument); }

}  // namespace hone::runtime::cpu
