// What a gradient rule (OpEntry::gradient) sees of a node and how it emits: the gradients of the node's
// inputs as ordinary nodes, from the gradients of its outputs. The rules are in gradients/<family>.cpp; the
// walk over a graph is differentiate().
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "graph/builder.h"
#include "graph/op_table.h"

namespace hone::graph {

class GradientContext {
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
  const TensorType& type(ValueId value) const;  // undefined for kNoValue
  const Tensor* constant(std::size_t i) const;  // data of input `i`; null where not known or absent
  // Elements of an integer input; nullopt where they are not known, or no integers.
  std::optional<Ints> constant_ints(std::size_t i) const;

  // --- emitting ---
  // After the first error nothing more is added, kNoValue is returned, and status() tells: rules need not
  // check every step.
  ValueId add(std::string op, std::vector<ValueId> inputs, Attributes attributes = {});
  std::vector<ValueId> add_many(std::string op, std::vector<ValueId> inputs, std::size_t outputs,
                                Attributes attributes = {});
  ValueId plus(ValueId a, ValueId b) { return add("Add", {a, b}); }
  ValueId minus(ValueId a, ValueId b) { return add("Sub", {a, b}); }
  ValueId times(ValueId a, ValueId b) { return add("Mul", {a, b}); }
  ValueId times(ValueId a, double factor) { return times(a, scalar(factor, a)); }
  ValueId over(ValueId a, ValueId b) { return add("Div", {a, b}); }
  ValueId negative(ValueId a) { return add("Neg", {a}); }
  ValueId choose(ValueId condition, ValueId a, ValueId b) { return add("Where", {condition, a, b}); }
  ValueId cast(ValueId a, DType dtype);             // itself where it has the type already
  ValueId scalar(double value, ValueId like);       // a constant of the element type of `like`
  ValueId ints(const Ints& values);                 // a constant i64[n]
  ValueId shape_of(ValueId value);                  // i64[rank]: a constant where the shape is known
  ValueId filled_like(ValueId like, double value);  // every element `value`, in the shape of `like`
  ValueId zeros_like(ValueId like) { return filled_like(like, 0); }

  // --- whole steps that many rules end with ---
  // `gradient`, which has the shape of a broadcast result, summed to the shape of the operand `like`.
  ValueId summed_to(ValueId gradient, ValueId like);
  // The same elements in the shape of `like`.
  ValueId reshaped_to(ValueId gradient, ValueId like);

  // --- result ---
  // The gradient of input `i`. Ignored where it is not wanted, and after an error.
  void set(std::size_t i, ValueId gradient);
  void set_summed(std::size_t i, ValueId gradient) { set(i, summed_to(gradient, input(i))); }
  const std::vector<ValueId>& input_gradients() const { return input_gradients_; }  // kNoValue: zero
  const Status& status() const { return status_; }
  void fail(Error error);

 private:
  // Where inference could not tell all of the type of `value`, it is that of `like`.
  void refine_type(ValueId value, ValueId like);

  GraphBuilder& builder_;
  const Node node_;  // a copy: some contexts stand for no node of the builder
  std::vector<ValueId> output_gradients_;
  std::vector<bool> wanted_;
  std::vector<std::string> provenance_;
  std::vector<ValueId> input_gradients_;
  Status status_;
};

// A constant of one element, for the floating-point types that gradients have (f16, bf16, f32, f64).
Result<Tensor> float_scalar(DType dtype, double value);

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

}  // namespace hone::graph
