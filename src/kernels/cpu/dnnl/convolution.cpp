// From a ConvolutionDesc to a oneDNN primitive: a convolution, a deconvolution, or a matrix product.
#include "kernels/cpu/dnnl/convolution.h"

#include <algorithm>

#include <fmt/core.h>

#include "kernels/cpu/dnnl/attributes.h"
#include "kernels/cpu/dnnl/execution.h"
#include "kernels/cpu/dnnl/library.h"
#include "kernels/cpu/dnnl/window.h"

namespace hone::kernels {
namespace {

using onednn::Dims;
using onednn::Execution;
using onednn::MemoryDesc;
using Algorithm = ConvolutionAlgorithm;

bool has_rank(const Shape& extents, std::size_t rank) { return extents.empty() || extents.size() == rank; }

bool all_at_least(const Shape& extents, int64_t low) {
  return std::all_of(extents.begin(), extents.end(), [low](int64_t extent) { return extent >= low; });
}

Status check(const ConvolutionDesc& desc) {
  const std::size_t rank = desc.input.size();
  HONE_CHECK(onednn::check_types(describe(desc), desc.dtype, desc.result));
  if (rank < 1 || rank > 3) return unsupported(describe(desc) + ": 1 to 3 spatial axes are");
  if (desc.kernel.size() != rank || !has_rank(desc.strides, rank) || !has_rank(desc.dilations, rank) ||
      !has_rank(desc.pads_begin, rank) || !has_rank(desc.pads_end, rank) ||
      !has_rank(desc.output_padding, rank)) {
    return invalid(describe(desc) + ": kernel, strides, dilations and pads differ in rank from the input");
  }
  if (desc.batch < 1 || desc.groups < 1 || desc.in_channels < 1 || desc.out_channels < 1 ||
      desc.in_channels % desc.groups != 0 || desc.out_channels % desc.groups != 0 ||
      !all_at_least(desc.input, 1) || !all_at_least(desc.kernel, 1) || !all_at_least(desc.strides, 1) ||
      !all_at_least(desc.dilations, 1) || !all_at_least(desc.output(), 1)) {
    return invalid(describe(desc) + ": extents, strides, dilations or groups do not fit together");
  }
  return {};
}

onednn::Window window_of(const ConvolutionDesc& desc) {
  const std::size_t rank = desc.input.size();
  onednn::Window window;
  window.kernel = desc.kernel;
  window.strides = onednn::or_default(desc.strides, rank, 1);
  window.dilations = onednn::or_default(desc.dilations, rank, 1);
  for (int64_t& dilation : window.dilations) --dilation;
  window.pads_begin = onednn::or_default(desc.pads_begin, rank, 0);
  window.pads_end = onednn::or_default(desc.pads_end, rank, 0);
  const Shape extra = onednn::or_default(desc.output_padding, rank, 0);
  for (std::size_t axis = 0; axis < rank; ++axis) {
    if (desc.transposed) {
      window.pads_end[axis] -= extra[axis];
      continue;
    }
    // The library wants the padding that is used: floor rounding may leave some of it, or of the input,
    // unread.
    const int64_t reach = (window.dilations[axis] + 1) * (desc.kernel[axis] - 1) + 1;
    window.pads_end[axis] =
        (desc.output()[axis] - 1) * window.strides[axis] + reach - desc.input[axis] - window.pads_begin[axis];
  }
  return window;
}

// The library's shape of the weights: output channels before input channels, groups in front.
Shape library_weights(const ConvolutionDesc& desc) {
  Shape shape =
      onednn::with_spatial(desc.out_channels / desc.groups, desc.in_channels / desc.groups, desc.kernel);
  if (desc.groups > 1) shape.insert(shape.begin(), desc.groups);
  return shape;
}

// How ONNX's weights lie in memory, seen under library_weights().
MemoryDesc given_weights(const ConvolutionDesc& desc) {
  const Shape shape = library_weights(desc);
  if (!desc.transposed) return onednn::plain_desc(shape, desc.dtype);
  Shape stored = shape;  // input channels come first
  const std::size_t out_axis = desc.groups > 1 ? 1 : 0;
  std::swap(stored[out_axis], stored[out_axis + 1]);
  Shape strides = row_major_strides(stored);
  std::swap(strides[out_axis], strides[out_axis + 1]);
  return onednn::strided_desc(shape, strides, desc.dtype);
}

dnnl::algorithm library_algorithm(const ConvolutionDesc& desc) {
  if (desc.transposed) {
    return desc.algorithm == Algorithm::kWinograd ? dnnl::algorithm::deconvolution_winograd
                                                  : dnnl::algorithm::deconvolution_direct;
  }
  switch (desc.algorithm) {
    case Algorithm::kDirect:
      return dnnl::algorithm::convolution_direct;
    case Algorithm::kWinograd:
      return dnnl::algorithm::convolution_winograd;
    default:
      return dnnl::algorithm::convolution_auto;
  }
}

// The tensors of the operation, weights in a format of the library's choice.
Result<onednn::Tensors> tensors_of(const ConvolutionDesc& desc) {
  onednn::Tensors tensors;
  HONE_ASSIGN(tensors.src, onednn::memory_desc(desc.src_shape(), desc.src_layout, desc.dtype));
  HONE_ASSIGN(tensors.dst, onednn::memory_desc(desc.dst_shape(), desc.dst_layout, desc.result));
  tensors.weights = onednn::any_desc(library_weights(desc), desc.dtype);
  if (desc.has_bias)
    tensors.bias = onednn::plain_desc({desc.out_channels}, desc.constant_weights ? DType::kF32 : desc.dtype);
  return tensors;
}

// use(primitive descriptor, an empty primitive of its kind).
template <typename Use>
auto with_descriptor(const ConvolutionDesc& desc, const dnnl::engine& engine, const onednn::Tensors& tensors,
                     const dnnl::primitive_attr& attributes, const Use& use) {
  const onednn::Window window = window_of(desc);
  const dnnl::algorithm how = library_algorithm(desc);
  if (desc.transposed) {
    return onednn::with_deconvolution(engine, how, tensors, window, attributes,
                                      [&](auto& found) { return use(found, dnnl::deconvolution_forward()); });
  }
  return onednn::with_convolution(engine, how, tensors, window, attributes,
                                  [&](auto& found) { return use(found, dnnl::convolution_forward()); });
}

// What the tests caught the library (2.6.3) doing wrongly, so that it is never chosen: its im2col convolution on
// channels_last reads an operand of the output's own shape at the wrong places, and its 1x1 convolution on tiles writes rows
// of tiles beyond the result (of 6 by 6 pixels twelve more), over whatever lies there.
bool computes_right(const ConvolutionDesc& desc, const std::string& implementation) {
  if (implementation.starts_with("jit_1x1:avx512_core_amx")) return false;
  if (desc.dst_layout != Layout::kChannelsLast || implementation.find("gemm") == std::string::npos ||
      desc.algorithm == Algorithm::kMatMul) {
    return true;
  }
  return std::none_of(desc.post_ops.begin(), desc.post_ops.end(), [](const PostOp& op) {
    return op.is_binary() && op.operand_layout == Layout::kChannelsLast;
  });
}

Result<std::unique_ptr<Execution>> window_execution(const ConvolutionDesc& desc, const void* weights,
                                                    const void* bias) {
  HONE_ASSIGN(const onednn::Tensors tensors, tensors_of(desc));
  HONE_ASSIGN(const onednn::Epilogue epilogue, onednn::make_epilogue(desc.post_ops, desc.dst_shape()));
  auto execution = std::make_unique<Execution>("");
  const auto build = [&](auto& found, auto primitive) -> Result<std::unique_ptr<Execution>> {
    const auto accept = [&](const std::string& name) { return computes_right(desc, name); };
    if (!onednn::select_implementation(found, desc.implementation, accept)) {
      return unsupported(fmt::format("{}: oneDNN has no implementation{}{} with post-ops [{}]",
                                     describe(desc), desc.implementation.empty() ? "" : " ",
                                     desc.implementation, post_ops_text(desc.post_ops)));
    }
    execution->set_name(found.impl_info_str());
    const bool moves = desc.given_plain;
    execution->add_repacked(
        DNNL_ARG_SRC, moves ? onednn::plain_desc(desc.src_shape(), desc.dtype) : tensors.src, tensors.src);
    execution->add_repacked_result(DNNL_ARG_DST, tensors.dst,
                                   moves ? onednn::plain_desc(desc.dst_shape(), desc.result) : tensors.dst);
    if (!desc.constant_weights) {
      execution->add_repacked(DNNL_ARG_WEIGHTS, given_weights(desc), found.weights_desc());
      if (desc.has_bias) execution->add_argument(DNNL_ARG_BIAS, tensors.bias);
    }
    for (const auto& operand : epilogue.operands) {
      const bool whole = moves && operand.desc.dims() == Dims(desc.dst_shape());
      execution->add_repacked(operand.argument, whole ? onednn::plain_desc(desc.dst_shape()) : operand.desc,
                              operand.desc);
    }
    if (desc.constant_weights) {
      execution->add_constant(DNNL_ARG_WEIGHTS, given_weights(desc), weights, found.weights_desc());
      if (desc.has_bias) execution->add_constant(DNNL_ARG_BIAS, tensors.bias, bias, tensors.bias);
    }
    using Primitive = decltype(primitive);
    execution->finish(Primitive(found), found.scratchpad_desc());
    return std::move(execution);
  };
  return with_descriptor(desc, execution->engine(), tensors, epilogue.attributes, build);
}

bool is_pointwise(const ConvolutionDesc& desc) {
  return !desc.transposed && desc.groups == 1 && all_are(desc.kernel, 1) && all_are(desc.strides, 1) &&
         all_are(desc.pads_begin, 0) && all_are(desc.pads_end, 0);
}

// The 1x1 convolution of a channels_last tensor: [N * pixels, C] x [C, M].
struct PointwiseProduct {
  onednn::Tensors tensors;
  MemoryDesc given;  // the weights as ONNX stores them: [M, C]
  onednn::Epilogue epilogue;
};

Result<PointwiseProduct> pointwise_product(const ConvolutionDesc& desc) {
  if (!is_pointwise(desc) || !desc.constant_weights || desc.src_layout != Layout::kChannelsLast ||
      desc.dst_layout != Layout::kChannelsLast) {
    return unsupported(describe(desc) +
                       ": as a matrix product only with kernel 1, stride 1, channels_last, constant weights");
  }
  const int64_t rows = desc.batch * element_count(desc.input);
  const int64_t depth = desc.in_channels;
  const int64_t columns = desc.out_channels;
  std::vector<PostOp> post_ops = desc.post_ops;
  for (PostOp& op : post_ops) {
    if (!op.is_binary()) continue;
    // Right-aligned [C, 1…] or all ones broadcasts along rows; a full operand must lie as dst does.
    const int64_t size = element_count(op.operand_shape);
    const bool full = size == rows * columns && op.operand_layout == Layout::kChannelsLast;
    const std::size_t axis = op.operand_shape.size() - desc.input.size() - 1;
    const bool per_channel =
        size == columns && axis < op.operand_shape.size() && op.operand_shape[axis] == columns;
    if (!full && !per_channel && size != 1) {
      return unsupported(fmt::format("{}: as a matrix product with an operand of shape {}", describe(desc),
                                     shape_text(op.operand_shape)));
    }
    op.operand_shape = full ? Shape{rows, columns} : Shape{1, size};
    op.operand_layout = Layout::kPlain;
  }
  PointwiseProduct product;
  product.tensors.src = onednn::plain_desc({rows, depth}, desc.dtype);
  product.tensors.weights = onednn::any_desc({depth, columns}, desc.dtype);
  product.given = onednn::strided_desc({depth, columns}, {1, depth}, desc.dtype);
  if (desc.has_bias) product.tensors.bias = onednn::plain_desc({1, columns});
  product.tensors.dst = onednn::plain_desc({rows, columns}, desc.result);
  HONE_ASSIGN(product.epilogue, onednn::make_epilogue(post_ops, {rows, columns}));
  return product;
}

Result<std::unique_ptr<Execution>> pointwise_execution(const ConvolutionDesc& desc, const void* weights,
                                                       const void* bias) {
  HONE_ASSIGN(const PointwiseProduct product, pointwise_product(desc));
  const onednn::Tensors& tensors = product.tensors;
  auto execution = std::make_unique<Execution>("");
  const auto build = [&](auto& found) -> Result<std::unique_ptr<Execution>> {
    if (!onednn::select_implementation(found, desc.implementation)) {
      return unsupported(fmt::format("{}: oneDNN has no matrix product {} with post-ops [{}]", describe(desc),
                                     desc.implementation, post_ops_text(desc.post_ops)));
    }
    execution->set_name(found.impl_info_str());
    execution->add_argument(DNNL_ARG_SRC, tensors.src);
    execution->add_argument(DNNL_ARG_DST, tensors.dst);
    for (const auto& operand : product.epilogue.operands)
      execution->add_argument(operand.argument, operand.desc);
    execution->add_constant(DNNL_ARG_WEIGHTS, product.given, weights, found.weights_desc());
    if (desc.has_bias) execution->add_constant(DNNL_ARG_BIAS, tensors.bias, bias, tensors.bias);
    execution->finish(dnnl::matmul(found), found.scratchpad_desc());
    return std::move(execution);
  };
  return onednn::with_matmul(execution->engine(), tensors, product.epilogue.attributes, build);
}

void add_variants(const ConvolutionDesc& desc, std::vector<ConvolutionVariant>& variants) {
  const auto add = [&](auto& found, const auto&...) {
    for (const std::string& name : onednn::implementations(found)) {
      if (computes_right(desc, name)) {
        variants.push_back({desc.src_layout, desc.dst_layout, desc.algorithm, name, desc.given_plain});
      }
    }
  };
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  if (desc.algorithm == Algorithm::kMatMul) {
    auto product = pointwise_product(desc);
    if (!product.ok()) return;
    onednn::with_matmul(engine, product->tensors, product->epilogue.attributes, add);
    return;
  }
  auto tensors = tensors_of(desc);
  auto epilogue = onednn::make_epilogue(desc.post_ops, desc.dst_shape());
  if (!tensors.ok() || !epilogue.ok()) return;
  with_descriptor(desc, engine, *tensors, epilogue->attributes, add);
}

}  // namespace

Convolution::Convolution(std::unique_ptr<Execution> execution, const ConvolutionDesc& desc)
    : execution_(std::move(execution)), constant_weights_(desc.constant_weights), has_bias_(desc.has_bias) {}
Convolution::~Convolution() = default;

Result<std::unique_ptr<Convolution>> Convolution::create(const ConvolutionDesc& desc, const void* weights,
                                                         const void* bias) {
  HONE_CHECK(check(desc));
  try {
    HONE_ASSIGN(auto execution, desc.algorithm == Algorithm::kMatMul
                                    ? pointwise_execution(desc, weights, bias)
                                    : window_execution(desc, weights, bias));
    return std::unique_ptr<Convolution>(new Convolution(std::move(execution), desc));
  } catch (const dnnl::error& error) {
    return onednn::library_error(describe(desc), error);
  }
}

std::vector<ConvolutionVariant> Convolution::candidates_as_laid_out(const ConvolutionDesc& desc) {
  std::vector<ConvolutionVariant> variants;
  if (!check(desc).ok()) return variants;
  for (const Algorithm algorithm : {Algorithm::kDirect, Algorithm::kWinograd, Algorithm::kMatMul}) {
    ConvolutionDesc variant = desc;
    ConvolutionVariant{desc.src_layout, desc.dst_layout, algorithm, "", desc.given_plain}.apply_to(variant);
    try {
      add_variants(variant, variants);
    } catch (const dnnl::error&) {
      continue;  // the library refuses the combination; the others remain
    }
  }
  return variants;
}

std::vector<ConvolutionVariant> Convolution::candidates(const ConvolutionDesc& desc) {
  std::vector<ConvolutionVariant> variants;
  if (!check(desc).ok()) return variants;
  struct Pair {
    Layout src, dst;
  };
  constexpr Pair kPairs[] = {
      {Layout::kBlocked16, Layout::kBlocked16}, {Layout::kChannelsLast, Layout::kChannelsLast},
      {Layout::kBlocked8, Layout::kBlocked8},   {Layout::kPlain, Layout::kPlain},
      {Layout::kPlain, Layout::kBlocked16},     {Layout::kPlain, Layout::kBlocked8}};
  for (const Pair& layouts : kPairs) {
    ConvolutionDesc laid_out = desc;
    laid_out.src_layout = layouts.src;
    laid_out.dst_layout = layouts.dst;
    const auto found = candidates_as_laid_out(laid_out);
    variants.insert(variants.end(), found.begin(), found.end());
  }
  return variants;
}

std::vector<ConvolutionVariant> Convolution::candidates_given_plain(const ConvolutionDesc& desc) {
  std::vector<ConvolutionVariant> variants;
  const auto sums = [](const PostOp& op) { return op.kind == PostOp::Kind::kSum; };
  // What stands in the result already would have to be brought along, too.
  if (std::any_of(desc.post_ops.begin(), desc.post_ops.end(), sums)) return variants;
  for (const Layout block : {Layout::kBlocked16, Layout::kBlocked8, Layout::kChannelsLast})
    for (const Layout source : {block, Layout::kPlain}) {
      ConvolutionDesc inside = desc;
      inside.src_layout = source;
      inside.dst_layout = block;
      inside.given_plain = true;
      const auto found = candidates_as_laid_out(inside);
      variants.insert(variants.end(), found.begin(), found.end());
    }
  std::erase_if(variants, [](const ConvolutionVariant& v) { return v.algorithm == Algorithm::kMatMul; });
  return variants;
}

std::string_view Convolution::name() const { return execution_->name(); }

// By oneDNN's names: "jit_wino_4x3:avx512_core", "jit_fp32_wino_2x3:avx512_core".
std::optional<WinogradTile> Convolution::winograd_tile() const {
  if (name().find("wino") == std::string_view::npos) return std::nullopt;
  return name().find("wino_4x3") != std::string_view::npos ? WinogradTile::k4x4 : WinogradTile::k2x2;
}

std::size_t Convolution::scratch_bytes() const { return execution_->scratch_bytes(); }
std::size_t Convolution::packed_weight_bytes() const { return execution_->constant_bytes(); }

Status Convolution::execute(const void* src, void* dst, std::span<const void* const> operands,
                            void* scratch) noexcept {
  return execute_with(nullptr, nullptr, src, dst, operands, scratch);
}

Status Convolution::execute_with(const void* weights, const void* bias, const void* src, void* dst,
                                 std::span<const void* const> operands, void* scratch) noexcept {
  execution_->set(0, src);
  execution_->set(1, dst);
  std::size_t next = 2;
  if (!constant_weights_) {
    execution_->set(next++, weights);
    if (has_bias_) execution_->set(next++, bias);
  }
  for (const void* operand : operands) execution_->set(next++, operand);
  return execution_->run(scratch);
}

}  // namespace hone::kernels
