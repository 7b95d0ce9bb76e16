// Convolutions: Conv, ConvTranspose, the integer and quantized forms, deformable and causal ones, Col2Im.
// Pooling is in pooling.cpp.
#include <algorithm>

#include <fmt/core.h>

#include "core/winograd.h"
#include "graph/ops/parts.h"
#include "graph/ops/window_infer.h"
#include "graph/product_math.h"

namespace hone::graph {
namespace {

using infer::expect_dtype;
using infer::expect_rank;

// hone's own attribute of convolutions: the memory layout of the result, where it is not that of the input.
// ONNX has no such thing; the writer leaves it out.
constexpr std::string_view kOutputLayout = "output_layout";

// [batch, channels, spatial…] with the layout of the input, or the one asked for. Unranked where the spatial
// axes are not known.
void set_image(InferContext& context, const TensorType& like, DType dtype, Dim channels,
               const Dims& spatial) {
  Dims dims{(*like.dims)[0], std::move(channels)};
  dims.insert(dims.end(), spatial.begin(), spatial.end());
  TensorType type = tensor_type(dtype, std::move(dims));
  type.layout = layout_from_name(context.attributes().text(kOutputLayout, "")).value_or(like.layout);
  context.set_output(0, std::move(type));
}

// Checks what is known of channels against the weight's.
Status check_channels(const InferContext& context, const TensorType& x, const TensorType& w,
                      bool transposed) {
  const int64_t group = context.attributes().integer("group", 1);
  if (group < 1) return context.error(fmt::format("attribute group is {}, must be positive", group));
  const Dim& channels = (*x.dims)[1];
  const Dim& of_weight = (*w.dims)[transposed ? 0 : 1];
  if (!channels.known() || !of_weight.known()) return {};
  const int64_t wanted = transposed ? of_weight.extent() : of_weight.extent() * group;
  const Dim& outputs = (*w.dims)[0];
  const bool divides = !outputs.known() || outputs.extent() % group == 0;
  if (channels.extent() == wanted && divides) return {};
  return context.error(fmt::format("input {} and weight {} do not fit as a convolution of {} groups",
                                   x.text(), w.text(), group));
}

Result<Dims> transposed_extents(const Attributes& attributes, const Shape& kernel,
                                std::span<const Dim> input) {
  const Ints wanted = attributes.ints("output_shape");
  if (wanted.size() >= input.size())
    return to_dims(Shape(wanted.end() - static_cast<std::ptrdiff_t>(input.size()), wanted.end()));
  HONE_ASSIGN(WindowSpec spec, read_windows(attributes, kernel));
  Shape extents;
  for (const Dim& dim : input) extents.push_back(dim.known() ? dim.extent() : 1);
  auto output = place_transposed_windows(spec, attributes, extents);
  Dims dims;
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (!input[i].known()) {
      dims.emplace_back();
    } else {
      if (!output.ok()) return output.error();
      dims.emplace_back((*output)[i]);
    }
  }
  return dims;
}

// The rule of all convolutions: `w` is the index of the weight input.
Status infer_conv_as(InferContext& context, std::size_t w, DType dtype, bool transposed = false) {
  const TensorType& x = context.input(0);
  const TensorType& weight = context.input(w);
  HONE_CHECK(infer::expect_rank_at_least(context, 0, 3));
  if (!x.has_rank()) {
    context.set_output(0, unranked(dtype));
    return {};
  }
  HONE_CHECK(expect_rank(context, w, x.rank()));
  const std::span<const Dim> spatial = std::span(*x.dims).subspan(2);
  Dim channels;
  if (weight.has_rank()) {
    HONE_CHECK(check_channels(context, x, weight, transposed));
    channels = transposed ? infer::product((*weight.dims)[1], context.attributes().integer("group", 1))
                          : (*weight.dims)[0];
  }
  Shape kernel = infer::static_kernel(weight);
  if (kernel.empty()) kernel = context.attributes().ints("kernel_shape");
  if (kernel.empty()) {
    set_image(context, x, dtype, channels, Dims(spatial.size()));
    return {};
  }
  if (transposed) {
    HONE_ASSIGN(const Dims extents, transposed_extents(context.attributes(), kernel, spatial));
    set_image(context, x, dtype, channels, extents);
    return {};
  }
  HONE_ASSIGN(WindowSpec spec, read_windows(context.attributes(), kernel));
  HONE_ASSIGN(const Dims extents, infer::windows(std::move(spec), spatial));
  set_image(context, x, dtype, channels, extents);
  return {};
}

Status infer_conv(InferContext& context) {
  HONE_CHECK(infer::check_product_math(context));
  HONE_CHECK(expect_dtype(context, 0, infer::is_general_float, "a floating-point type"));
  HONE_CHECK(infer::expect_same_dtype(context, 0, 1));
  const std::size_t bias = context.node().op == "DeformConv" ? 3 : 2;
  if (context.has_input(bias)) HONE_CHECK(expect_rank(context, bias, 1));
  return infer_conv_as(context, 1, context.input(0).dtype, context.node().op == "ConvTranspose");
}

// The weight's shape is that of the window, and the channels of the image and of the result's gradient.
Status infer_conv_weight_gradient(InferContext& context) {
  HONE_CHECK(expect_dtype(context, 0, infer::is_general_float, "a floating-point type"));
  HONE_CHECK(infer::expect_same_dtype(context, 0, 1));
  HONE_ASSIGN(WindowSpec spec, read_windows(context.attributes(), {}));
  const auto rank = static_cast<int64_t>(spec.axes.size()) + 2;
  for (std::size_t i = 0; i < 2; ++i) HONE_CHECK(expect_rank(context, i, rank));
  const TensorType& x = context.input(0);
  const TensorType& g = context.input(1);
  const int64_t group = context.attributes().integer("group", 1);
  const Dim channels = x.has_rank() ? (*x.dims)[1] : Dim();
  Dims dims{g.has_rank() ? (*g.dims)[1] : Dim(), infer::quotient(channels, group)};
  for (const Dim& dim : {channels, dims[0]})
    if (group < 1 || (dim.known() && dim.extent() % group != 0))
      return context.error(fmt::format("{} channels do not divide into {} groups", dim.text(), group));
  for (const Window& window : spec.axes) dims.emplace_back(window.kernel);
  if (x.has_rank() && g.has_rank()) {
    HONE_ASSIGN(const Dims result, infer::windows(std::move(spec), std::span(*x.dims).subspan(2)));
    for (std::size_t i = 0; i < result.size(); ++i)
      if (result[i].known() && (*g.dims)[i + 2].known() && result[i].extent() != (*g.dims)[i + 2].extent())
        return context.error(
            fmt::format("a gradient {} does not fit a convolution of {}", g.text(), x.text()));
  }
  context.set_output(0, tensor_type(x.dtype, std::move(dims)));
  return {};
}

// hone.DeformColumns: images, offsets and a mask give [batch, channels * taps, places].
Status infer_deform_columns(InferContext& context) {
  HONE_CHECK(expect_dtype(context, 0, infer::is_general_float, "a floating-point type"));
  HONE_ASSIGN(WindowSpec spec, read_windows(context.attributes(), {}));
  const auto rank = static_cast<int64_t>(spec.axes.size()) + 2;
  for (std::size_t i = 0; i < 3; ++i)
    if (context.has_input(i)) HONE_CHECK(expect_rank(context, i, rank));
  const TensorType& x = context.input(0);
  Dim taps = 1;
  for (const Window& window : spec.axes) taps = infer::product(taps, window.kernel);
  Dims dims(3);
  if (x.has_rank()) {
    HONE_ASSIGN(const Dims places, infer::windows(std::move(spec), std::span(*x.dims).subspan(2)));
    dims = {(*x.dims)[0], infer::product((*x.dims)[1], taps), infer::product(places, 0, places.size())};
  }
  context.set_output(0, tensor_type(x.dtype, std::move(dims)));
  return {};
}

// Of these columns' gradient and the same inputs: the gradients of those.
Status infer_deform_columns_gradient(InferContext& context) {
  HONE_CHECK(expect_dtype(context, 0, infer::is_general_float, "a floating-point type"));
  HONE_CHECK(infer::expect_same_dtype(context, 0, 1));
  HONE_CHECK(expect_rank(context, 0, 3));
  if (context.output_count() > 2 && !context.has_input(3))
    return context.error("without a mask there is no third output");
  for (std::size_t i = 0; i < context.output_count(); ++i) context.set_output(i, context.input(i + 1));
  return {};
}

Status infer_conv_integer(InferContext& context) {
  HONE_CHECK(expect_dtype(context, 0, infer::is_byte, "i8 or u8"));
  HONE_CHECK(expect_dtype(context, 1, infer::is_byte, "i8 or u8"));
  return infer_conv_as(context, 1, DType::kI32);
}

Status infer_qlinear_conv(InferContext& context) {
  for (std::size_t i : {0, 3, 7}) HONE_CHECK(expect_dtype(context, i, infer::is_byte, "i8 or u8"));
  return infer_conv_as(context, 3, context.input(7).dtype);
}

Status infer_col2im(InferContext& context) {
  const TensorType& columns = context.input(0);
  HONE_CHECK(expect_rank(context, 0, 3));
  Dims dims;
  if (columns.has_rank()) {
    dims.push_back((*columns.dims)[0]);
    const auto block = context.ints(2);
    int64_t taps = block ? 1 : 0;
    for (int64_t extent : block.value_or(Ints{})) {
      if (extent < 1 || __builtin_mul_overflow(taps, extent, &taps)) {
        return context.error(fmt::format("a block of extent {} is not possible", extent));
      }
    }
    dims.push_back(infer::quotient((*columns.dims)[1], taps));
  }
  const auto image = context.ints(1);
  if (!image || dims.empty()) {
    context.set_output(0, unranked(columns.dtype));
    return {};
  }
  for (int64_t extent : *image) {
    if (extent < 0) return context.error(fmt::format("image_shape has the extent {}", extent));
    dims.emplace_back(extent);
  }
  context.set_output(0, tensor_type(columns.dtype, std::move(dims)));
  return {};
}

Status infer_causal_conv(InferContext& context) {
  HONE_CHECK(expect_rank(context, 0, 3));
  HONE_CHECK(expect_rank(context, 1, 3));
  const TensorType& x = context.input(0);
  context.set_output(0, x);
  const TensorType& w = context.input(1);
  if (!x.has_rank() || !w.has_rank()) {
    context.set_output(1, unranked(x.dtype));
    return {};
  }
  const Dim& taps = (*w.dims)[2];
  context.set_output(1, tensor_type(x.dtype, Dims{(*x.dims)[0], (*x.dims)[1],
                                                  taps.known() ? Dim(taps.extent() - 1) : Dim()}));
  return {};
}

// 2 · (elements of the output) · (input channels of a group) · taps, padding counted as if it were data, as
// cuDNN and oneDNN count it; plus one addition an output element for the bias.
double conv_flops_as(const CostContext& context, std::size_t w, std::size_t bias) {
  const Shape weight = context.in(w).shape();
  const double per_output = static_cast<double>(weight[1]) * infer::taps(std::span(weight).subspan(2));
  const bool biased = bias < context.inputs.size() && context.inputs[bias] != nullptr;
  return infer::elements(context.out(0)) * (2 * per_output + (biased ? 1 : 0));
}

double conv_flops(const CostContext& context) { return conv_flops_as(context, 1, 2); }
// As many products as the convolution has, each added to its tap.
double conv_weight_gradient_flops(const CostContext& context) {
  const Shape weight = context.out(0).shape();
  return infer::elements(context.in(1)) * 2 * static_cast<double>(weight[1]) *
         infer::taps(std::span(weight).subspan(2));
}

// Whether Winograd's algorithm applies: two spatial axes, 3x3, stride and dilation 1, in a type with digits
// to spare.
bool filters_minimally(const CostContext& context) {
  const auto all_ones = [&](std::string_view name) {
    const Ints values = context.node.attributes.ints(name);
    return std::all_of(values.begin(), values.end(), [](int64_t value) { return value == 1; });
  };
  const DType dtype = context.out(0).dtype;
  const Shape weight = context.in(1).shape();
  return (dtype == DType::kF32 || dtype == DType::kF64) && weight.size() == 4 && weight[2] == 3 &&
         weight[3] == 3 && all_ones("strides") && all_ones("dilations");
}

double least_conv_flops(const CostContext& context) {
  const double direct = conv_flops(context);
  if (!filters_minimally(context)) return direct;
  const Shape in = context.in(0).shape();
  const Shape out = context.out(0).shape();
  const bool biased = context.inputs.size() > 2 && context.inputs[2] != nullptr;
  return least_winograd_flops({.images = out[0],
                               .in_channels = in[1],
                               .out_channels = out[1],
                               .groups = context.node.attributes.integer("group", 1),
                               .out_height = out[2],
                               .out_width = out[3]}) +
         (biased ? infer::elements(context.out(0)) : 0);
}

double conv_integer_flops(const CostContext& context) { return conv_flops_as(context, 1, 9); }
double qlinear_conv_flops(const CostContext& context) {  // requantization: scale, round, shift
  return conv_flops_as(context, 3, 8) + 3 * infer::elements(context.out(0));
}

// Every input element meets every weight of its channel once: 2 · (elements of the input) · (outputs of a
// group) · taps.
double conv_transpose_flops(const CostContext& context) {
  const Shape weight = context.in(1).shape();
  const double per_input = static_cast<double>(weight[1]) * infer::taps(std::span(weight).subspan(2));
  const bool biased = context.inputs.size() > 2 && context.inputs[2] != nullptr;
  return 2 * infer::elements(context.in(0)) * per_input + (biased ? infer::elements(context.out(0)) : 0);
}

// The convolution, plus for each sampled value a bilinear interpolation (4 multiply-adds) and the mask.
double deform_conv_flops(const CostContext& context) {
  const Shape weight = context.in(1).shape();
  const Shape output = context.out(0).shape();
  const double channels = static_cast<double>(context.in(0).shape()[1]);
  const double places =
      infer::elements(context.out(0)) / static_cast<double>(std::max<int64_t>(1, output[1]));
  const double samples = channels * places * infer::taps(std::span(weight).subspan(2));
  return conv_flops_as(context, 1, 3) + samples * 9;
}

// A bilinear interpolation (4 multiply-adds) and the mask, for each sample.
double deform_columns_flops(const CostContext& context) { return 9 * infer::elements(context.out(0)); }
// Two of them, and one an axis.
double deform_columns_gradient_flops(const CostContext& context) {
  return 9 * infer::elements(context.in(0)) * static_cast<double>(context.in(1).rank());
}

std::vector<AttributeSpec> conv_attributes(std::initializer_list<AttributeSpec> more = {}) {
  using enum AttributeKind;
  std::vector<AttributeSpec> attributes{{"auto_pad", kString},   {"dilations", kInts}, {"group", kInt},
                                        {"kernel_shape", kInts}, {"pads", kInts},      {"strides", kInts}};
  attributes.insert(attributes.end(), more);
  return attributes;
}

}  // namespace

void add_convolution_ops(OpTable& table) {
  using enum AttributeKind;
  table.add({.name = "Conv",
             .op_class = OpClass::kConvolution,
             .min_inputs = 2,
             .max_inputs = 3,
             .attributes = conv_attributes({{kOutputLayout, kString}, {kProductMath, kString}}),
             .infer = infer_conv,
             .flops = conv_flops,
             .least_flops = least_conv_flops,
             .layouts = LayoutRule::kGiven,
             .summary = "convolution over any number of spatial axes"});
  table.add({.name = "ConvTranspose",
             .op_class = OpClass::kConvolution,
             .min_inputs = 2,
             .max_inputs = 3,
             .attributes = conv_attributes({{"output_padding", kInts},
                                            {"output_shape", kInts},
                                            {kOutputLayout, kString},
                                            {kProductMath, kString}}),
             .infer = infer_conv,
             .flops = conv_transpose_flops,
             .layouts = LayoutRule::kGiven,
             .summary = "transposed convolution (the gradient of Conv with respect to its input)"});
  table.add({.name = "hone.ConvWeightGradient",
             .op_class = OpClass::kConvolution,
             .min_inputs = 2,
             .max_inputs = 2,
             .attributes = conv_attributes(),
             .infer = infer_conv_weight_gradient,
             .flops = conv_weight_gradient_flops,
             .layouts = LayoutRule::kReads,
             .summary = "the gradient of a Conv's weight, of its input and its output's gradient"});
  table.add({.name = "ConvInteger",
             .op_class = OpClass::kConvolution,
             .min_inputs = 2,
             .max_inputs = 4,
             .attributes = conv_attributes(),
             .infer = infer_conv_integer,
             .flops = conv_integer_flops,
             .summary = "8-bit convolution with 32-bit sums"});
  table.add({.name = "QLinearConv",
             .op_class = OpClass::kConvolution,
             .min_inputs = 8,
             .max_inputs = 9,
             .attributes = conv_attributes(),
             .infer = infer_qlinear_conv,
             .flops = qlinear_conv_flops,
             .summary = "8-bit convolution, requantized to 8 bits"});
  table.add({.name = "DeformConv",
             .op_class = OpClass::kConvolution,
             .min_inputs = 3,
             .max_inputs = 5,
             .attributes = {{"dilations", kInts},
                            {"group", kInt},
                            {"kernel_shape", kInts},
                            {"offset_group", kInt},
                            {"pads", kInts},
                            {"strides", kInts}},
             .infer = infer_conv,
             .flops = deform_conv_flops,
             .summary = "convolution whose taps are shifted by offsets and weighted by a mask"});
  const std::vector<AttributeSpec> deformed{{"dilations", kInts},
                                            {"kernel_shape", kInts, true},
                                            {"offset_group", kInt},
                                            {"pads", kInts},
                                            {"strides", kInts}};
  table.add({.name = "hone.DeformColumns",
             .op_class = OpClass::kOther,
             .min_inputs = 2,
             .max_inputs = 3,
             .attributes = deformed,
             .infer = infer_deform_columns,
             .flops = deform_columns_flops,
             .summary = "what DeformConv multiplies by its weight: the samples of each window as a column"});
  table.add({.name = "hone.DeformColumnsGradient",
             .op_class = OpClass::kOther,
             .min_inputs = 3,
             .max_inputs = 4,
             .min_outputs = 1,
             .max_outputs = 3,
             .attributes = deformed,
             .infer = infer_deform_columns_gradient,
             .flops = deform_columns_gradient_flops,
             .summary =
                 "the gradients of hone.DeformColumns' images, offsets and mask, of its output's and these"});
  table.add({.name = "CausalConvWithState",
             .op_class = OpClass::kConvolution,
             .min_inputs = 2,
             .max_inputs = 4,
             .min_outputs = 1,
             .max_outputs = 2,
             .attributes = {{"activation", kString}},
             .infer = infer_causal_conv,
             .flops = conv_flops,
             .summary = "depthwise causal convolution over a sequence, with carried state"});
  table.add({.name = "Col2Im",
             .op_class = OpClass::kOther,
             .min_inputs = 3,
             .max_inputs = 3,
             .attributes = {{"dilations", kInts}, {"pads", kInts}, {"strides", kInts}},
             .infer = infer_col2im,
             .flops = infer::per_input<1>,
             .summary = "adds columns of windows back into an image"});
  add_pooling_ops(table);
}

}  // namespace hone::graph
