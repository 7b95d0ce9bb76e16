#include "passes/align_classes.h"

#include <algorithm>
#include <map>

#include <fmt/core.h>

#include "graph/product_math.h"
#include "passes/lower_precision.h"
#include "passes/rewrite.h"

namespace hone::passes {
namespace {

constexpr int64_t kVector = 8;        // numbers of a half type that one load takes
constexpr int64_t kAlignment = 64;    // that classes are padded to
constexpr int64_t kFewClasses = 256;  // of which the product is small beside the others

bool is_half(DType type) { return type == DType::kF16 || type == DType::kBF16; }

bool is_loss(const Node& node) {
  return (node.op == "SoftmaxCrossEntropyLoss" || node.op == "hone.SoftmaxCrossEntropyLoss") &&
         !node.has_input(2) && !node.has_output(1);
}

// The product that gives the scores, and everything that reads them or their gradient.
struct Head {
  NodeId product = {}, loss = {}, gradient = {};
  ValueId scores = {};  // of the loss: the product's result, or a view of it
  int64_t samples = 0, classes = 0, padded = 0;
};

// How a reader of the gradient sees it.
enum class Use : uint8_t {
  kContracts,  // over the classes: its other operand gets rows or columns of zeros
  kKeeps,      // its result has the classes as an axis, of which the padding is cut off
};
struct Reader {
  NodeId node;
  Use use;
  std::size_t operand = 0;  // which of a product's the gradient is
  int64_t axis = 0;         // of the classes, in the other operand (kContracts) or in the result (kKeeps)
  std::optional<NodeId> view = {};  // through which a product with more axes reads it
};

bool is_flag(const Node& node, const char* name) { return node.attributes.integer(name, 0) != 0; }

class Aligner {
 public:
  Aligner(const graph::Graph& graph, const PassContext& context) : builder_(graph), context_(context) {}

  Result<PassOutcome> run() {
    const std::size_t nodes = builder_.nodes().size();
    for (uint32_t i = 0; i < nodes; ++i) {
      if (builder_.nodes()[i].op != "hone.CrossEntropyGradient") continue;
      if (const auto head = find_head(NodeId{i})) align(*head);
    }
    HONE_ASSIGN(outcome_.graph, std::move(builder_).finish());
    return std::move(outcome_);
  }

 private:
  // nullopt also where the classes are aligned already.
  std::optional<Head> find_head(NodeId gradient) const {
    Head head;
    head.gradient = gradient;
    head.scores = builder_.node(gradient).inputs[0];
    const graph::TensorType& type = builder_.type(head.scores);
    if (!type.is_static() || type.rank() != 2 || !is_half(type.dtype)) return std::nullopt;
    if (!context_.target.takes.products.holds(type.dtype)) return std::nullopt;
    head.samples = type.shape()[0];
    head.classes = type.shape()[1];
    head.padded = (head.classes + kAlignment - 1) / kAlignment * kAlignment;
    if (head.classes % kVector == 0 || head.classes < kFewClasses || builder_.is_output(head.scores))
      return std::nullopt;
    const std::vector<NodeId> readers = builder_.users(head.scores);
    if (readers.size() != 2) return std::nullopt;
    head.loss = readers[0] == gradient ? readers[1] : readers[0];
    if (!is_loss(builder_.node(head.loss))) return std::nullopt;
    ValueId result = head.scores;
    if (const auto view = produced_by(builder_, result, "Reshape")) {
      result = builder_.node(*view).inputs[0];
      if (only_reader(builder_, result) != view) return std::nullopt;
    }
    const graph::Value& made = builder_.value(result);
    if (!made.producer.valid() || builder_.is_output(result)) return std::nullopt;
    head.product = made.producer;
    return is_product(head, result) ? std::optional(head) : std::nullopt;
  }

  // Rows of samples times weights, the classes last.
  bool is_product(const Head& head, ValueId result) const {
    const Node& node = builder_.node(head.product);
    if (node.op != "MatMul" && node.op != "Gemm") return false;
    const graph::TensorType &x = builder_.type(node.inputs[0]), &w = builder_.type(node.inputs[1]);
    const bool known = x.is_static() && w.is_static() && builder_.type(result).is_static();
    if (!known || w.rank() != 2 || builder_.type(result).shape().back() != head.classes) return false;
    if (is_flag(node, "transA") || node.attributes.real("alpha", 1) != 1 ||
        node.attributes.real("beta", 1) != 1)
      return false;
    return !node.has_input(2) || builder_.type(node.inputs[2]).shape() == Shape{head.classes};
  }

  // nullopt: something reads the gradient in a way that is not known here.
  std::optional<std::vector<Reader>> readers_of(ValueId gradient, std::optional<NodeId> view) const {
    std::vector<Reader> found;
    if (builder_.is_output(gradient)) return std::nullopt;
    for (const NodeId id : builder_.users(gradient)) {
      const Node& node = builder_.node(id);
      if (node.op == "Reshape" && !view) {
        if (!builder_.type(node.outputs[0]).is_static()) return std::nullopt;
        const Shape shape = builder_.type(node.outputs[0]).shape();
        if (shape.back() != builder_.type(gradient).shape().back()) return std::nullopt;
        const auto further = readers_of(node.outputs[0], id);
        if (!further) return std::nullopt;
        found.insert(found.end(), further->begin(), further->end());
      } else if (const auto reader = reader_of(id, gradient, view)) {
        found.push_back(*reader);
      } else {
        return std::nullopt;
      }
    }
    return found;
  }

  std::optional<Reader> reader_of(NodeId id, ValueId gradient, std::optional<NodeId> view) const {
    const Node& node = builder_.node(id);
    const bool known = std::all_of(node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
      return !input.valid() || builder_.type(input).is_static();
    });
    if (!known || !builder_.type(node.outputs[0]).is_static()) return std::nullopt;
    if (node.op == "ReduceSum" || node.op == "hone.ReduceSum") {
      const auto axes = node.has_input(1) ? int_constant(builder_, node.inputs[1]) : std::nullopt;
      if (view || axes != std::vector<int64_t>{0}) return std::nullopt;
      return Reader{id, Use::kKeeps, 0, builder_.type(node.outputs[0]).rank() - 1, {}};
    }
    if ((node.op != "MatMul" && node.op != "Gemm") || node.has_input(2)) return std::nullopt;
    const std::size_t operand = node.inputs[0] == gradient ? 0 : 1;
    const ValueId other = node.inputs[1 - operand];
    if (other == gradient || builder_.type(other).rank() != 2) return std::nullopt;
    if (view) {  // with more axes: rows of samples times weights
      if (node.op != "MatMul" || operand != 0) return std::nullopt;
      return Reader{id, Use::kContracts, 0, 0, view};
    }
    const bool transposed = is_flag(node, operand == 0 ? "transA" : "transB");
    if (operand == 0 && !transposed)
      return Reader{id, Use::kContracts, 0, is_flag(node, "transB") ? 1 : 0, {}};
    if (operand == 1 && transposed)
      return Reader{id, Use::kContracts, 1, is_flag(node, "transA") ? 0 : 1, {}};
    return Reader{id, Use::kKeeps, operand, operand == 0 ? 0 : 1, {}};
  }

  // --- the rewrite ---

  ValueId ints(std::vector<int64_t> values) {
    return builder_.constant(builder_.unique_name("aligned.ints"), Tensor::i64({std::ssize(values)}, values));
  }

  // `value` with so many zeros, or another number, behind along `axis`; one for all who want it.
  ValueId padded(ValueId value, int64_t axis, int64_t more, std::optional<double> number = {}) {
    const auto key = std::pair(value, axis);
    if (const auto known = padded_.find(key); known != padded_.end()) return known->second;
    const auto rank = static_cast<std::size_t>(builder_.type(value).rank());
    std::vector<int64_t> pads(2 * rank, 0);
    pads[rank + static_cast<std::size_t>(axis)] = more;
    std::vector<ValueId> inputs = {value, ints(pads)};
    if (number) inputs.push_back(scalar(*number, builder_.type(value).dtype));
    return padded_[key] = builder_.add("Pad", std::move(inputs), {}, builder_.value(value).name + ".aligned");
  }

  ValueId scalar(double number, DType type) {
    return builder_.constant(builder_.unique_name("aligned.lowest"),
                             narrowed(Tensor::scalar_f32(static_cast<float>(number)), type));
  }

  // Of nothing but the padding: zero for the classes that there are.
  ValueId low_bias(const Head& head, DType type) {
    Tensor data = Tensor::zeros(DType::kF32, {head.padded});
    const std::span<float> padding = data.as<float>().subspan(static_cast<std::size_t>(head.classes));
    std::fill(padding.begin(), padding.end(), static_cast<float>(lowest(type)));
    return builder_.constant(builder_.unique_name("aligned.bias"), narrowed(data, type));
  }
  static double lowest(DType type) { return -std::min(1e30, largest_of(type)); }

  bool pads_alone(ValueId value) {
    Node pad;
    pad.op = "Pad";
    pad.inputs = {value,
                  ints(std::vector<int64_t>(2 * static_cast<std::size_t>(builder_.type(value).rank()), 1))};
    pad.outputs = {value};
    return runs_alone(context_.target, builder_, pad);
  }

  void align(const Head& head) {
    const std::string name = builder_.node(head.product).name;
    const ValueId old = builder_.node(head.gradient).outputs[0];
    const auto readers = readers_of(old, {});
    if (!readers || !pads_alone(builder_.node(head.product).inputs[1])) {
      outcome_.missed.push_back(
          {name, fmt::format("stays at {} classes: something else reads their gradient, or the "
                             "target has no kernel that pads",
                             head.classes)});
      return;
    }
    const ValueId scores = aligned_scores(head);
    builder_.replace_input(head.loss, 0, scores);
    const Node gradient = builder_.node(head.gradient);
    builder_.replacing({head.gradient});
    const ValueId made =
        builder_.add("hone.CrossEntropyGradient", {scores, gradient.inputs[1], gradient.inputs[2]}, {},
                     builder_.value(old).name + ".aligned");
    for (const Reader& reader : *readers) replace(head, reader, made);
    builder_.replacing({});
    outcome_.done.push_back({name, fmt::format("{} classes padded to {}", head.classes, head.padded)});
  }

  ValueId aligned_scores(const Head& head) {
    const Node product = builder_.node(head.product);
    builder_.replacing({head.product});
    ValueId x = product.inputs[0], w = product.inputs[1];
    const int64_t depth = builder_.type(x).shape().back(), more = head.padded - head.classes;
    if (builder_.type(x).rank() != 2) x = builder_.add("Reshape", {x, ints({head.samples, depth})});
    bool transposed = is_flag(product, "transB");
    if (const auto turned = produced_by(builder_, w, "Transpose");
        turned && !transposed) {  // rows lie as they are padded
      w = builder_.node(*turned).inputs[0];
      transposed = true;
    }
    const DType type = builder_.type(w).dtype;
    const ValueId bias =
        product.has_input(2) ? padded(product.inputs[2], 0, more, lowest(type)) : low_bias(head, type);
    Attributes attributes{{"transB", int64_t{transposed ? 1 : 0}}};
    if (const auto* math = product.attributes.find(graph::kProductMath))
      attributes.set(std::string(graph::kProductMath), *math);
    return builder_.add("Gemm", {x, padded(w, transposed ? 0 : 1, more), bias}, std::move(attributes),
                        builder_.value(product.outputs[0]).name + ".aligned");
  }

  void replace(const Head& head, const Reader& reader, ValueId gradient) {
    const Node node = builder_.node(reader.node);
    builder_.replacing({reader.node});
    const int64_t more = head.padded - head.classes;
    const ValueId old = node.outputs[0];
    ValueId made;
    if (reader.use == Use::kContracts) {
      std::vector<ValueId> inputs = {gradient, gradient};
      const ValueId other = node.inputs[1 - reader.operand];
      inputs[1 - reader.operand] = padded(other, reader.axis, more);
      made = builder_.add(node.op, std::move(inputs), node.attributes, node.name);
      if (builder_.type(made).shape() != builder_.type(old).shape())
        made = builder_.add("Reshape", {made, ints(builder_.type(old).shape())});
    } else {
      std::vector<ValueId> inputs = node.inputs;
      inputs[reader.operand] = gradient;
      made = builder_.add(node.op, std::move(inputs), node.attributes, node.name);
      made = builder_.add("Slice", {made, ints({0}), ints({head.classes}), ints({reader.axis})});
    }
    builder_.replace_all_uses(old, made);
  }

  GraphBuilder builder_;
  const PassContext& context_;
  std::map<std::pair<ValueId, int64_t>, ValueId> padded_;
  PassOutcome outcome_;
};

}  // namespace

Result<PassOutcome> align_classes(const graph::Graph& graph, const PassContext& context) {
  return Aligner(graph, context).run();
}

}  // namespace hone::passes
