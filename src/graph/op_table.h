// The operator table: one entry an operator with arity, attributes, type inference, cost and (for training)
// gradient. Entries live in ops/<family>.cpp and are registered by explicit calls in op_table.cpp. Execution
// lives with the providers (kernels/, runtime/).
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"

namespace hone::graph {

// What kind of work an operator is: decides how passes group it and how the ledger speaks of it.
enum class OpClass : uint8_t {
  kPointwise,      // each output element from the elements at the same (broadcast) place
  kReduction,      // over axes; softmax, argmax, cumsum too
  kNormalization,  // batch, layer, instance, group, RMS
  kMatrix,         // MatMul, Gemm, Einsum, attention, recurrent layers
  kConvolution,
  kPooling,
  kMovement,  // copies, permutes, gathers, pads: no arithmetic
  kView,      // changes the shape, not the bytes: Reshape, Flatten, Squeeze, Unsqueeze, Identity
  kShape,     // works on shapes: Shape, Size, ConstantOfShape, Range
  kControl,   // If, Loop, Scan
  kRandom,
  kOptimizer,  // updates of parameters and their moments
  kGroup,      // hone.Fused
  kOther,
};
std::string_view op_class_name(OpClass op_class);

enum class AttributeKind : uint8_t { kInt, kFloat, kString, kInts, kFloats, kStrings, kTensor, kGraph };

// In which memory layouts an operator works.
enum class LayoutRule : uint8_t {
  kPlain,  // its inputs are plain, and its results
  kKept,   // whatever layout its images have, its result has the same
  kGiven,  // an attribute or its body says
  kReads,  // whatever layout its images have, its results are plain
};

struct AttributeSpec {
  std::string_view name;
  AttributeKind kind;
  bool required = false;
};

// What type inference sees of a node, and where it puts what it found.
class InferContext {
 public:
  InferContext(const Node& node, std::vector<const Value*> inputs);

  const Node& node() const { return node_; }
  const Attributes& attributes() const { return node_.attributes; }
  std::size_t input_count() const { return inputs_.size(); }
  bool has_input(std::size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  const TensorType& input(std::size_t i) const;  // an undefined type for an absent input
  // The data of an input where it is known (a constant); null otherwise.
  const Tensor* constant(std::size_t i) const;
  // The elements of a 0- or 1-D integer input (a shape, axes, a start); nullopt where they are not known.
  std::optional<std::vector<int64_t>> ints(std::size_t i) const;

  std::size_t output_count() const { return node_.outputs.size(); }
  void set_output(std::size_t i, TensorType type);
  const std::vector<TensorType>& outputs() const { return outputs_; }
  void place_outputs(DeviceId device) {
    for (TensorType& type : outputs_) type.device = device;
  }

  // An error that names what is wrong; the caller adds the node.
  Error error(std::string what) const { return invalid(std::move(what)); }

 private:
  const Node& node_;
  std::vector<const Value*> inputs_;
  std::vector<TensorType> outputs_;
};

// The cost of one execution with static shapes. Bytes are compulsory ones: every input read once (only the
// rows that a gather touches), every output written once.
struct Cost {
  double flops = 0;        // of the definition; a multiply-add counts two, an elementwise transcendental one
  double least_flops = 0;  // of the algorithm with the fewest that is known; at most `flops`
  double bytes_read = 0;
  double bytes_written = 0;

  double bytes() const { return bytes_read + bytes_written; }
};

struct CostContext {
  const Node& node;
  std::vector<const Value*> inputs;  // null where absent; all types static
  std::vector<const Value*> outputs;
  const TensorType& in(std::size_t i) const { return inputs[i]->type; }
  const TensorType& out(std::size_t i) const { return outputs[i]->type; }
};

using InferFunction = Status (*)(InferContext&);
// FLOPs of one execution. Null in the entry: one FLOP an output element for pointwise, none for views and
// movement.
using FlopsFunction = double (*)(const CostContext&);
// Compulsory bytes, where they are not simply all inputs read and all outputs written. Null: that.
using BytesFunction = void (*)(const CostContext&, Cost&);

class GradientContext;
// Emits the gradients of a node's inputs as ordinary nodes, given those of its outputs. One local rule an
// operator (gradients/); differentiate() walks. Null in the entry: no rule yet. no_gradient(): the derivative
// is zero.
using GradientFunction = Status (*)(GradientContext&);

struct OpEntry {
  std::string_view name;
  OpClass op_class = OpClass::kOther;
  int min_inputs = 0;
  int max_inputs = 0;  // -1: any number
  int min_outputs = 1;
  int max_outputs = 1;  // -1: any number
  std::vector<AttributeSpec> attributes = {};
  InferFunction infer = nullptr;  // never null in the table
  FlopsFunction flops = nullptr;
  FlopsFunction least_flops = nullptr;  // of a known algorithm that may need fewer; null: none does
  BytesFunction bytes = nullptr;
  GradientFunction gradient = nullptr;
  LayoutRule layouts = LayoutRule::kPlain;
  // Inputs that may be absent although they are among the first min_inputs or the operator takes any number:
  // bit i stands for input i.
  uint32_t may_be_absent = 0;
  bool crosses_devices = false;  // inputs and outputs need not be on one device: `infer` says where they are
  // The same inputs give the same outputs: may be folded and merged. A node with bodies is pure only if all
  // that they hold is, too: is_pure().
  bool pure = true;
  std::string_view summary;  // one line for docs/operators.md
};

class OpTable {
 public:
  void add(OpEntry entry);  // a second entry of one name is a bug: throws std::logic_error
  void set_gradient(std::string_view name, GradientFunction rule);  // once an entry: std::logic_error
  const OpEntry* find(std::string_view name) const;
  std::vector<const OpEntry*> entries() const;  // by name

 private:
  std::vector<std::unique_ptr<OpEntry>> entries_;  // sorted by name
};

// The one table of this build, made on first use from the families below; immutable afterwards.
const OpTable& op_table();

// One function a file of ops/.
void add_pointwise_ops(OpTable&);      // arithmetic, comparison, logic, activations, casts, quantization
void add_reduction_ops(OpTable&);      // Reduce*, ArgMax, CumSum, Softmax, TopK, …
void add_movement_ops(OpTable&);       // Transpose, Concat, Slice, Gather*, Scatter*, Pad, Tile, …
void add_shape_ops(OpTable&);          // Shape, Reshape, Squeeze, ConstantOfShape, Range, …
void add_matrix_ops(OpTable&);         // MatMul, Gemm, Einsum, Attention, …
void add_convolution_ops(OpTable&);    // Conv*, pooling, …
void add_normalization_ops(OpTable&);  // BatchNormalization, LayerNormalization, …
void add_recurrent_ops(OpTable&);      // RNN, LSTM, GRU
void add_vision_ops(OpTable&);         // Resize, GridSample, RoiAlign, NonMaxSuppression, …
void add_signal_ops(OpTable&);         // DFT, STFT, windows, …
void add_random_ops(OpTable&);         // RandomNormal, Bernoulli, Dropout, …
void add_loss_ops(OpTable&);           // SoftmaxCrossEntropyLoss, NegativeLogLikelihoodLoss
void add_string_ops(OpTable&);         // StringNormalizer
void add_control_ops(OpTable&);        // If, Loop, Scan
void add_optimizer_ops(OpTable&);      // hone.Sgd, hone.AdamW, hone.SquareSum
void add_hone_ops(OpTable&);           // hone.Fused, hone.Reorder, hone.CopyTo

// What is known of the node's operator: its plugin's entry (custom_operator.h), or that of op_table(); null if it is unknown.
const OpEntry* find_entry(const Node& node);

// Runs an entry's inference on a node: arity and attributes checked, then types. Errors name the rule, not
// the node.
Result<std::vector<TensorType>> infer_types(const Node& node, std::vector<const Value*> inputs);

// Whether the node gives the same outputs for the same inputs, with all that its bodies hold: it may be
// folded and merged. Not so for an unknown operator.
bool is_pure(const Node& node);

// Whether the node's result has the layout of its inputs, whatever that is: pointwise operators and those of
// LayoutRule::kKept.
bool keeps_layout(const Node& node);
bool reads_layouts(const Node& node);  // LayoutRule::kReads

// Cost of a node of `graph`; zero where a type is not static. hone.Fused: FLOPs of its body, bytes of its
// boundary.
Cost node_cost(const Graph& graph, const Node& node);

}  // namespace hone::graph
