// Printing and comparing graphs; text_parse.cpp reads the form back.
#include "graph/text.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>

#include <fmt/core.h>

namespace hone::graph {
namespace {

constexpr int64_t kDenseElements = 16;  // up to here a constant is written as numbers

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '.' || c == '/' || c == ':' || c == '-';
  });
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string real(double value, bool single) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = single ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

class Printer {
 public:
  // `beside` null: all data within the text.
  Printer(const Graph& graph, Constants constants, std::vector<Tensor>* beside = nullptr)
      : graph_(graph), constants_(constants), beside_(beside) {}

  std::string run(int depth) {
    depth_ = depth;
    std::string header = fmt::format("graph {} (", quoted(graph_.name()));
    for (std::size_t i = 0; i < graph_.inputs().size(); ++i) {
      if (i > 0) header += ", ";
      header += declared(graph_.inputs()[i]);
    }
    out_ = header + ") {\n";
    printed_.assign(graph_.values().size(), false);
    for (const Node& node : graph_.nodes()) {
      for (ValueId input : node.inputs) constant(input);
      node_line(node);
    }
    for (ValueId output : graph_.outputs()) constant(output);
    line("return " + results());
    return out_ + std::string(static_cast<std::size_t>(depth_) * 2, ' ') + "}";
  }

 private:
  void line(const std::string& text) {
    out_ += std::string(static_cast<std::size_t>(depth_ + 1) * 2, ' ') + text + "\n";
  }

  std::string reference(ValueId id, std::string_view absent) const {
    if (!id.valid()) return std::string(absent);
    const std::string& name = graph_.value(id).name;
    return "%" + (is_word(name) ? name : quoted(name));
  }

  std::string references(const std::vector<ValueId>& ids, std::string_view absent) const {
    std::string text;
    for (std::size_t i = 0; i < ids.size(); ++i) text += (i > 0 ? ", " : "") + reference(ids[i], absent);
    return text;
  }

  std::string results() const {
    std::string text;
    for (std::size_t i = 0; i < graph_.outputs().size(); ++i) {
      text += (i > 0 ? ", " : "") + reference(graph_.outputs()[i], "_");
      if (const StatePair* pair = graph_.state_of_output(i))
        text += " -> " + reference(graph_.state_input(*pair), "_");
    }
    return text;
  }

  std::string declared(ValueId id) const {
    return id.valid() ? fmt::format("{}: {}", reference(id, "_"), graph_.type(id).text()) : "_";
  }

  std::string data(const Tensor& tensor) const {
    const bool numbers = is_integer(tensor.dtype()) || tensor.dtype() == DType::kBool ||
                         tensor.dtype() == DType::kF32 || tensor.dtype() == DType::kF64;
    const bool few = tensor.size() <= kDenseElements;
    const bool elided = !few && constants_ == Constants::kElided;
    if (tensor.dtype() == DType::kString) return strings(tensor, elided);
    if (numbers && (few || elided) && !has_nan(tensor)) {
      std::string text = "dense(";
      for (int64_t i = 0; i < std::min<int64_t>(tensor.size(), elided ? 4 : kDenseElements); ++i) {
        if (i > 0) text += ", ";
        text += is_float(tensor.dtype()) ? real(tensor.at(i), tensor.dtype() == DType::kF32)
                                         : std::to_string(tensor.int_at(i));
      }
      return text + (elided ? ", …)" : ")");
    }
    if (elided) return "hex\"…\"";
    if (!few && beside_ != nullptr) return fmt::format("beside({})", place_beside(tensor));
    std::string text = "hex\"";
    text.reserve(tensor.bytes() * 2 + 8);
    for (uint8_t byte : std::span(static_cast<const uint8_t*>(tensor.data()), tensor.bytes())) {
      constexpr char kDigits[] = "0123456789abcdef";
      text += kDigits[byte >> 4];
      text += kDigits[byte & 15];
    }
    return text + '"';
  }

  std::size_t place_beside(const Tensor& tensor) const {
    const auto same = [&](const Tensor& other) {
      return std::as_const(other).data() == tensor.data() && other.bytes() == tensor.bytes();
    };
    const auto found = std::find_if(beside_->begin(), beside_->end(), same);
    const auto index = static_cast<std::size_t>(found - beside_->begin());
    if (found == beside_->end()) beside_->push_back(tensor);
    return index;
  }

  static std::string strings(const Tensor& tensor, bool elided) {
    std::string text = "strings(";
    std::size_t count = 0;
    for (const std::string& s : tensor.strings()) {
      if (elided && count == 4) return text + ", …)";
      text += (count++ > 0 ? ", " : "") + quoted(s);
    }
    return text + ")";
  }

  static bool has_nan(const Tensor& tensor) {
    for (int64_t i = 0; is_float(tensor.dtype()) && i < std::min(tensor.size(), kDenseElements); ++i) {
      if (std::isnan(tensor.at(i))) return true;
    }
    return false;
  }

  void constant(ValueId id) {
    if (!id.valid() || printed_[id.index] || !graph_.value(id).is_constant()) return;
    printed_[id.index] = true;
    line(declared(id) + " = constant " + data(*graph_.value(id).constant));
  }

  template <typename List, typename Format>
  static std::string list(const char* kind, const List& values, Format format) {
    if (values.empty()) return fmt::format("{}[]", kind);
    std::string text = "[";
    for (std::size_t i = 0; i < values.size(); ++i) text += (i > 0 ? ", " : "") + format(values[i]);
    return text + "]";
  }

  std::string attribute(const Attribute& value) const {
    struct Visitor {
      const Printer& printer;
      std::string operator()(int64_t x) const { return std::to_string(x); }
      std::string operator()(float x) const { return real(x, true); }
      std::string operator()(const std::string& x) const { return quoted(x); }
      std::string operator()(const Ints& x) const {
        return list("ints", x, [](int64_t i) { return std::to_string(i); });
      }
      std::string operator()(const Floats& x) const {
        return list("floats", x, [](float f) { return real(f, true); });
      }
      std::string operator()(const Strings& x) const {
        return list("strings", x, [](const std::string& s) { return quoted(s); });
      }
      std::string operator()(const Tensor& x) const {
        return fmt::format("tensor {} {}", tensor_type(x.dtype(), x.shape()).text(), printer.data(x));
      }
    };
    return std::visit(Visitor{*this}, value);
  }

  void node_line(const Node& node) {
    std::string text;
    for (std::size_t i = 0; i < node.outputs.size(); ++i)
      text += (i > 0 ? ", " : "") + declared(node.outputs[i]);
    text += fmt::format(" = {}({})", node.op, references(node.inputs, "none"));
    if (node.captures > 0) text += fmt::format(" captures {}", node.captures);
    if (!node.attributes.empty()) {
      text += " {";
      bool first = true;
      for (const auto& [name, value] : node.attributes) {
        text += fmt::format("{}{} = {}", first ? "" : ", ", name, attribute(value));
        first = false;
      }
      text += "}";
    }
    text += " " + quoted(node.name);
    if (node.provenance.size() != 1 || node.provenance[0] != node.name)
      text += " from " + list("strings", node.provenance, [](const auto& s) { return quoted(s); });
    for (const auto& body : node.bodies) text += " " + Printer(*body, constants_, beside_).run(depth_ + 1);
    line(text);
  }

  const Graph& graph_;
  Constants constants_;
  std::vector<Tensor>* beside_;
  int depth_ = 0;
  std::string out_;
  std::vector<bool> printed_;
};

struct Comparison {
  bool names = true;

  bool same(const Graph& a, const Graph& b) const {
    if (names && a.name() != b.name()) return false;
    if (a.nodes().size() != b.nodes().size() || a.inputs().size() != b.inputs().size() ||
        a.outputs().size() != b.outputs().size() || !same_states(a, b)) {
      return false;
    }
    std::vector<ValueId> partner(a.values().size());
    for (std::size_t i = 0; i < a.inputs().size(); ++i) {
      partner[a.inputs()[i].index] = b.inputs()[i];
      if (!same_value(a.value(a.inputs()[i]), b.value(b.inputs()[i]))) return false;
    }
    for (std::size_t i = 0; i < a.nodes().size(); ++i) {
      if (!same_node(a, b, a.nodes()[i], b.nodes()[i], partner)) return false;
    }
    return same_ids(a, b, a.outputs(), b.outputs(), partner);
  }

 private:
  // Pairs are a set.
  static bool same_states(const Graph& a, const Graph& b) {
    return a.states().size() == b.states().size() &&
           std::is_permutation(a.states().begin(), a.states().end(), b.states().begin());
  }

  bool same_value(const Value& a, const Value& b) const {
    if (a.type != b.type || a.is_constant() != b.is_constant() || (names && a.name != b.name)) return false;
    return !a.is_constant() || same_tensor(*a.constant, *b.constant);
  }

  bool same_ids(const Graph& a, const Graph& b, const std::vector<ValueId>& x, const std::vector<ValueId>& y,
                const std::vector<ValueId>& partner) const {
    if (x.size() != y.size()) return false;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i].valid() != y[i].valid()) return false;
      if (!x[i].valid()) continue;
      const Value& value = a.value(x[i]);
      if (value.is_constant() ? !same_value(value, b.value(y[i])) : partner[x[i].index] != y[i]) return false;
    }
    return true;
  }

  bool same_node(const Graph& a, const Graph& b, const Node& x, const Node& y,
                 std::vector<ValueId>& partner) const {
    if (x.op != y.op || x.captures != y.captures || !(x.attributes == y.attributes) ||
        x.bodies.size() != y.bodies.size() || x.outputs.size() != y.outputs.size()) {
      return false;
    }
    if (names && (x.name != y.name || x.provenance != y.provenance)) return false;
    if (!same_ids(a, b, x.inputs, y.inputs, partner)) return false;
    for (std::size_t i = 0; i < x.bodies.size(); ++i) {
      if (!same(*x.bodies[i], *y.bodies[i])) return false;
    }
    for (std::size_t i = 0; i < x.outputs.size(); ++i) {
      if (x.outputs[i].valid() != y.outputs[i].valid()) return false;
      if (!x.outputs[i].valid()) continue;
      if (!same_value(a.value(x.outputs[i]), b.value(y.outputs[i]))) return false;
      partner[x.outputs[i].index] = y.outputs[i];
    }
    return true;
  }
};

}  // namespace

std::string print(const Graph& graph, Constants constants) { return Printer(graph, constants).run(0) + "\n"; }

std::string print(const Graph& graph, std::vector<Tensor>& beside) {
  return Printer(graph, Constants::kFull, &beside).run(0) + "\n";
}

bool same_graph(const Graph& a, const Graph& b) { return Comparison{true}.same(a, b); }
bool equivalent(const Graph& a, const Graph& b) { return Comparison{false}.same(a, b); }

}  // namespace hone::graph
