// Operators by generated kernels against the interpreter: on a real GPU where there is one, and everywhere by kernels that
// the host runs thread by thread (runtime/testing/providers.h), from the node to the launch. The CPU's kernels, which read
// the same descriptions, must pass the same tests.
#include <cmath>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/text.h"
#include "runtime/interpreter.h"
#include "runtime/plan.h"
#include "runtime/testing/providers.h"

namespace hone::runtime {
namespace {

using graph::ValueId;
using ::testing::HasSubstr;

// Floats of a normal distribution; integers in [-bound, bound).
Tensor generated_values(const graph::TensorType& type, int64_t bound, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int64_t> uniform(-bound, bound - 1);
  Tensor values = Tensor::zeros(type.dtype, type.shape());
  for (int64_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const float x = normal(random);
    const int64_t n = uniform(random);
    switch (type.dtype) {
      case DType::kF32:
        values.as<float>()[at] = x;
        break;
      case DType::kF16:
      case DType::kBF16:
        static_cast<uint16_t*>(values.data())[at] =
            type.dtype == DType::kF16 ? f32_to_f16(x) : f32_to_bf16(x);
        break;
      case DType::kI64:
        values.as<int64_t>()[at] = n;
        break;
      case DType::kI32:
        values.as<int32_t>()[at] = static_cast<int32_t>(n);
        break;
      default:
        static_cast<uint8_t*>(values.data())[at] = static_cast<uint8_t>(n & 1);
    }
  }
  return values;
}

class GeneratedKernels : public ::testing::TestWithParam<const char*> {
 protected:
  // The kernels that a model's own operators run by must all be generated, but for those of `cpu`.
  void expect_as_interpreted(const graph::Graph& graph, double tolerance = 0, int64_t bound = 2) {
    std::vector<Tensor> inputs;
    for (const ValueId input : graph.inputs())
      inputs.push_back(generated_values(graph.type(input), bound, static_cast<unsigned>(inputs.size() + 1)));
    auto plan = Plan::compile(graph, *provider_);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    for (const PlanStep& step : (*plan)->steps())
      EXPECT_THAT(step.implementation, provider_->name() == "cuda" ? HasSubstr("(CUDA") : HasSubstr(""))
          << step.op;
    const auto wanted = interpret(graph, inputs);
    ASSERT_TRUE(wanted.ok()) << wanted.error().message;
    for (int run = 0; run < 2; ++run) {
      const auto found = (*plan)->run(inputs);
      ASSERT_TRUE(found.ok()) << found.error().message;
      for (std::size_t k = 0; k < wanted->size(); ++k)
        expect_close((*found)[k], (*wanted)[k], tolerance, graph.name());
    }
  }

  static void expect_close(const Tensor& found, const Tensor& wanted, double tolerance,
                           const std::string& name) {
    ASSERT_EQ(shape_text(found.shape()), shape_text(wanted.shape())) << name;
    if (tolerance == 0) {
      EXPECT_TRUE(same_tensor(found, wanted)) << name;
      return;
    }
    for (int64_t i = 0; i < wanted.size(); ++i) {
      const double a = found.at(i), b = wanted.at(i);
      if (a == b || (std::isnan(a) && std::isnan(b))) continue;
      ASSERT_LE(std::abs(a - b), tolerance * std::max(1.0, std::abs(b))) << name << ", " << i;
    }
  }

  // `text`: a graph's lines; what it returns stands last.
  void expect_text(const std::string& inputs, const std::string& lines, double tolerance = 0,
                   int64_t bound = 2) {
    const std::string text = fmt::format("graph \"g\" ({}) {{\n{}\n}}", inputs, lines);
    const auto graph = graph::parse(text);
    ASSERT_TRUE(graph.ok()) << graph.error().message << "\n" << text;
    SCOPED_TRACE(text);
    expect_as_interpreted(*graph, tolerance, bound);
  }
  // One operator.
  void expect_op(const std::string& inputs, const std::string& call, double tolerance = 0,
                 int64_t bound = 2) {
    expect_text(inputs, "%y: f32[*] = " + call + "\nreturn %y", tolerance, bound);
  }

  const std::shared_ptr<const Provider> provider_ = testing::provider_named(GetParam());
};

TEST_P(GeneratedKernels, TransposeByVectorsByTilesAndOneByOne) {
  const auto transpose = [&](const std::string& type, const std::string& perm) {
    expect_text("%x: " + type, fmt::format("%y: {}[*] = Transpose(%x) {{perm = [{}]}}\nreturn %y",
                                           type.substr(0, type.find('[')), perm));
  };
  transpose("f32[1,20,12,32]", "0, 2, 1, 3");
  transpose("f32[1,50,12,32]", "0, 2, 3, 1");
  transpose("f16[2,70,3,66]", "0, 2, 3, 1");
  transpose("bf16[37,131]", "1, 0");
  transpose("u8[3,130,140]", "0, 2, 1");
  transpose("i64[40,3,33]", "2, 1, 0");
  transpose("f32[2,3,9,5]", "0, 2, 3, 1");
}

TEST_P(GeneratedKernels, CopyPartsOfTensorsAndPutThemTogether) {
  expect_text("%x: f32[2,6,24]",
              "%n: i64[3] = constant dense(8, 4, 12)\n"
              "%a: f32[*], %b: f32[*], %c: f32[*] = Split(%x, %n) {axis = 2}\nreturn %a, %b, %c");
  expect_op("%x: f32[1,3,8,8], %z: f32[1,5,8,8]", "Concat(%x, %z, %x) {axis = 1}");
  expect_op("%x: f32[2,3,7], %z: f32[2,3,2]", "Concat(%x, %z) {axis = -1}");
  std::string many = "%x";
  for (int i = 0; i < 17; ++i) many += ", %x";
  expect_op("%x: f32[2,5]", "Concat(" + many + ") {axis = 1}");
  expect_text("%x: f32[9,10]",
              "%s: i64[2] = constant dense(-1, 8)\n%e: i64[2] = constant dense(-20, 1)\n"
              "%a: i64[2] = constant dense(0, 1)\n%t: i64[2] = constant dense(-2, -3)\n"
              "%y: f32[*] = Slice(%x, %s, %e, %a, %t)\nreturn %y");
  expect_text("%x: f32[4,1,6]",
              "%n: i64[3] = constant dense(4, 5, 6)\n%y: f32[*] = Expand(%x, %n)\nreturn %y");
  expect_text("%x: f32[2,3]", "%n: i64[2] = constant dense(3, 2)\n%y: f32[*] = Tile(%x, %n)\nreturn %y");
  expect_op("%x: f32[1,8,5,6]", "DepthToSpace(%x) {blocksize = 2}");
  expect_op("%x: f32[1,2,6,8]", "SpaceToDepth(%x) {blocksize = 2}");
}

TEST_P(GeneratedKernels, GatherRowsElementsAndSlices) {
  expect_op("%x: f32[30,48], %i: i64[2,7]", "Gather(%x, %i) {axis = 0}", 0, 30);
  expect_op("%x: f32[3,9,5], %i: i32[4]", "Gather(%x, %i) {axis = 1}", 0, 9);
  expect_text("%x: f32[2,6,8]",
              "%i: i64[] = constant dense(-1)\n%y: f32[*] = Gather(%x, %i) {axis = 1}\nreturn %y");
  expect_op("%x: f32[4,9,5], %i: i64[4,3,5]", "GatherElements(%x, %i) {axis = 1}", 0, 9);
  expect_op("%x: f32[4,4,6], %i: i64[7,2]", "GatherND(%x, %i)", 0, 4);
  expect_op("%x: f32[3,4,6], %i: i64[3,5,1]", "GatherND(%x, %i) {batch_dims = 1}", 0, 4);
}

// Where indices repeat the last update wins.
TEST_P(GeneratedKernels, ScatterInTheOrderOfTheUpdates) {
  expect_op("%x: f32[6,5], %i: i64[20,5], %u: f32[20,5]", "ScatterElements(%x, %i, %u) {axis = 0}", 0, 6);
  expect_op("%x: f32[6,12], %i: i64[15,1], %u: f32[15,12]", "ScatterND(%x, %i, %u)", 0, 6);
}

TEST_P(GeneratedKernels, SayThatAnIndexIsOutOfRange) {
  for (const char* text : {"graph \"g\" (%x: f32[5,8], %i: i64[3]) {\n"
                           "  %y: f32[*] = Gather(%x, %i) {axis = 0} \"lookup\"\n  return %y\n}",
                           "graph \"g\" (%x: f32[5,8], %i: i64[3,1], %u: f32[3,8]) {\n"
                           "  %y: f32[*] = ScatterND(%x, %i, %u) \"lookup\"\n  return %y\n}"}) {
    const graph::Graph graph = *graph::parse(text);
    std::vector<Tensor> inputs;
    for (const ValueId input : graph.inputs()) inputs.push_back(generated_values(graph.type(input), 5, 1));
    auto plan = Plan::compile(graph, *provider_);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    EXPECT_TRUE((*plan)->run(inputs).ok());
    inputs[1].as<int64_t>()[2] = 5;
    const auto failed = (*plan)->run(inputs);
    ASSERT_FALSE(failed.ok());
    EXPECT_THAT(failed.error().message,
                ::testing::AllOf(HasSubstr("lookup"), HasSubstr("an index is out of range for")));
    inputs[1].as<int64_t>()[2] = -5;
    EXPECT_TRUE((*plan)->run(inputs).ok());
  }
}

TEST_P(GeneratedKernels, ReduceRowsColumnsAndWhatIsMixed) {
  const auto reduce = [&](const std::string& op, const std::string& type, const std::string& axes,
                          int count) {
    expect_text("%x: " + type,
                fmt::format("%n: i64[{}] = constant dense({})\n%y: {}[*] = {}(%x, %n)\nreturn %y", count,
                            axes, type.substr(0, type.find('[')), op),
                type[0] == 'b'            ? 1.6e-2
                : type.starts_with("f16") ? 2e-3
                                          : 4e-6);
  };
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
                         "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp"})
    reduce(op, "f32[7,30]", "1", 1);
  reduce("ReduceSum", "f32[300,40]", "0", 1);
  reduce("ReduceMean", "f32[3,4099]", "1", 1);
  reduce("ReduceMean", "f32[2,300000]", "1", 1);
  reduce("ReduceLogSumExp", "f32[40000,3]", "0", 1);
  reduce("ReduceMax", "f32[5,6,7,8]", "0, 2", 2);
  reduce("ReduceSum", "f32[5,6,7,8]", "1, 3", 2);
  if (provider_->name() == "cuda") {
    reduce("ReduceMean", "f16[9,264]", "1", 1);
    reduce("ReduceMean", "bf16[64,33]", "0", 1);
    reduce("ReduceMean", "bf16[3000,776]", "0", 1);  // several columns a load, several blocks a column
    reduce("ReduceSum", "f16[3,37,24]", "0, 1", 2);
    reduce("ReduceMax", "bf16[3,9,4,16]", "0, 2", 2);
    reduce("ReduceLogSumExp", "f16[900,64]", "0", 1);
  }
  expect_op("%x: f32[2,19,7,7]", "GlobalAveragePool(%x)", 4e-6);
  expect_op("%x: f32[2,19,7,7]", "GlobalMaxPool(%x)");
}

TEST_P(GeneratedKernels, FindExtremaByTheirPlaces) {
  const auto find = [&](const std::string& type, const std::string& call) {
    expect_text("%x: " + type, "%y: i64[*] = " + call + "\nreturn %y", 0, 4);
  };
  find("f32[5,2000]", "ArgMax(%x) {axis = 1}");
  find("i64[5,37,3]", "ArgMin(%x) {axis = 1, keepdims = 0}");
  find("i64[9,41]", "ArgMax(%x) {axis = 1, select_last_index = 1}");
  find("f32[6000,12]", "ArgMin(%x) {axis = 0, keepdims = 0}");
}

TEST_P(GeneratedKernels, PoolWindows) {
  expect_op("%x: f32[2,5,12,12]", "MaxPool(%x) {kernel_shape = [2, 2], strides = [2, 2]}");
  expect_op("%x: f32[1,3,15,14]",
            "MaxPool(%x) {kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]}");
  expect_op("%x: f32[1,2,9]", "MaxPool(%x) {kernel_shape = [3], dilations = [2], strides = [2]}");
  expect_op("%x: f32[1,2,5,6,7]", "AveragePool(%x) {kernel_shape = [2, 3, 2], pads = [1, 1, 0, 0, 1, 1]}",
            2e-6);
  expect_op(
      "%x: f32[1,3,9,9]",
      "AveragePool(%x) {kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], count_include_pad = 1}",
      2e-6);
}

// The logarithm of what is negative, for a tenth of the elements, is NaN; so is the maximum of a window that holds it.
TEST_P(GeneratedKernels, KeepNanInMaxima) {
  for (const char* const pool :
       {"MaxPool(%l) {kernel_shape = [2, 2], strides = [2, 2]}",
        "MaxPool(%l) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}", "GlobalMaxPool(%l)"})
    expect_text(
        "%x: f32[2,16,9,8]",
        fmt::format("%c: f32[] = constant dense(1.3)\n%s: f32[*] = Add(%x, %c)\n%l: f32[*] = Log(%s)\n"
                    "%y: f32[*] = {}\nreturn %y",
                    pool),
        1e-5);
}

TEST_P(GeneratedKernels, PadByEveryModeWithinAndAroundTheInnermostAxis) {
  const auto pad = [&](const std::string& type, const std::string& pads, int count, const std::string& more) {
    expect_text("%x: " + type + (more.find("%v") != std::string::npos ? ", %v: f32[]" : ""),
                fmt::format("%n: i64[{}] = constant dense({})\n%y: {}[*] = Pad(%x, %n{}\nreturn %y", count,
                            pads, type.substr(0, type.find('[')), more));
  };
  pad("f32[1,3,6,7]", "0, 0, 1, 2, 0, 1, 0, 3", 8, ", %v)");
  pad("f32[2,5,6,8]", "0, 2, 1, 0, 1, 0, -2, 0", 8, ")");
  pad("f32[2,5,7]", "0, 4, 3, 0, 2, 9", 6, ") {mode = \"reflect\"}");
  pad("f32[2,5,8]", "1, 4, 0, 0, 2, 0", 6, ") {mode = \"edge\"}");
  pad("i64[4,5]", "2, 3, 1, 6", 4, ") {mode = \"wrap\"}");
}

TEST_P(GeneratedKernels, NormaliseByExponentialsAlongAnyAxis) {
  if (provider_->name() != "cuda") return;  // the CPU's is tested elsewhere
  expect_op("%x: f32[2,21,9,8]", "Softmax(%x) {axis = 1}", 4e-6);
  expect_op("%x: f32[70,3]", "LogSoftmax(%x) {axis = 0}", 4e-6);
  expect_text("%x: f16[3,5,40]", "%y: f16[*] = Softmax(%x) {axis = 1}\nreturn %y", 2e-3);
}

TEST_P(GeneratedKernels, ResizeImages) {
  const auto resize = [&](const std::string& shape, const std::string& sizes, int count,
                          const std::string& how) {
    expect_text("%x: f32" + shape,
                fmt::format("%n: i64[{}] = constant dense({})\n"
                            "%y: f32[*] = Resize(%x, none, none, %n) {{{}}}\nreturn %y",
                            count, sizes, how),
                4e-6);
  };
  resize("[1,3,6,8]", "1, 3, 12, 16", 4,
         "mode = \"nearest\", coordinate_transformation_mode = \"asymmetric\", nearest_mode = \"floor\"");
  resize("[2,2,5,7]", "2, 2, 9, 4", 4, "mode = \"linear\"");
  resize("[1,2,4,5]", "1, 2, 8, 15", 4,
         "mode = \"linear\", coordinate_transformation_mode = \"align_corners\"");
  resize("[1,2,3,4,5]", "1, 2, 5, 8, 7", 5, "mode = \"linear\"");
  resize("[1,2,9]", "1, 2, 5", 3, "mode = \"nearest\"");
}

// Shapes that kernels load and store in vectors of 16 bytes, beside what they do not; two of them large enough for several
// vectors a thread.
TEST_P(GeneratedKernels, MoveVectorsWhereShapesAllowIt) {
  if (provider_->name() != "cuda") return;  // the CPU's is tested elsewhere
  const auto expect = [&](const std::string& type, const std::string& call, double tolerance = 0) {
    const std::string dtype = type.substr(0, type.find('['));
    expect_text("%x: " + type, fmt::format("%y: {}[*] = {}\nreturn %y", dtype, call), tolerance);
  };
  for (const char* const type : {"f16[200,136]", "f32[72,136]", "bf16[40,264]", "f16[40,49]"})
    expect(type, "Transpose(%x) {perm = [1, 0]}");
  expect("f16[512,16384]", "Transpose(%x) {perm = [1, 0]}");
  expect("f16[2,128,20,24]", "Transpose(%x) {perm = [0, 2, 3, 1]}");
  for (const char* const type : {"f16[2,1024,64]", "bf16[1,1100,40]", "f32[2,300,12]", "f32[3,21,33]"})
    expect(type, "Softmax(%x) {axis = 1}", type[0] == 'b' ? 8e-3 : type[1] == '1' ? 1e-3 : 4e-6);
  for (const char* const type : {"f16[2,3,9,32]", "bf16[1,2,6,16]", "f32[1,3,8,20]", "f16[1,3,7,14]"}) {
    expect(type, "MaxPool(%x) {kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]}");
    expect(type, "AveragePool(%x) {kernel_shape = [3, 3], pads = [1, 1, 1, 1]}",
           type[0] == 'b'   ? 8e-3
           : type[1] == '1' ? 1e-3
                            : 2e-6);
  }
  expect("f16[4097]", "Gelu(%x)", 1e-3);
  expect_text("%x: f16[300,64], %i: i64[140000]", "%y: f16[*] = Gather(%x, %i)\nreturn %y", 0, 300);
  const auto pad = [&](const std::string& type, const std::string& pads) {
    expect_text("%x: " + type,
                fmt::format("%n: i64[4] = constant dense({})\n%y: {}[*] = Pad(%x, %n)\nreturn %y", pads,
                            type.substr(0, type.find('['))));
  };
  pad("f16[70,96]", "0, 32, 0, 32");
  pad("f16[70,97]", "0, 3, 1, 5");
  pad("f32[5,12]", "1, 4, -1, -4");
  const auto resize = [&](const std::string& shape, const std::string& sizes, const std::string& how) {
    expect_text("%x: f16" + shape,
                fmt::format("%n: i64[4] = constant dense({})\n"
                            "%y: f16[*] = Resize(%x, none, none, %n) {{{}}}\nreturn %y",
                            sizes, how),
                1e-3);
  };
  resize("[8,8,64,64]", "8, 8, 128, 128",
         "mode = \"nearest\", coordinate_transformation_mode = \"asymmetric\"");
  resize("[8,8,60,64]", "8, 8, 100, 96", "mode = \"nearest\"");
  resize("[6,8,60,64]", "6, 8, 100, 128", "mode = \"linear\"");
}

TEST_P(GeneratedKernels, NormaliseGroupsAndRows) {
  expect_op("%x: f32[2,8,5,6], %s: f32[8], %b: f32[8]", "GroupNormalization(%x, %s, %b) {num_groups = 4}",
            4e-6);
  expect_op("%x: f32[2,3,150,120], %s: f32[3], %b: f32[3]", "InstanceNormalization(%x, %s, %b)", 8e-6);
  expect_op("%x: f32[5,768], %s: f32[768]", "RMSNormalization(%x, %s)", 4e-6);
  expect_op("%x: f32[2,20000], %s: f32[20000], %b: f32[20000]", "LayerNormalization(%x, %s, %b)", 8e-6);
  expect_op("%x: f32[2,20000]", "Softmax(%x)", 4e-6);
}

TEST_P(GeneratedKernels, NormaliseBatchesByGivenStatistics) {
  for (const std::string shape : {"2,6", "1,6,33", "3,6,5,8", "2,1,7"}) {
    const std::string channels = shape == "2,1,7" ? "1" : "6";
    expect_text(
        fmt::format("%x: f32[{0}], %s: f32[{1}], %b: f32[{1}], %m: f32[{1}], %d: f32[{1}]", shape, channels),
        fmt::format("%v: f32[{1}] = Mul(%d, %d)\n%y: f32[{0}] = BatchNormalization(%x, %s, %b, %m, %v) "
                    "{{epsilon = 0.5}}\nreturn %y",
                    shape, channels),
        4e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, GeneratedKernels, ::testing::ValuesIn(testing::gpu_providers()),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(All, GeneratedKernels, ::testing::Values("cpu", testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace hone::runtime
