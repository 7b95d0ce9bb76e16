// Older forms of ONNX operators turned into the canonical one (graph::kCanonicalOpset), a step at a time: one
// small function for each operator and each opset that changed its form. Changes that only widened what an
// operator takes need none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "graph/builder.h"

namespace hone::model::onnx {

// A node on its way to the canonical form, and the means to add others around it.
class Upgrade {
 public:
  // `wanted_outputs` says of each output whether anything reads it.
  Upgrade(graph::GraphBuilder& builder, graph::Node start, std::vector<std::string> names,
          std::vector<bool> wanted_outputs, int64_t opset)
      : node(std::move(start)),
        output_names(std::move(names)),
        wanted(std::move(wanted_outputs)),
        opset_(opset),
        builder_(builder) {}

  graph::Node node;  // its inputs are values of the builder; its outputs are not filled
  std::vector<std::string> output_names;
  std::vector<bool> wanted;

  int64_t opset() const { return opset_; }  // that the model imports
  Attributes& attributes() { return node.attributes; }
  bool has_input(std::size_t i) const { return node.has_input(i); }
  const graph::TensorType& type(std::size_t input) const;  // undefined where the input is absent
  const Tensor* constant(std::size_t input) const;         // the input's data where they are known

  graph::ValueId add_constant(std::string_view role, Tensor data);
  graph::ValueId ints(std::string_view role, const Ints& values);  // a constant i64[n]
  // Puts `value` at `input`; inputs between become absent.
  void set_input(std::size_t input, graph::ValueId value);
  // The attribute becomes a constant 1-D input where it is present. An empty list counts as absent.
  void ints_to_input(const std::string& attribute, std::size_t input);
  // The attribute becomes a constant scalar input of the element type of input 0 where it is present.
  Status real_to_input(const std::string& attribute, std::size_t input);

  // A node of canonical form before this one.
  Result<graph::ValueId> emit(std::string op, std::vector<graph::ValueId> inputs, Attributes attributes = {});
  // The output becomes the input of another node, `op`, which takes over its name.
  void then(std::size_t output, std::string op, Attributes attributes);

  // Adds the node and those after it to the builder. Types of outputs that the file declares are not
  // considered.
  Result<std::vector<graph::ValueId>> finish();

 private:
  struct After {
    std::size_t output;
    std::string op;
    Attributes attributes;
  };
  std::string part_name(std::string_view role) const;

  int64_t opset_;
  graph::GraphBuilder& builder_;
  std::vector<After> after_;
};

using Adaptor = Status (*)(Upgrade&);

// One change of one operator's form: `adapt` turns the form before opset `since` into the one from there on.
struct UpgradeStep {
  std::string_view op;
  int64_t since;
  Adaptor adapt;
};

// Steps that every model takes, whatever its opset: forms that were always allowed, but are not canonical.
inline constexpr int64_t kAlways = INT64_MAX;

// The steps, by family. Order does not matter.
const std::vector<UpgradeStep>& input_steps();          // attributes that became inputs
const std::vector<UpgradeStep>& broadcast_steps();      // limited broadcasting before opset 7
const std::vector<UpgradeStep>& normalization_steps();  // batch and group normalization, softmax, dropout
const std::vector<UpgradeStep>& resize_steps();         // Upsample, Resize, GridSample, RoiAlign
const std::vector<UpgradeStep>& attribute_steps();      // renamed, retyped, removed attributes and operators

// Whether any step begins at this operator (it may have no entry in the operator table).
bool has_upgrade(std::string_view op);

// Applies the steps that the node needs, oldest first. The operator may change on the way.
Status upgrade_node(Upgrade& upgrade);

}  // namespace hone::model::onnx
