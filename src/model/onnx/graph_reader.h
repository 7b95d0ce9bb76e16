// GraphProto → Graph: names resolved to values, nodes put in order and upgraded, local functions inlined,
// sub-graphs closed. Internal to the ONNX reader.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/result.h"
#include "graph/builder.h"
#include "graph/custom_operator.h"
#include "model/onnx/proto.h"
#include "model/onnx/sequences.h"
#include "model/onnx/tensor_proto.h"
#include "model/onnx/type_proto.h"

namespace hone::model::onnx {

// Operator sets by domain, with the default domain spelled "".
using OpsetImports = std::map<std::string_view, int64_t>;

// More nodes than any real model has, few enough to refuse a hostile one in seconds.
inline constexpr int64_t kMostNodes = 500'000;

// What all graphs of one model share while it is read.
struct ModelContext {
  // Domain, name, overload.
  using FunctionKey = std::tuple<std::string_view, std::string_view, std::string_view>;

  const ModelProto* model = nullptr;
  std::vector<const ValueInfoProto*> inputs;  // of the main graph, without those that initializers stand for
  OpsetImports opsets;
  std::map<FunctionKey, const FunctionProto*> functions;
  std::map<const FunctionProto*, int64_t> expanded_nodes;  // of the functions looked at so far (NodeReader)
  graph::CustomOperators operators;                        // of plugins
  TensorSource source;
  SymbolBindings bindings;
  // Nodes that may still be made: functions that call functions and loops in loops multiply them.
  int64_t node_budget = kMostNodes;
  int64_t sequence_budget = kMostSequenceElements;
  // Whether an output that contradicts its declared type is an error. Exporters declare what ONNX's own rule
  // says also behind nodes that mean something else.
  bool trust_declared_outputs = true;
};

// "" for both spellings of the default domain.
std::string_view normal_domain(std::string_view domain);
Result<OpsetImports> make_opset_imports(const std::vector<OperatorSetId>& imports, int64_t ir_version);

// Reads the model's main graph.
Result<graph::Graph> read_main_graph(ModelContext& context);

// Where the names of one graph, sub-graph or function body lead while its nodes are read.
struct Frame {
  Frame(graph::GraphBuilder& graph_builder, const OpsetImports& opset_imports)
      : builder(graph_builder), opsets(opset_imports) {}

  graph::GraphBuilder& builder;
  const OpsetImports& opsets;
  std::unordered_map<std::string_view, graph::ValueId> values;
  std::unordered_map<std::string_view, SequencePtr>
      sequences;                              // names that stand for no value, but for several
  std::unordered_set<std::string_view> read;  // names that a node or the outside reads
  std::unordered_map<std::string_view, graph::TensorType> declared;
  std::string prefix;    // of names of values and nodes: the inlined calls around, each with a '/'
  int depth = 0;         // of sub-graphs and function calls around
  bool in_body = false;  // of If, Loop or Scan: values from outside are inputs of the builder
  // The function's arguments, in its body.
  const std::map<std::string_view, const AttributeProto*>* arguments = nullptr;
  const FunctionProto* function = nullptr;  // whose body this is
  const Frame* outer = nullptr;             // of the sub-graph's or the call's node
};

// Reads the nodes of `frame`'s graph into its builder.
class NodeReader {
 public:
  NodeReader(ModelContext& context, Frame& frame) : context_(context), frame_(frame) {}

  Status read(const std::vector<NodeProto>& nodes);
  Status add_initializers(const GraphProto& graph);
  Result<graph::ValueId> find(std::string_view name) const;

 private:
  Status read_node(const NodeProto& proto);
  Status read_constant(const NodeProto& proto);
  Status read_sequence(const NodeProto& proto, const std::string& op);
  Status read_gradient(const NodeProto& proto);
  // `custom`: the operator, where it is a plugin's.
  Status read_operator(const NodeProto& proto, const std::string& op, int64_t opset,
                       std::shared_ptr<const graph::CustomOperator> custom);
  std::string advice_of_plugins(std::string_view domain, std::string_view op) const;
  Status inline_function(const NodeProto& proto, const FunctionProto& function);
  // Nodes that a call of `function` makes at least, those of the functions that it calls among them.
  int64_t expanded_nodes(const FunctionProto& function, int depth);
  Result<Attributes> read_attributes(const NodeProto& proto) const;
  // The attribute itself or, for a reference, the function's argument (null where the caller gave none).
  Result<const AttributeProto*> resolve(const AttributeProto& attribute) const;
  Result<std::vector<graph::ValueId>> find_inputs(const NodeProto& proto) const;
  Result<Operand> find_operand(std::string_view name) const;
  Result<std::vector<Operand>> find_operands(const NodeProto& proto) const;
  std::string name_of(const NodeProto& proto) const;
  void define(std::string_view name, const Operand& operand);
  Status define_output(std::string_view name, const Operand& operand);
  Status define_outputs(const NodeProto& proto, const std::vector<graph::ValueId>& values);

  ModelContext& context_;
  Frame& frame_;
};

// Attaches the sub-graphs of `proto` (If, Loop, Scan) to `node`, closed: what they read from `frame` becomes
// inputs of the node and of each body, constants are copied into the bodies.
Status attach_bodies(ModelContext& context, Frame& frame, const NodeProto& proto, graph::Node& node);

}  // namespace hone::model::onnx
