#include "lab/gate/numeric.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/core.h>

#include "graph/product_math.h"

namespace hone::lab {
namespace {

double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kC128:
      return std::ldexp(1.0, -53);
    case DType::kF32:
    case DType::kC64:
      return std::ldexp(1.0, -24);
    case DType::kF16:
      return std::ldexp(1.0, -11);
    case DType::kBF16:
      return std::ldexp(1.0, -8);
    case DType::kI8:
    case DType::kU8:
      return std::ldexp(1.0, -8);  // half a step of the 2^7 or so on either side of zero
    case DType::kI16:
    case DType::kU16:
      return std::ldexp(1.0, -16);
    case DType::kF8E4M3FN:
    case DType::kF8E4M3FNUZ:
      return std::ldexp(1.0, -4);
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
      return std::ldexp(1.0, -3);
    default:
      return 0;
  }
}

// What a comparison needs of the two tensors: element access as double, and whether two elements are the
// same.
class Elements {
 public:
  explicit Elements(const Tensor& tensor) : tensor_(tensor), complex_(is_complex(tensor.dtype())) {}

  // Complex tensors count as twice as many reals.
  int64_t count() const { return tensor_.size() * (complex_ ? 2 : 1); }
  double operator[](int64_t i) const {
    const auto at = static_cast<std::size_t>(i);
    switch (tensor_.dtype()) {
      case DType::kF32:
      case DType::kC64:
        return static_cast<const float*>(tensor_.data())[at];
      case DType::kF64:
      case DType::kC128:
        return static_cast<const double*>(tensor_.data())[at];
      default:
        return tensor_.at(i);
    }
  }

 private:
  const Tensor& tensor_;
  bool complex_;
};

bool is_real_or_complex(DType dtype) { return is_float(dtype) || is_complex(dtype); }

// Elements whose bytes differ, for tensors of one dtype. Integers beyond 2^53 need this: doubles can't hold
// them.
int64_t count_different_bytes(const Tensor& a, const Tensor& b) {
  if (a.dtype() == DType::kString) {
    int64_t different = 0;
    for (std::size_t i = 0; i < a.strings().size(); ++i) different += a.strings()[i] != b.strings()[i];
    return different;
  }
  const std::size_t size = dtype_size(a.dtype());
  const auto* left = static_cast<const std::byte*>(a.data());
  const auto* right = static_cast<const std::byte*>(b.data());
  int64_t different = 0;
  for (int64_t i = 0; i < a.size(); ++i) {
    const std::size_t at = static_cast<std::size_t>(i) * size;
    different += std::memcmp(left + at, right + at, size) != 0;
  }
  return different;
}

// Fills the error measures of floating-point tensors. `mismatched_infinities`: not finite and not the same
// infinity.
void measure_errors(const Elements& output, const Elements& reference, OutputReport& report,
                    int64_t& mismatched_not_finite) {
  const int64_t count = reference.count();
  double square_sum = 0, error_sum = 0;
  int64_t finite = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double out = output[i], ref = reference[i];
    if (!std::isfinite(out) || !std::isfinite(ref)) {
      report.not_finite++;
      mismatched_not_finite += !(out == ref);  // false for NaN: never the same
      continue;
    }
    ++finite;
    square_sum += ref * ref;
    error_sum += (out - ref) * (out - ref);
    report.max_abs_err = std::max(report.max_abs_err, std::abs(out - ref));
  }
  // A reference of zeros has no scale: any error is infinitely large against it.
  if (error_sum > 0)
    report.rel_l2 =
        square_sum > 0 ? std::sqrt(error_sum / square_sum) : std::numeric_limits<double>::infinity();
  const double rms = finite > 0 ? std::sqrt(square_sum / static_cast<double>(finite)) : 0;
  for (int64_t i = 0; i < count; ++i) {
    const double out = output[i], ref = reference[i];
    if (!std::isfinite(out) || !std::isfinite(ref) || out == ref) continue;
    const double relative = std::abs(out - ref) / std::max(std::abs(ref), rms);
    if (report.worst_element >= 0 && relative <= report.max_rel_err) continue;
    report.max_rel_err = relative;
    report.worst_element = i;
  }
}

void judge_floats(OutputReport& report, int64_t mismatched_not_finite) {
  const NumericLimits& limits = report.limits;
  const int64_t forbidden = limits.matching_infinities_pass ? mismatched_not_finite : report.not_finite;
  if (forbidden > 0) {
    // "0" of what happened to be finite would read as agreement.
    report.max_rel_err = report.rel_l2 = std::numeric_limits<double>::infinity();
    report.detail = fmt::format("{} of {} elements are NaN or infinite", forbidden, report.elements);
  } else if (limits.bitwise && report.different > 0) {
    report.detail =
        fmt::format("{} of {} elements differ, where all have to be bitwise equal (rel. L2 {:.1e})",
                    report.different, report.elements, report.rel_l2);
  } else if (!limits.bitwise && !(report.rel_l2 <= limits.rel_l2)) {
    report.detail = fmt::format("rel. L2 {:.1e} is above the limit {:.1e}", report.rel_l2, limits.rel_l2);
  } else if (!limits.bitwise && !(report.max_rel_err <= limits.max_rel)) {
    report.detail = fmt::format("relative error {:.1e} at element {} is above the limit {:.1e}",
                                report.max_rel_err, report.worst_element, limits.max_rel);
  } else {
    report.passed = true;
    report.detail = report.different == 0 ? "bitwise equal" : fmt::format("rel. L2 {:.1e}", report.rel_l2);
  }
}

}  // namespace

DType coarser(DType a, DType b) { return unit_roundoff(b) > unit_roundoff(a) ? b : a; }

namespace {

// Sees the types in which nodes give numbers.
struct Arithmetic {
  DType coarsest = DType::kF64;
  bool floats = false;

  void see(const graph::Graph& graph) {
    for (const graph::Node& node : graph.nodes()) {
      // Integers are counts and indices, unless they come from rounding numbers to them.
      const bool quantised =
          node.op == "QuantizeLinear" || node.op == "DynamicQuantizeLinear" || node.op.starts_with("QLinear");
      for (const graph::ValueId output : node.outputs) {
        if (output.valid()) see(graph.type(output).dtype, quantised);
      }
      if (graph::may_use_tf32(node)) see(DType::kF16, false);  // which has as many digits
      for (const auto& body : node.bodies) see(*body);
    }
  }
  void see(DType type, bool quantised) {
    if (!is_real_or_complex(type) && !quantised) return;
    coarsest = coarser(coarsest, type);
    floats = floats || is_real_or_complex(type);
  }
};

}  // namespace

DType coarsest_arithmetic(const graph::Graph& graph) {
  Arithmetic arithmetic;
  arithmetic.see(graph);
  return arithmetic.floats ? arithmetic.coarsest : DType::kF32;
}

NumericLimits limits_for(const NumericRules& rules, DType dtype, std::size_t index) {
  NumericLimits limits{0, 0, true, rules.matching_infinities_pass};
  if (rules.numerics == Numerics::kExact || !is_real_or_complex(dtype)) return limits;
  const double u = std::max(unit_roundoff(dtype), unit_roundoff(rules.computed_in));
  const bool narrow = u > std::ldexp(1.0, -24);
  limits.bitwise = false;
  limits.rel_l2 = (narrow ? 16 : 2048) * u;
  limits.max_rel = (narrow ? 4 : 16) * limits.rel_l2;
  if (narrow && index < rules.own.size()) {
    constexpr double kTimesOwn = 4, kStepL2 = 2, kStepMax = 8;  // the header says why
    const OwnError& own = rules.own[index];
    limits.rel_l2 = std::min(limits.rel_l2, std::max(kStepL2 * u, kTimesOwn * own.rel_l2));
    limits.max_rel = std::min(limits.max_rel, std::max(kStepMax * u, kTimesOwn * own.max_rel));
  }
  if (rules.numerics == Numerics::kLossy) {
    limits.rel_l2 = std::max(limits.rel_l2, rules.lossy_rel_l2);
    limits.max_rel = std::max(limits.max_rel, 16 * rules.lossy_rel_l2);
  }
  return limits;
}

std::vector<OwnError> own_errors(const NumericReport& unchanged) {
  std::vector<OwnError> own;
  for (const OutputReport& output : unchanged.outputs) own.push_back({output.rel_l2, output.max_rel_err});
  return own;
}

NumericLimits default_limits(Numerics numerics, DType dtype) {
  return limits_for({.numerics = numerics, .computed_in = DType::kUndefined, .own = {}}, dtype);
}

OutputReport compare_output(const ComparedOutput& compared, const NumericLimits& limits) {
  const Tensor& output = compared.output;
  const Tensor& reference = compared.reference;
  OutputReport report;
  report.name = compared.name;
  report.dtype = output.dtype();
  report.elements = output.size();
  report.limits = limits;
  if (!output.defined() || !reference.defined()) {
    report.detail =
        output.defined() ? "there is no reference to compare with" : "the output was not computed";
    return report;
  }
  if (output.shape() != reference.shape()) {
    report.detail = fmt::format("shape {} differs from the reference's {}", shape_text(output.shape()),
                                shape_text(reference.shape()));
    return report;
  }
  const bool floats = is_real_or_complex(output.dtype()) && is_real_or_complex(reference.dtype()) &&
                      is_complex(output.dtype()) == is_complex(reference.dtype());
  if (output.dtype() != reference.dtype() && !floats) {
    report.detail = fmt::format("dtype {} differs from the reference's {}", dtype_name(output.dtype()),
                                dtype_name(reference.dtype()));
    return report;
  }
  const bool same_dtype = output.dtype() == reference.dtype();
  if (same_dtype) report.different = count_different_bytes(output, reference);
  if (!floats) {
    report.passed = report.different == 0;
    report.detail = report.passed ? "bitwise equal"
                                  : fmt::format("{} of {} {} elements differ", report.different,
                                                report.elements, dtype_name(report.dtype));
    return report;
  }
  int64_t mismatched_not_finite = 0;
  const Elements out(output), ref(reference);
  measure_errors(out, ref, report, mismatched_not_finite);
  if (!same_dtype)
    for (int64_t i = 0; i < ref.count(); ++i) report.different += !(out[i] == ref[i]);
  judge_floats(report, mismatched_not_finite);
  return report;
}

NumericReport compare_outputs(std::span<const ComparedOutput> outputs, Numerics numerics,
                              bool matching_infinities_pass) {
  return compare_outputs(outputs, {.numerics = numerics,
                                   .computed_in = DType::kUndefined,
                                   .matching_infinities_pass = matching_infinities_pass,
                                   .own = {}});
}

NumericReport compare_outputs(std::span<const ComparedOutput> outputs, const NumericRules& rules) {
  NumericReport report;
  report.numerics = rules.numerics;
  report.passed = !outputs.empty();
  if (outputs.empty()) report.detail = "there are no outputs to compare";
  bool failed = false;
  for (const ComparedOutput& compared : outputs) {
    OutputReport output =
        compare_output(compared, limits_for(rules, compared.output.dtype(), report.outputs.size()));
    const bool tells_most = !output.passed || report.detail.empty() || output.rel_l2 > report.rel_l2;
    if (!failed && tells_most)
      report.detail =
          output.passed ? output.detail : fmt::format("output '{}': {}", output.name, output.detail);
    failed = failed || !output.passed;
    report.rel_l2 = std::max(report.rel_l2, output.rel_l2);
    report.max_rel_err = std::max(report.max_rel_err, output.max_rel_err);
    report.outputs.push_back(std::move(output));
  }
  report.passed = report.passed && !failed;
  return report;
}

}  // namespace hone::lab
