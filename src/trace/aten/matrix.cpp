// Matrix products. FLOPs: 2·m·n·k, a multiplication and an addition for each term. A bias starts the sum and
// adds none.
#include <fmt/format.h>

#include "trace/aten/table.h"

namespace hone::trace::aten {
namespace {

using enum OperatorClass;

// What `out=` or the result is: of the type of the left factor unless the call names where to write.
DType result_type(const Args& args, std::size_t out, DType dtype) {
  const CallInput* tensor = args.tensor(out);
  return tensor != nullptr && tensor->dtype != DType::kUndefined ? tensor->dtype : dtype;
}

// C[…,m,n] = A[…,m,k] · B[…,k,n] + bias, with `batch` products.
std::optional<OperatorCost> product(const CallInput& a, const CallInput& b, double batch, double bias_bytes,
                                    DType out) {
  const std::size_t ra = a.dims.size(), rb = b.dims.size();
  if (ra < 2 || rb < 2 || a.dims[ra - 1] != b.dims[rb - 2]) return std::nullopt;
  const auto m = static_cast<double>(a.dims[ra - 2]), k = static_cast<double>(a.dims[ra - 1]),
             n = static_cast<double>(b.dims[rb - 1]);
  return OperatorCost{2 * batch * m * n * k, a.stored_bytes() + b.stored_bytes() + bias_bytes,
                      batch * m * n * static_cast<double>(dtype_size(out)), a.dtype,
                      fmt::format("{} · {}", dims_text(a.dims), dims_text(b.dims))};
}

// mm(a, b, out?)
std::optional<OperatorCost> mm(const Args& args, const Entry&) {
  const CallInput *a = args.tensor(0), *b = args.tensor(1);
  if (a == nullptr || b == nullptr || a->dims.size() != 2 || b->dims.size() != 2) return std::nullopt;
  return product(*a, *b, 1, 0, result_type(args, 2, a->dtype));
}

// _scaled_mm(a, b, scale_a, scale_b, bias, scale_result, out_dtype): 8-bit floats in, out_dtype out
std::optional<OperatorCost> scaled_mm(const Args& args, const Entry&) {
  const CallInput *a = args.tensor(0), *b = args.tensor(1);
  if (a == nullptr || b == nullptr) return std::nullopt;
  const DType out = scalar_type(static_cast<int64_t>(args.number(6).value_or(15)));
  return product(*a, *b, 1, args.stored_bytes(2) + args.stored_bytes(3) + args.stored_bytes(4), out);
}

// _int_mm(a, b): 8-bit integers in, 32-bit out
std::optional<OperatorCost> int_mm(const Args& args, const Entry&) {
  const CallInput *a = args.tensor(0), *b = args.tensor(1);
  if (a == nullptr || b == nullptr) return std::nullopt;
  return product(*a, *b, 1, 0, DType::kI32);
}

// addmm(bias, a, b, beta, alpha)
std::optional<OperatorCost> addmm(const Args& args, const Entry& entry) {
  const CallInput *a = args.tensor(1), *b = args.tensor(2);
  if (a == nullptr || b == nullptr) return std::nullopt;
  auto cost = product(*a, *b, 1, args.stored_bytes(0), a->dtype);
  if (cost) cost->flops += entry.flops * cost->written / static_cast<double>(dtype_size(a->dtype));
  return cost;
}

// bmm(a[b,m,k], b[b,k,n])
std::optional<OperatorCost> bmm(const Args& args, const Entry&) {
  const CallInput *a = args.tensor(0), *b = args.tensor(1);
  if (a == nullptr || b == nullptr || a->dims.size() != 3) return std::nullopt;
  return product(*a, *b, static_cast<double>(a->dims[0]), 0, result_type(args, 2, a->dtype));
}

// baddbmm(c, a[b,m,k], b[b,k,n])
std::optional<OperatorCost> baddbmm(const Args& args, const Entry&) {
  const CallInput *a = args.tensor(1), *b = args.tensor(2);
  if (a == nullptr || b == nullptr || a->dims.size() != 3) return std::nullopt;
  return product(*a, *b, static_cast<double>(a->dims[0]), args.stored_bytes(0), a->dtype);
}

// Products of groups, of which the ends are a tensor on the device: 2·m·n·k for all of them together, however
// the rows (or the terms) are shared among them.
//   a[m,k] · b[g,k,n] → [m,n]: rows of a for each factor       a[g,m,k] · b[k,n] → [m,n]: columns of b
//   a[m,k] · b[k,n] → [g,m,n]: terms for each result           a[g,m,k] · b[g,k,n] → [g,m,n]: all of one size
std::optional<OperatorCost> groups(const CallInput& a, const CallInput& b, const CallInput* ends,
                                   double more_bytes, DType out) {
  const std::size_t ra = a.dims.size(), rb = b.dims.size();
  if (ra < 2 || ra > 3 || rb < 2 || rb > 3 || a.dims[ra - 1] != b.dims[rb - 2]) return std::nullopt;
  if ((ra == 2 || rb == 2) && (ends == nullptr || ends->dims.size() != 1)) return std::nullopt;
  if (ra == 3 && rb == 3 && a.dims[0] != b.dims[0]) return std::nullopt;
  const double batch = ra == 3 && rb == 3 ? static_cast<double>(a.dims[0]) : 1;
  auto cost = product(a, b, batch, more_bytes, out);
  if (!cost) return std::nullopt;
  if (ra == 2 && rb == 2) cost->written *= static_cast<double>(ends->dims[0]);
  if (ends != nullptr) cost->read += ends->bytes();
  return cost;
}

// _grouped_mm(a, b, ends, bias, out_dtype)
std::optional<OperatorCost> grouped_mm(const Args& args, const Entry&) {
  const CallInput *a = args.tensor(0), *b = args.tensor(1);
  if (a == nullptr || b == nullptr) return std::nullopt;
  const auto asked = args.number(4);
  return groups(*a, *b, args.tensor(2), args.stored_bytes(3),
                asked ? scalar_type(static_cast<int64_t>(*asked)) : a->dtype);
}

// _scaled_grouped_mm(a, b, scale_a, scale_b, ends, bias, scale_result, out_dtype): as _scaled_mm
std::optional<OperatorCost> scaled_grouped_mm(const Args& args, const Entry&) {
  const CallInput *a = args.tensor(0), *b = args.tensor(1);
  if (a == nullptr || b == nullptr) return std::nullopt;
  const DType out = scalar_type(static_cast<int64_t>(args.number(7).value_or(15)));
  return groups(*a, *b, args.tensor(4), args.stored_bytes(2) + args.stored_bytes(3) + args.stored_bytes(5),
                out);
}

// A[m,k] · x[k]: 2·m·k
std::optional<OperatorCost> matrix_vector(const CallInput& a, const CallInput& x, double bias_bytes) {
  if (a.dims.size() != 2) return std::nullopt;
  const auto m = static_cast<double>(a.dims[0]), k = static_cast<double>(a.dims[1]);
  return OperatorCost{2 * m * k, a.stored_bytes() + x.stored_bytes() + bias_bytes,
                      m * static_cast<double>(dtype_size(a.dtype)), a.dtype,
                      fmt::format("{} · {}", dims_text(a.dims), dims_text(x.dims))};
}

std::optional<OperatorCost> mv(const Args& args, const Entry&) {
  const CallInput *a = args.tensor(0), *x = args.tensor(1);
  return a == nullptr || x == nullptr ? std::nullopt : matrix_vector(*a, *x, 0);
}

std::optional<OperatorCost> addmv(const Args& args, const Entry&) {
  const CallInput *a = args.tensor(1), *x = args.tensor(2);
  return a == nullptr || x == nullptr ? std::nullopt : matrix_vector(*a, *x, args.stored_bytes(0));
}

// dot(x[n], y[n]): 2·n
std::optional<OperatorCost> dot(const Args& args, const Entry&) {
  const CallInput *x = args.tensor(0), *y = args.tensor(1);
  if (x == nullptr || y == nullptr) return std::nullopt;
  return OperatorCost{2 * elements(x->dims), x->stored_bytes() + y->stored_bytes(),
                      static_cast<double>(dtype_size(x->dtype)), x->dtype, dims_text(x->dims)};
}

// linear(x[…,k], w[n,k], bias): 2·rows·n·k
std::optional<OperatorCost> linear(const Args& args, const Entry&) {
  const CallInput *x = args.tensor(0), *w = args.tensor(1);
  if (x == nullptr || w == nullptr || x->dims.empty() || w->dims.size() != 2 ||
      x->dims.back() != w->dims[1] || w->dims[1] == 0)
    return std::nullopt;
  const double rows = elements(x->dims) / static_cast<double>(w->dims[1]),
               n = static_cast<double>(w->dims[0]);
  return OperatorCost{2 * elements(x->dims) * n, x->stored_bytes() + w->stored_bytes() + args.stored_bytes(2),
                      rows * n * static_cast<double>(dtype_size(x->dtype)), x->dtype,
                      fmt::format("{} · {}ᵀ", dims_text(x->dims), dims_text(w->dims))};
}

constexpr Entry kMatrixTable[] = {
    {"mm", kMatrix, mm},
    {"_scaled_mm", kMatrix, scaled_mm},
    {"_int_mm", kMatrix, int_mm},
    {"addmm", kMatrix, addmm},
    {"_addmm_activation", kMatrix, addmm, 1},
    {"bmm", kMatrix, bmm},
    {"_grouped_mm", kMatrix, grouped_mm},
    {"_scaled_grouped_mm", kMatrix, scaled_grouped_mm},
    {"baddbmm", kMatrix, baddbmm},
    {"mv", kMatrix, mv},
    {"addmv", kMatrix, addmv},
    {"dot", kMatrix, dot},
    {"vdot", kMatrix, dot},
    {"mkldnn_linear", kMatrix, linear},
    {"_mkl_linear", kMatrix, linear},
    // call the ones above
    {"linear", kMatrix},
    {"matmul", kMatrix},
    {"einsum", kMatrix},
};

}  // namespace

std::span<const Entry> matrix_operators() { return kMatrixTable; }

}  // namespace hone::trace::aten
