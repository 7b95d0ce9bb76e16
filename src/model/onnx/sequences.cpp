#include "model/onnx/sequences.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/core.h>

#include "core/onnx_dtype.h"

namespace hone::model::onnx {
namespace {

using graph::kNoValue;
using graph::TensorType;
using graph::ValueId;

class Reader {
 public:
  Reader(graph::GraphBuilder& builder, const SequenceNode& node, int64_t& budget)
      : builder_(builder), node_(node), budget_(budget) {}

  Result<Operand> empty();
  Result<Operand> construct();
  Result<Operand> insert();
  Result<Operand> erase();
  Result<Operand> at();
  Result<Operand> length();
  Result<Operand> split();
  Result<Operand> concat();

 private:
  Result<SequencePtr> sequence_input(std::size_t i) const;
  Result<ValueId> tensor_input(std::size_t i) const;
  bool has_input(std::size_t i) const;
  // The position that input `i` gives in a sequence of `count` elements, from the front and at most `last`;
  // `last` where the input is absent.
  Result<std::size_t> position(std::size_t i, std::size_t count, std::size_t last) const;
  // The data of a value, where they are known; looks through Identity.
  const Tensor* constant(ValueId value) const;
  Status append(Sequence& sequence, ValueId value) const;
  Status spend(std::size_t elements) { return spend_elements(budget_, elements); }
  static Operand made(Sequence sequence) { return std::make_shared<const Sequence>(std::move(sequence)); }

  // The sizes of the parts, as an input of Split, where the node gives a list; how many parts there are.
  Result<int64_t> listed_parts(ValueId sizes) const;
  // The same for parts of one size, of which the last may be smaller.
  Result<Ints> equal_parts(const TensorType& x, int64_t part);
  Result<int64_t> part_size(ValueId size) const;

  Result<std::vector<ValueId>> emit(std::string op, std::vector<ValueId> inputs, Attributes attributes,
                                    const std::vector<std::string>& output_names);
  // Squeeze or Unsqueeze of every element.
  Result<std::vector<ValueId>> reshape_each(const std::string& op, const std::vector<ValueId>& elements,
                                            int64_t axis);
  ValueId ints(std::string_view role, const Ints& values);

  graph::GraphBuilder& builder_;
  const SequenceNode& node_;
  int64_t& budget_;
};

using Method = Result<Operand> (Reader::*)();

struct Entry {
  Method method;
  std::size_t least_inputs;
  std::size_t most_inputs;
};

const std::map<std::string_view, Entry>& entries() {
  static const std::map<std::string_view, Entry> table = {
      {"SequenceEmpty", {&Reader::empty, 0, 0}},   {"SequenceConstruct", {&Reader::construct, 1, SIZE_MAX}},
      {"SequenceInsert", {&Reader::insert, 2, 3}}, {"SequenceErase", {&Reader::erase, 1, 2}},
      {"SequenceAt", {&Reader::at, 2, 2}},         {"SequenceLength", {&Reader::length, 1, 1}},
      {"SplitToSequence", {&Reader::split, 1, 2}}, {"ConcatFromSequence", {&Reader::concat, 1, 1}},
  };
  return table;
}

// --- inputs ---

bool Reader::has_input(std::size_t i) const {
  if (i >= node_.inputs.size()) return false;
  const ValueId* value = std::get_if<ValueId>(&node_.inputs[i]);
  return value == nullptr || value->valid();
}

Result<SequencePtr> Reader::sequence_input(std::size_t i) const {
  const SequencePtr* sequence = std::get_if<SequencePtr>(&node_.inputs[i]);
  if (sequence == nullptr) return invalid(fmt::format("input {} is no sequence", i));
  return *sequence;
}

Result<ValueId> Reader::tensor_input(std::size_t i) const {
  const ValueId* value = std::get_if<ValueId>(&node_.inputs[i]);
  if (value == nullptr)
    return unsupported(fmt::format("unsupported: input {} is a sequence; sequences hold tensors only", i));
  if (!value->valid()) return invalid(fmt::format("input {} is required, but absent", i));
  return *value;
}

const Tensor* Reader::constant(ValueId value) const {
  for (const graph::Node* node = builder_.producer(value); node != nullptr && node->op == "Identity";
       node = builder_.producer(value))
    value = node->inputs[0];
  return builder_.value(value).is_constant() ? &*builder_.value(value).constant : nullptr;
}

Result<std::size_t> Reader::position(std::size_t i, std::size_t count, std::size_t last) const {
  if (!has_input(i)) return last;
  HONE_ASSIGN(const ValueId value, tensor_input(i));
  const Tensor* tensor = constant(value);
  if (tensor == nullptr)
    return unsupported(
        fmt::format("unsupported: {} at a position that is computed ('{}'); make it a constant of the model, "
                    "for instance by unrolling the loop that counts it",
                    node_.op, builder_.value(value).name));
  if (!is_integer(tensor->dtype()) || tensor->size() != 1)
    return invalid(fmt::format("input {} (the position) must be one integer", i));
  const int64_t wanted = tensor->int_at(0);
  const auto length = static_cast<int64_t>(count);
  if (wanted > static_cast<int64_t>(last) || wanted < -length)
    return invalid(fmt::format("position {} is outside of a sequence of {}", wanted, count));
  return static_cast<std::size_t>(wanted < 0 ? wanted + length : wanted);
}

// --- lists ---

Status Reader::append(Sequence& sequence, ValueId value) const {
  const DType dtype = builder_.type(value).dtype;
  if (sequence.dtype == DType::kUndefined) sequence.dtype = dtype;
  if (dtype != sequence.dtype && dtype != DType::kUndefined)
    return invalid(fmt::format("'{}' is {}, but the sequence holds {}: its tensors must be of one type",
                               builder_.value(value).name, dtype_name(dtype), dtype_name(sequence.dtype)));
  sequence.elements.push_back(value);
  return {};
}

Result<Operand> Reader::empty() {
  const int64_t number = node_.attributes.integer("dtype", 1);
  const std::optional<DType> dtype = dtype_from_onnx(number);
  if (!dtype) return invalid(fmt::format("element type {} does not exist", number));
  return made({*dtype, {}});
}

Result<Operand> Reader::construct() {
  HONE_CHECK(spend(node_.inputs.size()));
  Sequence sequence;
  for (std::size_t i = 0; i < node_.inputs.size(); ++i) {
    HONE_ASSIGN(const ValueId value, tensor_input(i));
    HONE_CHECK(append(sequence, value));
  }
  return made(std::move(sequence));
}

Result<Operand> Reader::insert() {
  HONE_ASSIGN(const SequencePtr source, sequence_input(0));
  HONE_ASSIGN(const ValueId value, tensor_input(1));
  const std::size_t count = source->elements.size();
  HONE_ASSIGN(const std::size_t at, position(2, count, count));
  HONE_CHECK(spend(count + 1));
  Sequence sequence = *source;
  HONE_CHECK(append(sequence, value));
  const auto place = sequence.elements.begin() + static_cast<std::ptrdiff_t>(at);
  std::rotate(place, sequence.elements.end() - 1, sequence.elements.end());
  return made(std::move(sequence));
}

Result<Operand> Reader::erase() {
  HONE_ASSIGN(const SequencePtr source, sequence_input(0));
  const std::size_t count = source->elements.size();
  if (count == 0) return invalid("erases from an empty sequence");
  HONE_ASSIGN(const std::size_t at, position(1, count, count - 1));
  HONE_CHECK(spend(count));
  Sequence sequence = *source;
  sequence.elements.erase(sequence.elements.begin() + static_cast<std::ptrdiff_t>(at));
  return made(std::move(sequence));
}

Result<Operand> Reader::at() {
  HONE_ASSIGN(const SequencePtr source, sequence_input(0));
  if (!has_input(1)) return invalid("input 1 (the position) is required, but absent");
  if (source->elements.empty()) return invalid("takes an element of an empty sequence");
  HONE_ASSIGN(const std::size_t at, position(1, source->elements.size(), source->elements.size() - 1));
  return Operand(source->elements[at]);
}

Result<Operand> Reader::length() {
  HONE_ASSIGN(const SequencePtr source, sequence_input(0));
  const auto count = static_cast<int64_t>(source->elements.size());
  return Operand(builder_.constant(node_.output_name, Tensor::scalar_i64(count)));
}

// --- tensors into sequences and back ---

Result<int64_t> Reader::listed_parts(ValueId sizes) const {
  const TensorType& type = builder_.type(sizes);
  if (type.is_static()) return type.shape()[0];
  return unsupported(fmt::format(
      "unsupported: SplitToSequence into a number of parts that is not known ('{}' is {}); give input "
      "'split' a fixed shape",
      builder_.value(sizes).name, type.text()));
}

Result<int64_t> Reader::part_size(ValueId size) const {
  const Tensor* tensor = constant(size);
  if (tensor == nullptr)
    return unsupported(
        fmt::format("unsupported: SplitToSequence into parts of a size that is computed ('{}'); make it a "
                    "constant of the model",
                    builder_.value(size).name));
  if (!is_integer(tensor->dtype()) || tensor->int_at(0) < 1)
    return invalid("input 1 (split) must be a positive integer, or a list of them");
  return tensor->int_at(0);
}

Result<Ints> Reader::equal_parts(const TensorType& x, int64_t part) {
  if (!x.has_rank())
    return unsupported("unsupported: SplitToSequence of a tensor whose rank is not known; declare its shape");
  HONE_ASSIGN(const int64_t axis, normalize_axis(node_.attributes.integer("axis", 0), x.rank()));
  const graph::Dim& extent = (*x.dims)[static_cast<std::size_t>(axis)];
  if (!extent.known())
    return unsupported(
        fmt::format("unsupported: SplitToSequence along axis {} of {}, whose extent is not known; read the "
                    "model with a number for it, or give input 'split' as a list",
                    axis, x.text()));
  const int64_t whole = extent.extent() / part;
  const int64_t rest = extent.extent() % part;
  HONE_CHECK(spend(static_cast<std::size_t>(whole + (rest > 0 ? 1 : 0))));
  Ints sizes(static_cast<std::size_t>(whole), part);
  if (rest > 0) sizes.push_back(rest);
  return sizes;
}

Result<Operand> Reader::split() {
  HONE_ASSIGN(const ValueId x, tensor_input(0));
  const bool given = has_input(1);
  ValueId sizes = kNoValue;
  int64_t count = 0;
  bool single = false;  // parts of one element, not by a list
  if (given) {
    HONE_ASSIGN(sizes, tensor_input(1));
    if (!builder_.type(sizes).has_rank() || builder_.type(sizes).rank() > 1)
      return invalid("input 1 (split) must be a scalar or a list");
  }
  if (given && builder_.type(sizes).rank() == 1) {
    HONE_ASSIGN(count, listed_parts(sizes));
    HONE_CHECK(spend(static_cast<std::size_t>(count)));
  } else {
    int64_t part = 1;
    if (given) {
      HONE_ASSIGN(part, part_size(sizes));
    }
    HONE_ASSIGN(const Ints equal, equal_parts(builder_.type(x), part));
    count = static_cast<int64_t>(equal.size());
    sizes = ints("sizes", equal);
    single = part == 1;
  }
  Sequence parts{builder_.type(x).dtype, {}};
  if (count == 0) return made(std::move(parts));

  std::vector<std::string> names;
  for (int64_t i = 0; i < count; ++i) names.push_back(fmt::format("{}.{}", node_.output_name, i));
  const int64_t axis = node_.attributes.integer("axis", 0);
  HONE_ASSIGN(parts.elements, emit("Split", {x, sizes}, {{"axis", axis}}, names));
  // Parts of one element lose the axis also where `split` is given: drops_axis_unlike_onnx().
  if (single && node_.attributes.integer("keepdims", 1) == 0) {
    HONE_ASSIGN(parts.elements, reshape_each("Squeeze", parts.elements, axis));
  }
  return made(std::move(parts));
}

Result<Operand> Reader::concat() {
  HONE_ASSIGN(const SequencePtr source, sequence_input(0));
  if (!node_.attributes.has("axis")) return invalid("attribute 'axis' is missing");
  if (source->elements.empty()) return invalid("joins an empty sequence, which has no shape");
  const int64_t axis = node_.attributes.integer("axis", 0);
  std::vector<ValueId> elements = source->elements;
  if (node_.attributes.integer("new_axis", 0) != 0) {
    HONE_ASSIGN(elements, reshape_each("Unsqueeze", elements, axis));
  }
  HONE_ASSIGN(const std::vector<ValueId> outputs,
              emit("Concat", std::move(elements), {{"axis", axis}}, {node_.output_name}));
  return Operand(outputs[0]);
}

// --- nodes ---

ValueId Reader::ints(std::string_view role, const Ints& values) {
  return builder_.constant(fmt::format("{}.{}", node_.name, role),
                           Tensor::i64({static_cast<int64_t>(values.size())}, values));
}

Result<std::vector<ValueId>> Reader::emit(std::string op, std::vector<ValueId> inputs, Attributes attributes,
                                          const std::vector<std::string>& output_names) {
  graph::Node node;
  node.name = op == "Split" || op == "Concat" ? node_.name : fmt::format("{}.{}", node_.name, op);
  node.op = std::move(op);
  node.attributes = std::move(attributes);
  node.inputs = std::move(inputs);
  node.provenance = {node_.name};
  return builder_.try_add(std::move(node), output_names);
}

Result<std::vector<ValueId>> Reader::reshape_each(const std::string& op, const std::vector<ValueId>& elements,
                                                  int64_t axis) {
  HONE_CHECK(spend(elements.size()));
  const ValueId axes = ints("axes", {axis});
  std::vector<ValueId> reshaped;
  for (const ValueId element : elements) {
    const std::string name = fmt::format("{}.{}", builder_.value(element).name, op);
    HONE_ASSIGN(const std::vector<ValueId> outputs, emit(op, {element, axes}, {}, {name}));
    reshaped.push_back(outputs[0]);
  }
  return reshaped;
}

}  // namespace

Status spend_elements(int64_t& budget, std::size_t elements) {
  if (elements > static_cast<std::size_t>(budget))
    return unsupported(
        fmt::format("the model's sequences have more than {} elements in all", kMostSequenceElements));
  budget -= static_cast<int64_t>(elements);
  return {};
}

bool drops_axis_unlike_onnx(const SequenceNode& node) {
  return node.op == "SplitToSequence" && node.inputs.size() == 2 &&
         node.attributes.integer("keepdims", 1) == 0;
}

bool is_sequence_operator(std::string_view op) { return entries().contains(op); }

Result<Operand> read_sequence_node(graph::GraphBuilder& builder, const SequenceNode& node, int64_t& budget) {
  const Entry& entry = entries().at(node.op);
  if (node.inputs.size() < entry.least_inputs || node.inputs.size() > entry.most_inputs)
    return invalid(fmt::format("has {} inputs; {} takes another number", node.inputs.size(), node.op));
  Reader reader(builder, node, budget);
  return (reader.*entry.method)();
}

}  // namespace hone::model::onnx
