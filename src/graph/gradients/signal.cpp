// Gradients of Fourier transforms: transforms again. Gradients of complex numbers are pairs as the numbers are: what the
// real part and what the imaginary part takes.
#include <limits>

#include <fmt/core.h>

#include "graph/gradients/context.h"

namespace hone::graph {
namespace {

// The axis, the extent that it had, and the length of the transform; an extent or length of -1 is not known.
struct Transform {
  int64_t axis = 0, extent = -1, length = -1;
  bool inverse = false, onesided = false, real = false;
};

Result<Transform> read_transform(const GradientContext& c) {
  const TensorType& x = c.type(c.input(0));
  const auto axis = c.has_input(2) ? c.constant_ints(2) : std::optional<Ints>(Ints{-2});
  if (!x.has_rank() || !axis || axis->size() != 1 || !x.dims->back().known())
    return unsupported(
        fmt::format("unsupported: the gradient of DFT of {} along an axis that is not known", x.text()));
  Transform t;
  HONE_ASSIGN(t.axis, normalize_axis(axis->front(), x.rank()));
  const Dim& extent = (*x.dims)[static_cast<std::size_t>(t.axis)];
  if (extent.known()) t.extent = extent.extent();
  t.inverse = c.attributes().integer("inverse", 0) != 0;
  t.onesided = c.attributes().integer("onesided", 0) != 0;
  t.real = x.dims->back().extent() == 1;
  t.length = t.inverse && t.onesided && extent.known() ? 2 * (t.extent - 1) : t.extent;
  if (c.has_input(1)) {
    const auto given = c.constant_ints(1);
    t.length = given && given->size() == 1 ? given->front() : -1;
  }
  return t;
}

ValueId transformed(GradientContext& c, ValueId x, const Transform& t, ValueId length, bool inverse,
                    bool onesided) {
  return c.add("DFT", {x, length, c.integer(t.axis)},
               {{"inverse", int64_t{inverse}}, {"onesided", int64_t{onesided}}});
}

ValueId conjugate(GradientContext& c, ValueId x) {
  const ValueId signs = c.tensor(Tensor::of<double>(DType::kF64, {2}, std::vector<double>{1, -1}));
  return c.times(x, c.cast(signs, c.type(x).dtype));
}

ValueId first_along(GradientContext& c, ValueId x, int64_t axis, int64_t count) {
  return c.add("Slice", {x, c.ints({0}), c.ints({count}), c.ints({axis})});
}

// Elements beyond the transform's length were not read, and zeros were read beyond the elements.
Result<ValueId> of_extent(GradientContext& c, ValueId x, const Transform& t, int64_t has) {
  if (has == t.extent && has >= 0) return x;
  if (t.extent < 0 || has < 0)
    return unsupported(
        "unsupported: the gradient of DFT of a length that is not known; read the model with numbers for its "
        "symbols");
  if (has > t.extent) return first_along(c, x, t.axis, t.extent);
  return c.add("Pad", {x, c.ints({0, t.extent - has}), kNoValue, c.ints({t.axis})});
}

// y = F x: the gradient is the conjugate transpose of F times what flows. F is symmetric, so that is the conjugate of F
// times the conjugate. Of one half of the spectrum the other has no gradient.
Status of_spectrum(GradientContext& c, const Transform& t) {
  ValueId length = kNoValue;
  if (t.onesided) {
    length = c.has_input(1)  ? c.input(1)
             : t.length >= 0 ? c.integer(t.length)
                             : c.add("Gather", {c.shape_of(c.input(0)), c.integer(t.axis)});
  }
  ValueId x = transformed(c, conjugate(c, c.gradient()), t, length, t.inverse, false);
  x = t.real ? first_along(c, x, -1, 1) : conjugate(c, x);
  if (c.has_input(1)) {
    HONE_ASSIGN(x, of_extent(c, x, t, t.length));
  }
  c.set(0, x);
  return {};
}

// Real numbers of half a spectrum, whose other half is its conjugate: all but the first term, and the middle one of an even
// length, are read twice.
Status of_half_spectrum(GradientContext& c, const Transform& t) {
  if (t.length < 1 || t.extent < 0)
    return unsupported(
        "unsupported: the gradient of an inverse DFT of a length that is not known; read the model with "
        "numbers "
        "for its symbols");
  const int64_t terms = t.length / 2 + 1;
  std::vector<double> counts(static_cast<std::size_t>(terms), 2 / static_cast<double>(t.length));
  counts[0] /= 2;
  if (t.length % 2 == 0) counts.back() = 1 / static_cast<double>(t.length);
  Shape along(static_cast<std::size_t>(c.rank_of(c.input(0))), 1);
  along[static_cast<std::size_t>(t.axis)] = terms;
  const ValueId counted =
      c.cast(c.tensor(Tensor::of<double>(DType::kF64, along, counts)), c.type(c.gradient()).dtype);
  ValueId x = c.times(transformed(c, c.gradient(), t, kNoValue, false, true), counted);
  if (t.real) x = first_along(c, x, -1, 1);
  HONE_ASSIGN(x, of_extent(c, x, t, terms));
  c.set(0, x);
  return {};
}

Status dft_rule(GradientContext& c) {
  HONE_ASSIGN(const Transform t, read_transform(c));
  return t.inverse && t.onesided ? of_half_spectrum(c, t) : of_spectrum(c, t);
}

// Frames of the signal, each times the window, transformed.
Result<std::vector<ValueId>> by_frames(GradientContext& c, const std::vector<ValueId>& in) {
  const TensorType& signal = c.type(in[0]);
  const TensorType& y = c.type(c.output(0));
  const auto step = c.constant_ints(1);
  const auto given = c.has_input(3) ? c.constant_ints(3) : std::nullopt;
  int64_t length = given && given->size() == 1 ? given->front() : -1;
  if (!c.has_input(3) && c.has_input(2) && c.type(in[2]).is_static()) length = c.type(in[2]).shape()[0];
  const bool known = signal.has_rank() && (*signal.dims)[1].known() && y.has_rank() && (*y.dims)[1].known();
  if (known && !c.has_input(3) && !c.has_input(2)) length = (*signal.dims)[1].extent();
  if (!known || length < 1 || !step || step->size() != 1)
    return unsupported(
        fmt::format("unsupported: the gradient of STFT of {} by frames that are not known; read the "
                    "model with numbers for its symbols",
                    signal.text()));
  const int64_t frames = (*y.dims)[1].extent();
  Ints samples;
  for (int64_t frame = 0; frame < frames; ++frame)
    for (int64_t i = 0; i < length; ++i) samples.push_back(frame * step->front() + i);
  const ValueId at = c.tensor(Tensor::i64({frames, length}, samples));
  ValueId framed = c.add("Gather", {in[0], at}, {{"axis", int64_t{1}}});
  if (signal.rank() == 2) framed = c.add("Unsqueeze", {framed, c.ints({3})});
  if (c.has_input(2)) framed = c.times(framed, c.add("Unsqueeze", {in[2], c.ints({1})}));
  return std::vector<ValueId>{
      c.add("DFT", {framed, kNoValue, c.integer(2)}, {{"onesided", c.attributes().integer("onesided", 1)}})};
}

Status stft_rule(GradientContext& c) { return c.set_through(by_frames); }

}  // namespace

void add_signal_gradients(OpTable& table) {
  table.set_gradient("DFT", dft_rule);
  table.set_gradient("STFT", stft_rule);
}

}  // namespace hone::graph
