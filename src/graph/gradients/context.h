// What a gradient rule (OpEntry::gradient) sees of a node and how it emits: the gradients of the node's
// inputs as ordinary nodes, from the gradients of its outputs. The rules are in gradients/<family>.cpp; the
// walk over a graph is differentiate().
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "graph/emitter.h"
#include "graph/op_table.h"

namespace hone::graph {

class GradientContext : public NodeEmitter {
 public:
  // `wanted`: of each input, whether its gradient is needed. New nodes have this provenance.
  GradientContext(GraphBuilder& builder, Node node, std::vector<ValueId> output_gradients,
                  std::vector<bool> wanted, std::vector<std::string> provenance);

  // --- looking ---
  const Node& node() const { return node_; }
  const Attributes& attributes() const { return node_.attributes; }
  std::size_t input_count() const { return node_.inputs.size(); }
  bool has_input(std::size_t i) const { return node_.has_input(i); }
  ValueId input(std::size_t i) const { return node_.inputs[i]; }
  ValueId output(std::size_t i) const { return node_.outputs[i]; }
  bool wants(std::size_t i) const { return wanted_[i]; }
  // The gradient of output `i`; kNoValue where the result does not depend on it. Some output has one.
  ValueId gradient(std::size_t i = 0) const { return output_gradients_[i]; }
  const Tensor* constant(std::size_t i) const;  // data of input `i`; null where not known or absent
  // Elements of an integer input; nullopt where they are not known, or no integers.
  std::optional<Ints> constant_ints(std::size_t i) const;

  // --- whole steps that many rules end with ---
  // `gradient`, which has the shape of a broadcast result, summed to the shape of the operand `like`.
  ValueId summed_to(ValueId gradient, ValueId like);
  // The same elements in the shape of `like`.
  ValueId reshaped_to(ValueId gradient, ValueId like);

  // --- result ---
  // The gradient of input `i`. Ignored where it is not wanted, and after an error.
  void set(std::size_t i, ValueId gradient);
  // The same of a gradient in the shape of the result, which the inputs were broadcast to.
  void set_summed(std::size_t i, ValueId gradient);
  const std::vector<ValueId>& input_gradients() const { return input_gradients_; }  // kNoValue: zero

  // For operators that are easier to say by simpler ones. `expand` adds nodes that compute the outputs that have
  // a gradient (kNoValue for the others) from stand-ins of the inputs; differentiating those nodes gives the
  // gradients. What only the outputs need of them is dropped with the finished graph.
  using Expansion = Result<std::vector<ValueId>> (*)(GradientContext&, const std::vector<ValueId>& inputs);
  Status set_through(Expansion expand);

 private:
  const Node node_;  // a copy: some contexts stand for no node of the builder
  std::vector<ValueId> output_gradients_;
  std::vector<bool> wanted_;
  std::vector<ValueId> input_gradients_;
};

// The rule of operators whose derivative is zero wherever there is one (comparisons, rounding, shapes): no
// gradient passes. Operators without any rule are another matter: differentiate() refuses them.
Status no_gradient(GradientContext&);

// Gives the entries of the table their rules; one function a file.
void add_gradients(OpTable&);
void add_pointwise_gradients(OpTable&);
void add_activation_gradients(OpTable&);
void add_movement_gradients(OpTable&);
void add_reduction_gradients(OpTable&);
void add_matrix_gradients(OpTable&);
void add_convolution_gradients(OpTable&);
void add_normalization_gradients(OpTable&);
void add_random_gradients(OpTable&);
void add_loss_gradients(OpTable&);
void add_indexing_gradients(OpTable&);
void add_attention_gradients(OpTable&);
void add_resize_gradients(OpTable&);
void add_group_gradients(OpTable&);
void add_pooling_gradients(OpTable&);
void add_einsum_gradients(OpTable&);
void add_recurrent_gradients(OpTable&);
void add_vision_gradients(OpTable&);
void add_signal_gradients(OpTable&);

}  // namespace hone::graph
