#include "lab/operator_probe.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>

#include <fmt/core.h>

#include "graph/builder.h"
#include "graph/spelled_out/spelled_out.h"
#include "graph/text.h"
#include "lab/experiment/target.h"
#include "passes/spell_out.h"
#include "runtime/interpreter.h"

namespace hone::lab {
namespace {

using graph::AttributeKind;
using graph::GraphBuilder;
using graph::OpEntry;

constexpr int kMostInputs = 5;

struct Example {
  DType dtype;
  Shape shape;
  bool constant;
};

// What inputs of operators commonly are: images, matrices, filters, vectors, masks, indices, axes.
const std::array<Example, 8>& examples() {
  static const std::array<Example, 8> all = {{{DType::kF32, {2, 8, 6, 8}, false},
                                              {DType::kF32, {8, 8, 3, 3}, true},
                                              {DType::kF32, {8, 8}, false},
                                              {DType::kF32, {8}, true},
                                              {DType::kBool, {8, 8}, false},
                                              {DType::kI64, {8, 8}, false},
                                              {DType::kI64, {1}, true},
                                              {DType::kI64, {4}, true}}};
  return all;
}

// And those of optimizers: scalars, and tensors of one shape.
const std::array<Example, 3>& optimizer_examples() {
  static const std::array<Example, 3> all = {
      {{DType::kF32, {}, false}, {DType::kI64, {}, false}, {DType::kF32, {8}, false}}};
  return all;
}

graph::ValueId add_example(GraphBuilder& builder, const Example& example, int index) {
  const std::string name = "in" + std::to_string(index);
  if (!example.constant) return builder.input(name, graph::tensor_type(example.dtype, example.shape));
  Tensor data = Tensor::zeros(example.dtype, example.shape);
  if (example.dtype == DType::kI64) std::fill_n(data.as<int64_t>().begin(), data.size(), 1);
  return builder.constant(name, std::move(data));
}

// Values for the attributes that must be given; nothing where none can be made up.
std::optional<Attributes> required_attributes(const OpEntry& entry) {
  Attributes attributes;
  for (const graph::AttributeSpec& spec : entry.attributes) {
    if (!spec.required) continue;
    const std::string name(spec.name);
    if (spec.kind == AttributeKind::kInt)
      attributes.set(name, int64_t{2});
    else if (spec.kind == AttributeKind::kFloat)
      attributes.set(name, 1.0F);
    else if (spec.kind == AttributeKind::kInts)
      attributes.set(name, std::vector<int64_t>{1, 1});
    else
      return std::nullopt;
  }
  return attributes;
}

void ask(const OpEntry& entry, const Attributes& attributes, std::span<const Example> examples_of,
         const std::vector<int>& choice, const runtime::Provider& provider, std::set<std::string>& families) {
  GraphBuilder builder("example");
  graph::Node node;
  node.op = std::string(entry.name);
  node.name = "example";
  node.attributes = attributes;
  for (std::size_t i = 0; i < choice.size(); ++i)
    node.inputs.push_back(
        add_example(builder, examples_of[static_cast<std::size_t>(choice[i])], static_cast<int>(i)));
  const std::vector<std::string> outputs(static_cast<std::size_t>(std::max(1, entry.min_outputs)), "out");
  auto added = builder.try_add(std::move(node), outputs);
  if (!added.ok()) return;
  builder.set_outputs(*added);
  auto graph = std::move(builder).finish();
  if (!graph.ok() || graph->nodes().size() != 1) return;
  for (graph::ValueId id : graph->nodes()[0].outputs)
    if (!graph->type(id).is_static()) return;
  auto candidates = provider.candidates(*graph, graph->nodes()[0], runtime::Share::kDevice);
  if (!candidates.ok()) return;
  for (const runtime::Candidate& candidate : *candidates) {
    if (candidate.reference) continue;
    // Candidates of convolutions and products go by the names of oneDNN's implementations.
    families.insert(candidate.name.starts_with("hone") ? "hone" : "oneDNN");
  }
}

// Of each operator that is spelled out only where the parts have kernels: what is computed, of what inputs and constants.
struct FormExample {
  std::string_view op;
  std::string_view inputs;
  std::string_view call;
  std::string_view constants = {};
};
constexpr std::array kFormExamples = {
    FormExample{"AffineGrid", "%x: f32[2,2,3]", "AffineGrid(%x, %n)",
                "%n: i64[4] = constant dense(2, 3, 5, 7)"},
    FormExample{"CausalConvWithState", "%x: f32[2,5,7], %w: f32[5,1,4]", "CausalConvWithState(%x, %w)"},
    FormExample{"CenterCropPad", "%x: f32[5,8]", "CenterCropPad(%x, %n)",
                "%n: i64[2] = constant dense(6, 5)"},
    FormExample{"Col2Im", "%x: f32[2,4,6]", "Col2Im(%x, %i, %b)",
                "%i: i64[2] = constant dense(3, 4)\n%b: i64[2] = constant dense(2, 2)"},
    FormExample{"DFT", "%x: f32[3,7,2]", "DFT(%x)"},
    FormExample{"DeformConv", "%x: f32[1,2,4,5], %w: f32[3,2,2,2], %o: f32[1,8,3,4]",
                "DeformConv(%x, %w, %o)"},
    FormExample{"Det", "%x: f32[2,3,3]", "Det(%x)"},
    FormExample{"GlobalLpPool", "%x: f32[2,3,5,7]", "GlobalLpPool(%x)"},
    FormExample{"Hardmax", "%x: f32[3,5]", "Hardmax(%x)"},
    FormExample{"LRN", "%x: f32[2,7,3,5]", "LRN(%x) {size = 3}"},
    FormExample{"LinearAttention", "%q: f32[2,5,6], %k: f32[2,5,6], %v: f32[2,5,4]",
                "LinearAttention(%q, %k, %v) {q_num_heads = 2, kv_num_heads = 2, update_rule = \"linear\"}"},
    FormExample{"LpNormalization", "%x: f32[3,5]", "LpNormalization(%x)"},
    FormExample{"LpPool", "%x: f32[2,3,7,6]", "LpPool(%x) {kernel_shape = [3,2]}"},
    FormExample{"MaxUnpool", "%x: f32[2,3,4,3], %i: i64[2,3,4,3]",
                "MaxUnpool(%x, %i) {kernel_shape = [2,2], strides = [2,2]}"},
    FormExample{"MeanVarianceNormalization", "%x: f32[3,5,4,7]", "MeanVarianceNormalization(%x)"},
    FormExample{"RotaryEmbedding", "%x: f32[2,3,5,8], %c: f32[2,5,4], %s: f32[2,5,4]",
                "RotaryEmbedding(%x, %c, %s)"},
    FormExample{"STFT", "%x: f32[2,37], %w: f32[9]", "STFT(%x, %s, %w)", "%s: i64[] = constant dense(4)"}};

graph::Graph form_example(std::string_view op) {
  const auto* const found = std::find_if(kFormExamples.begin(), kFormExamples.end(),
                                         [&](const FormExample& example) { return example.op == op; });
  if (found == kFormExamples.end()) throw std::logic_error(fmt::format("no example of {} for its form", op));
  auto graph = graph::parse(fmt::format("graph \"example\" ({}) {{\n{}\n%y: f32[*] = {}\nreturn %y\n}}",
                                        found->inputs, found->constants, found->call));
  if (!graph.ok()) throw std::logic_error(graph.error().message);
  return *std::move(graph);
}

}  // namespace

std::set<std::string> kernel_families(const OpEntry& entry, const runtime::Provider& provider) {
  std::set<std::string> families;
  const std::optional<Attributes> attributes = required_attributes(entry);
  const bool optimizer = entry.op_class == graph::OpClass::kOptimizer;
  if (!attributes || (entry.min_inputs > kMostInputs && !optimizer) ||
      entry.op_class == graph::OpClass::kControl)
    return families;
  const std::span<const Example> tried =
      optimizer ? std::span<const Example>(optimizer_examples()) : std::span<const Example>(examples());
  // An operator of any number of inputs gets two; each combination of examples is tried.
  const int inputs = entry.max_inputs < 0 ? std::max(2, entry.min_inputs) : entry.min_inputs;
  std::vector<int> choice(static_cast<std::size_t>(inputs), 0);
  while (true) {
    ask(entry, *attributes, tried, choice, provider, families);
    std::size_t at = 0;
    while (at < choice.size() && ++choice[at] == static_cast<int>(tried.size())) choice[at++] = 0;
    if (at == choice.size()) return families;
  }
}

bool runs_in_parts(const OpEntry& entry, const runtime::Provider& provider) {
  graph::Node node;
  node.op = entry.name;
  const graph::SpellOut when = graph::spells_out(node);
  if (when != graph::SpellOut::kWithKernels) return when == graph::SpellOut::kAnyway;
  const passes::PassContext context{runtime::interpret_node, nullptr, pass_target(provider)};
  const auto spelled = passes::spell_out(form_example(entry.name), context);
  return spelled.ok() && !spelled->done.empty();
}

}  // namespace hone::lab
