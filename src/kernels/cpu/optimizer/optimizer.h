// A scale of NaN leaves everything as it was (graph/ops/optimizer.cpp).
// Optimizers in f32: one pass over many tensors, read and written in place, split over the threads without
// regard to where one tensor ends and the next begins. Bound by memory: SGD with momentum moves 20 bytes an
// element, AdamW 28.
//
// Parameters may be bf16 instead, updated in f32 and rounded stochastically: four bytes less to read and to write.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/result.h"

namespace hone::kernels {

// Where a group of tensors lies: one pointer a tensor, in the order of the sizes given to create().
using TensorGroup = std::span<const void* const>;
using TensorGroupOut = std::span<void* const>;

// The elements of many tensors as one range.
class TensorList {
 public:
  explicit TensorList(std::span<const int64_t> sizes);
  std::size_t count() const { return ends_.size(); }
  int64_t elements() const { return ends_.empty() ? 0 : ends_.back(); }
  // Calls f(tensor, first, last) for each stretch of one tensor within [begin, end) of the whole range.
  template <typename F>
  void for_stretches(int64_t begin, int64_t end, const F& f) const;

 private:
  std::vector<int64_t> ends_;  // of each tensor in the whole range
};

// Of parameters of bf16: what decides how each is rounded, beside the number of updates made before.
struct StochasticRounding {
  uint64_t seed = 0;
  std::vector<int64_t> numbers;  // of the parameters
};

struct SgdDesc {
  std::vector<int64_t> sizes;  // elements of each tensor
  float momentum = 0;          // 0: no velocities
  float weight_decay = 0;
  bool nesterov = false;
  std::optional<StochasticRounding> rounding = {};
};

// g = scale·gradient + weight_decay·x;  v' = momentum·v + g;  x' = x - rate·v', with nesterov
// x - rate·(g + momentum·v'); without momentum x' = x - rate·g.
class Sgd {
 public:
  static Result<Sgd> create(SgdDesc desc);
  // Outputs may be their inputs. v and v_out are empty without momentum. `updates`, those made before, count where
  // parameters are rounded.
  void execute(float rate, float scale, int64_t updates, TensorGroup x, TensorGroup gradient, TensorGroup v,
               TensorGroupOut x_out, TensorGroupOut v_out) const noexcept;

 private:
  explicit Sgd(SgdDesc desc) : desc_(std::move(desc)), list_(desc_.sizes) {}
  SgdDesc desc_;
  TensorList list_;
};

struct AdamWDesc {
  std::vector<int64_t> sizes;
  float beta1 = 0.9f;
  float beta2 = 0.999f;
  float epsilon = 1e-8f;
  float weight_decay = 0.01f;
  std::optional<StochasticRounding> rounding = {};
};

// Adam with decoupled weight decay; graph/ops/optimizer.cpp states the formula.
class AdamW {
 public:
  static Result<AdamW> create(AdamWDesc desc);
  // `updates`: how many were made before this one, at least 0. Outputs may be their inputs.
  void execute(float rate, int64_t updates, float scale, TensorGroup x, TensorGroup gradient, TensorGroup m,
               TensorGroup v, TensorGroupOut x_out, TensorGroupOut m_out,
               TensorGroupOut v_out) const noexcept;

 private:
  explicit AdamW(AdamWDesc desc) : desc_(std::move(desc)), list_(desc_.sizes) {}
  AdamWDesc desc_;
  TensorList list_;
};

}  // namespace hone::kernels
