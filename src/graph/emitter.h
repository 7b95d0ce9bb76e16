// NodeEmitter: adds nodes to a builder without a check at every step. What gradient rules and losses are
// written with.
#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "graph/builder.h"

namespace hone::graph {

class NodeEmitter {
 public:
  // New nodes are named "<prefix>.<operator>" and have this provenance.
  NodeEmitter(GraphBuilder& builder, std::string prefix, std::vector<std::string> provenance);

  const TensorType& type(ValueId value) const;     // undefined for kNoValue
  const Tensor* constant_of(ValueId value) const;  // its data; null where not known or absent
  int64_t rank_of(ValueId value) const;            // 0 where it is not known: ask type().has_rank() first

  // After the first error nothing more is added, kNoValue is returned, and status() tells: who emits need not
  // check every step.
  ValueId add(std::string op, std::vector<ValueId> inputs, Attributes attributes = {});
  std::vector<ValueId> add_many(std::string op, std::vector<ValueId> inputs, std::size_t outputs,
                                Attributes attributes = {});
  // A node of another graph again, on inputs of this one; an output that it does not have is kNoValue.
  std::vector<ValueId> add_copy(const Node& node, std::vector<ValueId> inputs);
  ValueId plus(ValueId a, ValueId b) { return add("Add", {a, b}); }
  ValueId minus(ValueId a, ValueId b) { return add("Sub", {a, b}); }
  ValueId times(ValueId a, ValueId b) { return add("Mul", {a, b}); }
  ValueId times(ValueId a, double factor) { return times(a, scalar(factor, a)); }
  ValueId over(ValueId a, ValueId b) { return add("Div", {a, b}); }
  ValueId negative(ValueId a) { return add("Neg", {a}); }
  ValueId choose(ValueId condition, ValueId a, ValueId b) { return add("Where", {condition, a, b}); }
  ValueId cast(ValueId a, DType dtype);        // itself where it has the type already
  ValueId scalar(double value, ValueId like);  // a constant of the element type of `like`
  ValueId integer(int64_t value);              // a constant i64[]
  ValueId ints(const Ints& values);            // a constant i64[n]
  ValueId tensor(Tensor data);
  ValueId shape_of(ValueId value);                  // i64[rank]: a constant where the shape is known
  ValueId filled_like(ValueId like, double value);  // every element `value`, in the shape of `like`
  ValueId zeros_like(ValueId like) { return filled_like(like, 0); }
  // Where inference could not tell all of the type of `value`, it is that of `like`, or has these extents.
  void refine_type(ValueId value, ValueId like) { refine_type(value, type(like)); }
  void refine_type(ValueId value, const TensorType& known);
  // Summed or averaged over axes, which stay with extent 1.
  ValueId summed(ValueId value, const Ints& axes);
  ValueId averaged(ValueId value, const Ints& axes);

  GraphBuilder& builder() { return builder_; }
  const Status& status() const { return status_; }
  void fail(Error error);

  const std::vector<std::string>& provenance() const { return provenance_; }

 protected:
  GraphBuilder& builder_;
  Status status_;

 private:
  std::vector<ValueId> add_node(Node node, const std::vector<bool>& outputs);

  std::string prefix_;
  std::vector<std::string> provenance_;
};

// A constant of one element, for the floating-point types that gradients have (f16, bf16, f32, f64) and for
// integers.
Result<Tensor> scalar_tensor(DType dtype, double value);

}  // namespace hone::graph
