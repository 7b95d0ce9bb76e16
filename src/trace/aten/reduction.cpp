// Reductions over axes, softmax, losses, pooling. `flops` is an input element's.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "trace/aten/table.h"

namespace hone::trace::aten {
namespace {

using enum OperatorClass;

// Elements that remain when the axes named by argument `at` are reduced; all axes where it names none.
double kept_elements(const Args& args, const CallInput& x, std::size_t at) {
  const auto axes = args.integers(at);
  if (!axes || axes->empty()) return 1;
  double kept = elements(x.dims);
  const auto rank = static_cast<int64_t>(x.dims.size());
  for (int64_t axis : *axes) {
    if (axis < 0) axis += rank;
    if (axis >= 0 && axis < rank && x.dims[static_cast<std::size_t>(axis)] > 0)
      kept /= static_cast<double>(x.dims[static_cast<std::size_t>(axis)]);
  }
  return kept;
}

std::optional<OperatorCost> reduce(const Args& args, double flops, std::size_t axes_at, double bytes_each) {
  const CallInput* x = args.tensor(0);
  if (x == nullptr) return std::nullopt;
  const double kept = kept_elements(args, *x, axes_at);
  return OperatorCost{flops * elements(x->dims), x->stored_bytes(), kept * bytes_each, x->dtype,
                      fmt::format("{} → {:.0f}", tensor_text(*x), kept)};
}

// sum(x, axes, keepdim, dtype)
std::optional<OperatorCost> sum(const Args& args, const Entry& entry) {
  const CallInput* x = args.tensor(0);
  if (x == nullptr) return std::nullopt;
  DType out = x->dtype;
  if (const auto asked = args.number(3)) out = scalar_type(static_cast<int64_t>(*asked));
  if (!is_float(out) && !is_complex(out)) out = DType::kI64;
  return reduce(args, entry.flops, 1, static_cast<double>(dtype_size(out)));
}

// amax(x, axes, keepdim), var(x, axes, …)
std::optional<OperatorCost> extreme(const Args& args, const Entry& entry) {
  const CallInput* x = args.tensor(0);
  return x == nullptr ? std::nullopt
                      : reduce(args, entry.flops, 1, static_cast<double>(dtype_size(x->dtype)));
}

// max(x, axis): the values and where they stand
std::optional<OperatorCost> extreme_with_index(const Args& args, const Entry& entry) {
  const CallInput* x = args.tensor(0);
  return x == nullptr ? std::nullopt
                      : reduce(args, entry.flops, 1, static_cast<double>(dtype_size(x->dtype)) + 8);
}

std::optional<OperatorCost> index_of(const Args& args, const Entry& entry) {
  return reduce(args, entry.flops, 1, 8);
}
std::optional<OperatorCost> test(const Args& args, const Entry& entry) {
  return reduce(args, entry.flops, 1, 1);
}

// linalg_vector_norm(x, order, axes, keepdim, dtype)
std::optional<OperatorCost> norm(const Args& args, const Entry& entry) {
  const CallInput* x = args.tensor(0);
  return x == nullptr ? std::nullopt
                      : reduce(args, entry.flops, 2, static_cast<double>(dtype_size(x->dtype)));
}

// var_mean(x, axes, …): two results
std::optional<OperatorCost> two_results(const Args& args, const Entry& entry) {
  const CallInput* x = args.tensor(0);
  return x == nullptr ? std::nullopt
                      : reduce(args, entry.flops, 1, 2 * static_cast<double>(dtype_size(x->dtype)));
}

// cumsum(x, axis): as many results as elements
std::optional<OperatorCost> scan(const Args& args, const Entry& entry) {
  const CallInput* x = args.tensor(0);
  if (x == nullptr) return std::nullopt;
  return OperatorCost{entry.flops * elements(x->dims), x->stored_bytes(), x->bytes(), x->dtype,
                      tensor_text(*x)};
}

// _softmax(x, axis, half_to_float): maximum, subtract, exp, add, divide
std::optional<OperatorCost> softmax(const Args& args, const Entry& entry) {
  const CallInput* x = args.tensor(0);
  if (x == nullptr) return std::nullopt;
  const DType out = args.flag(2).value_or(false) ? DType::kF32 : x->dtype;
  return OperatorCost{entry.flops * elements(x->dims),
                      x->stored_bytes(),
                      tensor_bytes(x->dims, out),
                      x->dtype,
                      tensor_text(*x),
                      kOther,
                      {elements(x->dims), out}};
}

// _softmax_backward_data(gradient, y, axis, dtype of x): y·(g − Σ g·y); log: g − exp(y)·Σ g
std::optional<OperatorCost> softmax_backward(const Args& args, const Entry& entry) {
  const CallInput *gradient = args.tensor(0), *y = args.tensor(1);
  if (gradient == nullptr || y == nullptr) return std::nullopt;
  const auto code = args.number(3);
  const DType out = code ? scalar_type(static_cast<int64_t>(*code)) : y->dtype;
  return OperatorCost{entry.flops * elements(y->dims), gradient->stored_bytes() + y->stored_bytes(),
                      tensor_bytes(y->dims, out),      y->dtype,
                      "gradient, " + tensor_text(*y),  kOther,
                      {elements(y->dims), out}};
}

// nll_loss_forward(x[N,C,…], target[N,…], weight, reduction): reads the target and one element for each
std::optional<OperatorCost> nll_loss(const Args& args, const Entry&) {
  const CallInput *x = args.tensor(0), *target = args.tensor(1);
  if (x == nullptr || target == nullptr) return std::nullopt;
  const double picked = elements(target->dims), size = static_cast<double>(dtype_size(x->dtype));
  const double results = args.number(3).value_or(1) == 0 ? picked : 2;
  return OperatorCost{picked, picked * size + target->bytes() + args.bytes(2), results * size, x->dtype,
                      tensor_text(*x)};
}

// nll_loss_backward(gradient, x, target, weight, …): one element for each target; the zeros that the others
// are come from an operator that it calls, and are counted there
std::optional<OperatorCost> nll_loss_backward(const Args& args, const Entry&) {
  const CallInput *x = args.tensor(1), *target = args.tensor(2);
  if (x == nullptr || target == nullptr) return std::nullopt;
  const double written = tensor_bytes(target->dims, x->dtype);
  return OperatorCost{elements(target->dims), args.bytes(0) + target->bytes() + args.bytes(3), written,
                      x->dtype, "gradient, " + tensor_text(*x)};
}

// mse_loss(x, y, reduction): reads both; one result, or one an element
std::optional<OperatorCost> distance(const Args& args, const Entry& entry) {
  const CallInput *x = args.tensor(0), *y = args.tensor(1);
  if (x == nullptr || y == nullptr) return std::nullopt;
  const double results = args.number(2).value_or(1) == 0 ? elements(x->dims) : 1;
  return OperatorCost{entry.flops * elements(x->dims), x->stored_bytes() + y->stored_bytes(),
                      results * static_cast<double>(dtype_size(x->dtype)), x->dtype, tensor_text(*x)};
}

// _cdist_forward(x[…,m,k], y[…,n,k], p, mode): the distance of each row of x from each of y. A term takes the
// difference, its power and the sum; the root of a sum is one more, and the powers of other norms than 0, 1,
// 2 and infinity have an absolute value before them.
std::optional<OperatorCost> distances(const Args& args, const Entry& entry) {
  const CallInput *x = args.tensor(0), *y = args.tensor(1);
  const auto p = args.number(2);
  if (x == nullptr || y == nullptr || !p || x->dims.size() < 2 || y->dims.size() < 2 ||
      x->dims.back() != y->dims.back())
    return std::nullopt;
  const std::span<const int64_t> all_x(x->dims), all_y(y->dims);
  const auto batch = broadcast_shapes(all_x.first(all_x.size() - 2), all_y.first(all_y.size() - 2));
  if (!batch.ok()) return std::nullopt;
  Shape out = *batch;
  out.push_back(x->dims[x->dims.size() - 2]);
  out.push_back(y->dims[y->dims.size() - 2]);
  const bool plain = *p == 0 || *p == 1 || std::isinf(*p), root = !plain, absolute = root && *p != 2;
  const double terms = elements(out) * static_cast<double>(x->dims.back());
  return OperatorCost{(entry.flops + (absolute ? 1 : 0)) * terms + (root ? elements(out) : 0),
                      x->stored_bytes() + y->stored_bytes(), tensor_bytes(out, x->dtype), x->dtype,
                      fmt::format("{} to {}", dims_text(x->dims), dims_text(y->dims))};
}

// Pools windows of `kernel` elements, argument 1; strides as the kernel where none are given.
std::optional<OperatorCost> pool(const Args& args, const Entry& entry) {
  const CallInput* x = args.tensor(0);
  const auto kernel = args.integers(1);
  if (x == nullptr || !kernel || kernel->empty() || x->dims.size() <= kernel->size()) return std::nullopt;
  const auto at = [](const std::optional<std::vector<int64_t>>& values, std::size_t i, int64_t otherwise) {
    return !values || values->empty() ? otherwise : (*values)[std::min(i, values->size() - 1)];
  };
  const auto stride = args.integers(2), padding = args.integers(3);
  const std::size_t spatial = kernel->size() == 1 ? x->dims.size() - 2 : kernel->size();
  double out = elements(x->dims), window = 1;
  for (std::size_t i = 0; i < spatial; ++i) {
    const int64_t extent = x->dims[x->dims.size() - spatial + i], k = at(kernel, i, 1);
    const int64_t step = at(stride, i, k);
    if (step <= 0 || extent <= 0) return std::nullopt;
    out *= static_cast<double>((extent + 2 * at(padding, i, 0) - k) / step + 1) / static_cast<double>(extent);
    window *= static_cast<double>(k);
  }
  const double index = entry.operands;  // bytes of the index that is kept with each result
  return OperatorCost{window * out, x->stored_bytes(),
                      out * (static_cast<double>(dtype_size(x->dtype)) + index), x->dtype, tensor_text(*x)};
}

// adaptive pooling (x, output size): each input element counts once
std::optional<OperatorCost> adaptive_pool(const Args& args, const Entry&) {
  const CallInput* x = args.tensor(0);
  const auto size = args.integers(1);
  if (x == nullptr || !size || x->dims.size() <= size->size()) return std::nullopt;
  double out = elements(*size);
  for (std::size_t i = 0; i + size->size() < x->dims.size(); ++i) out *= static_cast<double>(x->dims[i]);
  return OperatorCost{elements(x->dims), x->stored_bytes(), out * static_cast<double>(dtype_size(x->dtype)),
                      x->dtype, tensor_text(*x)};
}

// (gradient, x, …, indices): reads the gradient and the indices, writes the gradient of x
std::optional<OperatorCost> pool_backward(const Args& args, const Entry&) {
  const CallInput *gradient = args.tensor(0), *x = args.tensor(1);
  if (gradient == nullptr || x == nullptr) return std::nullopt;
  double indices = 0;
  for (std::size_t i = 2; i < args.count(); ++i)
    indices += args.tensor(i) != nullptr ? args.stored_bytes(i) : 0;
  return OperatorCost{elements(gradient->dims), gradient->stored_bytes() + indices, x->bytes(), x->dtype,
                      "gradient, " + tensor_text(*x)};
}

constexpr Entry kReductionTable[] = {
    {"sum", kReduction, sum, 1},
    {"nansum", kReduction, sum, 1},
    {"mean", kReduction, sum, 1},
    {"prod", kReduction, sum, 1},
    {"amax", kReduction, extreme, 1},
    {"amin", kReduction, extreme, 1},
    {"aminmax", kReduction, two_results, 2},
    {"max", kReduction, extreme_with_index, 1},
    {"min", kReduction, extreme_with_index, 1},
    {"argmax", kReduction, index_of, 1},
    {"argmin", kReduction, index_of, 1},
    {"any", kReduction, test, 1},
    {"all", kReduction, test, 1},
    {"linalg_vector_norm", kReduction, norm, 2},
    {"norm", kReduction, norm, 2},
    {"var", kReduction, extreme, 3},
    {"std", kReduction, extreme, 3},
    {"var_mean", kReduction, two_results, 3},
    {"std_mean", kReduction, two_results, 3},
    {"logsumexp", kReduction, extreme, 4},
    {"count_nonzero", kReduction, index_of, 1},
    {"cumsum", kReduction, scan, 1},
    {"cumprod", kReduction, scan, 1},
    {"_softmax", kReduction, softmax, 5},
    {"_safe_softmax", kReduction, softmax, 5},
    {"_log_softmax", kReduction, softmax, 5},
    {"_softmax_backward_data", kReduction, softmax_backward, 4},
    {"_log_softmax_backward_data", kReduction, softmax_backward, 4},
    {"nll_loss_forward", kReduction, nll_loss},
    {"nll_loss2d_forward", kReduction, nll_loss},
    {"nll_loss_backward", kReduction, nll_loss_backward},
    {"nll_loss2d_backward", kReduction, nll_loss_backward},
    {"mse_loss", kReduction, distance, 3},
    {"smooth_l1_loss", kReduction, distance, 5},
    {"huber_loss", kReduction, distance, 5},
    {"binary_cross_entropy", kReduction, distance, 6},
    {"_cdist_forward", kReduction, distances, 3},
    {"max_pool2d_with_indices", kPooling, pool, 0, 8},
    {"max_pool3d_with_indices", kPooling, pool, 0, 8},
    {"avg_pool2d", kPooling, pool},
    {"avg_pool3d", kPooling, pool},
    {"_adaptive_avg_pool2d", kPooling, adaptive_pool},
    {"_adaptive_avg_pool3d", kPooling, adaptive_pool},
    {"max_pool2d_with_indices_backward", kPooling, pool_backward},
    {"max_pool3d_with_indices_backward", kPooling, pool_backward},
    {"avg_pool2d_backward", kPooling, pool_backward},
    {"_adaptive_avg_pool2d_backward", kPooling, pool_backward},
    // call the ones above
    {"cdist", kReduction},
    {"softmax", kReduction},
    {"log_softmax", kReduction},
    {"cross_entropy_loss", kReduction},
    {"nll_loss", kReduction},
    {"nll_loss_nd", kReduction},
    {"nll_loss2d", kReduction},
    {"binary_cross_entropy_with_logits", kReduction},
    {"max_pool2d", kPooling},
    {"adaptive_avg_pool2d", kPooling},
};

}  // namespace

std::span<const Entry> reduction_operators() { return kReductionTable; }

}  // namespace hone::trace::aten
