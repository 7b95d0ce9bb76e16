// Kernels of rows without a GPU: run as C++ of the host, a fiber for each of a block's threads, against sums in double; and
// what NVRTC makes of them.
#include "kernels/cuda/rows.h"

#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>

#include "cuda/testing/real_nvrtc.h"
#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "core/tensor.h"
#include "core/testing/scratch_path.h"
#include "kernels/cuda/testing/host_cuda.h"

namespace hone::kernels::gpu {
namespace {

struct RowTest {
  std::string name;
  RowProgram program;
  int64_t rows = 3;
};

std::vector<RowTest> row_tests() {
  std::vector<RowTest> tests;
  for (const RowFunction function : {RowFunction::kSoftmax, RowFunction::kLogSoftmax, RowFunction::kLayerNorm,
                                     RowFunction::kRmsNorm, RowFunction::kGroupNorm}) {
    for (const int64_t columns : {1, 7, 32, 100, 300, 776, 1000, 1544, 20000}) {
      const bool bf16 = columns == 100 || columns == 776;
      const DType dtype = columns == 32 || columns == 1544 ? DType::kF16 : bf16 ? DType::kBF16 : DType::kF32;
      RowTest test{fmt::format("{}_{}", static_cast<int>(function), columns),
                   {.function = function,
                    .dtype = dtype,
                    .columns = columns,
                    .epsilon = 1e-3F,
                    .has_bias = columns != 300 || function == RowFunction::kGroupNorm}};
      if (function == RowFunction::kGroupNorm) {
        test.program.groups = 2;
        test.program.positions = columns % 4 == 0 ? columns / 4 : columns;
      }
      test.rows = columns > 256 ? 2 : 5;  // 5: a block of four and one that is not full
      tests.push_back(test);
      if (columns != 7 && columns != 300 && columns != 776) continue;
      test.name += "_spread";
      test.program.spread = true;
      tests.push_back(test);
    }
  }
  return tests;
}

float value_at(const Tensor& tensor, int64_t i) { return static_cast<float>(tensor.at(i)); }

Tensor row_values(DType dtype, int64_t count, unsigned seed, float offset) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(offset, 2);
  Tensor made = Tensor::zeros(dtype, {count});
  for (int64_t i = 0; i < count; ++i) {
    const float x = normal(random);
    auto* const at = static_cast<std::byte*>(made.data()) + static_cast<std::size_t>(i) * dtype_size(dtype);
    const uint16_t half = dtype == DType::kF16 ? f32_to_f16(x) : f32_to_bf16(x);
    if (dtype == DType::kF32)
      std::memcpy(at, &x, 4);
    else
      std::memcpy(at, &half, 2);
  }
  return made;
}

// Row `row` of what the program is by its definition.
std::vector<double> defined_row(const RowTest& test, const Tensor& x, const Tensor& scale, const Tensor& bias,
                                int64_t row) {
  const auto columns = static_cast<std::size_t>(test.program.columns);
  std::vector<double> y(columns);
  double most = -INFINITY, sum = 0, mean = 0, squares = 0, own = 0;
  for (std::size_t i = 0; i < columns; ++i) y[i] = x.at(row * test.program.columns + static_cast<int64_t>(i));
  for (const double v : y) most = std::max(most, v), mean += v / static_cast<double>(columns);
  for (const double v : y) sum += std::exp(v - most), squares += (v - mean) * (v - mean), own += v * v;
  const double factor =
      1 / std::sqrt(squares / static_cast<double>(columns) + static_cast<double>(test.program.epsilon));
  for (std::size_t i = 0; i < columns; ++i) {
    const auto at = static_cast<int64_t>(i);
    switch (test.program.function) {
      case RowFunction::kSoftmax:
        y[i] = std::exp(y[i] - most) / sum;
        break;
      case RowFunction::kLogSoftmax:
        y[i] = y[i] - most - std::log(sum);
        break;
      case RowFunction::kLayerNorm:
        y[i] = (y[i] - mean) * factor * scale.at(at) + (test.program.has_bias ? bias.at(at) : 0);
        break;
      case RowFunction::kRmsNorm:
        y[i] = y[i] /
                   std::sqrt(own / static_cast<double>(columns) + static_cast<double>(test.program.epsilon)) *
                   scale.at(at) +
               (test.program.has_bias ? bias.at(at) : 0);
        break;
      case RowFunction::kGroupNorm: {
        const int64_t channels = test.program.columns / test.program.positions;
        const int64_t channel = row % test.program.groups * channels + at / test.program.positions;
        y[i] = (y[i] - mean) * factor * scale.at(channel) + bias.at(channel);
      }
    }
  }
  return y;
}

// Each test's kernel in a namespace of its own, with a caller.
std::string host_source(const std::vector<RowTest>& tests) {
  std::string text = testing::kHostCuda;
  for (std::size_t i = 0; i < tests.size(); ++i) {
    const RowKernel kernel = *generate_rows(tests[i].program);
    std::string source = kernel.source.text;
    const std::size_t own = source.find("constexpr int kColumns");
    if (i == 0) text += source.substr(0, own);
    source = source.substr(own);
    source.erase(source.find("extern \"C\" "), 11);
    const bool norm = tests[i].program.function >= RowFunction::kLayerNorm;
    const std::string type = tests[i].program.dtype == DType::kF32 ? "float" : "unsigned short";
    const std::string pointer = fmt::format("({}*)", type);
    text += fmt::format(
        "#undef kPadding\n#undef kEpsilon\n#undef HONE_AT\nnamespace rows_{} {{\n{}\n}}\n"
        "extern \"C\" void run_{}(void* x, void* y, void* scale, void* bias, long long rows) {{\n"
        "  hone_run_grid({{(unsigned)((rows + {} - 1) / {}), 1, 1}}, {{{}, {}, 1}}, true,\n"
        "                [=] {{ rows_{}::{}({}x, {}y, {}{}rows); }});\n}}\n",
        i, source, i, kernel.rows, kernel.rows, kernel.threads, kernel.rows, i, kRowEntry, pointer, pointer,
        norm ? pointer + "scale, " : "", norm && tests[i].program.has_bias ? pointer + "bias, " : "");
  }
  return text;
}

TEST(GeneratedRows, AreWhatTheirDefinitionsSay) {
  const std::vector<RowTest> tests = row_tests();
  const std::filesystem::path folder = scratch_path("hone-row-kernels");
  void* const library = testing::compiled_on_host(host_source(tests), folder, "-O1");
  for (std::size_t i = 0; i < tests.size(); ++i) {
    const RowTest& test = tests[i];
    const int64_t count = test.rows * test.program.columns;
    Tensor x = row_values(test.program.dtype, count, 1, 10), y = Tensor::zeros(test.program.dtype, {count});
    Tensor scale = row_values(test.program.dtype, test.program.columns * 2, 2, 1),
           bias = row_values(test.program.dtype, test.program.columns * 2, 3, 0);
    using RunRows = void (*)(void*, void*, void*, void*, long long);
    reinterpret_cast<RunRows>(::dlsym(library, fmt::format("run_{}", i).c_str()))(
        x.data(), y.data(), scale.data(), bias.data(), test.rows);
    const double tolerance = test.program.dtype == DType::kF32   ? 4e-6
                             : test.program.dtype == DType::kF16 ? 2e-3
                                                                 : 1.6e-2;
    for (int64_t row = 0; row < test.rows; ++row) {
      const std::vector<double> wanted = defined_row(test, x, scale, bias, row);
      for (std::size_t k = 0; k < wanted.size(); ++k) {
        const double found =
            static_cast<double>(value_at(y, row * test.program.columns + static_cast<int64_t>(k)));
        ASSERT_NEAR(found, wanted[k], tolerance * std::max(1.0, std::abs(wanted[k])))
            << test.name << ", row " << row << ", " << k;
      }
    }
  }
  ::dlclose(library);
  std::filesystem::remove_all(folder);
}

TEST(GeneratedRows, OfTypesAndLengthsThatRegistersDoNotHoldAreRefused) {
  for (const RowProgram& program : {RowProgram{.dtype = DType::kF64, .columns = 8},
                                    RowProgram{.columns = kMostColumns + 1}, RowProgram{.columns = 0}}) {
    const auto kernel = generate_rows(program);
    ASSERT_FALSE(kernel.ok());
    EXPECT_EQ(kernel.error().code, ErrorCode::kUnsupported);
  }
}

class RealNvrtcRows : public ::testing::TestWithParam<int> {};

TEST_P(RealNvrtcRows, CompilesWithoutSpillsAndLocalMemory) {
  const auto nvrtc = cuda::testing::real_nvrtc();
  if (nvrtc == nullptr) GTEST_SKIP();
  for (const RowFunction function :
       {RowFunction::kSoftmax, RowFunction::kLayerNorm, RowFunction::kRmsNorm, RowFunction::kGroupNorm}) {
    for (const int64_t columns : {int64_t{64}, int64_t{768}, kMostColumnsInRegisters, int64_t{1} << 17}) {
      const RowKernel kernel = *generate_rows({.function = function,
                                               .dtype = columns == 768 ? DType::kF16 : DType::kF32,
                                               .columns = columns,
                                               .has_bias = true,
                                               .spread = columns == 64});
      const auto compiled =
          nvrtc->compile(kernel.source.text, "rows.cu", {GetParam()}, kernel.source.options);
      ASSERT_TRUE(compiled.ok()) << compiled.error().message;
      ASSERT_EQ(compiled->uses.size(), 1U);
      const cuda::KernelUse& use = compiled->uses[0];
      EXPECT_EQ(use.spill_stores + use.spill_loads + use.stack_bytes, 0) << columns;
      EXPECT_LE(use.registers * kernel.threads * kernel.rows, 65536)
          << columns << ": a block's threads have to fit";
    }
  }
}

// Norms of f32 that are stored as halves, alone or beside f32.
TEST_P(RealNvrtcRows, CompilesWhatIsStoredNarrow) {
  const auto nvrtc = cuda::testing::real_nvrtc();
  if (nvrtc == nullptr) GTEST_SKIP();
  for (const int64_t columns : {int64_t{33}, int64_t{768}, kMostColumnsInRegisters, int64_t{1} << 17}) {
    for (const bool stores : {true, false}) {
      const RowKernel kernel =
          *generate_rows({.function = columns == 768 ? RowFunction::kLayerNorm : RowFunction::kRmsNorm,
                          .columns = columns,
                          .has_bias = columns == 768,
                          .narrow = stores ? DType::kBF16 : DType::kF16,
                          .stores = stores});
      const auto compiled =
          nvrtc->compile(kernel.source.text, "rows.cu", {GetParam()}, kernel.source.options);
      ASSERT_TRUE(compiled.ok()) << compiled.error().message;
      ASSERT_EQ(compiled->uses.size(), 1U);
      const cuda::KernelUse& use = compiled->uses[0];
      EXPECT_EQ(use.spill_stores + use.spill_loads + use.stack_bytes, 0) << columns;
    }
  }
}

TEST(GeneratedRows, OfOtherTypesThanF32AreNotStoredNarrow) {
  for (const RowProgram& program :
       {RowProgram{
            .function = RowFunction::kLayerNorm, .dtype = DType::kF16, .columns = 8, .narrow = DType::kBF16},
        RowProgram{.columns = 8, .narrow = DType::kBF16},
        RowProgram{.function = RowFunction::kLayerNorm, .columns = 8, .stores = false}}) {
    const auto kernel = generate_rows(program);
    ASSERT_FALSE(kernel.ok());
    EXPECT_EQ(kernel.error().code, ErrorCode::kUnsupported);
  }
}

// 128 rows of a BERT's 768 halves are 32 blocks of four warps, or 128 blocks: a block for each multiprocessor.
TEST(GeneratedRows, ThatAreSpreadHaveABlockEach) {
  RowProgram program{.function = RowFunction::kLayerNorm, .dtype = DType::kF16, .columns = 768};
  EXPECT_EQ(generate_rows(program)->rows, 4);
  program.spread = true;
  const RowKernel spread = *generate_rows(program);
  EXPECT_EQ(spread.rows, 1);
  EXPECT_EQ(spread.threads, 128) << "a load of eight halves each";
}

INSTANTIATE_TEST_SUITE_P(Architectures, RealNvrtcRows, ::testing::Values(80, 90, 100, 120),
                         [](const auto& test) { return fmt::format("sm_{}", test.param); });

}  // namespace
}  // namespace hone::kernels::gpu
