// Times every oneDNN variant of the hero models' typical layers, to choose the library's version and to see
// where an own kernel would pay. Prints JSON: one record a layer, variant and thread count, with the median
// of interleaved runs and the relative L2 error against the library's reference-order direct kernel.
// bench_onednn [--threads N] [--seconds S a layer] [--only SUBSTRING]
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "in_turn.h"
#include <dnnl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <omp.h>

#include "core/statistics.h"
#include "kernels/cpu/dnnl/convolution.h"
#include "kernels/cpu/dnnl/matmul.h"

namespace {

using namespace hone;
using namespace hone::kernels;
using namespace hone::bench;
using Clock = std::chrono::steady_clock;

double relative_error(const std::vector<float>& got, const std::vector<float>& want) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    difference += std::pow(static_cast<double>(got[i]) - want[i], 2);
    norm += std::pow(static_cast<double>(want[i]), 2);
  }
  return std::sqrt(difference / norm);
}

// Logical element order of a tensor N, C, spatial… in `layout`.
std::vector<float> plain(const Tensor& stored, const Shape& shape, Layout layout) {
  const auto data = stored.as<float>();
  const int64_t pixels = element_count(std::span(shape).subspan(2));
  const int64_t channels = shape[1];
  const int64_t block = layout == Layout::kBlocked16 ? 16 : layout == Layout::kBlocked8 ? 8 : 1;
  std::vector<float> result(static_cast<std::size_t>(element_count(shape)));
  std::size_t to = 0;
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t p = 0; p < pixels; ++p) {
        int64_t from = (n * channels + c) * pixels + p;
        if (layout == Layout::kChannelsLast) from = (n * pixels + p) * channels + c;
        if (block > 1) {
          const int64_t blocks = (channels + block - 1) / block;
          from = ((n * blocks + c / block) * pixels + p) * block + c % block;
        }
        result[to++] = data[static_cast<std::size_t>(from)];
      }
    }
  }
  return result;
}

// The inverse of plain(), padding with zeros.
Tensor stored(const Tensor& values, Layout layout) {
  const Shape& shape = values.shape();
  Tensor result = Tensor::zeros(DType::kF32, {storage_elements(shape, layout)});
  const int64_t pixels = element_count(std::span(shape).subspan(2));
  const int64_t channels = shape[1];
  const int64_t block = layout == Layout::kBlocked16 ? 16 : layout == Layout::kBlocked8 ? 8 : 1;
  const auto from = values.as<float>();
  auto to = result.as<float>();
  std::size_t i = 0;
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t p = 0; p < pixels; ++p, ++i) {
        int64_t at = (n * channels + c) * pixels + p;
        if (layout == Layout::kChannelsLast) at = (n * pixels + p) * channels + c;
        if (block > 1) {
          const int64_t blocks = (channels + block - 1) / block;
          at = ((n * blocks + c / block) * pixels + p) * block + c % block;
        }
        to[static_cast<std::size_t>(at)] = from[i];
      }
    }
  }
  return result;
}

// FLOP/s of one thread that does nothing but fused multiply-adds on registers: enough independent chains to
// hide their latency.
__attribute__((target("avx512f"), optimize("O2"))) double fma_rounds(int64_t rounds) {
  typedef float Vector __attribute__((vector_size(64)));
  constexpr int kChains = 12;
  Vector sum[kChains];
  for (Vector& chain : sum) chain = Vector{} + 1.0F;
  const Vector factor = Vector{} + 0.5F;
  for (int64_t i = 0; i < rounds; ++i) {
    asm volatile(
        "vfmadd213ps %12, %12, %0\n vfmadd213ps %12, %12, %1\n vfmadd213ps %12, %12, %2\n"
        "vfmadd213ps %12, %12, %3\n vfmadd213ps %12, %12, %4\n vfmadd213ps %12, %12, %5\n"
        "vfmadd213ps %12, %12, %6\n vfmadd213ps %12, %12, %7\n vfmadd213ps %12, %12, %8\n"
        "vfmadd213ps %12, %12, %9\n vfmadd213ps %12, %12, %10\n vfmadd213ps %12, %12, %11\n"
        : "+v"(sum[0]), "+v"(sum[1]), "+v"(sum[2]), "+v"(sum[3]), "+v"(sum[4]), "+v"(sum[5]), "+v"(sum[6]),
          "+v"(sum[7]), "+v"(sum[8]), "+v"(sum[9]), "+v"(sum[10]), "+v"(sum[11])
        : "v"(factor));
  }
  return 2.0 * 16 * kChains * static_cast<double>(rounds);
}

double fma_peak() {
  constexpr int64_t kRounds = 1'000'000;
  double best = 0;
  for (int repeat = 0; repeat < 20; ++repeat) {
    const auto start = Clock::now();
    const double operations = fma_rounds(kRounds);
    best = std::max(best, operations / std::chrono::duration<double>(Clock::now() - start).count());
  }
  return best;
}

struct Layer {
  std::string name;
  double flops = 0;
  double bytes = 0;  // compulsory
  std::function<std::vector<Variant>()> variants;
};

std::vector<Variant> convolution_variants(const ConvolutionDesc& base) {
  std::vector<Variant> variants;
  const Tensor src = random_tensor(base.src_shape(), 1);
  const Tensor weights = random_tensor(base.weights_shape(), 2);
  const Tensor bias = random_tensor({base.out_channels}, 3);
  for (const ConvolutionVariant& candidate : Convolution::candidates(base)) {
    ConvolutionDesc desc = base;
    candidate.apply_to(desc);
    auto created = Convolution::create(desc, weights.data(), bias.data());
    if (!created.ok()) continue;
    std::shared_ptr<Convolution> kernel = *std::move(created);
    auto input = std::make_shared<Tensor>(stored(src, desc.src_layout));
    auto output =
        std::make_shared<Tensor>(DType::kF32, Shape{storage_elements(desc.dst_shape(), desc.dst_layout)});
    auto scratch =
        std::make_shared<Tensor>(DType::kU8, Shape{static_cast<int64_t>(kernel->scratch_bytes()) + 64});
    Variant variant;
    variant.name = candidate.name();
    variant.run = [=] {
      if (!kernel->execute(input->data(), output->data(), {}, scratch->data()).ok()) std::abort();
    };
    variant.output = [=] { return plain(*output, desc.dst_shape(), desc.dst_layout); };
    variants.push_back(std::move(variant));
  }
  return variants;
}

std::vector<Variant> matmul_variants(const MatMulDesc& base) {
  std::vector<Variant> variants;
  const auto a = std::make_shared<Tensor>(random_tensor(base.a_shape, 1));
  const auto b = std::make_shared<Tensor>(random_tensor(base.b_shape, 2));
  const Tensor bias = random_tensor({base.b_shape.back()}, 3);
  for (const bool packed : {true, false}) {
    MatMulDesc desc = base;
    if (packed && !base.constant_b) continue;
    desc.constant_b = packed;
    for (const std::string& name : MatMul::candidates(desc)) {
      desc.implementation = name;
      auto created = MatMul::create(desc, b->data(), bias.data());
      if (!created.ok()) continue;
      std::shared_ptr<MatMul> kernel = *std::move(created);
      auto output = std::make_shared<Tensor>(DType::kF32, *desc.dst_shape());
      auto scratch =
          std::make_shared<Tensor>(DType::kU8, Shape{static_cast<int64_t>(kernel->scratch_bytes()) + 64});
      Variant variant;
      variant.name = (packed ? "packed " : "plain ") + name;
      variant.run = [=] {
        if (!kernel->execute(a->data(), b->data(), output->data(), {}, scratch->data()).ok()) std::abort();
      };
      variant.output = [=] {
        return std::vector<float>(output->as<float>().begin(), output->as<float>().end());
      };
      variants.push_back(std::move(variant));
    }
  }
  return variants;
}

Layer convolution(const std::string& name, int64_t in, int64_t out, int64_t side, int64_t kernel,
                  int64_t stride, int64_t groups = 1) {
  ConvolutionDesc desc;
  desc.in_channels = in;
  desc.out_channels = out;
  desc.groups = groups;
  desc.input = {side, side};
  desc.kernel = {kernel, kernel};
  desc.strides = {stride, stride};
  desc.pads_begin = {kernel / 2, kernel / 2};
  desc.pads_end = desc.pads_begin;
  desc.has_bias = true;
  desc.post_ops = {PostOp::relu()};
  const double bytes =
      4.0 * static_cast<double>(element_count(desc.src_shape()) + element_count(desc.dst_shape()) +
                                element_count(desc.weights_shape()));
  return {name, desc.flops(), bytes, [desc] { return convolution_variants(desc); }};
}

Layer product(const std::string& name, Shape a, Shape b, bool constant) {
  MatMulDesc desc;
  desc.a_shape = std::move(a);
  desc.b_shape = std::move(b);
  desc.constant_b = constant;
  desc.has_bias = constant;
  const double bytes = 4.0 * static_cast<double>(element_count(desc.a_shape) + element_count(desc.b_shape) +
                                                 element_count(*desc.dst_shape()));
  return {name, desc.flops(), bytes, [desc] { return matmul_variants(desc); }};
}

std::vector<Layer> layers() {
  std::vector<Layer> all;
  all.push_back(convolution("resnet50 7x7s2 3-64 224", 3, 64, 224, 7, 2));
  all.push_back(convolution("resnet50 3x3 64 56", 64, 64, 56, 3, 1));
  all.push_back(convolution("resnet50 3x3 128 28", 128, 128, 28, 3, 1));
  all.push_back(convolution("resnet50 3x3 256 14", 256, 256, 14, 3, 1));
  all.push_back(convolution("resnet50 3x3 512 7", 512, 512, 7, 3, 1));
  all.push_back(convolution("resnet50 3x3s2 128 56", 128, 128, 56, 3, 2));
  all.push_back(convolution("resnet50 3x3s2 512 14", 512, 512, 14, 3, 2));
  all.push_back(convolution("resnet50 1x1 64-256 56", 64, 256, 56, 1, 1));
  all.push_back(convolution("resnet50 1x1 256-64 56", 256, 64, 56, 1, 1));
  all.push_back(convolution("resnet50 1x1 512-128 28", 512, 128, 28, 1, 1));
  all.push_back(convolution("resnet50 1x1 256-1024 14", 256, 1024, 14, 1, 1));
  all.push_back(convolution("resnet50 1x1 2048-512 7", 2048, 512, 7, 1, 1));
  all.push_back(convolution("resnet50 1x1s2 1024-2048 14", 1024, 2048, 14, 1, 2));
  all.push_back(convolution("unet 3x3 3-64 256", 3, 64, 256, 3, 1));
  all.push_back(convolution("unet 3x3 64 256", 64, 64, 256, 3, 1));
  all.push_back(convolution("unet 3x3 128 128", 128, 128, 128, 3, 1));
  all.push_back(convolution("unet 3x3 256 64", 256, 256, 64, 3, 1));
  all.push_back(convolution("unet 3x3 512 32", 512, 512, 32, 3, 1));
  all.push_back(convolution("unet 3x3 128-64 256", 128, 64, 256, 3, 1));
  all.push_back(convolution("unet 1x1 64-2 256", 64, 2, 256, 1, 1));
  all.push_back(convolution("mobilenet 3x3s2 3-32 224", 3, 32, 224, 3, 2));
  all.push_back(convolution("mobilenet dw3x3 32 112", 32, 32, 112, 3, 1, 32));
  all.push_back(convolution("mobilenet dw3x3s2 96 112", 96, 96, 112, 3, 2, 96));
  all.push_back(convolution("mobilenet dw3x3 144 56", 144, 144, 56, 3, 1, 144));
  all.push_back(convolution("mobilenet dw3x3 384 14", 384, 384, 14, 3, 1, 384));
  all.push_back(convolution("mobilenet dw3x3 960 7", 960, 960, 7, 3, 1, 960));
  all.push_back(convolution("mobilenet 1x1 32-16 112", 32, 16, 112, 1, 1));
  all.push_back(convolution("mobilenet 1x1 16-96 112", 16, 96, 112, 1, 1));
  all.push_back(convolution("mobilenet 1x1 24-144 56", 24, 144, 56, 1, 1));
  all.push_back(convolution("mobilenet 1x1 64-384 14", 64, 384, 14, 1, 1));
  all.push_back(convolution("mobilenet 1x1 960-320 7", 960, 320, 7, 1, 1));
  all.push_back(convolution("mobilenet 1x1 320-1280 7", 320, 1280, 7, 1, 1));
  all.push_back(convolution("vit 16x16s16 3-768 224", 3, 768, 224, 16, 16));
  all.push_back(product("bert 128x768x768", {128, 768}, {768, 768}, true));
  all.push_back(product("bert 128x768x3072", {128, 768}, {768, 3072}, true));
  all.push_back(product("bert 128x3072x768", {128, 3072}, {3072, 768}, true));
  all.push_back(product("bert scores 12x128x64x128", {12, 128, 64}, {12, 64, 128}, false));
  all.push_back(product("bert context 12x128x128x64", {12, 128, 128}, {12, 128, 64}, false));
  all.push_back(product("minilm 128x384x384", {128, 384}, {384, 384}, true));
  all.push_back(product("minilm 128x384x1536", {128, 384}, {384, 1536}, true));
  all.push_back(product("minilm 128x1536x384", {128, 1536}, {1536, 384}, true));
  all.push_back(product("gpt2 64x768x2304", {64, 768}, {768, 2304}, true));
  all.push_back(product("gpt2 64x768x3072", {64, 768}, {768, 3072}, true));
  all.push_back(product("gpt2 64x768x50257", {64, 768}, {768, 50257}, true));
  all.push_back(product("gpt2 16x768x3072", {16, 768}, {768, 3072}, true));
  all.push_back(product("gpt2 1x768x3072", {1, 768}, {768, 3072}, true));
  all.push_back(product("gpt2 1x3072x768", {1, 3072}, {3072, 768}, true));
  all.push_back(product("gpt2 1x768x50257", {1, 768}, {768, 50257}, true));
  all.push_back(product("vit 197x768x768", {197, 768}, {768, 768}, true));
  all.push_back(product("vit 197x768x3072", {197, 768}, {768, 3072}, true));
  all.push_back(product("vit 197x3072x768", {197, 3072}, {3072, 768}, true));
  all.push_back(product("resnet50 1x2048x1000", {1, 2048}, {2048, 1000}, true));
  return all;
}

nlohmann::json record_layer(const Layer& layer, const Options& options) {
  std::vector<Variant> variants = layer.variants();
  measure(variants, options.seconds);
  // The direct algorithms agree to rounding; whichever comes first without Winograd serves as the reference.
  std::vector<float> reference;
  for (const Variant& variant : variants) {
    if (variant.name.find("winograd") == std::string::npos) reference = variant.output();
    if (!reference.empty()) break;
  }
  nlohmann::json record = {{"layer", layer.name}, {"flops", layer.flops}, {"bytes", layer.bytes}};
  for (const Variant& variant : variants) {
    const double seconds = median(variant.seconds);
    record["variants"].push_back(
        {{"name", variant.name},
         {"us", seconds * 1e6},
         {"best_us", *std::min_element(variant.seconds.begin(), variant.seconds.end()) * 1e6},
         {"gflops", layer.flops / seconds * 1e-9},
         {"runs", variant.seconds.size()},
         {"relative_error", relative_error(variant.output(), reference)}});
  }
  return record;
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = parse_options(count, arguments, {.threads = 2, .seconds = 0.6, .only = {}});
  omp_set_num_threads(options.threads);
  const dnnl_version_t* version = dnnl_version();
  nlohmann::json report = {
      {"library", fmt::format("oneDNN {}.{}.{}", version->major, version->minor, version->patch)},
      {"threads", options.threads},
      {"fma_gflops_one_thread", __builtin_cpu_supports("avx512f") ? fma_peak() * 1e-9 : 0}};
  for (const Layer& layer : layers()) {
    if (layer.name.find(options.only) == std::string::npos) continue;
    report["layers"].push_back(record_layer(layer, options));
    std::fprintf(stderr, "%s\n", layer.name.c_str());
  }
  std::fputs(report.dump(1).c_str(), stdout);
  std::fputc('\n', stdout);
  return 0;
}
