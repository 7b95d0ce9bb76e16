// Convolutions, their transposes and gradients. FLOPs: 2·N·positions·C_out·(C_in/groups)·kernel, where the
// positions are those of the output (of the input, for a transposed one). Each of the gradients for input and
// weight needs as many as the forward product; that of the bias adds up the gradient.
#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trace/aten/table.h"

namespace hone::trace::aten {
namespace {

using enum OperatorClass;
using Dims = std::vector<int64_t>;

struct Geometry {
  Dims input, weight;  // [N, C_in, …], [C_out, C_in/groups, …] (transposed: [C_in, C_out/groups, …])
  Dims stride, padding, dilation, output_padding;
  bool transposed = false;
  int64_t groups = 1;
};

int64_t at(const Dims& values, std::size_t i, int64_t otherwise) {
  if (values.empty()) return otherwise;
  return values.size() == 1 ? values[0] : i < values.size() ? values[i] : otherwise;
}

// Far more than any tensor has along an axis, and small enough to be multiplied; a damaged trace may have
// anything.
bool has_possible_extents(const Geometry& g) {
  constexpr int64_t kMost = int64_t{1} << 30;
  const auto possible = [](int64_t extent) { return extent >= -kMost && extent <= kMost; };
  for (const Dims* extents : {&g.input, &g.weight, &g.stride, &g.padding, &g.dilation, &g.output_padding})
    if (!std::all_of(extents->begin(), extents->end(), possible)) return false;
  return possible(g.groups);
}

// The shape of the output; empty: the geometry makes no sense.
Dims output_dims(const Geometry& g) {
  if (g.input.size() < 3 || g.weight.size() != g.input.size() || !has_possible_extents(g)) return {};
  Dims out = {g.input[0], g.transposed ? g.weight[1] * g.groups : g.weight[0]};
  for (std::size_t i = 2; i < g.input.size(); ++i) {
    const std::size_t axis = i - 2;
    const int64_t stride = at(g.stride, axis, 1), padding = at(g.padding, axis, 0);
    const int64_t reach = at(g.dilation, axis, 1) * (g.weight[i] - 1) + 1;
    if (stride <= 0) return {};
    out.push_back(g.transposed
                      ? (g.input[i] - 1) * stride - 2 * padding + reach + at(g.output_padding, axis, 0)
                      : (g.input[i] + 2 * padding - reach) / stride + 1);
    if (out.back() <= 0) return {};
  }
  return out;
}

double forward_flops(const Geometry& g, const Dims& out) {
  const Dims& dense = g.transposed ? g.input : out;  // where each position takes a whole kernel
  // the weight has C_out · C_in/groups · kernel elements
  const double positions = elements(std::span(dense).subspan(2));
  return 2 * static_cast<double>(g.input[0]) * positions * elements(g.weight);
}

std::string describe(const Geometry& g, const Dims& out) {
  const std::span kernel = std::span(g.weight).subspan(2);
  return fmt::format("{}{} {}{}convolution, {} → {} channels, {} positions × {}",
                     kernel.size() == 1 ? "length-" : "", dims_text(kernel),
                     g.groups > 1 ? fmt::format("{}-group ", g.groups) : "",
                     g.transposed ? "transposed " : "", g.input[1], out[1],
                     dims_text(std::span(out).subspan(2)), g.input[0]);
}

// Positions of the arguments in an operator's schema; -1: it has none.
struct Positions {
  int input = 0, weight = 1, bias = -1, stride = -1, padding = -1, dilation = -1, transposed = -1,
      output_padding = -1, groups = -1;
};

std::optional<Geometry> geometry_of(const Args& args, const Positions& p, bool transposed) {
  const CallInput* input = args.tensor(static_cast<std::size_t>(p.input));
  const CallInput* weight = args.tensor(static_cast<std::size_t>(p.weight));
  if (input == nullptr || weight == nullptr) return std::nullopt;
  Geometry g{input->dims, weight->dims, {}, {}, {}, {}, transposed, 1};
  const auto read = [&](int position, Dims& into) {
    if (position < 0) return true;
    auto values = args.integers(static_cast<std::size_t>(position));
    if (values) into = std::move(*values);
    return values.has_value();
  };
  if (!read(p.stride, g.stride) || !read(p.padding, g.padding) || !read(p.dilation, g.dilation) ||
      !read(p.output_padding, g.output_padding))
    return std::nullopt;
  if (p.transposed >= 0) g.transposed = args.flag(static_cast<std::size_t>(p.transposed)).value_or(false);
  if (p.groups >= 0)
    g.groups = static_cast<int64_t>(args.number(static_cast<std::size_t>(p.groups)).value_or(1));
  return g;
}

std::optional<OperatorCost> forward(const Args& args, const Positions& p, bool transposed) {
  const auto g = geometry_of(args, p, transposed);
  const Dims out = g ? output_dims(*g) : Dims{};
  if (out.empty()) return std::nullopt;
  const CallInput& input = *args.tensor(static_cast<std::size_t>(p.input));
  const double bias = p.bias >= 0 ? args.stored_bytes(static_cast<std::size_t>(p.bias)) : 0;
  return OperatorCost{forward_flops(*g, out),
                      input.stored_bytes() + args.stored_bytes(static_cast<std::size_t>(p.weight)) + bias,
                      tensor_bytes(out, input.dtype), input.dtype, describe(*g, out)};
}

// convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
constexpr Positions kGeneral = {0, 1, 2, 3, 4, 5, 6, 7, 8};
// cudnn_convolution(input, weight, padding, stride, dilation, groups, …)
constexpr Positions kCudnn = {0, 1, -1, 3, 2, 4, -1, -1, 5};
// cudnn_convolution_transpose(input, weight, padding, output_padding, stride, dilation, groups, …)
constexpr Positions kCudnnTransposed = {0, 1, -1, 4, 2, 5, -1, 3, 6};
// cudnn_convolution_relu(input, weight, bias, stride, padding, dilation, groups)
constexpr Positions kCudnnRelu = {0, 1, 2, 3, 4, 5, -1, -1, 6};
// cudnn_convolution_add_relu(input, weight, z, alpha, bias, stride, padding, dilation, groups)
constexpr Positions kCudnnAddRelu = {0, 1, 4, 5, 6, 7, -1, -1, 8};
// mkldnn_convolution(input, weight, bias, padding, stride, dilation, groups)
constexpr Positions kMkldnn = {0, 1, 2, 4, 3, 5, -1, -1, 6};
// _conv_depthwise2d(input, weight, kernel_size, bias, stride, padding, dilation): a group a channel
constexpr Positions kDepthwise = {0, 1, 3, 4, 5, 6, -1, -1, -1};
// thnn_conv2d(input, weight, kernel_size, bias, stride, padding)
constexpr Positions kThnn = {0, 1, 3, 4, 5, -1, -1, -1, -1};
// convolution_backward(gradient, input, weight, bias_sizes, stride, padding, dilation, transposed,
//                      output_padding, groups, output_mask)
constexpr Positions kBackwardPositions = {1, 2, -1, 4, 5, 6, 7, 8, 9};

template <const Positions& positions, bool transposed = false>
std::optional<OperatorCost> convolution(const Args& args, const Entry&) {
  return forward(args, positions, transposed);
}

// + z and max(…, 0): two operations an element of the output, z read once
std::optional<OperatorCost> convolution_add_relu(const Args& args, const Entry&) {
  auto cost = forward(args, kCudnnAddRelu, false);
  if (!cost) return std::nullopt;
  cost->read += args.stored_bytes(2);
  cost->flops += 2 * cost->written / static_cast<double>(dtype_size(cost->dtype));
  return cost;
}

// For recorders that leave strides out: the gradient has the shape of the output. Transposed convolutions
// are not told apart then, but by their channels.
std::optional<Geometry> geometry_by_shapes(const Args& args) {
  const CallInput *gradient = args.tensor(0), *input = args.tensor(1), *weight = args.tensor(2);
  if (gradient == nullptr || input == nullptr || weight == nullptr) return std::nullopt;
  const Dims &out = gradient->dims, &in = input->dims, &kernel = weight->dims;
  const bool fits = in.size() >= 3 && out.size() == in.size() && kernel.size() == in.size() &&
                    kernel[1] > 0 && out[0] == in[0] && out[1] == kernel[0] && in[1] % kernel[1] == 0;
  if (!fits) return std::nullopt;
  return Geometry{in, kernel, {}, {}, {}, {}, false, in[1] / kernel[1]};
}

std::optional<OperatorCost> convolution_backward(const Args& args, const Entry&) {
  const CallInput* gradient = args.tensor(0);
  auto g = geometry_of(args, kBackwardPositions, false);
  Dims out = g ? output_dims(*g) : Dims{};
  if (!g && (g = geometry_by_shapes(args))) out = gradient->dims;
  if (out.empty() || gradient == nullptr) return std::nullopt;
  const CallInput &input = *args.tensor(1), &weight = *args.tensor(2);
  const std::array<bool, 3> mask = args.mask(10, {true, true, false});
  const double one = forward_flops(*g, out);
  OperatorCost cost;
  cost.dtype = input.dtype;
  cost.read = gradient->stored_bytes();
  if (mask[0]) {
    cost.flops += one;
    cost.read += weight.stored_bytes();
    cost.written += input.bytes();
  }
  if (mask[1]) {
    cost.flops += one;
    cost.read += input.stored_bytes();
    cost.written += weight.bytes();
  }
  if (mask[2]) {
    cost.flops += elements(gradient->dims);
    cost.written += static_cast<double>(out[1]) * static_cast<double>(dtype_size(weight.dtype));
  }
  const char* what = mask[0] && mask[1] ? "" : mask[0] ? ", for the input" : ", for the weight";
  cost.geometry = "gradient of " + describe(*g, out) + what;
  return cost;
}

constexpr int64_t kLongestStride = 64;
constexpr int64_t kMostPositions = int64_t{1} << 31;

// The stride and the padding on one axis with which `in` positions become `out`; the shortest stride that
// does.
bool find_stride(int64_t in, int64_t kernel, int64_t out, int64_t& stride, int64_t& padding) {
  for (const int64_t positions : {in, kernel, out})
    if (positions < 1 || positions > kMostPositions) return false;
  for (stride = 1; stride <= kLongestStride; ++stride) {
    padding = std::max<int64_t>(0, ((out - 1) * stride + kernel - in + 1) / 2);
    if (padding > kernel) return false;  // and so for all longer ones
    const int64_t moves = in + 2 * padding - kernel;
    if (moves >= 0 && moves / stride + 1 == out) return true;
  }
  return false;
}

CallInput value_of(std::string text) {
  CallInput input;
  input.kind = CallInput::Kind::kValue;
  input.value = std::move(text);
  return input;
}
CallInput value_of(const Dims& numbers) { return value_of(fmt::format("[{}]", fmt::join(numbers, ","))); }

constexpr Entry kConvolutionTable[] = {
    {"cudnn_convolution", kConvolution, convolution<kCudnn>},
    {"cudnn_convolution_transpose", kConvolution, convolution<kCudnnTransposed, true>},
    {"cudnn_convolution_relu", kConvolution, convolution<kCudnnRelu>},
    {"cudnn_convolution_add_relu", kConvolution, convolution_add_relu},
    {"miopen_convolution", kConvolution, convolution<kMkldnn>},
    {"mkldnn_convolution", kConvolution, convolution<kMkldnn>},
    {"convolution_overrideable", kConvolution, convolution<kGeneral>},
    {"_conv_depthwise2d", kConvolution, convolution<kDepthwise>},
    {"conv_depthwise3d", kConvolution, convolution<kDepthwise>},
    {"thnn_conv2d", kConvolution},
    {"_slow_conv2d_forward", kConvolution, convolution<kThnn>},
    {"slow_conv3d_forward", kConvolution, convolution<kThnn>},
    {"convolution_backward", kConvolution, convolution_backward},
    {"convolution_backward_overrideable", kConvolution},
    // `_convolution` calls the one that the device has; Inductor calls `convolution` alone
    {"convolution", kConvolution, convolution<kGeneral>},
    {"_convolution", kConvolution, convolution<kGeneral>},
    {"conv1d", kConvolution},
    {"conv2d", kConvolution},
    {"conv3d", kConvolution},
    {"conv_transpose1d", kConvolution},
    {"conv_transpose2d", kConvolution},
    {"conv_transpose3d", kConvolution},
};

}  // namespace

std::span<const Entry> convolution_operators() { return kConvolutionTable; }

std::optional<ConvolutionGroups> convolution_groups(std::string_view kind,
                                                    std::span<const CallInput> inputs) {
  struct Call {
    std::string_view kind;
    const Positions& positions;
    bool transposed = false;
  };
  static constexpr Call kCalls[] = {{"aten::cudnn_convolution", kCudnn},
                                    {"aten::cudnn_convolution_transpose", kCudnnTransposed, true},
                                    {"aten::cudnn_convolution_relu", kCudnnRelu},
                                    {"aten::cudnn_convolution_add_relu", kCudnnAddRelu},
                                    {"aten::convolution", kGeneral},
                                    {"aten::_convolution", kGeneral},
                                    {"aten::convolution_backward", kBackwardPositions}};
  const auto* call = std::ranges::find(kCalls, kind, &Call::kind);
  if (call == std::end(kCalls)) return std::nullopt;
  const auto g = geometry_of(Args(inputs, false), call->positions, call->transposed);
  if (!g || g->groups < 1 || g->input.size() < 3) return std::nullopt;
  return ConvolutionGroups{g->groups, g->input[1] / g->groups};
}

bool complete_convolution(std::string_view kind, std::span<const int64_t> output,
                          std::vector<CallInput>& inputs) {
  if (kind != "aten::cudnn_convolution" && kind != "aten::convolution") return false;
  const Positions& p = kind == "aten::convolution" ? kGeneral : kCudnn;
  if (inputs.size() <= static_cast<std::size_t>(p.groups)) return false;
  const auto at = [&](int position) -> CallInput& { return inputs[static_cast<std::size_t>(position)]; };
  const Dims &in = inputs[0].dims, &kernel = inputs[1].dims;
  const bool fits = at(p.stride).kind == CallInput::Kind::kNone && in.size() >= 3 &&
                    kernel.size() == in.size() && output.size() == in.size() && kernel[1] > 0 &&
                    in[1] % kernel[1] == 0;
  if (!fits) return false;
  Dims stride(in.size() - 2), padding(stride.size());
  for (std::size_t i = 0; i < stride.size(); ++i)
    if (!find_stride(in[i + 2], kernel[i + 2], output[i + 2], stride[i], padding[i])) return false;
  at(p.stride) = value_of(stride);
  at(p.padding) = value_of(padding);
  at(p.dilation) = value_of(Dims(stride.size(), 1));
  at(p.groups) = value_of(std::to_string(in[1] / kernel[1]));
  if (p.output_padding >= 0) at(p.output_padding) = value_of(Dims(stride.size(), 0));
  return true;
}

}  // namespace hone::trace::aten
