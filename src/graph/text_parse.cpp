// Reads the text form of graphs (text.h): a recursive-descent parser over one string. Errors name the line.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <limits>
#include <unordered_map>

#include <fmt/core.h>

#include "graph/builder.h"
#include "graph/text.h"

namespace hone::graph {
namespace {

constexpr int kMaxDepth = 64;  // of bodies within bodies, and of types within types

class Parser {
 public:
  Parser(std::string_view text, const DataBeside& beside) : text_(text), beside_(beside) {}

  Result<Graph> run() {
    auto graph = parse_graph(0);
    if (!graph.ok()) return graph;
    skip_space();
    if (at_ != text_.size()) return error("text after the end of the graph");
    return graph;
  }

 private:
  using Names = std::unordered_map<std::string, ValueId>;

  Error error(const std::string& what) const {
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
    return corrupt(fmt::format("graph text, line {}: {}", line, what));
  }

  // --- tokens ---
  void skip_space() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
        ++at_;
      } else if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else {
        return;
      }
    }
  }
  bool accept(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  bool peek(std::string_view token) {
    skip_space();
    return text_.substr(at_, token.size()) == token;
  }
  Status expect(std::string_view token) {
    if (accept(token)) return {};
    return error(fmt::format("expected '{}' before '{}'", token, text_.substr(at_, 12)));
  }
  static bool word_char(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '/' || c == ':' ||
           c == '-';
  }
  Result<std::string> word() {
    skip_space();
    const std::size_t start = at_;
    while (at_ < text_.size() && word_char(text_[at_])) ++at_;
    if (at_ == start) return error(fmt::format("expected a name before '{}'", text_.substr(at_, 12)));
    return std::string(text_.substr(start, at_ - start));
  }
  Result<std::string> quoted() {
    HONE_CHECK(expect("\""));
    std::string out;
    while (at_ < text_.size() && text_[at_] != '"') {
      char c = text_[at_++];
      if (c == '\\' && at_ < text_.size()) {
        c = text_[at_++];
        if (c == 'x') {
          unsigned value = 0;
          const auto [end, failed] =
              std::from_chars(text_.data() + at_, text_.data() + std::min(at_ + 2, text_.size()), value, 16);
          if (failed != std::errc() || end != text_.data() + at_ + 2) return error("a bad \\x escape");
          at_ += 2;
          c = static_cast<char>(value);
        }
      }
      out += c;
    }
    HONE_CHECK(expect("\""));
    return out;
  }
  Result<std::string> name() {
    if (peek("\"")) return quoted();
    HONE_ASSIGN(std::string text, word());
    // "%x: f32" ends the name at the colon that a space follows.
    if (text.back() == ':') {
      text.pop_back();
      --at_;
    }
    if (text.empty()) return error("expected a name");
    return text;
  }
  Result<std::string> value_name() {
    HONE_CHECK(expect("%"));
    return name();
  }
  Result<int64_t> integer() {
    HONE_ASSIGN(const std::string text, word());
    int64_t value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc() || end != text.data() + text.size())
      return error(fmt::format("'{}' is not an integer", text));
    return value;
  }
  // The characters of a number; '+' occurs in exponents.
  std::string number_text() {
    skip_space();
    const std::size_t start = at_;
    while (at_ < text_.size() && (word_char(text_[at_]) || text_[at_] == '+')) ++at_;
    return std::string(text_.substr(start, at_ - start));
  }
  static bool is_real(const std::string& text) { return text.find_first_of(".einf") != std::string::npos; }
  Result<double> to_real(const std::string& text) {
    if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
    double value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || failed != std::errc() || end != text.data() + text.size())
      return error(fmt::format("'{}' is not a number", text));
    return value;
  }

  // --- types ---
  Result<TensorType> type(int depth = 0) {
    if (depth > kMaxDepth) return error("types nested too deeply");
    for (auto [open, kind] :
         {std::pair{"sequence(", TypeKind::kSequence}, {"optional(", TypeKind::kOptional}}) {
      if (!accept(open)) continue;
      HONE_ASSIGN(TensorType inner, type(depth + 1));
      HONE_CHECK(expect(")"));
      inner.kind = kind;
      return inner;
    }
    HONE_ASSIGN(const std::string dtype_text, word());
    const auto dtype = dtype_from_name(dtype_text);
    if (!dtype) return error(fmt::format("'{}' is not a dtype", dtype_text));
    TensorType type = unranked(*dtype);
    HONE_CHECK(expect("["));
    const bool ranked = !accept("*");
    if (ranked)
      type.dims.emplace();
    else
      HONE_CHECK(expect("]"));
    while (ranked && !accept("]")) {
      if (!type.dims->empty()) HONE_CHECK(expect(","));
      HONE_ASSIGN(Dim dim, extent());
      type.dims->push_back(std::move(dim));
    }
    if (type.is_static())
      if (auto count = checked_element_count(type.shape()); !count.ok()) return error(count.error().message);
    while (accept("@")) {  // a layout, a device
      HONE_ASSIGN(const std::string text, word());
      const auto layout = layout_from_name(text);
      const auto device = DeviceId::from_text(text);
      if (!layout && !device) return error(fmt::format("'{}' is neither a layout nor a device", text));
      if (layout) type.layout = *layout;
      if (device) type.device = *device;
    }
    return type;
  }
  Result<Dim> extent() {
    if (accept("?")) return Dim();
    skip_space();
    const std::size_t start = at_;  // symbols may hold any character but these
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != ']' && text_[at_] != '\n') ++at_;
    const std::string text(text_.substr(start, at_ - start));
    int64_t value = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed == std::errc() && end == text.data() + text.size()) {
      if (value < 0) return error(fmt::format("the extent {} is negative", value));
      return Dim(value);
    }
    if (text.empty()) return error("expected an extent");
    return Dim::symbol(text);
  }

  // --- constants ---
  Result<Tensor> data(const TensorType& type) {
    if (!type.is_static()) return error("a constant needs a known shape");
    HONE_ASSIGN(const int64_t count, checked_element_count(type.shape()));
    if (accept("strings(")) return strings(type, count);
    if (type.dtype == DType::kString) return error("text has no form but strings()");
    if (accept("beside(")) return beside(type, count);
    // Untrusted text: never allocate more than the text can hold.
    if (static_cast<std::size_t>(count) > text_.size())
      return error("a constant with fewer elements than its type says");
    Tensor tensor(type.dtype, type.shape());
    if (accept("dense(")) {
      for (int64_t i = 0; i < count; ++i) {
        if (i > 0) HONE_CHECK(expect(","));
        HONE_CHECK(element(tensor, i));
      }
      HONE_CHECK(expect(")"));
      return tensor;
    }
    HONE_CHECK(expect("hex\""));
    auto* bytes = static_cast<uint8_t*>(tensor.data());
    for (std::size_t i = 0; i < tensor.bytes(); ++i, at_ += 2) {
      if (at_ + 2 > text_.size()) return error("a constant that ends too early");
      const auto [end, failed] = std::from_chars(text_.data() + at_, text_.data() + at_ + 2, bytes[i], 16);
      if (failed != std::errc() || end != text_.data() + at_ + 2)
        return error("a constant with a bad hex digit, or too short");
    }
    HONE_CHECK(expect("\""));
    return tensor;
  }
  Result<Tensor> beside(const TensorType& type, int64_t count) {
    HONE_ASSIGN(const int64_t index, integer());
    HONE_CHECK(expect(")"));
    if (index < 0 || static_cast<std::size_t>(index) >= beside_.blocks.size())
      return error(fmt::format("there is no block {} of data", index));
    const std::span<const std::byte> block = beside_.blocks[static_cast<std::size_t>(index)];
    if (block.size() / dtype_size(type.dtype) != static_cast<std::size_t>(count) ||
        block.size() % dtype_size(type.dtype) != 0)
      return error(
          fmt::format("block {} of data has {} bytes, which are no {}", index, block.size(), type.text()));
    return Tensor::borrowed(type.dtype, type.shape(), block.data(), beside_.owner);
  }
  Result<Tensor> strings(const TensorType& type, int64_t count) {
    std::vector<std::string> values;
    while (!accept(")")) {
      if (!values.empty()) HONE_CHECK(expect(","));
      HONE_ASSIGN(std::string value, quoted());
      values.push_back(std::move(value));
    }
    if (static_cast<int64_t>(values.size()) != count)
      return error("a constant with another number of strings than its type says");
    Tensor tensor(DType::kString, type.shape());
    tensor.strings() = std::move(values);
    return tensor;
  }
  template <typename T>
  static void store(Tensor& tensor, int64_t i, T value) {
    std::memcpy(static_cast<std::byte*>(tensor.data()) + static_cast<std::size_t>(i) * sizeof(T), &value,
                sizeof(T));
  }
  Status element(Tensor& tensor, int64_t i) {
    const std::string text = number_text();
    if (is_float(tensor.dtype()) || is_complex(tensor.dtype())) {
      HONE_ASSIGN(const double value, to_real(text));
      if (tensor.dtype() == DType::kF32)
        store(tensor, i, static_cast<float>(value));
      else if (tensor.dtype() == DType::kF64)
        store(tensor, i, value);
      else
        return error("dense() holds f32, f64 and integers; use hex for other types");
      return {};
    }
    int64_t value = 0;
    const bool negative = !text.empty() && text[0] == '-';
    uint64_t magnitude = 0;  // u64 constants pass int64's range
    const auto [end, failed] =
        std::from_chars(text.data() + (negative ? 1 : 0), text.data() + text.size(), magnitude);
    if (failed != std::errc() || end != text.data() + text.size())
      return error(fmt::format("'{}' is not an integer", text));
    value = negative ? -static_cast<int64_t>(magnitude) : static_cast<int64_t>(magnitude);
    switch (dtype_size(tensor.dtype())) {
      case 1:
        store(tensor, i, static_cast<int8_t>(value));
        break;
      case 2:
        store(tensor, i, static_cast<int16_t>(value));
        break;
      case 4:
        store(tensor, i, static_cast<int32_t>(value));
        break;
      default:
        store(tensor, i, value);
    }
    return {};
  }

  // --- attributes ---
  template <typename List, typename Read>
  Result<Attribute> list_of(Read read) {
    List values;
    while (!accept("]")) {
      if (!values.empty()) HONE_CHECK(expect(","));
      auto value = read();
      if (!value.ok()) return value.error();
      values.push_back(static_cast<typename List::value_type>(*value));
    }
    return Attribute(std::move(values));
  }
  Result<Attribute> attribute() {
    if (peek("\"")) {
      HONE_ASSIGN(std::string text, quoted());
      return Attribute(std::move(text));
    }
    if (accept("ints[]")) return Attribute(Ints{});
    if (accept("floats[]")) return Attribute(Floats{});
    if (accept("strings[]")) return Attribute(Strings{});
    if (accept("tensor ")) {
      HONE_ASSIGN(const TensorType tensor_type_of, type());
      HONE_ASSIGN(Tensor tensor, data(tensor_type_of));
      return Attribute(std::move(tensor));
    }
    if (accept("[")) {
      if (peek("\"")) return list_of<Strings>([&] { return quoted(); });
      const std::size_t start = at_;
      const bool reals = is_real(number_text());
      at_ = start;
      if (reals) return list_of<Floats>([&] { return to_real(number_text()); });
      return list_of<Ints>([&] { return integer(); });
    }
    const std::size_t start = at_;
    const std::string text = number_text();
    if (is_real(text)) {
      HONE_ASSIGN(const double value, to_real(text));
      return Attribute(static_cast<float>(value));
    }
    at_ = start;
    HONE_ASSIGN(const int64_t value, integer());
    return Attribute(value);
  }

  // --- graphs ---
  Result<Graph> parse_graph(int depth) {
    if (depth > kMaxDepth) return error("bodies nested too deeply");
    HONE_CHECK(expect("graph"));
    HONE_ASSIGN(std::string graph_name, quoted());
    GraphBuilder builder(std::move(graph_name));
    Names names;
    HONE_CHECK(expect("("));
    while (!accept(")")) {
      if (!names.empty()) HONE_CHECK(expect(","));
      HONE_ASSIGN(std::string input, value_name());
      HONE_CHECK(expect(":"));
      HONE_ASSIGN(TensorType input_type, type());
      if (names.contains(input)) return error(fmt::format("'%{}' is defined twice", input));
      names[input] = builder.input(input, std::move(input_type));
    }
    HONE_CHECK(expect("{"));
    while (!accept("return")) HONE_CHECK(statement(builder, names, depth));
    while (!peek("}")) {
      if (!builder.outputs().empty()) HONE_CHECK(expect(","));
      HONE_ASSIGN(const ValueId id, reference(names));
      HONE_CHECK(output(builder, names, id));
    }
    HONE_CHECK(expect("}"));
    auto graph = std::move(builder).finish(true);
    if (!graph.ok()) return error(graph.error().message);
    return graph;
  }
  Status output(GraphBuilder& builder, const Names& names, ValueId value) {
    if (!accept("->")) {
      builder.output(value);
      return {};
    }
    HONE_ASSIGN(const ValueId state, reference(names));
    if (std::find(builder.inputs().begin(), builder.inputs().end(), state) == builder.inputs().end())
      return error(
          fmt::format("'%{}' is no input: only an input has a next value", builder.value(state).name));
    builder.next_value(state, value);
    return {};
  }
  Result<ValueId> reference(const Names& names) {
    HONE_ASSIGN(const std::string wanted, value_name());
    auto it = names.find(wanted);
    if (it == names.end()) return error(fmt::format("'%{}' is not defined above", wanted));
    return it->second;
  }

  struct Declaration {
    std::string name;  // empty: "_"
    TensorType type;
  };
  Result<std::vector<Declaration>> declarations() {
    std::vector<Declaration> list;
    do {
      Declaration declaration;
      if (!accept("_")) {
        HONE_ASSIGN(declaration.name, value_name());
        HONE_CHECK(expect(":"));
        HONE_ASSIGN(declaration.type, type());
      }
      list.push_back(std::move(declaration));
    } while (accept(","));
    return list;
  }

  Status statement(GraphBuilder& builder, Names& names, int depth) {
    HONE_ASSIGN(const std::vector<Declaration> results, declarations());
    for (const Declaration& result : results) {
      if (!result.name.empty() && names.contains(result.name))
        return error(fmt::format("'%{}' is defined twice", result.name));
    }
    HONE_CHECK(expect("="));
    if (accept("constant ")) {
      if (results.size() != 1 || results[0].name.empty()) return error("a constant is one value with a name");
      HONE_ASSIGN(Tensor tensor, data(results[0].type));
      const ValueId id = builder.constant(results[0].name, std::move(tensor));
      builder.set_type(id, results[0].type);
      names[results[0].name] = id;
      return {};
    }
    HONE_ASSIGN(Node node, operation(names, depth));
    std::vector<std::string> output_names;
    std::vector<TensorType> declared;
    for (const Declaration& result : results) {
      output_names.push_back(result.name);
      declared.push_back(result.type);
    }
    const std::string label = node.name;
    auto ids = builder.try_add(std::move(node), output_names, declared);
    if (!ids.ok()) return error(fmt::format("node '{}': {}", label, ids.error().message));
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!results[i].name.empty()) names[results[i].name] = (*ids)[i];
    }
    return {};
  }

  Result<Node> operation(const Names& names, int depth) {
    Node node;
    HONE_ASSIGN(node.op, word());
    HONE_CHECK(expect("("));
    while (!accept(")")) {
      if (!node.inputs.empty()) HONE_CHECK(expect(","));
      if (accept("none")) {
        node.inputs.push_back(kNoValue);
        continue;
      }
      HONE_ASSIGN(const ValueId id, reference(names));
      node.inputs.push_back(id);
    }
    if (accept("captures")) {
      HONE_ASSIGN(const int64_t captures, integer());
      node.captures = static_cast<uint32_t>(captures);
    }
    if (accept("{")) {
      bool first = true;
      while (!accept("}")) {
        if (!first) HONE_CHECK(expect(","));
        first = false;
        HONE_ASSIGN(std::string key, word());
        HONE_CHECK(expect("="));
        HONE_ASSIGN(Attribute value, attribute());
        node.attributes.set(std::move(key), std::move(value));
      }
    }
    if (peek("\"")) {
      HONE_ASSIGN(node.name, quoted());
    }
    if (accept("from")) {
      HONE_ASSIGN(const Attribute list, attribute());
      if (const auto* provenance = std::get_if<Strings>(&list)) node.provenance = *provenance;
    }
    while (peek("graph")) {
      HONE_ASSIGN(Graph body, parse_graph(depth + 1));
      node.bodies.push_back(std::make_shared<const Graph>(std::move(body)));
    }
    return node;
  }

  std::string_view text_;
  const DataBeside& beside_;
  std::size_t at_ = 0;
};

}  // namespace

Result<Graph> parse(std::string_view text) { return parse(text, {}); }

Result<Graph> parse(std::string_view text, const DataBeside& beside) { return Parser(text, beside).run(); }

}  // namespace hone::graph
