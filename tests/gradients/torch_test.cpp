// Gradients against those of PyTorch's autograd in f64, as torch/record.py wrote them down: a second opinion, by people
// who did not read our formulas. A run of record.py beside a newer PyTorch tells whether they still agree.
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <sstream>

#include "tests/gradients/nodes.h"
#include <gtest/gtest.h>

#include "core/testing/source_folder.h"
#include "graph/differentiate.h"
#include "graph/losses.h"
#include "runtime/interpreter.h"

namespace hone::gradients {
namespace {

using graph::GraphBuilder;
using graph::kNoValue;
using graph::ValueId;

struct Recorded {
  std::vector<Tensor> inputs, gradients;
  Tensor flowing;
};

Tensor read_tensor(const std::string& line) {
  std::istringstream words(line);
  std::string word;
  words >> word;  // "tensor"
  Shape shape;
  while (words >> word && word != ":") shape.push_back(std::stoll(word));
  std::vector<double> values;
  while (words >> word) values.push_back(std::stod(word));
  return Tensor::of<double>(DType::kF64, shape, values);
}

std::map<std::string, Recorded> read_recorded() {
  std::ifstream file(source_folder() / "tests/gradients/torch/gradients.txt");
  std::map<std::string, std::vector<Tensor>> tensors;
  std::string line, name;
  while (std::getline(file, line)) {
    if (line.starts_with("case ")) name = line.substr(5);
    if (line.starts_with("tensor")) tensors[name].push_back(read_tensor(line));
  }
  std::map<std::string, Recorded> cases;
  for (auto& [key, all] : tensors) {  // inputs, the flowing gradient, as many gradients
    const auto count = static_cast<std::ptrdiff_t>(all.size() / 2);
    cases[key] = {
        {all.begin(), all.begin() + count}, {all.begin() + count + 1, all.end()}, all[all.size() / 2]};
  }
  return cases;
}

struct Case {
  Build build;
  std::size_t constants = 0;  // of the last inputs, which have no gradient
};

Build resized(const char* mode, const char* coordinates, const Ints& sizes) {
  return [=](GraphBuilder& b, const Values& x) {
    return b.add(
        "Resize", {x[0], kNoValue, kNoValue, ints(b, sizes)},
        {{"mode", mode}, {"coordinate_transformation_mode", coordinates}, {"nearest_mode", "floor"}});
  };
}

Build padded(const char* mode) { return node_with("Pad", {{0, 0, 1, 2, 0, 0, 2, 1}}, {{"mode", mode}}); }

// Y of a recurrent layer as PyTorch has it.
Build layer(const char* op, const char* direction, const Attributes& more = {}) {
  return [=](GraphBuilder& b, const Values& x) {
    Values in{x[0], x[1], x[2], x[3], kNoValue};
    in.insert(in.end(), x.begin() + 4, x.end());
    Attributes attributes = more;
    attributes.set("hidden_size", int64_t{2}).set("direction", direction);
    const ValueId y = b.add_many(op, in, 1, attributes)[0];
    const ValueId turned = b.add("Transpose", {y}, {{"perm", Ints{0, 2, 1, 3}}});
    return b.add("Reshape", {turned, ints(b, {0, 0, -1})});
  };
}

Build batch_norm() {
  return [](GraphBuilder& b, const Values& x) {
    return b.add("BatchNormalization", {x[0], x[1], x[2], doubles(b, {2}, {0, 0}), doubles(b, {2}, {1, 1})},
                 {{"training_mode", int64_t{1}}});
  };
}

std::map<std::string, Case> normalizations_and_windows() {
  const Attributes pool{{"kernel_shape", Ints{3, 3}}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}};
  return {
      {"conv strided", {node("Conv", {{"strides", Ints{2, 1}}, {"pads", Ints{1, 0, 1, 0}}})}},
      {"conv grouped dilated", {node("Conv", {{"group", int64_t{2}}, {"dilations", Ints{2, 2}}})}},
      {"conv 3d", {node("Conv", {{"strides", Ints{1, 2, 2}}, {"pads", Ints{1, 1, 1, 1, 1, 1}}})}},
      {"conv transposed",
       {node("ConvTranspose",
             {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}, {"output_padding", Ints{1, 1}}})}},
      {"max pool", {node("MaxPool", pool)}},
      {"average pool", {node("AveragePool", pool)}},
      {"batch norm", {batch_norm()}},
      {"layer norm", {node("LayerNormalization")}},
      {"group norm", {node("GroupNormalization", {{"num_groups", int64_t{2}}})}},
      {"instance norm", {node("InstanceNormalization")}},
      {"rms norm", {node("RMSNormalization")}},
      {"resize nearest", {resized("nearest", "asymmetric", {1, 2, 6, 4})}},
      {"resize linear", {resized("linear", "half_pixel", {1, 2, 5, 7})}},
      {"resize linear corners", {resized("linear", "align_corners", {1, 2, 5, 7})}},
      {"resize cubic", {resized("cubic", "half_pixel", {1, 2, 5, 7})}},
  };
}

std::map<std::string, Case> pointwise() {
  return {
      {"gelu", {node("Gelu")}},
      {"gelu tanh", {node("Gelu", {{"approximate", "tanh"}})}},
      {"silu", {node("Swish")}},
      {"hardswish", {node("HardSwish")}},
      {"hardsigmoid", {node("HardSigmoid", {{"alpha", 1 / 6.0f}, {"beta", 0.5f}})}},
      {"mish", {node("Mish")}},
      {"elu", {node("Elu")}},
      {"selu", {node("Selu")}},
      {"softplus", {node("Softplus")}},
      {"softsign", {node("Softsign")}},
      {"celu", {node("Celu", {{"alpha", 1.5f}})}},
      {"clip", {[](GraphBuilder& b, const Values& x) {
         return b.add("Clip", {x[0], doubles(b, {}, {-0.5}), doubles(b, {}, {1})});
       }}},
      {"prelu", {[](GraphBuilder& b, const Values& x) {
         return b.add("PRelu", {x[0], b.add("Unsqueeze", {x[1], ints(b, {1})})});
       }}},
      {"softmax", {node("Softmax", {{"axis", int64_t{1}}})}},
      {"log softmax", {node("LogSoftmax", {{"axis", int64_t{1}}})}},
  };
}

std::map<std::string, Case> attention_and_movement() {
  return {
      {"attention causal", {node("Attention", {{"is_causal", int64_t{1}}})}},
      {"attention masked shared", {node("Attention")}},
      {"pad reflect", {padded("reflect")}},
      {"pad edge", {padded("edge")}},
      {"pad wrap", {padded("wrap")}},
      {"gather", {[](GraphBuilder& b, const Values& x) {
         return b.add("GatherElements", {x[0], classes(b, {2, 3}, {0, 3, 3, 1, 1, 2})},
                      {{"axis", int64_t{1}}});
       }}},
      {"scatter add", {[](GraphBuilder& b, const Values& x) {
         return b.add("ScatterElements", {x[0], classes(b, {2, 3}, {0, 1, 0, 2, 2, 1}), x[1]},
                      {{"axis", int64_t{0}}, {"reduction", "add"}});
       }}},
      {"running sum", {[](GraphBuilder& b, const Values& x) {
         return b.add("CumSum", {x[0], b.constant("axis", Tensor::scalar_i64(1))});
       }}},
      {"largest", {node_with("ReduceMax", {{1}}, {{"keepdims", int64_t{0}}})}},
      {"log sum exp", {node_with("ReduceLogSumExp", {{1}}, {{"keepdims", int64_t{0}}})}},
      {"norm", {node_with("ReduceL2", {{1}}, {{"keepdims", int64_t{0}}})}},
      {"product with zeros", {[](GraphBuilder& b, const Values& x) {
         const ValueId some = b.add("Mul", {x[0], doubles(b, {3, 3}, {1, 0, 1, 0, 0, 1, 1, 1, 1})});
         return b.add("ReduceProd", {some, ints(b, {1})}, {{"keepdims", int64_t{0}}});
       }}},
      {"top k", {[](GraphBuilder& b, const Values& x) {
         return b.add_many("TopK", {x[0], ints(b, {2})}, 2, {{"axis", int64_t{1}}})[0];
       }}},
      {"einsum", {node("Einsum", {{"equation", "bqhd,bkhd->bhqk"}})}},
      {"einsum of three", {node("Einsum", {{"equation", "ij,jk,kl->il"}})}},
      {"lstm", {layer("LSTM", "bidirectional")}},
      {"gru", {layer("GRU", "forward", {{"linear_before_reset", int64_t{1}}})}},
      {"rnn", {layer("RNN", "bidirectional")}},
  };
}

std::map<std::string, Case> losses() {
  const auto extreme = [](GraphBuilder& b, ValueId x) { return b.add("Mul", {x, doubles(b, {}, {1e4})}); };
  return {
      {"cross entropy",
       {[](GraphBuilder& b, const Values& x) {
          return made(graph::cross_entropy_loss(
              b, x[0], classes(b, {4}, {2, 0, -100, 1}),
              {.ignore_index = -100, .class_weights = x[1], .label_smoothing = 0.1}));
        },
        1}},
      {"cross entropy of pixels", {[](GraphBuilder& b, const Values& x) {
         return made(graph::cross_entropy_loss(b, x[0], classes(b, {1, 2, 2}, {0, 1, 2, 255}),
                                               {.ignore_index = 255}));
       }}},
      {"cross entropy extreme", {[=](GraphBuilder& b, const Values& x) {
         return made(graph::cross_entropy_loss(b, extreme(b, x[0]), classes(b, {3}, {2, 0, 1})));
       }}},
      {"binary cross entropy",
       {[](GraphBuilder& b, const Values& x) {
          return made(graph::binary_cross_entropy_loss(b, x[0], doubles(b, {2, 3}, {0, 1, 0.25, 1, 0, 0.9}),
                                                       {.positive_weight = x[1]}));
        },
        1}},
      {"binary cross entropy extreme", {[=](GraphBuilder& b, const Values& x) {
         return made(
             graph::binary_cross_entropy_loss(b, extreme(b, x[0]), classes(b, {2, 3}, {0, 1, 0, 1, 0, 1})));
       }}},
      {"squared error",
       {[](GraphBuilder& b, const Values& x) { return made(graph::squared_error_loss(b, x[0], x[1])); }}},
      {"absolute error",
       {[](GraphBuilder& b, const Values& x) { return made(graph::absolute_error_loss(b, x[0], x[1])); }}},
      {"huber",
       {[](GraphBuilder& b, const Values& x) { return made(graph::huber_loss(b, x[0], x[1], 0.7)); }}},
      {"distillation", {[](GraphBuilder& b, const Values& x) {
         return made(graph::distillation_loss(b, x[0], x[1], {.temperature = 3}));
       }}},
  };
}

Build sampled(const std::string& mode, const std::string& padding, int64_t align) {
  return node("GridSample", {{"mode", mode}, {"padding_mode", padding}, {"align_corners", align}});
}

std::map<std::string, Case> grids() {
  std::map<std::string, Case> cases;
  const std::map<std::string, std::string> modes{
      {"nearest", "nearest"}, {"bilinear", "linear"}, {"bicubic", "cubic"}};
  for (const std::string padding : {"zeros", "border", "reflection"}) {
    for (const auto& [theirs, ours] : modes) {
      for (const int64_t align : {0, 1})
        cases["grid " + theirs + " " + padding + (align != 0 ? " 1" : " 0")] = {
            sampled(ours, padding, align)};
      if (ours != "nearest") cases["grid on pixels " + theirs + " " + padding] = {sampled(ours, padding, 1)};
    }
    cases["grid of a volume " + padding] = {sampled("linear", padding, 0)};
  }
  cases["spatial transformer"] = {[](GraphBuilder& b, const Values& x) {
    return b.add("GridSample", {x[0], b.add("AffineGrid", {x[1], ints(b, {2, 3, 5, 3})})});
  }};
  cases["affine grid of a volume"] = {
      node_with("AffineGrid", {{2, 1, 3, 2, 4}}, {{"align_corners", int64_t{1}}})};
  return cases;
}

Build regions(int64_t ratio, const char* coordinates) {
  return [=](GraphBuilder& b, const Values& x) {
    const ValueId boxes = doubles(b, {5, 4}, {0.3, 0.6, 3.7, 4.1, -2.5, -1.5, 2.2, 1.9, 3.1, 2.2,
                                              9.5, 8.5, 20,  20,  25,   24,   1.5, 1.5, 1.5, 1.5});
    return b.add("RoiAlign", {x[0], boxes, classes(b, {5}, {0, 1, 0, 1, 1})},
                 {{"output_height", int64_t{3}},
                  {"output_width", int64_t{2}},
                  {"spatial_scale", 0.75f},
                  {"sampling_ratio", ratio},
                  {"coordinate_transformation_mode", coordinates}});
  };
}

std::map<std::string, Case> regions_and_deformed() {
  const Build around = node("DeformConv", {{"pads", Ints{1, 1, 1, 1}}});
  return {
      {"regions -1 0", {regions(0, "output_half_pixel")}},
      {"regions -1 1", {regions(0, "half_pixel")}},
      {"regions 2 0", {regions(2, "output_half_pixel")}},
      {"regions 2 1", {regions(2, "half_pixel")}},
      {"deformed",
       {node("DeformConv", {{"group", int64_t{2}},
                            {"offset_group", int64_t{4}},
                            {"strides", Ints{2, 1}},
                            {"dilations", Ints{1, 2}},
                            {"pads", Ints{1, 1, 1, 1}}})}},
      {"deformed by whole pixels", {around}},
      {"deformed by nothing", {around}},
      {"columns",
       {node_with("Col2Im", {{5, 6}, {2, 3}},
                  {{"dilations", Ints{3, 1}}, {"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}})}},
      {"unpool", {[](GraphBuilder& b, const Values& x) {
         return b.add("MaxUnpool", {x[0], classes(b, {1, 1, 2, 3}, {5, 0, 9, 17, 14, 23})},
                      {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
       }}},
  };
}

Build scattered(const char* reduction) {
  return [=](GraphBuilder& b, const Values& x) {
    return b.add("ScatterElements", {x[0], classes(b, {3, 3}, {0, 1, 0, 2, 2, 1, 0, 1, 1}), x[1]},
                 {{"reduction", reduction}});
  };
}

Build running_product(bool zeros) {
  return [=](GraphBuilder& b, const Values& x) {
    const ValueId some =
        zeros ? b.add("Mul", {x[0], doubles(b, {3, 4}, {1, 0, 1, 1, 0, 1, 0, 1, 1, 1, 1, 0})}) : x[0];
    return b.add("CumProd", {some, b.constant("axis", Tensor::scalar_i64(1))});
  };
}

Build fourier(const Attributes& attributes, int64_t length = 0) {
  return [=](GraphBuilder& b, const Values& x) {
    const ValueId given = length == 0 ? kNoValue : b.constant("length", Tensor::scalar_i64(length));
    return b.add("DFT", {x[0], given, b.constant("axis", Tensor::scalar_i64(1))}, attributes);
  };
}

std::map<std::string, Case> products_and_transforms() {
  const Attributes inverse{{"inverse", int64_t{1}}}, half{{"onesided", int64_t{1}}};
  return {
      {"determinant", {node("Det")}},
      {"running product", {running_product(false)}},
      {"running product with zeros", {running_product(true)}},
      {"scatter amax", {scattered("max")}},
      {"scatter amin", {scattered("min")}},
      {"scatter prod", {scattered("mul")}},
      {"scatter amax of equals", {scattered("max")}},
      {"fourier", {fourier({})}},
      {"fourier inverse", {fourier(inverse, 7)}},
      {"fourier half", {fourier(half)}},
      {"fourier half inverse", {fourier({{"inverse", int64_t{1}}, {"onesided", int64_t{1}}}, 6)}},
      {"frames", {[](GraphBuilder& b, const Values& x) {
         return b.add("STFT", {x[0], b.constant("step", Tensor::scalar_i64(3)), x[1]});
       }}},
  };
}

class TorchGradients : public ::testing::Test {
 protected:
  void check(const std::map<std::string, Case>& cases) {
    for (const auto& [name, one] : cases) {
      SCOPED_TRACE(name);
      ASSERT_TRUE(recorded_.contains(name));
      compare(recorded_.at(name), one);
    }
  }

 private:
  static void compare(const Recorded& recorded, const Case& one) {
    GraphBuilder b("gradient");
    Values xs;
    for (const Tensor& input : recorded.inputs)
      xs.push_back(b.input("x" + std::to_string(xs.size()), graph::tensor_type(DType::kF64, input.shape())));
    const ValueId y = one.build(b, xs);
    const ValueId seed = b.input("seed", b.type(y));
    xs.resize(xs.size() - one.constants);
    const auto gradients = graph::differentiate(b, y, xs, {.seed = seed});
    ASSERT_TRUE(gradients.ok()) << gradients.error().message;
    for (const ValueId gradient : *gradients) b.output(gradient);
    const auto graph = std::move(b).finish();
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    std::vector<Tensor> given = recorded.inputs;
    given.push_back(recorded.flowing);
    const auto outputs = runtime::interpret(*graph, given);
    ASSERT_TRUE(outputs.ok()) << outputs.error().message;
    for (std::size_t i = 0; i < outputs->size(); ++i) {
      ASSERT_EQ((*outputs)[i].shape(), recorded.gradients[i].shape()) << "input " << i;
      for (int64_t k = 0; k < (*outputs)[i].size(); ++k) {
        const double wanted = recorded.gradients[i].at(k);
        // Attributes of ONNX are f32: epsilon is 1e-5 to seven digits.
        ASSERT_NEAR((*outputs)[i].at(k), wanted, 2e-8 * (1 + std::abs(wanted)))
            << "input " << i << ", element " << k;
      }
    }
  }

  const std::map<std::string, Recorded> recorded_ = read_recorded();
};

TEST_F(TorchGradients, OfNormalizationsAndWindows) { check(normalizations_and_windows()); }
TEST_F(TorchGradients, OfActivations) { check(pointwise()); }
TEST_F(TorchGradients, OfAttentionMovementAndTime) { check(attention_and_movement()); }
TEST_F(TorchGradients, OfGrids) { check(grids()); }
TEST_F(TorchGradients, OfRegionsAndDeformedConvolutions) { check(regions_and_deformed()); }
TEST_F(TorchGradients, OfProductsAndTransforms) { check(products_and_transforms()); }
TEST_F(TorchGradients, OfLosses) { check(losses()); }

}  // namespace
}  // namespace hone::gradients
