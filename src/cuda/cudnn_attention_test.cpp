// Attention and its gradient by cuDNN: what NVIDIA's library takes and what is refused before it is asked. Its kernels are
// generated, for which it wants a driver: NVIDIA's stub of one does. Numbers are compared in tests/backends.
#include <cstdio>
#include <filesystem>

#include "cuda/cudnn_attention_gradient.h"
#include "cuda/testing/described_gpus.h"
#include "cuda/testing/fake_driver.h"
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

namespace hone::cuda {
namespace {

using ::testing::HasSubstr;

AttentionDesc heads_of(int64_t columns) {
  const AttentionDesc::Strides strides{12 * 40 * columns, columns, 12 * columns};
  return {.dtype = DType::kF16,
          .batch = 2,
          .heads = 12,
          .kv_heads = 12,
          .queries = 40,
          .keys = 40,
          .head_dim = columns,
          .value_dim = columns,
          .q = strides,
          .k = strides,
          .v = strides,
          .o = strides};
}

TEST(RealCudnnAttention, IsAGraphThatNvidiasLibraryTakes) {
  for (const testing::DescribedGpu& gpu : {testing::kA100, testing::kH100, testing::kB200}) {
    const auto cudnn = testing::real_cudnn_for(gpu);
    if (cudnn == nullptr) return;
    for (const int64_t columns : {32, 64, 128, 256}) {
      const auto attention = Attention::make(cudnn, heads_of(columns));
      ASSERT_TRUE(attention.ok()) << attention.error().message;
      EXPECT_TRUE((*attention)->engines(4).ok());
    }
  }
}

// --- in a process of its own, with a driver's stub ---

// A driver, or what toolkits have to link with where there is none: its functions are there, and do nothing.
bool load_driver_or_stub() {
  if (dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL) != nullptr) return true;
  for (const std::string& toolkit : LibraryPlaces::of_this_process().toolkits) {
    for (const char* const folder : {"lib64", "lib"}) {
      const auto stub = std::filesystem::path(toolkit) / folder / "stubs/libcuda.so";
      if (dlopen(stub.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr) return true;
    }
  }
  return false;
}

constexpr int kTaken = 0, kRefused = 1, kNobodyToAsk = 2;

template <typename Graph, typename Desc>
bool has_engines(const std::shared_ptr<const Cudnn>& cudnn, const char* gpu, const char* what,
                 const Desc& desc) {
  const auto graph = Graph::make(cudnn, desc);
  const auto engines = graph.ok() ? (*graph)->engines(8) : graph.error();
  if (engines.ok() && !engines->empty()) return true;
  std::fprintf(stderr, "%s on %s: %s\n", what, gpu,
               engines.ok() ? "no engine" : engines.error().message.c_str());
  return false;
}

// Of even and odd lengths, causal or not, with heads that share keys or not, in rows of all three or of their own.
[[noreturn]] void judge_gradients() {
  if (!load_driver_or_stub()) std::exit(kNobodyToAsk);
  bool all = true;
  for (const testing::DescribedGpu& gpu : {testing::kA100, testing::kH100, testing::kB200}) {
    const auto cudnn = testing::real_cudnn_for(gpu);
    if (cudnn == nullptr) std::exit(kNobodyToAsk);
    for (const int64_t length : {1024, 77}) {
      for (const int form : {0, 1, 2}) {
        const int64_t heads = 12, kv_heads = form == 1 ? 4 : heads, columns = form == 2 ? 128 : 64;
        const auto packed = [&](int64_t count, int64_t operands = 1) {  // that share a row
          const int64_t row = count * columns * operands;
          return AttentionDesc::Strides{length * row, columns, row};
        };
        const int64_t together = form == 0 ? 3 : 1;
        AttentionDesc forward{.dtype = form == 0 ? DType::kBF16 : DType::kF16,
                              .batch = 4,
                              .heads = heads,
                              .kv_heads = kv_heads,
                              .queries = length,
                              .keys = length,
                              .head_dim = columns,
                              .value_dim = columns,
                              .q = packed(heads, together),
                              .k = packed(kv_heads, together),
                              .v = packed(kv_heads, together),
                              .o = packed(heads),
                              .causal = form != 2,
                              .sums = true};
        all = has_engines<Attention>(cudnn, gpu.name, "attention with sums", forward) && all;
        AttentionDesc alone = forward;
        alone.sums = false;
        all = has_engines<Attention>(cudnn, gpu.name, "attention", alone) && all;
        for (const bool deterministic : {true, false}) {
          const AttentionGradientDesc desc{.forward = forward,
                                           .d_o = forward.o,
                                           .dq = forward.q,
                                           .dk = forward.k,
                                           .dv = forward.v,
                                           .deterministic = deterministic};
          all = has_engines<AttentionGradient>(cudnn, gpu.name, "the gradient of attention", desc) && all;
        }
      }
    }
  }
  std::exit(all ? kTaken : kRefused);
}

TEST(RealCudnnAttentionDeathTest, TakesSumsAndGradients) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      judge_gradients(),
      [](int status) {
        const int code = WIFEXITED(status) ? WEXITSTATUS(status) : kRefused;
        if (code == kNobodyToAsk)
          std::cerr << "\n*** NOT RUN: there is no cuDNN, or no stub of a driver ***\n\n";
        return code != kRefused;
      },
      "");
}

TEST(CudnnAttention, RefusesRowsThatTheLibraryWouldReadWrongly) {
  const auto cudnn = testing::fake_cudnn(testing::fake_context());
  AttentionDesc desc = heads_of(64);
  desc.k.row += 4;
  const auto attention = Attention::make(cudnn, desc);
  ASSERT_FALSE(attention.ok());
  EXPECT_THAT(attention.error().message, HasSubstr("multiples of 16 bytes"));
  EXPECT_THAT(Attention::make(cudnn, heads_of(20)).error().message, HasSubstr("not 20"));
  EXPECT_THAT(Attention::make(cudnn, heads_of(264)).error().message, HasSubstr("not 264"));
  AttentionGradientDesc one;
  one.forward = heads_of(64);
  one.forward.keys = 1;
  EXPECT_THAT(AttentionGradient::make(cudnn, one).error().message, HasSubstr("one query or one key"));
}

}  // namespace
}  // namespace hone::cuda
