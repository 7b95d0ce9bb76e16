#include "tests/backends/reference_cases.h"

#include <initializer_list>

#include "core/onnx_dtype.h"
#include "graph/builder.h"

namespace hone::backends {
namespace {

using graph::GraphBuilder;
using graph::ValueId;

// An operand: a computed input, or a constant.
struct Operand {
  DType dtype = DType::kUndefined;  // of none
  Shape shape = {};
  Tensor constant = {};
};

Operand f32(Shape shape) { return {DType::kF32, std::move(shape)}; }
Operand of(DType dtype, Shape shape) { return {dtype, std::move(shape)}; }
Operand integers(std::vector<int64_t> values) {
  return {DType::kI64, {}, Tensor::i64({static_cast<int64_t>(values.size())}, values)};
}
Operand whole(int64_t value) { return {DType::kI64, {}, Tensor::scalar_i64(value)}; }
Operand number(float value) { return {DType::kF32, {}, Tensor::scalar_f32(value)}; }
Operand floats(Shape shape, float value) {
  const std::vector<float> all(static_cast<std::size_t>(element_count(shape)), value);
  return {DType::kF32, {}, Tensor::f32(std::move(shape), all)};
}
const Operand kNone;

class ReferenceCases {
 public:
  void add(const std::string& op, const std::vector<Operand>& operands, const Attributes& attributes = {},
           std::size_t outputs = 1) {
    GraphBuilder b(op);
    std::vector<ValueId> inputs;
    for (const Operand& operand : operands) {
      const std::string name = "x" + std::to_string(inputs.size());
      if (operand.constant.defined())
        inputs.push_back(b.constant(name, operand.constant));
      else if (operand.dtype != DType::kUndefined)
        inputs.push_back(b.input(name, graph::tensor_type(operand.dtype, operand.shape)));
      else
        inputs.push_back(graph::kNoValue);
    }
    b.set_outputs(b.add_many(op, inputs, outputs, attributes));
    cases.push_back({op, *std::move(b).finish()});
  }
  void add_each(std::initializer_list<const char*> ops, const std::vector<Operand>& operands,
                const Attributes& attributes = {}) {
    for (const char* op : ops) add(op, operands, attributes);
  }

  std::vector<ReferenceCase> cases;
};

void add_pointwise(ReferenceCases& c) {
  c.add_each({"Abs",        "Acos",     "Acosh",      "Asin",  "Asinh",     "Atan",
              "Atanh",      "Ceil",     "Celu",       "Clip",  "Cos",       "Cosh",
              "Elu",        "Erf",      "Exp",        "Floor", "Gelu",      "hone.GeluSlope",
              "HardSwish",  "Identity", "IsInf",      "IsNaN", "LeakyRelu", "Log",
              "Mish",       "Neg",      "Reciprocal", "Relu",  "Round",     "Selu",
              "Shrink",     "Sigmoid",  "Sign",       "Sin",   "Sinh",      "Softplus",
              "Softsign",   "Sqrt",     "Swish",      "Tan",   "Tanh",      "ThresholdedRelu",
              "HardSigmoid"},
             {f32({3, 50})});
  c.add_each({"Add", "Sub", "Mul", "Div", "Pow", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual",
              "PRelu", "Max", "Min", "Sum", "Mean"},
             {f32({3, 50}), f32({50})});
  c.add("Mod", {f32({3, 50}), f32({50})}, {{"fmod", int64_t{1}}});
  const Operand truth = of(DType::kBool, {3, 5}), bits = of(DType::kU32, {3, 5});
  c.add_each({"And", "Or", "Xor"}, {truth, truth});
  c.add("Not", {truth});
  c.add("Where", {truth, f32({3, 5}), f32({5})});
  c.add_each({"BitwiseAnd", "BitwiseOr", "BitwiseXor"}, {bits, bits});
  c.add("BitwiseNot", {bits});
  c.add("BitShift", {bits, bits}, {{"direction", std::string("LEFT")}});
  c.add("BitCast", {f32({3, 5})}, {{"to", int64_t{dtype_to_onnx(DType::kI32)}}});
  c.add("Cast", {f32({3, 5})}, {{"to", int64_t{dtype_to_onnx(DType::kF16)}}});
  c.add("CastLike", {f32({3, 5}), of(DType::kI32, {1})});
  c.add("QuantizeLinear", {f32({3, 5}), number(0.5F)});
  c.add("DequantizeLinear", {of(DType::kI8, {3, 5}), number(0.5F)});
  c.add("DynamicQuantizeLinear", {f32({3, 5})}, {}, 3);
  c.add("hone.Recompute", {f32({3, 5}), f32({2})});
}

void add_reductions(ReferenceCases& c) {
  c.add_each({"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
              "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "hone.ReduceSum"},
             {f32({3, 4, 50}), integers({1})});
  c.add_each({"ArgMax", "ArgMin", "Softmax", "LogSoftmax", "Hardmax", "LpNormalization"}, {f32({3, 50})});
  c.add_each({"CumSum", "CumProd"}, {f32({3, 50}), whole(1)});
  c.add("TopK", {f32({3, 50}), integers({4})}, {}, 2);
}

void add_movement(ReferenceCases& c) {
  const Operand x = f32({3, 4});
  c.add_each({"Transpose", "Flatten", "Trilu", "Shape", "Size"}, {x});
  c.add("Concat", {x, x}, {{"axis", int64_t{1}}});
  c.add("Split", {x}, {{"axis", int64_t{1}}}, 2);
  c.add("Slice", {x, integers({1}), integers({3})});
  c.add("Reshape", {x, integers({2, 6})});
  c.add("Squeeze", {f32({1, 3}), integers({0})});
  c.add("Unsqueeze", {x, integers({0})});
  c.add("Expand", {x, integers({2, 3, 4})});
  c.add("Tile", {x, integers({2, 2})});
  c.add("Pad", {x, integers({1, 1, 1, 1})});
  c.add("CenterCropPad", {x, integers({2, 6})});
  c.add_each({"DepthToSpace"}, {f32({1, 4, 3, 3})}, {{"blocksize", int64_t{2}}});
  c.add_each({"SpaceToDepth"}, {f32({1, 1, 4, 4})}, {{"blocksize", int64_t{2}}});
  c.add("ReverseSequence", {x, of(DType::kI64, {4})});
  c.add("ConstantOfShape", {integers({2, 3})});
  c.add("EyeLike", {f32({3, 3})});
  c.add("Range", {whole(0), whole(5), whole(1)});
  const Operand at = of(DType::kI64, {2});
  c.add("Gather", {x, at});
  c.add("GatherElements", {x, of(DType::kI64, {2, 4})});
  c.add("GatherND", {x, of(DType::kI64, {2, 1})});
  c.add("ScatterElements", {x, of(DType::kI64, {2, 4}), f32({2, 4})});
  c.add("ScatterND", {x, of(DType::kI64, {1, 1}), f32({1, 4})});
  c.add("TensorScatter", {f32({2, 4, 3}), f32({2, 1, 3}), at});
  c.add("OneHot", {at, whole(5), f32({2})});
  c.add("Compress", {x, of(DType::kBool, {12})});
  c.add("NonZero", {x});
  c.add("Unique", {x});
}

void add_matrices(ReferenceCases& c) {
  const Operand a = f32({6, 7}), b = f32({7, 8}), u8 = of(DType::kU8, {6, 6});
  c.add_each({"MatMul", "Gemm"}, {a, b});
  c.add("Einsum", {a, b}, {{"equation", std::string("ij,jk->ik")}});
  c.add("Det", {f32({2, 3, 3})});
  c.add("MatMulInteger", {u8, u8});
  const Operand scale = number(0.5F), zero = {DType::kU8, {}, Tensor::zeros(DType::kU8, {})};
  c.add("QLinearMatMul", {u8, scale, zero, u8, scale, zero, scale, zero});
  const Operand heads = f32({1, 2, 5, 8});
  c.add("Attention", {heads, heads, heads});
  c.add("hone.AttentionWithSums", {heads, heads, heads}, {}, 2);
  c.add("hone.AttentionGradient", {heads, heads, heads, kNone, heads}, {}, 3);
  c.add("RotaryEmbedding", {heads, f32({1, 5, 4}), f32({1, 5, 4})});
  c.add("LinearAttention", {f32({1, 5, 8}), f32({1, 5, 8}), f32({1, 5, 8})},
        {{"q_num_heads", int64_t{2}}, {"kv_num_heads", int64_t{2}}, {"update_rule", std::string("linear")}});
}

void add_images(ReferenceCases& c) {
  const Operand x = f32({1, 4, 6, 6}), u8 = of(DType::kU8, {1, 4, 6, 6}),
                filter = of(DType::kU8, {2, 4, 3, 3});
  const Operand scale = number(0.5F), zero = {DType::kU8, {}, Tensor::zeros(DType::kU8, {})};
  c.add("Conv", {x, f32({2, 4, 3, 3}), f32({2})});
  c.add("hone.ConvWeightGradient", {x, f32({1, 2, 4, 4})}, {{"kernel_shape", Ints{3, 3}}});
  c.add("ConvTranspose", {x, f32({4, 2, 3, 3})});
  c.add("ConvInteger", {u8, filter});
  c.add("QLinearConv", {u8, scale, zero, filter, scale, zero, scale, zero});
  c.add("CausalConvWithState", {f32({1, 4, 9}), f32({4, 1, 3})}, {}, 2);
  c.add("DeformConv", {f32({1, 1, 3, 3}), f32({1, 1, 2, 2}), f32({1, 8, 2, 2})});
  const Operand offsets = f32({1, 8, 2, 2});
  const Attributes square{{"kernel_shape", Ints{2, 2}}};
  c.add("hone.DeformColumns", {f32({1, 2, 3, 3}), offsets}, square);
  c.add("hone.DeformColumnsGradient", {f32({1, 8, 4}), f32({1, 2, 3, 3}), offsets}, square, 2);
  c.add("Col2Im", {f32({1, 4, 16}), integers({5, 5}), integers({2, 2})});
  c.add_each({"AveragePool", "MaxPool", "LpPool"}, {x}, {{"kernel_shape", Ints{2, 2}}});
  const Operand of_pool = f32({1, 4, 5, 5});
  c.add("hone.MaxPoolGradient", {of_pool, x}, {{"kernel_shape", Ints{2, 2}}});
  c.add("hone.AveragePoolGradient", {of_pool, integers({1, 4, 6, 6})}, {{"kernel_shape", Ints{2, 2}}});
  c.add_each({"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", "MeanVarianceNormalization"}, {x});
  c.add("MaxUnpool", {f32({1, 1, 2, 2}), of(DType::kI64, {1, 1, 2, 2})},
        {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}});
  c.add("LRN", {x}, {{"size", int64_t{3}}});
  const Operand channel = f32({4});
  c.add("BatchNormalization", {x, channel, channel, channel, channel});
  c.add("hone.BatchNormalizationRelu", {x, channel, channel, channel, channel}, {}, 3);
  c.add("hone.BatchNormalizationGradient", {x, x, channel, x}, {}, 3);
  c.add("hone.LayerNormalizationGradient", {f32({3, 8}), f32({3, 8}), f32({8})}, {}, 3);
  c.add("InstanceNormalization", {x, channel, channel});
  c.add("GroupNormalization", {x, channel, channel}, {{"num_groups", int64_t{2}}});
  c.add_each({"LayerNormalization", "RMSNormalization"}, {f32({3, 8}), f32({8})});
  c.add("Resize", {x, kNone, {DType::kF32, {}, Tensor::f32({4}, std::vector<float>{1, 1, 2, 2})}});
  c.add("GridSample", {x, f32({1, 3, 3, 2})});
  const Operand grid = f32({1, 3, 3, 2}), of_samples = f32({1, 4, 3, 3});
  c.add("hone.GridSampleGradient", {of_samples, integers({1, 4, 6, 6}), grid});
  c.add("hone.GridSampleGridGradient", {of_samples, x, grid});
  c.add("AffineGrid", {f32({1, 2, 3}), integers({1, 1, 4, 5})});
  c.add("MaxRoiPool", {x, floats({1, 5}, 0)}, {{"pooled_shape", Ints{2, 2}}});
  c.add("RoiAlign", {x, f32({2, 4}), of(DType::kI64, {2})});
  c.add("hone.RoiAlignGradient",
        {f32({2, 4, 1, 1}), integers({1, 4, 6, 6}), f32({2, 4}), of(DType::kI64, {2})});
  c.add("NonMaxSuppression", {f32({1, 4, 4}), f32({1, 1, 4}), integers({3})});
  c.add("hone.NonMaxSuppression", {f32({1, 4, 4}), f32({1, 1, 4}), integers({3})}, {}, 2);
  c.add("hone.FirstRows", {f32({4, 3}), whole(2)});
}

void add_sequences(ReferenceCases& c) {
  const int64_t hidden = 4;
  const auto recurrent = [&](const char* op, int64_t gates) {
    c.add(op, {f32({3, 2, 5}), f32({1, gates * hidden, 5}), f32({1, gates * hidden, hidden})},
          {{"hidden_size", hidden}}, 2);
  };
  recurrent("RNN", 1);
  recurrent("GRU", 3);
  recurrent("LSTM", 4);
  c.add("DFT", {f32({1, 8, 1}), kNone, whole(1)});
  c.add("STFT", {f32({1, 16, 1}), whole(4), kNone, whole(8)});
  c.add_each({"BlackmanWindow", "HammingWindow", "HannWindow"}, {whole(9)});
  c.add("MelWeightMatrix", {whole(4), whole(16), whole(8000), number(0), number(4000)});
  c.add("StringNormalizer", {of(DType::kString, {3})});
}

void add_learning(ReferenceCases& c) {
  const Operand scores = f32({4, 3}), classes = of(DType::kI64, {4}), seed = whole(7), offset = whole(0);
  c.add("NegativeLogLikelihoodLoss", {scores, classes});
  c.add("SoftmaxCrossEntropyLoss", {scores, classes}, {}, 2);
  c.add("hone.SoftmaxCrossEntropyLoss", {scores, classes}, {}, 2);
  c.add("hone.CrossEntropyGradient", {scores, of(DType::kI64, {4, 1}), f32({4, 1})});
  const Attributes seeded{{"seed", 1.0F}}, sampled{{"seed", 1.0F}, {"sample_size", int64_t{5}}};
  const Operand chances = floats({4, 3}, 0.5F);
  c.add("Bernoulli", {chances}, seeded);
  c.add("Multinomial", {scores}, sampled);
  c.add_each({"RandomNormalLike", "RandomUniformLike"}, {scores}, seeded);
  c.add("Dropout", {scores}, {{"seed", int64_t{1}}});
  const Attributes shaped{{"seed", 1.0F}, {"shape", Ints{2, 3}}};
  c.add_each({"RandomNormal", "RandomUniform"}, {}, shaped);
  c.add("hone.Bernoulli", {chances, seed, offset});
  c.add("hone.Dropout", {scores, seed, offset}, {}, 2);
  c.add("hone.Multinomial", {scores, seed, offset}, {{"sample_size", int64_t{5}}});
  c.add_each({"hone.RandomNormal", "hone.RandomUniform"}, {seed, offset}, {{"shape", Ints{2, 3}}});
  c.add("hone.Sgd", {number(0.1F), kNone, f32({3, 5}), f32({3, 5})});
  const Operand x = f32({3, 5});
  c.add("hone.SquareSum", {x, f32({7}), f32({})});
  c.add("hone.AdamW", {number(0.1F), whole(1), kNone, x, x, x, floats({3, 5}, 1)}, {}, 3);
}

}  // namespace

std::vector<ReferenceCase> reference_cases() {
  ReferenceCases all;
  add_pointwise(all);
  add_reductions(all);
  add_movement(all);
  add_matrices(all);
  add_images(all);
  add_sequences(all);
  add_learning(all);
  return std::move(all.cases);
}

}  // namespace hone::backends
