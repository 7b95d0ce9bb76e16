// Generated pointwise kernels without a GPU: what they compute, run as C++ of the host, against the CPU's kernel of the
// same program; and what NVRTC makes of every instruction for each architecture.
#include "kernels/cuda/pointwise.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <random>

#include "cuda/testing/real_nvrtc.h"
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "core/tensor.h"
#include "core/testing/scratch_path.h"
#include "kernels/cpu/pointwise/pointwise.h"
#include "kernels/cuda/testing/host_cuda.h"

namespace hone::kernels::gpu {
namespace {

using Op = PointwiseOp;

constexpr const char* kAfterPrelude = "HONE_FUNCTION void hone_element(";

struct TestProgram {
  std::string name;
  PointwiseProgram program;
  double tolerance = 1e-6;  // relative, of floats
};

bool is_float_op(Op op) {
  PointwiseProgram program;
  program.shape = {1};
  std::vector<int> operands(3, -1);
  for (int i = 0; i < pointwise_arity(op); ++i)
    operands[static_cast<std::size_t>(i)] = program.input(DType::kF32, {1});
  program.apply(op, operands[0], operands[1], operands[2]);
  return program.verify().ok();
}

int apply_to(PointwiseProgram& program, Op op, DType type) {
  std::vector<int> operands(3, -1);
  for (int i = 0; i < pointwise_arity(op); ++i) {
    const bool condition = op == Op::kWhere && i == 0;
    operands[static_cast<std::size_t>(i)] =
        program.input(condition ? DType::kBool : type, row_major_strides(program.shape));
  }
  return program.apply(op, operands[0], operands[1], operands[2], 0.5F, 0.75F);
}

// Each instruction in each type that takes it, five at odds with the number of lanes.
std::vector<TestProgram> every_instruction() {
  std::vector<TestProgram> tests;
  for (int i = static_cast<int>(Op::kAdd); i <= static_cast<int>(Op::kWhere); ++i) {
    const Op op = static_cast<Op>(i);
    for (const DType type : {DType::kF32, DType::kF64, DType::kI32, DType::kI64, DType::kBool, DType::kF16}) {
      if (type == DType::kF16 && !is_float_op(op)) continue;
      TestProgram test{.name = fmt::format("{}_{}", pointwise_op_name(op), dtype_name(type)), .program = {}};
      test.program.shape = {45};
      const int value = apply_to(test.program, op, type);
      const DType result = test.program.instructions[static_cast<std::size_t>(value)].dtype;
      if (result == DType::kUndefined) continue;
      test.program.output(value, type == DType::kF16 && result == DType::kF32 ? DType::kF16 : result);
      if (!test.program.verify().ok()) continue;
      if (type == DType::kF16) test.tolerance = 2e-3;
      tests.push_back(std::move(test));
    }
  }
  return tests;
}

std::vector<TestProgram> every_cast() {
  constexpr std::array kTypes = {DType::kF16, DType::kBF16, DType::kF32, DType::kF64,
                                 DType::kI8,  DType::kU8,   DType::kI16, DType::kU16,
                                 DType::kI32, DType::kU32,  DType::kI64, DType::kBool};
  std::vector<TestProgram> tests;
  for (const DType from : kTypes) {
    for (const DType to : kTypes) {
      TestProgram test{.name = fmt::format("cast_{}_{}", dtype_name(from), dtype_name(to)), .program = {}};
      test.program.shape = {37};
      test.program.output(test.program.cast(test.program.input(from, {1}), to), to);
      tests.push_back(std::move(test));
    }
  }
  return tests;
}

// Ways to lie in memory, a long chain, several outputs, constants that have no digits.
std::vector<TestProgram> every_shape() {
  std::vector<TestProgram> tests;
  const auto add = [&](std::string name, Shape shape, const std::function<void(PointwiseProgram&)>& fill) {
    TestProgram& test = tests.emplace_back();
    test.name = std::move(name);
    test.program.shape = std::move(shape);
    fill(test.program);
  };
  for (const Shape& shape : {Shape{2, 3, 4, 5}, Shape{4, 8, 16}, Shape{1, 1}, Shape{}, Shape{3, 1, 1024}}) {
    add(fmt::format("broadcast_{}", fmt::join(shape, "_")), shape, [](PointwiseProgram& p) {
      const auto rank = p.shape.size();
      const int dense = p.broadcast_input(DType::kF32, p.shape);
      Shape row = p.shape, column = p.shape;
      if (rank > 0) row.assign(1, p.shape.back()), column.back() = 1;
      int sum = p.apply(Op::kAdd, dense, p.broadcast_input(DType::kF32, row));
      sum = p.apply(Op::kMul, sum, p.broadcast_input(DType::kF32, column));
      p.output(p.apply(Op::kSub, sum, p.broadcast_input(DType::kF32, Shape{})), DType::kF32);
    });
  }
  add("transposed", {6, 7}, [](PointwiseProgram& p) {
    p.output(p.apply(Op::kAdd, p.input(DType::kF32, {1, 6}), p.input(DType::kF16, {7, 1})), DType::kF32);
  });
  // Rows that end with a vector: one number, a vector, or elements apart, of wider and of narrower types than the result.
  for (const DType type : {DType::kBF16, DType::kF32, DType::kI8}) {
    add(fmt::format("rows_of_vectors_{}", dtype_name(type)), {3, 5, 48}, [type](PointwiseProgram& p) {
      int sum = p.broadcast_input(DType::kBF16, p.shape);
      for (const std::vector<int64_t>& strides : std::vector<std::vector<int64_t>>{
               {5, 1, 0}, {0, 48, 1}, {64, 0, 1}, {1, 3, 0}, {0, 49, 1}, {0, 1, 5}, {0, 0, 1}})
        sum = p.apply(Op::kAdd, sum, p.cast(p.input(type, strides), DType::kF32));
      p.output(sum, DType::kBF16);
    });
  }
  add("two_outputs", {33, 5}, [](PointwiseProgram& p) {
    const int x = p.broadcast_input(DType::kF32, p.shape);
    const int y = p.apply(Op::kMul, x, p.constant(DType::kF32, 0.1));
    p.output(p.apply(Op::kLess, x, y), DType::kBool);
    p.output(y, DType::kBF16);
  });
  add("infinities", {9}, [](PointwiseProgram& p) {
    const int x = p.broadcast_input(DType::kF32, p.shape);
    p.output(p.apply(Op::kMax, x, p.constant(DType::kF32, -INFINITY)), DType::kF32);
    p.output(p.apply(Op::kMin, x, p.constant(DType::kF32, INFINITY)), DType::kF32);
    p.output(p.apply(Op::kAdd, x, p.constant(DType::kF32, NAN)), DType::kF32);
  });
  add("large", {(int64_t{1} << 22) + 3}, [](PointwiseProgram& p) {
    p.output(p.apply(Op::kSquare, p.broadcast_input(DType::kF32, p.shape)), DType::kF32);
  });
  add("chain", {1000}, [](PointwiseProgram& p) {
    int x = p.broadcast_input(DType::kF32, p.shape);
    for (int i = 0; i < 30; ++i) x = p.apply(i % 2 == 0 ? Op::kTanh : Op::kAdd, x, i % 2 == 0 ? -1 : x);
    p.output(x, DType::kF32);
  });
  return tests;
}

std::vector<TestProgram> all_programs() {
  std::vector<TestProgram> tests = every_instruction();
  for (auto* more : {&every_cast, &every_shape}) {
    for (TestProgram& test : (*more)()) tests.push_back(std::move(test));
  }
  return tests;
}

int64_t elements_of_input(const PointwiseProgram& program, std::size_t input) {
  int64_t last = 0;
  for (std::size_t axis = 0; axis < program.shape.size(); ++axis)
    last += (program.shape[axis] - 1) * program.inputs[input].strides[axis];
  return last + 1;
}

// Numbers of both signs, some beyond small types' ranges, some NaN and infinite where there are such.
Tensor test_values(DType type, int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-3, 3);
  Tensor values = Tensor::zeros(DType::kF64, {count});
  auto* const data = static_cast<double*>(values.data());
  for (int64_t i = 0; i < count; ++i) data[i] = i % 11 == 3 ? 300.0 * uniform(random) : uniform(random);
  if (is_float(type) && count > 6) data[4] = NAN, data[5] = INFINITY, data[6] = -INFINITY;
  Tensor made = Tensor::zeros(type, {count});
  for (int64_t i = 0; i < count; ++i) {
    auto* const at = static_cast<std::byte*>(made.data()) + static_cast<std::size_t>(i) * dtype_size(type);
    const double x = data[i];
    switch (type) {
      case DType::kF16: {
        const uint16_t v = f32_to_f16(static_cast<float>(x));
        std::memcpy(at, &v, 2);
        break;
      }
      case DType::kBF16: {
        const uint16_t v = f32_to_bf16(static_cast<float>(x));
        std::memcpy(at, &v, 2);
        break;
      }
      case DType::kF32: {
        const float v = static_cast<float>(x);
        std::memcpy(at, &v, 4);
        break;
      }
      case DType::kF64:
        std::memcpy(at, &x, 8);
        break;
      case DType::kBool: {
        const bool v = x > 0;
        std::memcpy(at, &v, 1);
        break;
      }
      default: {
        const auto v = static_cast<int64_t>(x);
        std::memcpy(at, &v, dtype_size(type));
      }
    }
  }
  return made;
}

// All programs' kernels as functions of one library, made by the compiler that built this.
class OnTheHost {
 public:
  explicit OnTheHost(const std::vector<TestProgram>& tests) {
    std::string text = std::string(testing::kHostCuda) + testing::kHostAnyPointer;
    bool first = true;
    for (std::size_t i = 0; i < tests.size(); ++i) {
      const auto kernel = generate_pointwise(tests[i].program);
      if (!kernel.ok()) throw std::logic_error(tests[i].name + ": " + kernel.error().message);
      std::string source = kernel->source.text;
      const std::size_t prelude = source.find(kAfterPrelude);
      if (first) text += source.substr(0, prelude);
      first = false;
      source = source.substr(prelude);
      for (std::size_t at; (at = source.find("extern \"C\" ")) != std::string::npos;) source.erase(at, 11);
      text += fmt::format("namespace program_{} {{\n{}\n}}\n", i, source) + caller(i, tests[i].program);
    }
    library_ = testing::compiled_on_host(text, folder_, "-O0");
  }
  ~OnTheHost() {
    ::dlclose(library_);
    std::filesystem::remove_all(folder_);
  }
  OnTheHost(const OnTheHost&) = delete;
  OnTheHost& operator=(const OnTheHost&) = delete;

  void run(std::size_t program, const void* const* inputs, void* const* outputs, int64_t elements,
           int64_t blocks) {
    using Run = void (*)(const void* const*, void* const*, int64_t, int64_t);
    reinterpret_cast<Run>(::dlsym(library_, fmt::format("run_{}", program).c_str()))(inputs, outputs,
                                                                                     elements, blocks);
  }

 private:
  static std::string caller(std::size_t i, const PointwiseProgram& program) {
    std::string text = fmt::format(
        "extern \"C\" void run_{}(const void* const* in, void* const* out, long long n, long long blocks) "
        "{{\n"
        "  for (blockIdx.x = 0; blockIdx.x < blocks; ++blockIdx.x)\n"
        "    for (threadIdx.x = 0; threadIdx.x < {}; ++threadIdx.x)\n      program_{}::{}(",
        i, kPointwiseBlock, i, kPointwiseEntry);
    for (std::size_t k = 0; k < program.inputs.size(); ++k) text += fmt::format("HoneAny{{in[{}]}}, ", k);
    for (std::size_t k = 0; k < program.outputs.size(); ++k) text += fmt::format("HoneAny{{out[{}]}}, ", k);
    return text + "n);\n}\n";
  }

  std::filesystem::path folder_ = scratch_path("hone-pointwise-kernels");
  void* library_ = nullptr;
};

// What the CPU's kernel and the generated one make of the same data.
class BothKernels {
 public:
  BothKernels(const TestProgram& test, OnTheHost& host, std::size_t index) : test_(test) {
    const PointwiseProgram& program = test.program;
    for (std::size_t i = 0; i < program.inputs.size(); ++i)
      inputs_.push_back(
          test_values(program.inputs[i].dtype, elements_of_input(program, i), 7 + static_cast<unsigned>(i)));
    for (const PointwiseOutput& output : program.outputs) {
      wanted_.push_back(Tensor::zeros(output.dtype, {element_count(program.shape)}));
      found_.push_back(Tensor::zeros(output.dtype, {element_count(program.shape)}));
    }
    std::vector<const void*> in;
    std::vector<void*> wanted, found;
    for (const Tensor& tensor : inputs_) in.push_back(tensor.data());
    for (Tensor& tensor : wanted_) wanted.push_back(tensor.data());
    for (Tensor& tensor : found_) found.push_back(tensor.data());
    const Pointwise cpu = *Pointwise::create(program);
    const Tensor scratch = Tensor::zeros(DType::kU8, {static_cast<int64_t>(cpu.scratch_bytes()) + 64});
    cpu.execute(in, wanted, const_cast<void*>(scratch.data()));
    const PointwiseKernel kernel = *generate_pointwise(program);
    host.run(index, in.data(), found.data(), kernel.elements,
             (kernel.elements + kernel.elements_a_block - 1) / kernel.elements_a_block);
  }

  // The first difference, in words; empty: none.
  std::string difference() const {
    for (std::size_t k = 0; k < wanted_.size(); ++k) {
      for (int64_t i = 0; i < wanted_[k].size(); ++i) {
        const double wanted = wanted_[k].at(i), found = found_[k].at(i);
        if (std::isnan(wanted) && std::isnan(found)) continue;
        if (wanted == found) continue;
        const bool close = is_float(wanted_[k].dtype()) &&
                           std::abs(wanted - found) <= test_.tolerance * std::max(1.0, std::abs(wanted));
        if (!close)
          return fmt::format("{}: output {}, element {}: {} instead of {}", test_.name, k, i, found, wanted);
      }
    }
    return {};
  }

 private:
  const TestProgram& test_;
  std::vector<Tensor> inputs_, wanted_, found_;
};

TEST(GeneratedPointwise, ComputesWhatTheKernelOfTheCpuDoes) {
  const std::vector<TestProgram> tests = all_programs();
  OnTheHost host(tests);
  for (std::size_t i = 0; i < tests.size(); ++i) EXPECT_EQ(BothKernels(tests[i], host, i).difference(), "");
}

// Functions of values that become f16 or bf16 at once are cheaper ones: off by less than what rounding adds, over the whole range.
TEST(GeneratedPointwise, RoundsValuesOfNarrowTypesFromCloseOnes) {
  std::vector<TestProgram> tests;
  constexpr std::array kOps = {Op::kExp,     Op::kTanh,     Op::kErf,  Op::kSigmoid,      Op::kSwish,
                               Op::kGeluErf, Op::kGeluTanh, Op::kSqrt, Op::kGeluErfSlope, Op::kGeluTanhSlope};
  for (const Op op : kOps) {
    TestProgram test{.name = std::string(pointwise_op_name(op)), .program = {}};
    test.program.shape = {4001};
    test.program.output(test.program.apply(op, test.program.input(DType::kF32, {1}), -1, -1, 1.0F, 0.0F),
                        DType::kF16);
    tests.push_back(std::move(test));
  }
  OnTheHost host(tests);
  const std::array<std::function<double(double)>, kOps.size()> exact = {
      [](double x) { return std::exp(x); },
      [](double x) { return std::tanh(x); },
      [](double x) { return std::erf(x); },
      [](double x) { return 1 / (1 + std::exp(-x)); },
      [](double x) { return x / (1 + std::exp(-x)); },
      [](double x) { return 0.5 * x * std::erfc(-x * std::sqrt(0.5)); },
      [](double x) { return x / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))); },
      [](double x) { return std::sqrt(x); },
      [](double x) {
        return 0.5 * std::erfc(-x * std::sqrt(0.5)) + x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI);
      },
      [](double x) {
        const double s = 1 / (1 + std::exp(-2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
        return s + x * s * (1 - s) * 2 * std::sqrt(2 / M_PI) * (1 + 0.134145 * x * x);
      }};
  for (std::size_t i = 0; i < tests.size(); ++i) {
    Tensor x = Tensor::zeros(DType::kF32, {4001}), y = Tensor::zeros(DType::kF16, {4001});
    for (int64_t at = 0; at < x.size(); ++at) {
      const double place = static_cast<double>(at - 2000) / 2000;
      static_cast<float*>(x.data())[at] = static_cast<float>(9 * place * std::abs(place));
    }
    const PointwiseKernel kernel = *generate_pointwise(tests[i].program);
    const void* in = x.data();
    void* out = y.data();
    host.run(i, &in, &out, kernel.elements,
             (kernel.elements + kernel.elements_a_block - 1) / kernel.elements_a_block);
    for (int64_t at = 0; at < x.size(); ++at) {
      const double wanted = exact[i](x.at(at));
      if (std::isnan(wanted)) continue;
      // Half a step of f16, an eighth beyond it, and the same below its normal numbers. Slopes have a zero, where terms of
      // about a quarter cancel.
      const bool slope = kOps[i] == Op::kGeluErfSlope || kOps[i] == Op::kGeluTanhSlope;
      const double bound = 0.625 * std::max(std::abs(wanted) * 0x1p-10, slope ? 0x1p-18 : 0x1p-24);
      ASSERT_NEAR(y.at(at), wanted, bound) << tests[i].name << " of " << x.at(at);
    }
  }
}

TEST(GeneratedPointwise, IsOneSourceForAllShapesThatLieAlike) {
  const auto source = [](Shape shape) {
    PointwiseProgram program;
    program.shape = std::move(shape);
    program.output(program.apply(Op::kRelu, program.broadcast_input(DType::kF32, program.shape)),
                   DType::kF32);
    return generate_pointwise(program)->source.text;
  };
  EXPECT_EQ(source({3, 5}), source({7, 2, 11}));
}

TEST(GeneratedPointwise, RefusesReductions) {
  PointwiseProgram program;
  program.shape = {4, 4};
  program.reduced_axes = 1;
  program.output(program.broadcast_input(DType::kF32, program.shape), DType::kF32, ReduceOp::kSum);
  const auto kernel = generate_pointwise(program);
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().code, ErrorCode::kUnsupported);
}

// The kernels of many programs as one source, each in a namespace with a name of its own.
std::string one_source(std::span<const TestProgram> tests) {
  std::string text;
  for (std::size_t i = 0; i < tests.size(); ++i) {
    std::string source = generate_pointwise(tests[i].program)->source.text;
    const std::size_t prelude = source.find(kAfterPrelude);
    if (i == 0) text = source.substr(0, prelude);
    source = source.substr(prelude);
    const std::string entry = fmt::format("{}(", kPointwiseEntry);
    source.replace(source.find(entry), entry.size(), fmt::format("{}_{}(", kPointwiseEntry, i));
    text += fmt::format("namespace program_{} {{\n{}\n}}\n", i, source);
  }
  return text;
}

class RealNvrtcPointwise : public ::testing::TestWithParam<int> {};

// What models are made of on every architecture; the rest (f16, f64, integers, bool), which takes ptxas longest, a quarter on each.
TEST_P(RealNvrtcPointwise, CompilesWithoutSpillsAndLocalMemory) {
  const auto nvrtc = cuda::testing::real_nvrtc();
  if (nvrtc == nullptr) GTEST_SKIP();
  std::vector<TestProgram> tests = every_shape();
  std::vector<TestProgram> instructions = every_instruction();
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const bool usual = instructions[i].name.ends_with("_f32");
    if (usual || static_cast<int>(i % 4) == GetParam() / 10 % 4) tests.push_back(std::move(instructions[i]));
  }
  const auto compiled = nvrtc->compile(one_source(tests), "pointwise.cu", {GetParam()},
                                       std::array{std::string("--fmad=false")});
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  ASSERT_EQ(compiled->uses.size(), tests.size());
  for (const cuda::KernelUse& use : compiled->uses) {
    const TestProgram& test = tests.at(std::stoul(use.name.substr(use.name.rfind('_') + 1)));
    const bool declared = generate_pointwise(test.program)->uses_local_memory;
    EXPECT_TRUE(declared || use.spill_stores + use.spill_loads == 0) << test.name << ": " << use.spill_stores;
    EXPECT_TRUE(declared || use.stack_bytes == 0) << test.name << ": " << use.stack_bytes;
  }
}

// 80, 90, 100 and 110 have a quarter each.
INSTANTIATE_TEST_SUITE_P(Architectures, RealNvrtcPointwise, ::testing::Values(80, 90, 100, 110, 120),
                         [](const auto& test) { return fmt::format("sm_{}", test.param); });

}  // namespace
}  // namespace hone::kernels::gpu
