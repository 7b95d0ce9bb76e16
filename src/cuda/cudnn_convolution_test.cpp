// Convolutions by cuDNN: which engines NVIDIA's library has for them on GPUs that are described to it, and what a made-up one
// (testing/fake_cudnn.cpp) computes and refuses. Numbers are compared in tests/backends.
#include "cuda/cudnn_convolution.h"

#include "cuda/testing/described_gpus.h"
#include "cuda/testing/fake_driver.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone::cuda {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

ConvolutionDesc image(DType dtype, bool channels_last) {
  return {.dtype = dtype,
          .channels_last = channels_last,
          .x = {4, 64, 28, 26},
          .w = {48, 64, 3, 3},
          .y = {4, 48, 28, 26},
          .strides = {1, 1},
          .dilations = {1, 1},
          .pads_begin = {1, 1},
          .pads_end = {1, 1}};
}

ConvolutionActivation relu() { return {.mode = CudnnPointwise::kRelu}; }

struct Case {
  const char* name;
  ConvolutionDesc desc;
};

// What every type and both layouts must have a kernel for.
std::vector<Case> wanted(DType dtype, bool channels_last) {
  const ConvolutionDesc plain = image(dtype, channels_last);
  std::vector<Case> all = {{"alone", plain}};
  const auto add = [&](const char* name, auto&& change) {
    ConvolutionDesc desc = plain;
    change(desc);
    all.push_back({name, desc});
  };
  add("bias", [](ConvolutionDesc& d) { d.bias = true; });
  add("bias, relu", [](ConvolutionDesc& d) { d.bias = true, d.activation = relu(); });
  add("added, bias, relu", [](ConvolutionDesc& d) { d.added = d.bias = true, d.activation = relu(); });
  add("added, bias", [](ConvolutionDesc& d) { d.added = d.bias = true; });
  add("bias, sigmoid",
      [](ConvolutionDesc& d) { d.bias = true, d.activation = {.mode = CudnnPointwise::kSigmoid}; });
  add("bias, relu6", [](ConvolutionDesc& d) {
    d.bias = true, d.activation = {.mode = CudnnPointwise::kRelu, .high = 6, .has_high = true};
  });
  add("each channel by itself", [](ConvolutionDesc& d) { d.w = {64, 1, 3, 3}, d.y[1] = 64, d.bias = true; });
  add("groups", [](ConvolutionDesc& d) { d.w = {48, 16, 3, 3}; });
  add("few channels", [](ConvolutionDesc& d) {
    d.x = {1, 3, 28, 26}, d.w = {7, 3, 3, 3}, d.y = {1, 7, 28, 26}, d.bias = true;
  });
  add("strides, more padding behind", [](ConvolutionDesc& d) {
    d.strides = {2, 2}, d.pads_begin = {0, 0}, d.y = {4, 48, 14, 13}, d.bias = true;
  });
  add("dilations", [](ConvolutionDesc& d) { d.dilations = {2, 3}, d.pads_begin = d.pads_end = {2, 3}; });
  add("a line", [](ConvolutionDesc& d) {
    d.x = {2, 16, 37}, d.w = {24, 16, 4}, d.y = {2, 24, 34}, d.strides = d.dilations = {1};
    d.pads_begin = d.pads_end = {0};
  });
  add("a volume", [](ConvolutionDesc& d) {
    d.x = {1, 16, 9, 8, 7}, d.w = {24, 16, 3, 3, 3}, d.y = {1, 24, 9, 8, 7};
    d.strides = d.dilations = d.pads_begin = d.pads_end = {1, 1, 1};
  });
  add("transposed", [](ConvolutionDesc& d) {
    d.transposed = true, d.x = {2, 32, 7, 6}, d.w = {32, 16, 2, 2}, d.y = {2, 16, 14, 12};
    d.strides = {2, 2}, d.pads_begin = d.pads_end = {0, 0};
  });
  add("gradient of weights", [](ConvolutionDesc& d) { d.weight_gradient = true; });
  add("gradient of weights, strides", [](ConvolutionDesc& d) {
    d.weight_gradient = true, d.strides = {2, 2}, d.pads_begin = {0, 0}, d.y = {4, 48, 14, 13};
  });
  add("gradient of weights, few channels", [](ConvolutionDesc& d) {
    d.weight_gradient = true, d.x = {1, 3, 28, 26}, d.w = {7, 3, 3, 3}, d.y = {1, 7, 28, 26};
  });
  add("gradient of weights, one place", [](ConvolutionDesc& d) {
    d.weight_gradient = true, d.w = {48, 64, 1, 1}, d.pads_begin = d.pads_end = {0, 0};
  });
  add("transposed, in groups", [](ConvolutionDesc& d) {
    d.transposed = true, d.x = {2, 32, 7, 6}, d.w = {32, 8, 3, 3}, d.y = {2, 16, 13, 11};
    d.strides = {2, 2};
  });
  return all;
}

class RealCudnn : public ::testing::TestWithParam<testing::DescribedGpu> {};
INSTANTIATE_TEST_SUITE_P(Described, RealCudnn,
                         ::testing::Values(testing::kA100, testing::kH100, testing::kB200),
                         [](const auto& gpu) { return "sm_" + std::to_string(gpu.param.version / 10); });

TEST_P(RealCudnn, HasAnExactKernelForWhatEveryModelNeeds) {
  const auto cudnn = testing::real_cudnn_for(GetParam());
  if (cudnn == nullptr) return;
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const bool channels_last : {false, true}) {
      for (const Case& c : wanted(dtype, channels_last)) {
        SCOPED_TRACE(fmt::format("{} {} {}", dtype_name(dtype), channels_last ? "NHWC" : "NCHW", c.name));
        const auto convolution = Convolution::make(cudnn, c.desc);
        ASSERT_TRUE(convolution.ok()) << convolution.error().message;
        const auto engines = (*convolution)->engines(16);
        ASSERT_TRUE(engines.ok()) << engines.error().message;
        ASSERT_THAT(*engines, Not(IsEmpty()));
        for (const CudnnEngine& engine : *engines) {
          // A kernel that is generated is brought to a GPU at once.
          if (engine.compiled_when_made) continue;
          const auto plan = (*convolution)->plan(engine);
          EXPECT_TRUE(plan.ok()) << engine.name() << ": " << plan.error().message;
        }
      }
    }
  }
}

// The library's first guesses for f32 are its tensor cores', whose plans it makes: what is kept out elsewhere.
TEST_P(RealCudnn, GuessesTensorCoresForF32ThatMayRound) {
  const auto cudnn = testing::real_cudnn_for(GetParam());
  if (cudnn == nullptr) return;
  for (const bool channels_last : {false, true}) {
    for (const bool transposed : {false, true}) {
      SCOPED_TRACE(
          fmt::format("{} {}", channels_last ? "NHWC" : "NCHW", transposed ? "transposed" : "forward"));
      ConvolutionDesc desc = image(DType::kF32, channels_last);
      desc.transposed = transposed;
      if (transposed) std::swap(desc.x, desc.y);
      desc.bias = !transposed;
      const auto exact = *(*Convolution::make(cudnn, desc))->engines(64);
      desc.tf32 = true;
      const auto convolution = *Convolution::make(cudnn, desc);
      const auto engines = *convolution->engines(16);
      ASSERT_THAT(engines, Not(IsEmpty()));
      EXPECT_THAT(exact, Not(::testing::Contains(engines.front()))) << engines.front().name();
      for (const CudnnEngine& engine : engines) {
        if (engine.compiled_when_made) continue;
        const auto plan = convolution->plan(engine);
        EXPECT_TRUE(plan.ok()) << engine.name() << ": " << plan.error().message;
      }
    }
  }
}

// Guesses are asked for again by their numbers: those must say all.
TEST_P(RealCudnn, GuessesTheSameEachTime) {
  const auto cudnn = testing::real_cudnn_for(GetParam());
  if (cudnn == nullptr) return;
  ConvolutionDesc desc = image(DType::kF16, true);
  desc.bias = true;
  const auto first = *(*Convolution::make(cudnn, desc))->engines(16);
  const auto again = *(*Convolution::make(cudnn, desc))->engines(16);
  EXPECT_EQ(first, again);
  EXPECT_THAT(first, SizeIs(16));
}

TEST_P(RealCudnn, SaysWhatItDoesNotTake) {
  const auto cudnn = testing::real_cudnn_for(GetParam());
  if (cudnn == nullptr) return;
  ConvolutionDesc desc = image(DType::kF32, false);
  desc.y = {4, 48, 29, 26};
  const auto wrong = Convolution::make(cudnn, desc);
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().message, AllOf(HasSubstr("cudnnBackendFinalize of a convolution operation"),
                                           HasSubstr("CUDNN_STATUS_BAD_PARAM")));
}

class FakeCudnn : public ::testing::Test {
 protected:
  const ContextPointer context_ = testing::fake_context();
  const std::shared_ptr<const Cudnn> cudnn_ = testing::fake_cudnn(context_);
};

// In f32 tensor cores round to 10 bits; engines that give other numbers each time are none in any type.
TEST_F(FakeCudnn, OffersExactEnginesAlone) {
  const auto names = [&](DType dtype, bool tf32 = false) {
    ConvolutionDesc desc = image(dtype, true);
    desc.tf32 = tf32;
    const auto engines = *(*Convolution::make(cudnn_, desc))->engines(16);
    std::vector<std::string> all;
    for (const CudnnEngine& engine : engines) all.push_back(engine.name());
    return all;
  };
  EXPECT_THAT(names(DType::kF32), ::testing::ElementsAre("engine 0", "engine 3"));
  EXPECT_THAT(names(DType::kF32, /*tf32=*/true), ::testing::ElementsAreArray(names(DType::kF16)));
  EXPECT_THAT(names(DType::kF16),
              ::testing::ElementsAre("engine 5 (12=2)", "engine 0", "engine 3", "engine 5"));
}

TEST_F(FakeCudnn, GivesBackWhatItMade) {
  auto* const live = reinterpret_cast<int (*)()>(::dlsym(
      ::dlopen((build_folder() / "fake_driver/lib64/libcudnn.so.9").c_str(), RTLD_NOW), "fake_cudnn_live"));
  const int before = live();
  {
    const auto convolution = *Convolution::make(cudnn_, image(DType::kF16, true));
    const std::vector<CudnnEngine> engines = *convolution->engines(16);
    for (const CudnnEngine& engine : engines) ASSERT_TRUE(convolution->plan(engine).ok());
    EXPECT_GT(live(), before);
  }
  EXPECT_EQ(live(), before);
}

TEST_F(FakeCudnn, RefusesOperandsThatAreNotAligned) {
  const auto convolution = *Convolution::make(cudnn_, image(DType::kF16, true));
  const auto plan = *convolution->plan({.index = 0, .knobs = {}});
  CudnnRuns runs(convolution, plan);
  const auto memory = *allocate(context_, 1 << 20);
  auto* const at = reinterpret_cast<std::byte*>(memory.get());
  const auto stream = *make_stream(context_);
  const Status status =
      runs.run(convolution->operands({.x = at + 8, .w = at, .y = at}), nullptr, stream.get());
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("not aligned to 16 bytes"));
}

TEST(CudnnLibrary, ThatIsMissingIsSaidInOneLine) {
  LibraryPlaces nowhere{.loaded = false, .homes = {}, .linker = false, .toolkits = {}, .site_packages = {}};
  const auto cudnn = Cudnn::load(testing::fake_context(), nowhere);
  ASSERT_FALSE(cudnn.ok());
  EXPECT_THAT(cudnn.error().message, AllOf(HasSubstr("cuDNN (libcudnn.so.9) is not here"),
                                           HasSubstr("pip install nvidia-cudnn-cu13")));
}

}  // namespace
}  // namespace hone::cuda
