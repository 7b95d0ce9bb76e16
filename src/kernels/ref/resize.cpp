// Resize: nearest by an index map an axis (any element type), linear and cubic as one pass of weighted taps
// an axis, in double.
#include "core/resize.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "kernels/ref/interpolate.h"
#include "kernels/ref/parts.h"
#include "kernels/ref/wide.h"

namespace hone::kernels::ref {
namespace {

struct ResizeMode {
  ResizeCoordinates coordinates = ResizeCoordinates::kHalfPixel;
  std::string mode;
  std::string nearest;
  bool antialias = false;
  bool exclude_outside = false;
  double cubic_a = -0.75;
  double extrapolation = 0;
};

Result<ResizeMode> read_mode(const Attributes& attributes) {
  ResizeMode mode;
  HONE_ASSIGN(mode.coordinates, read_coordinates(attributes));
  mode.mode = attributes.text("mode", "nearest");
  if (mode.mode != "nearest" && mode.mode != "linear" && mode.mode != "cubic") {
    return unsupported(fmt::format("resize mode '{}' is not known", mode.mode));
  }
  mode.nearest = attributes.text("nearest_mode", "round_prefer_floor");
  if (mode.nearest != "round_prefer_floor" && mode.nearest != "round_prefer_ceil" &&
      mode.nearest != "floor" && mode.nearest != "ceil") {
    return unsupported(fmt::format("nearest_mode '{}' is not known", mode.nearest));
  }
  mode.antialias = attributes.integer("antialias", 0) != 0;
  mode.exclude_outside = attributes.integer("exclude_outside", 0) != 0;
  mode.cubic_a = attributes.real("cubic_coeff_a", -0.75F);
  mode.extrapolation = attributes.real("extrapolation_value", 0);
  return mode;
}

double round_nearest(double x, const std::string& mode) {
  if (mode == "floor") return std::floor(x);
  if (mode == "ceil") return std::ceil(x);
  if (mode == "round_prefer_ceil") return std::floor(x + 0.5);
  return std::ceil(x - 0.5);
}

bool extrapolated(const ResizeAxis& axis, const ResizeMode& mode, double x) {
  return mode.coordinates == ResizeCoordinates::kTfCropAndResize &&
         (x < 0 || x > static_cast<double>(axis.input) - 1);
}

// For each output position along the axis the input position, or -1 for one outside the region of interest.
std::vector<int64_t> nearest_map(const ResizeAxis& axis, const ResizeMode& mode) {
  std::vector<int64_t> map;
  for (int64_t i = 0; i < axis.output; ++i) {
    if (axis.identity()) {
      map.push_back(i);
      continue;
    }
    const double x = source_coordinate(axis, mode.coordinates, i);
    const double pixel = std::clamp(round_nearest(x, mode.nearest), 0.0, static_cast<double>(axis.input) - 1);
    map.push_back(extrapolated(axis, mode, x) ? -1 : static_cast<int64_t>(pixel));
  }
  return map;
}

Tensor resize_nearest(const Tensor& x, const std::vector<ResizeAxis>& plan, const ResizeMode& mode,
                      const Shape& output) {
  std::vector<int64_t> source{0};
  for (const ResizeAxis& axis : plan) {
    const std::vector<int64_t> map = nearest_map(axis, mode);
    std::vector<int64_t> next;
    next.reserve(source.size() * map.size());
    for (int64_t base : source) {
      for (int64_t at : map) next.push_back(base < 0 || at < 0 ? -1 : base * axis.input + at);
    }
    source = std::move(next);
  }
  Tensor fill;
  if (x.dtype() != DType::kString && !is_complex(x.dtype()))
    fill = rounded(x.dtype(), {}, {mode.extrapolation});
  return gather_elements(x, output, source, fill);
}

struct Tap {
  int64_t at = 0;
  double weight = 0;
};

// The input positions that make up output position `i`, edges repeated; no taps: extrapolated.
std::vector<Tap> taps_of(const ResizeAxis& axis, const ResizeMode& mode, int64_t i) {
  const double x = source_coordinate(axis, mode.coordinates, i);
  if (extrapolated(axis, mode, x)) return {};
  // Antialiasing stretches the filter when shrinking.
  const double stretch = mode.antialias ? std::min(axis.scale, 1.0) : 1.0;
  const double a = mode.cubic_a;
  const bool cubic = mode.mode == "cubic";
  const auto filter = [&](double d) {
    d = std::abs(d);
    if (!cubic) return std::max(0.0, 1 - d);
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0.0;
  };
  const double support = (cubic ? 2 : 1) / stretch;
  std::vector<Tap> taps;
  double sum = 0;
  for (double at = std::floor(x - support) + 1; at < x + support; ++at) {
    const bool outside = at < 0 || at > static_cast<double>(axis.input) - 1;
    const double weight = outside && mode.exclude_outside ? 0 : filter((at - x) * stretch);
    const double pixel = std::clamp(at, 0.0, static_cast<double>(axis.input) - 1);
    taps.push_back({static_cast<int64_t>(pixel), weight});
    sum += weight;
  }
  if (sum != 0) {
    for (Tap& tap : taps) tap.weight /= sum;
  }
  return taps;
}

// One pass along axis `index` of a tensor of `shape`, which is changed to what comes out.
Wide resize_axis(const Wide& in, Shape& shape, std::size_t index, const ResizeAxis& axis,
                 const ResizeMode& mode) {
  const int64_t outer = extent_product(shape, 0, index);
  const int64_t inner = extent_product(shape, index + 1, shape.size());
  Wide out(static_cast<std::size_t>(outer * axis.output * inner), 0);
  for (int64_t i = 0; i < axis.output; ++i) {
    const std::vector<Tap> taps = taps_of(axis, mode, i);
    for (int64_t o = 0; o < outer; ++o) {
      double* to = out.data() + (o * axis.output + i) * inner;
      if (taps.empty()) std::fill(to, to + inner, mode.extrapolation);
      for (const Tap& tap : taps) {
        const double* from = in.data() + (o * axis.input + tap.at) * inner;
        for (int64_t k = 0; k < inner; ++k) to[k] += tap.weight * from[k];
      }
    }
  }
  shape[index] = axis.output;
  return out;
}

Result<std::vector<Tensor>> resize(const RefCall& call) {
  const Tensor& x = call.inputs[0];
  HONE_ASSIGN(const ResizeMode mode, read_mode(call.attributes));
  std::optional<Wide> scales;
  std::optional<std::vector<int64_t>> sizes;
  // Old exporters give both, one of them empty.
  if (call.has(2) && call.inputs[2].size() > 0) scales = widen(call.inputs[2]);
  if (call.has(3) && call.inputs[3].size() > 0) sizes = call.inputs[3].to_ints();
  const bool crops = mode.coordinates == ResizeCoordinates::kTfCropAndResize;
  const Wide roi = crops && call.has(1) ? widen(call.inputs[1]) : Wide{};
  HONE_ASSIGN(const std::vector<ResizeAxis> plan,
              plan_resize(call.attributes, x.shape(), roi, scales, sizes));
  Shape output;
  for (const ResizeAxis& axis : plan) output.push_back(axis.output);
  HONE_CHECK(make_tensor(call, x.dtype(), output));
  if (mode.mode == "nearest") return one(resize_nearest(x, plan, mode, output));
  HONE_CHECK(expect_real(call, x.dtype()));
  Shape shape = x.shape();
  Wide values = widen(x);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (!plan[i].identity()) values = resize_axis(values, shape, i, plan[i], mode);
  }
  return one(rounded(x.dtype(), output, std::move(values)));
}

}  // namespace

void add_resize_kernels(RefTable& table) { table.add("Resize", resize); }

}  // namespace hone::kernels::ref
