// The own f32 kernels (gemm/, depthwise/, winograd/) against every oneDNN variant of the same layer and
// layout, run in turn in one program. Prints JSON: medians, the best of each side, and how many times faster
// the own kernel is. The cache is as a benchmark leaves it: warm as far as the layer fits. bench_own
// [--threads N] [--seconds S a layer] [--only SUBSTRING]
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "in_turn.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/statistics.h"
#include "kernels/cpu/depthwise/depthwise.h"
#include "kernels/cpu/dnnl/convolution.h"
#include "kernels/cpu/dnnl/matmul.h"
#include "kernels/cpu/gemm/gathered_convolution.h"
#include "kernels/cpu/gemm/packed_matmul.h"
#include "kernels/cpu/gemm/pointwise_convolution.h"
#include "kernels/cpu/gemm/transposed_convolution.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/winograd/winograd.h"

namespace {

using namespace hone;
using namespace hone::kernels;
using namespace hone::bench;

struct Layer {
  std::string name;
  double flops = 0;
  double bytes = 0;  // compulsory: each tensor once
  std::function<std::vector<Variant>()> variants;
};

// The tensors of one layer, shared by its variants.
struct Data {
  Tensor src, weights, bias, residual, dst, scratch;
};

constexpr std::string_view kOwn = "own ";  // names of own kernels begin so

template <typename Own>
void add_own(std::string_view name, std::vector<Variant>& variants, const std::shared_ptr<Data>& data,
             Own made) {
  if (!made.ok()) std::abort();
  std::shared_ptr kernel = *std::move(made);
  constexpr bool kScratch = requires { kernel->scratch_bytes(); };
  auto scratch = std::make_shared<Tensor>();
  if constexpr (kScratch) *scratch = Tensor(DType::kU8, {static_cast<int64_t>(kernel->scratch_bytes()) + 64});
  const auto run = [=] {
    const float* src = data->src.template as<float>().data();
    const float* residual = data->residual.template as<float>().data();
    float* dst = data->dst.template as<float>().data();
    if constexpr (kScratch) {
      kernel->execute(src, residual, dst, scratch->data());
    } else {
      kernel->execute(src, residual, dst);
    }
  };
  variants.push_back({std::string(kOwn) + std::string(name), run});
}

template <typename Own>
void add_if_supported(const ConvolutionDesc& desc, std::vector<Variant>& variants,
                      const std::shared_ptr<Data>& data) {
  if (!Own::supports(desc).ok()) return;
  add_own(Own::kName, variants, data, Own::create(desc, data->weights.data(), data->bias.data()));
}

std::vector<Variant> convolution_variants(const ConvolutionDesc& desc) {
  const auto data = std::make_shared<Data>();
  data->src = random_tensor({storage_elements(desc.src_shape(), desc.src_layout)}, 1);
  data->weights = random_tensor({element_count(desc.weights_shape())}, 2);
  data->bias = random_tensor({desc.out_channels}, 3);
  const int64_t result = storage_elements(desc.dst_shape(), desc.dst_layout);
  data->residual = random_tensor({result}, 4);
  data->dst = random_tensor({result}, 5);
  std::vector<Variant> variants;
  add_if_supported<DepthwiseConvolution>(desc, variants, data);
  add_if_supported<PointwiseConvolution>(desc, variants, data);
  add_if_supported<GatheredConvolution>(desc, variants, data);
  add_if_supported<TransposedConvolution>(desc, variants, data);
  if (WinogradConvolution::supports(desc).ok()) {
    for (const WinogradTile tile : {WinogradTile::k2x2, WinogradTile::k4x4}) {
      add_own(WinogradConvolution::name(tile), variants, data,
              WinogradConvolution::create(desc, tile, data->weights.data(), data->bias.data()));
    }
  }
  for (const ConvolutionVariant& candidate : Convolution::candidates(desc)) {
    if (candidate.src_layout != desc.src_layout || candidate.dst_layout != desc.dst_layout) continue;
    ConvolutionDesc chosen = desc;
    candidate.apply_to(chosen);
    auto made = Convolution::create(chosen, data->weights.data(), data->bias.data());
    if (!made.ok()) continue;
    std::shared_ptr<Convolution> kernel = *std::move(made);
    const auto scratch =
        std::make_shared<Tensor>(DType::kU8, Shape{static_cast<int64_t>(kernel->scratch_bytes()) + 64});
    variants.push_back({candidate.name(), [=] {
                          const void* operands[] = {data->residual.data()};
                          const std::size_t count = operand_count(chosen.post_ops);
                          if (!kernel
                                   ->execute(data->src.data(), data->dst.data(),
                                             std::span<const void* const>(operands).first(count),
                                             scratch->data())
                                   .ok())
                            std::abort();
                        }});
  }
  return variants;
}

std::vector<Variant> product_variants(const MatMulDesc& desc) {
  const auto data = std::make_shared<Data>();
  data->src = random_tensor({element_count(desc.a_shape)}, 1);
  data->weights = random_tensor({element_count(desc.b_shape)}, 2);
  data->bias = random_tensor({desc.b_shape[1]}, 3);
  data->dst = random_tensor({element_count(*desc.dst_shape())}, 5);
  data->residual = data->dst;
  std::vector<Variant> variants;
  add_own(PackedMatMul::kName, variants, data,
          PackedMatMul::create(desc, data->weights.data(), data->bias.data()));
  for (const std::string& name : MatMul::candidates(desc)) {
    MatMulDesc chosen = desc;
    chosen.implementation = name;
    auto made = MatMul::create(chosen, data->weights.data(), data->bias.data());
    if (!made.ok()) continue;
    std::shared_ptr<MatMul> kernel = *std::move(made);
    const auto scratch =
        std::make_shared<Tensor>(DType::kU8, Shape{static_cast<int64_t>(kernel->scratch_bytes()) + 64});
    variants.push_back(
        {name, [=] {
           if (!kernel->execute(data->src.data(), nullptr, data->dst.data(), {}, scratch->data()).ok())
             std::abort();
         }});
  }
  return variants;
}

Layer layer_of(std::string name, const ConvolutionDesc& desc) {
  const int64_t results = element_count(desc.dst_shape()) * (operand_count(desc.post_ops) > 0 ? 2 : 1);
  const int64_t floats = element_count(desc.src_shape()) + element_count(desc.weights_shape()) + results;
  return {std::move(name), desc.flops(), 4 * static_cast<double>(floats),
          [desc] { return convolution_variants(desc); }};
}

ConvolutionDesc square(int64_t in, int64_t out, int64_t side, int64_t kernel, int64_t stride) {
  ConvolutionDesc desc;
  desc.in_channels = in;
  desc.out_channels = out;
  desc.input = {side, side};
  desc.kernel = {kernel, kernel};
  desc.strides = {stride, stride};
  desc.pads_begin = desc.pads_end = {kernel / 2, kernel / 2};
  desc.has_bias = true;
  desc.src_layout = desc.dst_layout = Layout::kBlocked16;
  return desc;
}

Layer convolution(std::string name, int64_t in, int64_t out, int64_t side, int64_t stride,
                  bool residual = false) {
  ConvolutionDesc desc = square(in, out, side, 1, stride);
  if (residual)
    desc.post_ops.push_back(PostOp::binary(PostOp::Kind::kBinaryAdd, desc.dst_shape(), Layout::kBlocked16));
  desc.post_ops.push_back(PostOp::relu());
  return layer_of(std::move(name), desc);
}

Layer depthwise(std::string name, int64_t channels, int64_t side, int64_t kernel, int64_t stride) {
  ConvolutionDesc desc = square(channels, channels, side, kernel, stride);
  desc.groups = channels;
  desc.post_ops = {PostOp::clip(0, 6)};
  return layer_of(std::move(name), desc);
}

Layer window(std::string name, int64_t in, int64_t out, int64_t side, int64_t stride) {
  ConvolutionDesc desc = square(in, out, side, 3, stride);
  desc.post_ops = {PostOp::relu()};
  return layer_of(std::move(name), desc);
}

Layer enlarging(std::string name, int64_t in, int64_t out, int64_t side) {
  ConvolutionDesc desc = square(in, out, side, 2, 2);
  desc.pads_begin = desc.pads_end = {};
  desc.transposed = true;
  return layer_of(std::move(name), desc);
}

Layer product(std::string name, int64_t rows, int64_t depth, int64_t columns,
              std::vector<PostOp> post_ops = {}) {
  MatMulDesc desc;
  desc.a_shape = {rows, depth};
  desc.b_shape = {depth, columns};
  desc.constant_b = true;
  desc.has_bias = true;
  desc.post_ops = std::move(post_ops);
  const double floats = static_cast<double>(rows * depth + depth * columns + rows * columns);
  return {std::move(name), desc.flops(), 4 * floats, [desc] { return product_variants(desc); }};
}

std::vector<Layer> layers() {
  const PostOp gelu = PostOp::of(PostOp::Kind::kGeluErf);
  return {
      depthwise("mobilenet dw3x3 32 112", 32, 112, 3, 1),
      depthwise("mobilenet dw3x3s2 96 112", 96, 112, 3, 2),
      depthwise("mobilenet dw3x3 144 56", 144, 56, 3, 1),
      depthwise("mobilenet dw3x3s2 144 56", 144, 56, 3, 2),
      depthwise("mobilenet dw3x3 192 28", 192, 28, 3, 1),
      depthwise("mobilenet dw3x3s2 192 28", 192, 28, 3, 2),
      depthwise("mobilenet dw3x3 384 14", 384, 14, 3, 1),
      depthwise("mobilenet dw3x3 576 14", 576, 14, 3, 1),
      depthwise("mobilenet dw3x3s2 576 14", 576, 14, 3, 2),
      depthwise("mobilenet dw3x3 960 7", 960, 7, 3, 1),
      depthwise("efficientnet dw5x5 240 28", 240, 28, 5, 1),
      depthwise("efficientnet dw5x5s2 144 56", 144, 56, 5, 2),
      depthwise("efficientnet dw5x5 672 14", 672, 14, 5, 1),
      convolution("resnet50 1x1 64-64 56", 64, 64, 56, 1),
      convolution("resnet50 1x1 64-256 56 add", 64, 256, 56, 1, true),
      convolution("resnet50 1x1 256-64 56", 256, 64, 56, 1),
      convolution("resnet50 1x1 128-512 28 add", 128, 512, 28, 1, true),
      convolution("resnet50 1x1 512-128 28", 512, 128, 28, 1),
      convolution("resnet50 1x1 256-1024 14 add", 256, 1024, 14, 1, true),
      convolution("resnet50 1x1 1024-256 14", 1024, 256, 14, 1),
      convolution("resnet50 1x1 512-2048 7 add", 512, 2048, 7, 1, true),
      convolution("resnet50 1x1 2048-512 7", 2048, 512, 7, 1),
      convolution("resnet50 1x1s2 256-512 56", 256, 512, 56, 2),
      convolution("resnet50 1x1s2 512-1024 28", 512, 1024, 28, 2),
      convolution("resnet50 1x1s2 1024-2048 14", 1024, 2048, 14, 2),
      window("resnet50 3x3 64 56", 64, 64, 56, 1),
      window("resnet50 3x3 128 28", 128, 128, 28, 1),
      window("resnet50 3x3 256 14", 256, 256, 14, 1),
      window("resnet50 3x3 512 7", 512, 512, 7, 1),
      window("resnet50 3x3s2 128 56", 128, 128, 56, 2),
      window("resnet50 3x3s2 256 28", 256, 256, 28, 2),
      window("resnet50 3x3s2 512 14", 512, 512, 14, 2),
      window("unet 3x3 64 256", 64, 64, 256, 1),
      window("unet 3x3 128 128", 128, 128, 128, 1),
      window("unet 3x3 256 64", 256, 256, 64, 1),
      window("unet 3x3 512 32", 512, 512, 32, 1),
      window("unet 3x3 1024-512 32", 1024, 512, 32, 1),
      window("unet 3x3 1024 16", 1024, 1024, 16, 1),
      enlarging("unet up 1024-512 16", 1024, 512, 16),
      enlarging("unet up 512-256 32", 512, 256, 32),
      enlarging("unet up 256-128 64", 256, 128, 64),
      enlarging("unet up 128-64 128", 128, 64, 128),
      convolution("mobilenet 1x1 32-16 112", 32, 16, 112, 1),
      convolution("mobilenet 1x1 16-96 112", 16, 96, 112, 1),
      convolution("mobilenet 1x1 96-24 56", 96, 24, 56, 1),
      convolution("mobilenet 1x1 24-144 56", 24, 144, 56, 1),
      convolution("mobilenet 1x1 192-32 28", 192, 32, 28, 1),
      convolution("mobilenet 1x1 32-192 28", 32, 192, 28, 1),
      convolution("mobilenet 1x1 64-384 14", 64, 384, 14, 1),
      convolution("mobilenet 1x1 384-64 14", 384, 64, 14, 1),
      convolution("mobilenet 1x1 576-96 14", 576, 96, 14, 1),
      convolution("mobilenet 1x1 160-960 7", 160, 960, 7, 1),
      convolution("mobilenet 1x1 960-320 7", 960, 320, 7, 1),
      convolution("mobilenet 1x1 320-1280 7", 320, 1280, 7, 1),
      convolution("unet 1x1 64-2 256", 64, 2, 256, 1),
      product("gpt2 1x768x3072", 1, 768, 3072),
      product("gpt2 1x3072x768", 1, 3072, 768),
      product("gpt2 1x768x50257", 1, 768, 50257),
      product("resnet50 1x2048x1000", 1, 2048, 1000),
      product("gpt2 4x768x3072", 4, 768, 3072),
      product("gpt2 8x768x3072", 8, 768, 3072),
      product("gpt2 16x768x3072", 16, 768, 3072),
      product("gpt2 16x768x3072 gelu", 16, 768, 3072, {gelu}),
      product("gpt2 64x768x2304", 64, 768, 2304),
      product("minilm 128x384x384", 128, 384, 384),
      product("minilm 128x384x1536 gelu", 128, 384, 1536, {gelu}),
      product("bert 128x768x768", 128, 768, 768),
      product("bert 128x768x3072 gelu", 128, 768, 3072, {gelu}),
      product("bert 128x3072x768", 128, 3072, 768),
      product("vit 197x768x768", 197, 768, 768),
      product("vit 197x768x3072 gelu", 197, 768, 3072, {gelu}),
      product("vit 197x3072x768", 197, 3072, 768),
  };
}

struct Best {
  std::string name;
  double seconds = 0;
};

Best best_of(const std::vector<Variant>& variants, bool own) {
  Best best;
  for (const Variant& variant : variants) {
    if (variant.name.starts_with(kOwn) != own) continue;
    const double seconds = median(variant.seconds);
    if (best.name.empty() || seconds < best.seconds)
      best = {own ? variant.name.substr(kOwn.size()) : variant.name, seconds};
  }
  return best;
}

nlohmann::json record_layer(const Layer& layer, const Options& options) {
  std::vector<Variant> variants = layer.variants();
  measure(variants, options.seconds);
  const Best own = best_of(variants, true), library = best_of(variants, false);
  const double ratio = library.seconds / own.seconds;
  std::fprintf(stderr,
               "%-32s own %9.1f us %6.1f GFLOP/s %6.1f GB/s | oneDNN %9.1f us %6.1f | %.2f x  (%s; %s, %zu "
               "runs)\n",
               layer.name.c_str(), own.seconds * 1e6, layer.flops / own.seconds * 1e-9,
               layer.bytes / own.seconds * 1e-9, library.seconds * 1e6, layer.flops / library.seconds * 1e-9,
               ratio, own.name.c_str(), library.name.c_str(), variants[0].seconds.size());
  return {{"layer", layer.name},
          {"flops", layer.flops},
          {"bytes", layer.bytes},
          {"runs", variants[0].seconds.size()},
          {"own", own.name},
          {"own_us", own.seconds * 1e6},
          {"own_gflops", layer.flops / own.seconds * 1e-9},
          {"onednn", library.name},
          {"onednn_us", library.seconds * 1e6},
          {"onednn_gflops", layer.flops / library.seconds * 1e-9},
          {"times_as_fast", ratio}};
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = parse_options(count, arguments, {.threads = 1, .seconds = 0.4, .only = {}});
  set_thread_count(options.threads);
  nlohmann::json report = {{"threads", options.threads}};
  for (const Layer& layer : layers()) {
    if (layer.name.find(options.only) == std::string::npos) continue;
    report["layers"].push_back(record_layer(layer, options));
  }
  std::fputs(report.dump(1).c_str(), stdout);
  std::fputc('\n', stdout);
  return 0;
}
