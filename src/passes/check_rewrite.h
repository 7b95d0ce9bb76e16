// For tests of passes only: a rewrite test is one line, check_rewrite(pass, before, after), on the text form
// of graphs. A graph is written without its name, "(%x: f32[2]) { … return %y }"; results may be declared
// f32[*], their shapes are inferred.
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "graph/op_table.h"
#include "graph/text.h"
#include "graph/verify.h"
#include "passes/pass.h"

namespace hone::passes {

inline graph::Graph graph_of(std::string_view text) {
  auto graph = graph::parse("graph \"test\" " + std::string(text));
  if (!graph.ok()) throw std::logic_error(graph.error().message);
  return *std::move(graph);
}

// A target that takes every pointwise operator in groups and behind products: what a pass does is tested
// here, what a device takes beside the device.
inline PassContext willing_target() {
  PassContext context;
  graph::Capabilities& takes = context.target.takes;
  for (const graph::OpEntry* entry : graph::op_table().entries()) {
    if (entry->op_class != graph::OpClass::kPointwise) continue;
    takes.pointwise.push_back({entry->name,
                               {DType::kF32, DType::kI64, DType::kI32, DType::kBool},
                               entry->min_inputs < entry->max_inputs});
    takes.epilogue.push_back({entry->name, entry->min_inputs == 2});
  }
  takes.pointwise_operators = 24;
  takes.pointwise_inputs = 8;
  takes.epilogue_operators = 8;
  takes.products = {DType::kF32};
  takes.attention = takes.split_attention = true;
  return context;
}

// The same, which has kernels for every node by itself, or for none.
inline PassContext with_kernels(bool has) {
  PassContext context = willing_target();
  context.target.runs = [has](const graph::Graph&, const graph::Node&) { return has; };
  return context;
}

inline PassOutcome run_pass(PassFunction pass, const graph::Graph& graph,
                            const PassContext& context = willing_target()) {
  auto outcome = pass(graph, context);
  if (!outcome.ok()) throw std::logic_error(outcome.error().message);
  const Status valid = graph::verify(outcome->graph);
  EXPECT_TRUE(valid.ok()) << valid.error().message;
  return *std::move(outcome);
}

// `pass` turns `before` into a graph that equals `after` in structure, and a second run changes nothing more.
inline void check_rewrite(PassFunction pass, std::string_view before, std::string_view after,
                          const PassContext& context = willing_target()) {
  const PassOutcome outcome = run_pass(pass, graph_of(before), context);
  EXPECT_TRUE(graph::equivalent(outcome.graph, graph_of(after))) << "the pass made\n"
                                                                 << graph::print(outcome.graph) << "wanted\n"
                                                                 << graph::print(graph_of(after));
  EXPECT_TRUE(graph::equivalent(run_pass(pass, outcome.graph, context).graph, outcome.graph))
      << "a second run changes the graph again";
}

// `pass` leaves the graph as it is and says `why`, in one of its missed notes ("": it need not say anything).
inline void check_left_alone(PassFunction pass, std::string_view text, std::string_view why = "",
                             const PassContext& context = willing_target()) {
  const graph::Graph before = graph_of(text);
  const PassOutcome outcome = run_pass(pass, before, context);
  EXPECT_TRUE(outcome.done.empty()) << outcome.done[0].text;
  EXPECT_TRUE(graph::equivalent(outcome.graph, before)) << graph::print(outcome.graph);
  bool said = why.empty();
  std::string notes;
  for (const Note& note : outcome.missed) {
    said = said || note.text.find(why) != std::string::npos;
    notes += note.node + ": " + note.text + "\n";
  }
  EXPECT_TRUE(said) << "wanted '" << why << "' among\n" << notes;
}

}  // namespace hone::passes
