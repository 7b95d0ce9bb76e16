// Fourier transforms by their definition, windows, and the mel filter bank.
#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/core.h>

#include "kernels/ref/ref.h"
#include "kernels/ref/wide.h"

namespace hone::kernels::ref {
namespace {

using std::numbers::pi;

// A signal of complex numbers in two halves.
struct Complex {
  Wide real, imaginary;
};

// The first `wanted` terms of the discrete Fourier transform of `in`; its length is the transform's.
Complex transform(const Complex& in, int64_t wanted, bool inverse) {
  const auto n = static_cast<int64_t>(in.real.size());
  Wide cosines, sines;
  for (int64_t k = 0; k < n; ++k) {
    const double angle = 2 * pi * static_cast<double>(k) / static_cast<double>(n);
    cosines.push_back(std::cos(angle));
    sines.push_back(inverse ? std::sin(angle) : -std::sin(angle));
  }
  Complex out;
  for (int64_t k = 0; k < wanted; ++k) {
    double real = 0, imaginary = 0;
    int64_t turn = 0;  // j * k modulo n
    for (std::size_t j = 0; j < in.real.size(); ++j) {
      const double c = cosines[static_cast<std::size_t>(turn)], s = sines[static_cast<std::size_t>(turn)];
      real += in.real[j] * c - in.imaginary[j] * s;
      imaginary += in.real[j] * s + in.imaginary[j] * c;
      turn = (turn + k) % n;
    }
    const double scale = inverse ? 1.0 / static_cast<double>(n) : 1.0;
    out.real.push_back(real * scale);
    out.imaginary.push_back(imaginary * scale);
  }
  return out;
}

// Makes a full spectrum of `length` terms out of its first half: the second is its conjugate. The terms that
// must be real (the first and, for an even length, the middle one) lose their imaginary part.
void complete_spectrum(Complex& spectrum) {
  const std::size_t length = spectrum.real.size();
  spectrum.imaginary[0] = 0;
  if (length % 2 == 0) spectrum.imaginary[length / 2] = 0;
  for (std::size_t k = length / 2 + 1; k < length; ++k) {
    spectrum.real[k] = spectrum.real[length - k];
    spectrum.imaginary[k] = -spectrum.imaginary[length - k];
  }
}

struct DftShape {
  AxisView view;  // without the last axis, which holds real and imaginary parts
  int64_t parts = 1, length = 0, kept = 0;
  bool inverse = false, onesided = false;
  Shape output;
};

Result<DftShape> plan_dft(const RefCall& call) {
  const Tensor& x = call.inputs[0];
  DftShape plan;
  if (x.rank() < 2 || x.shape().back() < 1 || x.shape().back() > 2) {
    return invalid(
        fmt::format("the last axis of {} is not one of real or complex parts", shape_text(x.shape())));
  }
  int64_t axis = -2;
  if (call.has(2)) {
    HONE_ASSIGN(const double given, scalar(call.inputs[2], "axis"));
    axis = static_cast<int64_t>(given);
  }
  HONE_ASSIGN(axis, normalize_axis(axis, x.rank()));
  if (axis == x.rank() - 1)
    return invalid("the last axis holds real and imaginary parts; it cannot be transformed");
  plan.parts = x.shape().back();
  plan.inverse = call.attributes.integer("inverse", 0) != 0;
  plan.onesided = call.attributes.integer("onesided", 0) != 0;
  plan.view = around_axis(std::span(x.shape()).first(x.shape().size() - 1), axis);
  plan.length = plan.inverse && plan.onesided ? 2 * (plan.view.extent - 1) : plan.view.extent;
  if (call.has(1)) {
    HONE_ASSIGN(const double given, scalar(call.inputs[1], "dft_length"));
    plan.length = static_cast<int64_t>(given);
  }
  if (plan.length < 1) return invalid(fmt::format("a transform of length {} is not possible", plan.length));
  plan.kept = plan.onesided && !plan.inverse ? plan.length / 2 + 1 : plan.length;
  plan.output = x.shape();
  plan.output[static_cast<std::size_t>(axis)] = plan.kept;
  plan.output.back() = plan.onesided && plan.inverse ? 1 : 2;
  return plan;
}

Result<std::vector<Tensor>> dft(const RefCall& call) {
  HONE_ASSIGN(const DftShape plan, plan_dft(call));
  HONE_ASSIGN(const int64_t total, checked_element_count(plan.output));
  const Wide x = widen(call.inputs[0]);
  const int64_t out_parts = plan.output.back();
  Wide y(static_cast<std::size_t>(total));
  for (int64_t line = 0; line < plan.view.outer * plan.view.inner; ++line) {
    const int64_t outer = line / plan.view.inner, inner = line % plan.view.inner;
    const auto size = static_cast<std::size_t>(plan.length);
    Complex signal{Wide(size, 0), Wide(size, 0)};
    for (int64_t i = 0; i < std::min(plan.length, plan.view.extent); ++i) {
      const int64_t at = ((outer * plan.view.extent + i) * plan.view.inner + inner) * plan.parts;
      signal.real[static_cast<std::size_t>(i)] = x[static_cast<std::size_t>(at)];
      if (plan.parts == 2)
        signal.imaginary[static_cast<std::size_t>(i)] = x[static_cast<std::size_t>(at + 1)];
    }
    if (plan.onesided && plan.inverse) complete_spectrum(signal);
    const Complex result = transform(signal, plan.kept, plan.inverse);
    for (int64_t i = 0; i < plan.kept; ++i) {
      const int64_t at = ((outer * plan.kept + i) * plan.view.inner + inner) * out_parts;
      y[static_cast<std::size_t>(at)] = result.real[static_cast<std::size_t>(i)];
      if (out_parts == 2) y[static_cast<std::size_t>(at + 1)] = result.imaginary[static_cast<std::size_t>(i)];
    }
  }
  return one(rounded(call.inputs[0].dtype(), plan.output, std::move(y)));
}

// [batch, samples, parts] → [batch, frames, bins, 2].
Result<std::vector<Tensor>> stft(const RefCall& call) {
  const Tensor& x = call.inputs[0];
  if (x.rank() != 3 && x.rank() != 2)
    return invalid(fmt::format("a signal of shape {}", shape_text(x.shape())));
  const int64_t batch = x.shape()[0], samples = x.shape()[1], parts = x.rank() == 3 ? x.shape()[2] : 1;
  HONE_ASSIGN(const double step_given, scalar(call.inputs[1], "frame_step"));
  const auto step = static_cast<int64_t>(step_given);
  int64_t length = call.has(2) ? call.inputs[2].size() : samples;
  if (call.has(3)) {
    HONE_ASSIGN(const double given, scalar(call.inputs[3], "frame_length"));
    length = static_cast<int64_t>(given);
  }
  if (call.has(2)) HONE_CHECK(expect_shape(call.inputs[2], {length}, "window"));
  if (step < 1 || length < 1 || length > samples || parts < 1 || parts > 2) {
    return invalid(fmt::format("frames of {} samples every {} do not fit a signal of shape {}", length, step,
                               shape_text(x.shape())));
  }
  const bool onesided = call.attributes.integer("onesided", 1) != 0;
  const int64_t frames = 1 + (samples - length) / step;
  const int64_t bins = onesided ? length / 2 + 1 : length;
  const Shape output{batch, frames, bins, 2};
  HONE_CHECK(checked_element_count(output));
  const Wide signal = widen(x);
  const Wide window = call.has(2) ? widen(call.inputs[2]) : Wide(static_cast<std::size_t>(length), 1);
  Wide y;
  for (int64_t frame = 0; frame < batch * frames; ++frame) {
    Complex part;
    const int64_t start = frame / frames * samples + frame % frames * step;
    for (int64_t i = 0; i < length; ++i) {
      const double weight = window[static_cast<std::size_t>(i)];
      const auto at = static_cast<std::size_t>((start + i) * parts);
      part.real.push_back(signal[at] * weight);
      part.imaginary.push_back(parts == 2 ? signal[at + 1] * weight : 0);
    }
    const Complex result = transform(part, bins, false);
    for (std::size_t k = 0; k < result.real.size(); ++k) {
      y.push_back(result.real[k]);
      y.push_back(result.imaginary[k]);
    }
  }
  return one(rounded(x.dtype(), output, std::move(y)));
}

// Cosine windows: a0 - a1 cos(2πn/N) + a2 cos(4πn/N). Hamming's a0 is ONNX's 25/46.
Result<std::vector<Tensor>> window(const RefCall& call) {
  HONE_ASSIGN(const double size, scalar(call.inputs[0], "size"));
  HONE_ASSIGN(const DType dtype, dtype_attribute(call, "output_datatype", DType::kF32));
  if (!(size >= 0)) return invalid(fmt::format("a window of {} samples is not possible", size));
  const Shape shape{static_cast<int64_t>(size)};
  HONE_CHECK(make_tensor(call, dtype, shape));
  double a0 = 0.5, a1 = 0.5, a2 = 0;
  if (call.op == "HammingWindow") {
    a0 = 25.0 / 46.0;
    a1 = 1 - a0;
  } else if (call.op == "BlackmanWindow") {
    a0 = 0.42;
    a2 = 0.08;
  }
  const double period = call.attributes.integer("periodic", 1) != 0 ? size : size - 1;
  Wide y;
  for (int64_t i = 0; i < shape[0]; ++i) {
    // A symmetric window of one sample is its middle.
    const double angle = period == 0 ? pi : 2 * pi * static_cast<double>(i) / period;
    y.push_back(a0 - a1 * std::cos(angle) + a2 * std::cos(2 * angle));
  }
  return one(rounded(dtype, shape, std::move(y)));
}

// Triangular filters whose corners are equally spaced in mel; ONNX spaces them by 1 / (bins + 2).
Result<std::vector<Tensor>> mel_weight_matrix(const RefCall& call) {
  HONE_ASSIGN(const double bins_given, scalar(call.inputs[0], "num_mel_bins"));
  HONE_ASSIGN(const double length, scalar(call.inputs[1], "dft_length"));
  HONE_ASSIGN(const double rate, scalar(call.inputs[2], "sample_rate"));
  HONE_ASSIGN(const double low, scalar(call.inputs[3], "lower_edge_hertz"));
  HONE_ASSIGN(const double high, scalar(call.inputs[4], "upper_edge_hertz"));
  HONE_ASSIGN(const DType dtype, dtype_attribute(call, "output_datatype", DType::kF32));
  if (!(bins_given >= 0 && length >= 1 && rate >= 1 && low >= 0 && high >= low)) {
    return invalid("the mel filter bank needs positive sizes and edges in order");
  }
  const auto bins = static_cast<int64_t>(bins_given);
  const int64_t rows = static_cast<int64_t>(length) / 2 + 1;
  HONE_CHECK(make_tensor(call, DType::kF64, {rows, bins}));
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double step = (mel(high) - mel(low)) / static_cast<double>(bins + 2);
  std::vector<int64_t> corners;
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double hertz = 700 * (std::pow(10.0, (static_cast<double>(i) * step + mel(low)) / 2595) - 1);
    const double corner = std::floor((length + 1) * hertz / rate);
    if (!(corner < static_cast<double>(rows))) return invalid("upper_edge_hertz lies beyond the spectrum");
    corners.push_back(static_cast<int64_t>(corner));
  }
  Wide y(static_cast<std::size_t>(rows * bins), 0);
  for (int64_t i = 0; i < bins; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const int64_t left = corners[at], centre = corners[at + 1], right = corners[at + 2];
    const auto weight = [&](int64_t row) -> double& { return y[static_cast<std::size_t>(row * bins + i)]; };
    if (left == centre) weight(centre) = 1;
    for (int64_t j = left; j <= centre && left != centre; ++j) {
      weight(j) = static_cast<double>(j - left) / static_cast<double>(centre - left);
    }
    for (int64_t j = centre; j < right; ++j) {
      weight(j) = static_cast<double>(right - j) / static_cast<double>(right - centre);
    }
  }
  return one(rounded(dtype, {rows, bins}, std::move(y)));
}

}  // namespace

void add_signal_kernels(RefTable& table) {
  table.add("DFT", dft);
  table.add("STFT", stft);
  table.add("HannWindow", window);
  table.add("HammingWindow", window);
  table.add("BlackmanWindow", window);
  table.add("MelWeightMatrix", mel_weight_matrix);
}

}  // namespace hone::kernels::ref
