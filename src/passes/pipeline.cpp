#include "passes/pipeline.h"

#include <algorithm>

#include <fmt/core.h>

#include "core/clock.h"
#include "graph/group_kind.h"
#include "graph/verify.h"
#include "passes/absorb_transposes.h"
#include "passes/align_classes.h"
#include "passes/allow_tf32.h"
#include "passes/assign_layouts.h"
#include "passes/fold_batch_norm.h"
#include "passes/fold_constants.h"
#include "passes/fuse_attention.h"
#include "passes/fuse_batch_norm_relu.h"
#include "passes/fuse_bias_gradients.h"
#include "passes/fuse_cross_entropy.h"
#include "passes/fuse_epilogues.h"
#include "passes/fuse_normalization.h"
#include "passes/fuse_pointwise.h"
#include "passes/fuse_relu_gradient.h"
#include "passes/keep_attention_sums.h"
#include "passes/lower_precision.h"
#include "passes/merge_common.h"
#include "passes/merge_parallel.h"
#include "passes/order_for_memory.h"
#include "passes/recognise_activations.h"
#include "passes/recognise_attention.h"
#include "passes/recognise_normalization.h"
#include "passes/simplify_arithmetic.h"
#include "passes/simplify_views.h"
#include "passes/spell_out.h"
#include "passes/unpack_weights.h"
#include "passes/widen_half.h"

namespace hone::passes {

const std::vector<Pass>& pipeline() {
  static const std::vector<Pass> passes = {
      // Before everything that looks at operators: what the target has none for is others.
      {"spell_out", "widen", Numerics::kReassociating,
       "compute attention, rotary embedding, normalisations and others by ordinary operators, where there "
       "are no kernels for them",
       spell_out},
      // Known values first: shapes become numbers, and every later pattern sees constants where exporters
      // left chains.
      {"fold_constants", "simplify", Numerics::kExact, "compute what is known before the graph runs",
       fold_constants},
      // One of each: patterns look for a value's only reader, which duplicates hide.
      {"merge_common", "simplify", Numerics::kExact, "compute equal expressions once", merge_common},
      // Renamings and reshapes of reshapes gone: a value's producer is the operator that computes it.
      {"simplify_views", "simplify", Numerics::kExact,
       "remove and join operators that only rename or reorder", simplify_views},
      // One form of each expression: divisions and powers as products, constants in one place.
      {"simplify_arithmetic", "simplify", Numerics::kReassociating,
       "remove and join arithmetic with known numbers", simplify_arithmetic},
      // The types in which kernels will compute, before patterns are sought among operators of one type.
      {"unpack_weights", "widen", Numerics::kExact,
       "decode quantised constants once, where products take no quantised numbers", unpack_weights},
      {"widen_half", "widen", Numerics::kReassociating,
       "compute f16 and bf16 in f32, where products have no kernels for them", widen_half},
      // What exporters spelled out, as the operators that have kernels: before folding and fusing take the
      // pieces.
      {"recognise_activations", "recognise", Numerics::kReassociating,
       "find Gelu, Swish and HardSwish in their primitive operators", recognise_activations},
      {"recognise_normalization", "recognise", Numerics::kReassociating,
       "find layer and RMS normalisation in their primitive operators", recognise_normalization},
      {"recognise_attention", "recognise", Numerics::kReassociating,
       "find attention in its products and softmax, without the copies around its heads",
       recognise_attention},
      // Before epilogues: the activation then stands directly behind the convolution.
      {"fold_batch_norm", "fold", Numerics::kReassociating,
       "fold batch normalisation and scales into the convolution before", fold_batch_norm},
      // In f32, before what lies between a gradient's operators is converted.
      {"fuse_relu_gradient", "gradients", Numerics::kExact,
       "let the gradient of a normalisation take that of the Relu behind it", fuse_relu_gradient},
      {"fuse_batch_norm_relu", "gradients", Numerics::kExact,
       "normalise by a batch's statistics and apply the Relu behind it in one trip, where there is a kernel "
       "for it",
       fuse_batch_norm_relu},
      {"fuse_cross_entropy", "gradients", Numerics::kReassociating,
       "compute the gradient of a cross entropy in one trip over the scores, where there is a kernel for it",
       fuse_cross_entropy},
      // On the operators that were recognised and folded, whose kernels keep sums in f32 where the pieces would
      // not; before what is merged, laid out and fused for kernels of a type.
      {"fp16", "fp16", Numerics::kLossy, "compute products and what lies between them in f16", lower_to_f16,
       Aim::kTime, 0.01, DType::kF16},
      {"bf16", "bf16", Numerics::kLossy, "compute products and what lies between them in bf16", lower_to_bf16,
       Aim::kTime, 0.05, DType::kBF16},
      // What was left alone for a narrow kernel and stayed wide, or became wide; what depends on shapes that folding found.
      {"spell_out_rest", "widen", Numerics::kReassociating,
       "compute by ordinary operators what narrowing, widening and folding have left without a kernel",
       spell_out},
      // For matrix units, which read half types by vectors.
      {"align_classes", "align", Numerics::kExact,
       "pad classes that no vector divides, where a cross entropy alone reads them", align_classes},
      {"absorb_transposes", "align", Numerics::kReassociating,
       "let products read transposed matrices as they lie, where that costs nothing", absorb_transposes},
      // Once more: a GPU's attention is of half types, and what those passes made of products and a softmax has a kernel
      // where what the model said has none.
      {"recognise_narrow_attention", "merge", Numerics::kReassociating,
       "find attention in what has been narrowed", recognise_attention},
      // On the products of f32 that are left, before they are merged and fused, which keeps together what multiplies alike.
      {"tf32", "tf32", Numerics::kLossy,
       "let products of f32 round what they multiply to tf32, where matrix units take that", allow_tf32,
       Aim::kTime, 0.005},
      // After all that looks for a product behind a value, before layouts, which a merged convolution chooses
      // once.
      {"merge_parallel", "merge", Numerics::kReassociating,
       "compute products of the same input as one, where its parts need no copy", merge_parallel},
      {"keep_attention_sums", "merge", Numerics::kReassociating,
       "let the gradient of attention read the result and the sums of the forward pass, where there are "
       "kernels for it",
       keep_attention_sums},
      {"fuse_attention", "merge", Numerics::kExact,
       "let attention read queries, keys and values where one product left them", fuse_attention},
      // Before fusion, which is worth it only for kernels that work in the right layout: oneDNN's products on
      // rows of pixels apply epilogues slower than separate operators do.
      {"assign_layouts", "layout", Numerics::kReassociating,
       "let convolutions and what lies between them work on blocked channels", assign_layouts},
      // On operators that are what they will be: first into the products that computed the value, whose
      // kernels apply an epilogue for free.
      {"fuse_epilogues", "fuse", Numerics::kReassociating,
       "apply bias, activation and residual while a product's results are in registers", fuse_epilogues},
      // When products are what they will be: what is left over of a linear layer's gradient beside them.
      {"fuse_bias_gradients", "fuse", Numerics::kReassociating,
       "sum a bias's gradient while the product of the weights' reads it", fuse_bias_gradients},
      // What no product took of a residual sum, and conversions of it.
      {"fuse_normalization", "fuse", Numerics::kExact,
       "store what a normalisation of f32 gives in the narrow type that is read, and add to its gradient, in "
       "one trip",
       fuse_normalization},
      // What no product took: connected pointwise operators in one trip through memory.
      {"fuse_pointwise", "fuse", Numerics::kExact,
       "compute connected pointwise operators in one pass over memory", fuse_pointwise},
      // When the operators are what will run: which values are alive together is now the order's doing alone.
      {"order_for_memory", "order", Numerics::kExact,
       "run operators in an order that keeps fewer bytes alive at once", order_for_memory, Aim::kMemory},
  };
  return passes;
}

namespace {

bool named(const std::set<std::string>& names, const Pass& pass) {
  return names.contains(std::string(pass.name)) || names.contains(std::string(pass.group));
}

// A lossy pass runs where somebody named it as one: what it does to the numbers is the user's choice.
bool allowed(const Pass& pass, const std::set<std::string>& lossy) {
  return pass.numerics != Numerics::kLossy || named(lossy, pass);
}

}  // namespace

std::vector<std::string> groups(const std::set<std::string>& lossy) {
  std::vector<std::string> names;
  for (const Pass& pass : pipeline()) {
    if (!allowed(pass, lossy)) continue;
    if (std::find(names.begin(), names.end(), pass.group) == names.end()) names.emplace_back(pass.group);
  }
  return names;
}

double lossy_limit_of(std::string_view group) {
  double limit = 0;
  for (const Pass& pass : pipeline()) {
    if (pass.group == group && pass.numerics == Numerics::kLossy) limit = std::max(limit, pass.lossy_limit);
  }
  return limit;
}

Aim aim_of(std::string_view group) {
  const auto& passes = pipeline();
  const auto first =
      std::find_if(passes.begin(), passes.end(), [&](const Pass& pass) { return pass.group == group; });
  return first == passes.end() ? Aim::kTime : first->aim;
}

namespace {

bool runs(const Pass& pass, const PipelineOptions& options) {
  return allowed(pass, options.lossy) && !named(options.disabled, pass) &&
         (options.only.empty() || named(options.only, pass));
}

// Milliseconds of one step; 0 without prices.
double price_of(const graph::Graph& graph, const PassContext& context) {
  return context.price ? context.price(graph) * 1e3 : 0;
}

std::string listed_passes(std::span<const Pass> passes, bool lossy_only) {
  std::string all;
  for (const Pass& pass : passes) {
    if (!lossy_only || pass.numerics == Numerics::kLossy)
      all += fmt::format("{}{} ({})", all.empty() ? "" : ", ", pass.name, pass.group);
  }
  return all.empty() ? "none" : all;
}

Status check_names(const std::set<std::string>& names, std::span<const Pass> passes, bool lossy) {
  for (const std::string& name : names) {
    const bool known = std::any_of(passes.begin(), passes.end(), [&](const Pass& pass) {
      return (pass.name == name || pass.group == name) && (!lossy || pass.numerics == Numerics::kLossy);
    });
    if (known) continue;
    return invalid(fmt::format("'{}' is not a {}pass or group of passes; there are: {}", name,
                               lossy ? "lossy " : "", listed_passes(passes, lossy)));
  }
  return {};
}

std::string quoted_names(const graph::Graph& graph, const std::vector<graph::ValueId>& values) {
  std::string names;
  for (graph::ValueId id : values)
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", graph.value(id).name);
  return names;
}

Status check_same_names(const graph::Graph& before, const std::vector<graph::ValueId>& old,
                        const graph::Graph& after, const std::vector<graph::ValueId>& now, const char* what) {
  const auto same = [&](graph::ValueId a, graph::ValueId b) {
    return before.value(a).name == after.value(b).name;
  };
  if (std::equal(old.begin(), old.end(), now.begin(), now.end(), same)) return {};
  return invalid(fmt::format("the {} were {} and are now {}", what, quoted_names(before, old),
                             quoted_names(after, now)));
}

Status check_same_interface(const graph::Graph& before, const graph::Graph& after) {
  HONE_CHECK(check_same_names(before, before.inputs(), after, after.inputs(), "inputs"));
  HONE_CHECK(check_same_names(before, before.outputs(), after, after.outputs(), "outputs"));
  for (const graph::StatePair& pair : before.states()) {
    const graph::StatePair* now = after.state_of_input(pair.input);
    if (now == nullptr || *now != pair)
      return invalid(fmt::format("'{}' is no longer the next value of '{}'",
                                 before.value(before.next_value(pair)).name,
                                 before.value(before.state_input(pair)).name));
  }
  if (after.states().size() != before.states().size())
    return invalid("an input has a next value that had none");
  return {};
}

}  // namespace

namespace {

void add_notes(std::vector<Note>& notes, std::vector<Note> inner, const graph::Node& outer) {
  for (Note& note : inner) {
    note.text += fmt::format(" (in a body of {} '{}')", outer.op, outer.name);
    notes.push_back(std::move(note));
  }
}

// The pass on all bodies of `outcome`'s control flow, and on bodies in bodies. Bodies are graphs with an
// interface like any other: what the pass keeps of a whole graph it keeps of them.
Status run_on_bodies(const Pass& pass, const PassContext& context, PassOutcome& outcome) {
  graph::GraphBuilder builder(outcome.graph);
  bool changed = false;
  for (uint32_t i = 0; i < outcome.graph.nodes().size(); ++i) {
    const graph::Node& node = outcome.graph.nodes()[i];
    if (graph::is_group(node)) continue;
    for (std::size_t k = 0; k < node.bodies.size(); ++k) {
      HONE_ASSIGN(PassOutcome inner, run_checked(pass, *node.bodies[k], context));
      if (inner.changed()) {
        builder.mutable_node(graph::NodeId{i}).bodies[k] =
            std::make_shared<const graph::Graph>(std::move(inner.graph));
        changed = true;
      }
      add_notes(outcome.done, std::move(inner.done), node);
      add_notes(outcome.missed, std::move(inner.missed), node);
      outcome.types.insert(outcome.types.end(), inner.types.begin(), inner.types.end());
    }
  }
  if (!changed) return {};
  HONE_ASSIGN(outcome.graph, std::move(builder).finish(true));
  return {};
}

bool has_control_flow(const graph::Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const graph::Node& node) { return !node.bodies.empty() && !graph::is_group(node); });
}

}  // namespace

Result<PassOutcome> run_checked(const Pass& pass, const graph::Graph& graph, const PassContext& context) {
  auto outcome = pass.run(graph, context);
  if (!outcome.ok()) return outcome.error().within(fmt::format("pass {}", pass.name));
  if (!outcome->changed() && has_control_flow(graph)) outcome->graph = graph;
  if (has_control_flow(outcome->graph)) HONE_CHECK(run_on_bodies(pass, context, *outcome));
  if (!outcome->changed()) return outcome;
  Status valid = graph::verify(outcome->graph);
  if (valid.ok()) valid = check_same_interface(graph, outcome->graph);
  if (!valid.ok())
    return valid.error().within(fmt::format("pass {} broke the graph (a bug in hone)", pass.name));
  return outcome;
}

Result<PipelineResult> run_pipeline(graph::Graph graph, const PassContext& context,
                                    const PipelineOptions& options) {
  return run_passes(std::move(graph), context, options, pipeline());
}

Result<PipelineResult> run_passes(graph::Graph graph, const PassContext& context,
                                  const PipelineOptions& options, std::span<const Pass> passes) {
  HONE_CHECK(check_names(options.disabled, passes, false));
  HONE_CHECK(check_names(options.only, passes, false));
  HONE_CHECK(check_names(options.lossy, passes, true));
  // Operators that nothing reads are no part of the step, and readers that do no work.
  HONE_ASSIGN(graph, graph::GraphBuilder(graph).finish());
  PipelineResult result{std::move(graph), {}};
  double price = price_of(result.graph, context);
  PassContext known = context;
  for (const Pass& pass : passes) {
    if (runs(pass, options) && known.narrows_to == DType::kUndefined) known.narrows_to = pass.narrows_to;
  }
  for (const Pass& pass : passes) {
    if (!runs(pass, options)) continue;
    if (pass.narrows_to != DType::kUndefined)
      known.narrows_to = DType::kUndefined;  // from here on types are what they are
    const int64_t start = now_ns();
    HONE_ASSIGN(PassOutcome outcome, run_checked(pass, result.graph, known));
    PassReport report{std::string(pass.name),
                      std::string(pass.group),
                      pass.numerics,
                      std::move(outcome.done),
                      std::move(outcome.missed),
                      0,
                      static_cast<double>(now_ns() - start) / 1e6,
                      std::move(outcome.types)};
    if (!report.done.empty()) {
      const double after = price_of(outcome.graph, context);
      report.predicted_gain_ms = price - after;
      price = after;
      result.graph = std::move(outcome.graph);
    }
    result.reports.push_back(std::move(report));
  }
  return result;
}

}  // namespace hone::passes
