#include "tests/models/precisions.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <unordered_map>

#include "core/onnx_dtype.h"
#include "graph/builder.h"
#include "runtime/interpreter.h"

namespace hone::testing_support {

using graph::Graph;
using graph::GraphBuilder;
using graph::Node;
using graph::ValueId;

namespace {

Tensor cast(const Tensor& tensor, DType to) {
  Node node;
  node.op = "Cast";
  node.attributes.set("to", int64_t{dtype_to_onnx(to)});
  node.outputs = {ValueId{0}};
  return (*runtime::interpret_node(node, std::vector{tensor}))[0];
}

// Copies a graph; what becomes of inputs, constants and results is up to who derives from it.
class Rewriter {
 public:
  explicit Rewriter(const Graph& source) : source_(source), builder_(source.name()) {}
  virtual ~Rewriter() = default;

  Graph run() {
    for (const ValueId input : source_.inputs())
      made_[input] = builder_.input(source_.value(input).name, new_type(source_.type(input)));
    for (const Node& node : source_.nodes()) {
      Node copy = node;
      for (std::size_t i = 0; i < copy.inputs.size(); ++i) {
        if (copy.inputs[i].valid()) copy.inputs[i] = operand(node, i);
      }
      adapt(copy);
      std::vector<std::string> names;
      for (const ValueId output : node.outputs)
        names.push_back(output.valid() ? source_.value(output).name : "");
      const auto outputs = builder_.try_add(std::move(copy), names);
      if (!outputs.ok()) throw std::logic_error(outputs.error().message);
      for (std::size_t i = 0; i < outputs->size(); ++i) {
        if ((*outputs)[i].valid()) made_[node.outputs[i]] = result(node, (*outputs)[i]);
      }
    }
    for (const ValueId output : source_.outputs()) builder_.output(made_.at(output));
    return *std::move(builder_).finish();
  }

 protected:
  virtual graph::TensorType new_type(const graph::TensorType& type) const { return type; }
  virtual Tensor new_constant(const Tensor& data) const { return data; }
  virtual void adapt(Node&) const {}
  virtual ValueId operand(const Node& node, std::size_t i) { return value(node.inputs[i]); }
  virtual ValueId result(const Node&, ValueId made) { return made; }

  ValueId value(ValueId old) {
    if (const auto known = made_.find(old); known != made_.end()) return known->second;
    return made_[old] =
               builder_.constant(source_.value(old).name, new_constant(*source_.value(old).constant));
  }

  const Graph& source_;
  GraphBuilder builder_;
  std::unordered_map<ValueId, ValueId> made_;
};

class HalfRewriter : public Rewriter {
 public:
  HalfRewriter(const Graph& source, DType half) : Rewriter(source), half_(half) {}

 protected:
  graph::TensorType new_type(const graph::TensorType& type) const override {
    graph::TensorType changed = type;
    if (type.dtype == DType::kF32) changed.dtype = half_;
    return changed;
  }
  Tensor new_constant(const Tensor& data) const override {
    if (data.dtype() != DType::kF32) return data;
    Tensor finite = data.clone();  // as converters do: masks of -3.4e38 would become infinities
    const float most = half_ == DType::kF16 ? 65504.0F : 3.38e38F;
    for (float& x : finite.as<float>()) x = std::clamp(x, -most, most);
    return cast(finite, half_);
  }
  void adapt(Node& node) const override {
    if (node.op == "Cast" && node.attributes.integer("to", 0) == dtype_to_onnx(DType::kF32))
      node.attributes.set("to", int64_t{dtype_to_onnx(half_)});
  }

 private:
  DType half_;
};

bool is_product(const Node& node) {
  return node.op == "Conv" || node.op == "ConvTranspose" || node.op == "MatMul" || node.op == "Gemm";
}

class QuantisingRewriter : public Rewriter {
 public:
  QuantisingRewriter(const Graph& source, std::span<const Tensor> inputs) : Rewriter(source) {
    for (std::size_t i = 0; i < inputs.size(); ++i) see(source.inputs()[i], inputs[i]);
    runtime::InterpretOptions options;
    options.observe = [&](const Node& node, std::span<const Tensor> outputs) {
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.outputs[i].valid()) see(node.outputs[i], outputs[i]);
      }
    };
    (void)*runtime::interpret(source, inputs, options);
  }

 protected:
  ValueId operand(const Node& node, std::size_t i) override {
    const ValueId old = node.inputs[i];
    const bool f32 = source_.type(old).dtype == DType::kF32;
    if (!is_product(node) || !f32 || i > 1) return value(old);
    if (source_.value(old).is_constant()) return i == 1 ? weights(node, old) : value(old);
    return rounded(old);
  }

 private:
  struct Range {
    double low = 0, high = 0;
  };
  void see(ValueId id, const Tensor& data) {
    if (data.dtype() != DType::kF32) return;
    Range& range = ranges_[id];
    for (const float x : data.as<float>()) {
      range.low = std::min<double>(range.low, x);
      range.high = std::max<double>(range.high, x);
    }
  }

  // The value in u8 and back, once for all its readers.
  ValueId rounded(ValueId old) {
    if (const auto known = rounded_.find(old); known != rounded_.end()) return known->second;
    const Range& range = ranges_.at(old);
    const double step = std::max(1e-6, (range.high - range.low) / 255);
    const std::string& name = source_.value(old).name;
    const ValueId scale = builder_.constant(name + ".scale", Tensor::scalar_f32(static_cast<float>(step)));
    Tensor zero = Tensor::zeros(DType::kU8, {});
    zero.as<uint8_t>()[0] = static_cast<uint8_t>(std::lround(-range.low / step));
    const ValueId point = builder_.constant(name + ".zero", zero);
    const ValueId q = builder_.add("QuantizeLinear", {value(old), scale, point}, {}, name + ".q");
    return rounded_[old] = builder_.add("DequantizeLinear", {q, scale, point}, {}, name + ".dq");
  }

  ValueId weights(const Node& node, ValueId old) {
    const Tensor& data = *source_.value(old).constant;
    const std::string& name = source_.value(old).name;
    double most = 1e-6;
    for (const float x : data.as<float>()) most = std::max<double>(most, std::abs(x));
    Tensor q(DType::kI8, data.shape());
    for (int64_t i = 0; i < data.size(); ++i)
      q.as<int8_t>()[static_cast<std::size_t>(i)] = static_cast<int8_t>(std::lround(data.at(i) * 127 / most));
    // One scale for each output channel, all the same here: the form is what is tested.
    const bool transposed = node.op == "ConvTranspose" || node.op == "MatMul" ||
                            (node.op == "Gemm" && node.attributes.integer("transB", 0) == 0);
    const int64_t axis = transposed ? 1 : 0;
    const int64_t count = data.rank() > axis ? data.shape()[static_cast<std::size_t>(axis)] : 1;
    const std::vector<float> scales(static_cast<std::size_t>(count), static_cast<float>(most / 127));
    return builder_.add(
        "DequantizeLinear",
        {builder_.constant(name + ".q", q), builder_.constant(name + ".scale", Tensor::f32({count}, scales)),
         builder_.constant(name + ".zero", Tensor::zeros(DType::kI8, {count}))},
        {{"axis", axis}}, name + ".dq");
  }

  std::unordered_map<ValueId, Range> ranges_;
  std::unordered_map<ValueId, ValueId> rounded_;
};

}  // namespace

Graph in_half(const Graph& graph, DType half) { return HalfRewriter(graph, half).run(); }

Graph quantised(const Graph& graph, std::span<const Tensor> inputs) {
  return QuantisingRewriter(graph, inputs).run();
}

}  // namespace hone::testing_support
