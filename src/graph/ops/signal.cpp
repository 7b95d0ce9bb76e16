// Fourier transforms, windows and the mel filter bank.
#include <cmath>

#include <fmt/core.h>

#include "graph/ops/infer_helpers.h"

namespace hone::graph {
namespace {

// The number in input `i` where it is a known constant of one element.
std::optional<int64_t> number(const InferContext& context, std::size_t i) {
  const auto values = context.ints(i);
  if (!values || values->size() != 1) return std::nullopt;
  return (*values)[0];
}

Dim half_spectrum(const Dim& length) { return length.known() ? Dim(length.extent() / 2 + 1) : Dim(); }

// The extent that the transformed axis has, given what it had.
Result<Dim> transformed(const InferContext& context, const Dim& extent, bool inverse, bool onesided) {
  Dim length = extent;
  if (inverse && onesided) length = extent.known() ? Dim(2 * (extent.extent() - 1)) : Dim();
  if (context.has_input(1)) {
    const auto given = number(context, 1);
    if (given && *given < 1)
      return context.error(fmt::format("a transform of length {} is not possible", *given));
    length = given ? Dim(*given) : Dim();
  }
  return onesided && !inverse ? half_spectrum(length) : length;
}

Status infer_dft(InferContext& context) {
  HONE_CHECK(infer::expect_dtype(context, 0, infer::is_general_float, "a floating-point type"));
  HONE_CHECK(infer::expect_rank_at_least(context, 0, 2));
  TensorType output = context.input(0);
  if (!output.has_rank()) {
    context.set_output(0, output);
    return {};
  }
  const bool inverse = context.attributes().integer("inverse", 0) != 0;
  const bool onesided = context.attributes().integer("onesided", 0) != 0;
  Dims& dims = *output.dims;
  const std::optional<int64_t> given = context.has_input(2) ? number(context, 2) : std::optional<int64_t>(-2);
  if (given) {
    HONE_ASSIGN(const int64_t axis, normalize_axis(*given, output.rank()));
    if (axis == output.rank() - 1)
      return context.error("the last axis holds real and imaginary parts, not the signal");
    Dim& extent = dims[static_cast<std::size_t>(axis)];
    HONE_ASSIGN(extent, transformed(context, extent, inverse, onesided));
  } else {
    for (Dim& dim : dims) dim = Dim();
  }
  dims.back() = inverse && onesided ? 1 : 2;
  context.set_output(0, std::move(output));
  return {};
}

Status infer_stft(InferContext& context) {
  const TensorType& signal = context.input(0);
  HONE_CHECK(infer::expect_dtype(context, 0, infer::is_general_float, "a floating-point type"));
  Dim batch, samples;
  if (signal.has_rank()) {
    if (signal.rank() < 2 || signal.rank() > 3)
      return context.error(fmt::format("the signal is {}, must have rank 3", signal.text()));
    batch = (*signal.dims)[0];
    samples = (*signal.dims)[1];
  }
  Dim length;
  if (context.has_input(3)) {
    if (auto given = number(context, 3)) length = *given;
  } else if (context.has_input(2)) {
    if (context.input(2).has_rank() && context.input(2).rank() == 1) length = (*context.input(2).dims)[0];
  } else {
    length = samples;
  }
  const auto step = number(context, 1);
  if (step && *step < 1) return context.error(fmt::format("frame_step is {}, must be positive", *step));
  Dim frames;
  if (step && length.known() && samples.known() && samples.extent() >= length.extent()) {
    frames = 1 + (samples.extent() - length.extent()) / *step;
  }
  const bool onesided = context.attributes().integer("onesided", 1) != 0;
  context.set_output(
      0, tensor_type(signal.dtype, Dims{batch, frames, onesided ? half_spectrum(length) : length, Dim(2)}));
  return {};
}

Status infer_window(InferContext& context) {
  HONE_ASSIGN(const DType dtype, infer::dtype_attribute(context, "output_datatype", DType::kF32));
  const auto size = number(context, 0);
  if (size && *size < 0) return context.error(fmt::format("a window of {} samples is not possible", *size));
  context.set_output(0, tensor_type(dtype, Dims{size ? Dim(*size) : Dim()}));
  return {};
}

Status infer_mel(InferContext& context) {
  HONE_ASSIGN(const DType dtype, infer::dtype_attribute(context, "output_datatype", DType::kF32));
  const auto bins = number(context, 0);
  const auto length = number(context, 1);
  if ((bins && *bins < 0) || (length && *length < 1))
    return context.error("num_mel_bins and dft_length must be positive");
  context.set_output(
      0, tensor_type(dtype, Dims{length ? Dim(*length / 2 + 1) : Dim(), bins ? Dim(*bins) : Dim()}));
  return {};
}

// 5 n log2 n a transform, the customary count of a radix-2 FFT (FFTW's benchFFT); half of it for real
// signals.
double fft_flops(double length, bool real) {
  return (real ? 2.5 : 5) * length * std::log2(std::max(length, 2.0));
}

// The length is read off the longer of input and output along the axis where they differ, or any for none.
double dft_flops(const CostContext& context) {
  const Shape in = context.in(0).shape();
  const Shape out = context.out(0).shape();
  std::size_t axis = in.size() - 2;
  for (std::size_t i = 0; i + 1 < in.size(); ++i) {
    if (in[i] != out[i]) axis = i;
  }
  if (context.inputs.size() > 2 && context.inputs[2] != nullptr && context.inputs[2]->is_constant()) {
    const auto named =
        normalize_axis(context.inputs[2]->constant->int_at(0), static_cast<int64_t>(in.size()));
    if (named.ok()) axis = static_cast<std::size_t>(*named);
  }
  const double length = static_cast<double>(std::max(in[axis], out[axis]));
  double lines = 1;
  for (std::size_t i = 0; i + 1 < in.size(); ++i) lines *= i == axis ? 1 : static_cast<double>(in[i]);
  return lines * fft_flops(length, in.back() == 1 || out.back() == 1);
}

double stft_flops(const CostContext& context) {
  const Shape out = context.out(0).shape();
  const bool onesided = context.node.attributes.integer("onesided", 1) != 0;
  const double length = static_cast<double>(onesided ? 2 * (out[2] - 1) : out[2]);
  const Shape signal = context.in(0).shape();
  const bool real = signal.size() < 3 || signal[2] == 1;
  const double frames = static_cast<double>(out[0]) * static_cast<double>(out[1]);
  return frames * (length * (real ? 1 : 2) + fft_flops(length, real));
}

}  // namespace

void add_signal_ops(OpTable& table) {
  using enum AttributeKind;
  table.add({.name = "DFT",
             .op_class = OpClass::kOther,
             .min_inputs = 1,
             .max_inputs = 3,
             .attributes = {{"inverse", kInt}, {"onesided", kInt}},
             .infer = infer_dft,
             .flops = dft_flops,
             .summary = "discrete Fourier transform along an axis"});
  table.add({.name = "STFT",
             .op_class = OpClass::kOther,
             .min_inputs = 2,
             .max_inputs = 4,
             .attributes = {{"onesided", kInt}},
             .infer = infer_stft,
             .flops = stft_flops,
             .summary = "Fourier transforms of overlapping, windowed frames of a signal"});
  for (auto [name, summary] :
       {std::pair{"HannWindow", "the Hann window"}, std::pair{"HammingWindow", "the Hamming window"},
        std::pair{"BlackmanWindow", "the Blackman window"}}) {
    table.add({.name = name,
               .op_class = OpClass::kOther,
               .min_inputs = 1,
               .max_inputs = 1,
               .attributes = {{"output_datatype", kInt}, {"periodic", kInt}},
               .infer = infer_window,
               .flops = infer::per_output<4>,
               .summary = summary});
  }
  table.add({.name = "MelWeightMatrix",
             .op_class = OpClass::kOther,
             .min_inputs = 5,
             .max_inputs = 5,
             .attributes = {{"output_datatype", kInt}},
             .infer = infer_mel,
             .flops = infer::per_output<2>,
             .summary = "triangular filters, equally spaced in mel, over a spectrum"});
}

}  // namespace hone::graph
