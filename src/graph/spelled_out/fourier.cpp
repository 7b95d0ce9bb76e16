// Fourier transforms as products with a matrix that is known: O(n²) a transform, which for short ones costs less than its trips
// through memory.
#include <cmath>
#include <numbers>

#include <fmt/core.h>

#include "graph/spelled_out/forms.h"

namespace hone::graph {
namespace {

using namespace spelling;

constexpr int64_t kMostOfAMatrix = int64_t{1} << 22;  // 16 MB in f32: of 1,024 complex terms

// From `read` numbers of `parts` parts to `kept` terms of `out_parts`.
struct SpelledTransform {
  int64_t length = 0;  // of the transform
  int64_t read = 0, parts = 1;
  int64_t kept = 0, out_parts = 2;
  bool inverse = false;
  bool half = false;  // the input is the first half of a spectrum, whose second is its conjugate
};

Status check_transform(const SpelledTransform& t) {
  if (t.length < 1 || t.read < 1) return invalid(fmt::format("a transform of length {}", t.length));
  if (t.read > kMostOfAMatrix || t.kept > kMostOfAMatrix ||
      t.read * t.parts > kMostOfAMatrix / (t.kept * t.out_parts))
    return unsupported(fmt::format("a transform of {} terms is no product with a matrix", t.length));
  return {};
}

// [read · parts, kept · out_parts], row-major.
std::vector<double> matrix_of(const SpelledTransform& t) {
  std::vector<double> cosines, sines;
  for (int64_t i = 0; i < t.length; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(t.length);
    cosines.push_back(std::cos(angle));
    sines.push_back(t.inverse ? std::sin(angle) : -std::sin(angle));
  }
  const double scale = t.inverse ? 1 / static_cast<double>(t.length) : 1;
  const int64_t width = t.kept * t.out_parts;
  std::vector<double> matrix(static_cast<std::size_t>(t.read * t.parts * width), 0);
  // Term `from` of the input stands at `at` of the transform; `sign` is that of its imaginary part, 0 for none.
  const auto add = [&](int64_t from, int64_t at, double sign) {
    for (int64_t k = 0; k < t.kept; ++k) {
      const auto turn = static_cast<std::size_t>(at * k % t.length);
      const double parts[2][2] = {{cosines[turn], sines[turn]}, {-sign * sines[turn], sign * cosines[turn]}};
      for (int64_t p = 0; p < t.parts; ++p)
        for (int64_t q = 0; q < t.out_parts; ++q)
          matrix[static_cast<std::size_t>((from * t.parts + p) * width + k * t.out_parts + q)] +=
              scale * parts[p][q];
    }
  };
  for (int64_t i = 0; i < t.read; ++i) {
    const bool middle = i == 0 || 2 * i == t.length;  // of half a spectrum: real
    add(i, i, t.half && middle ? 0 : 1);
    if (t.half && !middle && t.length - i > t.length / 2) add(i, t.length - i, -1);
  }
  return matrix;
}

}  // namespace

SpelledResult dft_spelled_out(NodeEmitter& e, const Node& node, SpelledInputs in) {
  const Shape x = e.type(in[0]).shape();
  const auto rank = static_cast<int64_t>(x.size());
  if (rank < 2 || x.back() < 1 || x.back() > 2)
    return invalid("the last axis is not one of real or complex parts");
  int64_t axis = -2;
  if (given(in, 2)) {
    HONE_ASSIGN(axis, known_int(e, in, 2, "the axis"));
  }
  HONE_ASSIGN(axis, normalize_axis(axis, rank));
  if (axis == rank - 1) return invalid("the last axis holds real and imaginary parts");
  const int64_t extent = x[static_cast<std::size_t>(axis)];
  const bool onesided = node.attributes.integer("onesided", 0) != 0;
  SpelledTransform t{.parts = x.back(), .inverse = node.attributes.integer("inverse", 0) != 0};
  t.half = t.inverse && onesided;
  t.length = t.half ? 2 * (extent - 1) : extent;
  if (given(in, 1)) {
    HONE_ASSIGN(t.length, known_int(e, in, 1, "dft_length"));
  }
  t.read = std::min(extent, t.half ? t.length / 2 + 1 : t.length);
  t.kept = onesided && !t.inverse ? t.length / 2 + 1 : t.length;
  t.out_parts = t.half ? 1 : 2;
  HONE_CHECK(check_transform(t));
  // The axis goes before the parts, and back.
  Ints perm, back;
  for (int64_t i = 0; i < rank - 1; ++i)
    if (i != axis) perm.push_back(i);
  perm.push_back(axis);
  perm.push_back(rank - 1);
  for (int64_t i = 0; i < rank; ++i)
    back.push_back(i < axis ? i : i == axis ? rank - 2 : i == rank - 1 ? i : i - 1);
  const DType dtype = e.type(in[0]).dtype;
  const ValueId lines = transposed(e, widened(e, sliced(e, in[0], axis, 0, t.read)), perm);
  const ValueId rows = reshaped(e, lines, {element_count(x) / (extent * t.parts), t.read * t.parts});
  const ValueId matrix = numbers(e, dtype, {t.read * t.parts, t.kept * t.out_parts}, matrix_of(t));
  Shape result;
  for (const int64_t i : perm) result.push_back(x[static_cast<std::size_t>(i)]);
  result[static_cast<std::size_t>(rank - 2)] = t.kept;
  result.back() = t.out_parts;
  const ValueId terms = reshaped(e, e.add("MatMul", {rows, matrix}), result);
  return std::vector<ValueId>{e.cast(transposed(e, terms, back), dtype)};
}

// Frames are gathered out of the signal; the window is multiplied into the matrix.
SpelledResult stft_spelled_out(NodeEmitter& e, const Node& node, SpelledInputs in) {
  const Shape x = e.type(in[0]).shape();
  if (x.size() != 2 && x.size() != 3) return invalid(fmt::format("a signal of shape {}", shape_text(x)));
  HONE_ASSIGN(const int64_t step, known_int(e, in, 1, "frame_step"));
  const int64_t samples = x[1];
  SpelledTransform t{.length = samples, .parts = x.size() == 3 ? x[2] : 1};
  if (given(in, 2)) t.length = element_count(e.type(in[2]).shape());
  if (given(in, 3)) {
    HONE_ASSIGN(t.length, known_int(e, in, 3, "frame_length"));
  }
  if (step < 1 || t.length < 1 || t.length > samples || t.parts < 1 || t.parts > 2 ||
      (given(in, 2) && e.type(in[2]).shape() != Shape{t.length}))
    return invalid("frames that do not fit the signal");
  t.read = t.length;
  t.kept = node.attributes.integer("onesided", 1) != 0 ? t.length / 2 + 1 : t.length;
  HONE_CHECK(check_transform(t));
  const int64_t frames = 1 + (samples - t.length) / step;
  if (frames > kMostOfAMatrix / t.length) return unsupported(fmt::format("{} frames", frames));
  Ints table;
  for (int64_t frame = 0; frame < frames; ++frame)
    for (int64_t i = 0; i < t.length; ++i) table.push_back(frame * step + i);
  const DType dtype = e.type(in[0]).dtype;
  const Shape shape{t.length * t.parts, t.kept * 2};
  ValueId matrix = numbers(e, dtype, {t.length, t.parts * t.kept * 2}, matrix_of(t));
  if (given(in, 2)) matrix = e.times(matrix, reshaped(e, widened(e, in[2]), {t.length, 1}));
  const ValueId framed =
      e.add("Gather", {in[0], e.tensor(Tensor::i64({frames, t.length}, table))}, {{"axis", int64_t{1}}});
  const ValueId rows = reshaped(e, widened(e, framed), {x[0] * frames, t.length * t.parts});
  const ValueId terms = e.add("MatMul", {rows, reshaped(e, matrix, shape)});
  return std::vector<ValueId>{e.cast(reshaped(e, terms, {x[0], frames, t.kept, 2}), dtype)};
}

}  // namespace hone::graph
