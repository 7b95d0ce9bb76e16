#include "model/onnx/reader.h"

#include <fmt/core.h>

#include "core/file.h"
#include "core/open_files.h"
#include "model/onnx/graph_reader.h"

namespace hone::model {
namespace {

using namespace onnx;

Status check_header(const ModelProto& model) {
  if (model.ir_version == 0 && !model.graph)
    return corrupt("not an ONNX model: it has neither a version nor a graph");
  if (model.ir_version < 1) return corrupt("not an ONNX model: it states no format version (ir_version)");
  if (model.ir_version > kNewestIrVersion)
    return unsupported(
        fmt::format("its format version (IR {}) is newer than {}, the newest that hone knows; write it anew "
                    "with model.ir_version = {} (onnx.helper.make_model(…, ir_version={}))",
                    model.ir_version, kNewestIrVersion, kNewestIrVersion, kNewestIrVersion));
  if (!model.graph) return corrupt("the model has no graph");
  return {};
}

Status index_functions(ModelContext& context) {
  for (const FunctionProto& function : context.model->functions) {
    if (function.name.empty()) return corrupt("a local function has no name");
    const ModelContext::FunctionKey key{normal_domain(function.domain), function.name, function.overload};
    if (!context.functions.emplace(key, &function).second)
      return corrupt(fmt::format("two local functions are named {}", in_quotes(function.name)));
  }
  return {};
}

// The inputs that a caller gives: those that no initializer stands for.
std::vector<const ValueInfoProto*> true_inputs(const GraphProto& graph) {
  std::unordered_set<std::string_view> constants;
  for (const TensorProto& tensor : graph.initializers) constants.insert(tensor.name);
  for (const SparseTensorProto& tensor : graph.sparse_initializers) constants.insert(tensor.values.name);
  std::vector<const ValueInfoProto*> inputs;
  for (const ValueInfoProto& input : graph.inputs)
    if (!constants.contains(input.name)) inputs.push_back(&input);
  return inputs;
}

Result<graph::Graph> read_model(std::string_view bytes, const TensorSource& source,
                                const ReadOptions& options) {
  HONE_ASSIGN(const ModelProto model, decode_model(bytes));
  HONE_CHECK(check_header(model));
  ModelContext context;
  context.model = &model;
  context.source = source;
  context.operators = options.operators;
  HONE_ASSIGN(context.opsets, make_opset_imports(model.opset_imports, model.ir_version));
  HONE_CHECK(index_functions(context));
  context.inputs = true_inputs(*model.graph);
  HONE_ASSIGN(context.bindings, SymbolBindings::make(context.inputs, options));
  return read_main_graph(context);
}

}  // namespace

Result<graph::Graph> read_onnx(const std::filesystem::path& path, const ReadOptions& options) {
  HONE_ASSIGN(const std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  const std::filesystem::path parent = path.parent_path();
  ExternalData external(parent.empty() ? std::filesystem::path(".") : parent);
  auto graph = read_model(file->text(), {file, &external}, options);
  // What was read of a file that changes meanwhile may well not parse: that it changed is the cause to name.
  HONE_CHECK(check_mapped_files());
  if (!graph.ok()) return graph.error().within(path.string());
  return graph;
}

Result<graph::Graph> read_onnx_bytes(std::string_view bytes, const ReadOptions& options) {
  return read_model(bytes, {}, options);
}

}  // namespace hone::model
