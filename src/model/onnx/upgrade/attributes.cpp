// Attributes that were renamed, retyped or removed, defaults that changed, and operators that were renamed.
#include <array>

#include <fmt/core.h>

#include "model/onnx/proto.h"
#include "model/onnx/upgrade/upgrade.h"

namespace hone::model::onnx {
namespace {

// Cast took the name of the type until opset 5; the names are those of TensorProto.DataType.
Status cast_to_number(Upgrade& u) {
  constexpr std::array<std::string_view, 17> kNames = {
      "UNDEFINED", "FLOAT",   "UINT8",  "INT8",   "UINT16", "INT16",     "INT32",      "INT64",   "STRING",
      "BOOL",      "FLOAT16", "DOUBLE", "UINT32", "UINT64", "COMPLEX64", "COMPLEX128", "BFLOAT16"};
  const std::string name = u.attributes().text("to", "");
  if (name.empty()) return {};
  for (std::size_t i = 1; i < kNames.size(); ++i) {
    if (kNames[i] != name) continue;
    u.attributes().set("to", static_cast<int64_t>(i));
    return {};
  }
  return corrupt(fmt::format("attribute 'to' names no type: {}", in_quotes(name)));
}

Status concat_axis(Upgrade& u) {
  if (!u.attributes().has("axis")) u.attributes().set("axis", int64_t{1});
  return {};
}

Status selu_constants(Upgrade& u) {  // opset 1 had them rounded to four digits
  if (!u.attributes().has("alpha")) u.attributes().set("alpha", 1.6732f);
  if (!u.attributes().has("gamma")) u.attributes().set("gamma", 1.0507f);
  return {};
}

Status integer_p(Upgrade& u) {
  if (!u.attributes().has("p")) return {};
  const auto p = static_cast<int64_t>(u.attributes().real("p", 2));
  u.attributes().set("p", p);
  return {};
}

Status recurrent_output(Upgrade& u) {  // which outputs are wanted says it
  u.attributes().erase("output_sequence");
  if (u.attributes().text("direction", "") == "foward")
    u.attributes().set("direction", std::string("forward"));
  return {};
}

Status scatter_elements(Upgrade& u) {
  u.node.op = "ScatterElements";
  return {};
}

// A gate times a value (opset 28): Swish(A, alpha) · B.
Status swiglu_product(Upgrade& u) {
  Attributes alpha;
  alpha.set("alpha", u.attributes().real("alpha", 1.0F));
  HONE_ASSIGN(const graph::ValueId gate, u.emit("Swish", {u.node.inputs[0]}, std::move(alpha)));
  u.attributes() = {};
  u.node.op = "Mul";
  u.set_input(0, gate);
  return {};
}

// Windows of keys (opset 25); -1 is none.
Status attention_window(Upgrade& u) {
  for (const char* side : {"left_window_size", "right_window_size"}) {
    if (u.attributes().integer(side, -1) >= 0)
      return unsupported(fmt::format("unsupported: Attention with {} (opset 25)", side));
    u.attributes().erase(side);
  }
  return {};
}

}  // namespace

const std::vector<UpgradeStep>& attribute_steps() {
  static const std::vector<UpgradeStep> steps = {
      {"Cast", 6, cast_to_number},
      {"Concat", 4, concat_axis},
      {"Selu", 6, selu_constants},
      {"GlobalLpPool", 2, integer_p},
      {"LpPool", 2, integer_p},
      {"RNN", 7, recurrent_output},
      {"GRU", 7, recurrent_output},
      {"LSTM", 7, recurrent_output},
      {"Scatter", kAlways, scatter_elements},
      {"SwiGLU", kAlways, swiglu_product},
      {"Attention", kAlways, attention_window},
  };
  return steps;
}

}  // namespace hone::model::onnx
