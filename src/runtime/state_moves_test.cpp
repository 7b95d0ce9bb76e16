// State in plans, against the interpreter that is given the next values back by hand.
#include "runtime/state_moves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/text.h"
#include "graph/verify.h"
#include "runtime/interpreter.h"
#include "runtime/make_provider.h"
#include "runtime/plan.h"

namespace hone::runtime {
namespace {

using graph::Graph;
using graph::StatePair;

Graph stateful(const std::string& text) {
  auto graph = graph::parse("graph \"g\" " + text);
  if (!graph.ok()) throw std::logic_error(graph.error().message);
  if (Status valid = graph::verify(*graph); !valid.ok()) throw std::logic_error(valid.error().message);
  return *std::move(graph);
}

std::vector<Tensor> counted_inputs(const Graph& graph) {
  std::vector<Tensor> inputs;
  float next = 1;
  for (graph::ValueId id : graph.inputs()) {
    Tensor tensor(graph.type(id).dtype, graph.type(id).shape());
    for (float& x : tensor.as<float>()) x = next++;
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

// Everything written once, three runs: after each, outputs and states are the interpreter's.
PlanMemory check_runs(const Graph& graph, const std::string& provider_name,
                      Overlap overlap = Overlap::kNever) {
  const auto provider = make_provider(provider_name, {.threads = 2});
  PlanOptions options;
  options.autotune = false;
  options.overlap = overlap;
  const auto made = Plan::compile(graph, **provider, options);
  if (!made.ok()) throw std::runtime_error(made.error().message);
  Plan& plan = **made;
  std::vector<Tensor> inputs = counted_inputs(graph);
  for (std::size_t i = 0; i < inputs.size(); ++i) EXPECT_TRUE(plan.write(i, inputs[i]).ok());
  for (int run = 0; run < 3; ++run) {
    const std::vector<Tensor> wanted = *interpret(graph, inputs);
    const Status ran = plan.run();
    EXPECT_TRUE(ran.ok()) << ran.error().message;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      EXPECT_TRUE(same_tensor(*plan.read(i), wanted[i]))
          << provider_name << " run " << run << " output " << i;
    for (const StatePair& pair : graph.states()) inputs[pair.input] = wanted[pair.output];
    for (std::size_t i = 0; i < inputs.size(); ++i)
      EXPECT_TRUE(same_tensor(*plan.read_input(i), inputs[i]))
          << provider_name << " run " << run << " input " << i;
  }
  return plan.memory();
}

TEST(PlanState, IsUpdatedInPlaceWhereTheLastReaderAllows) {
  const Graph graph = stateful(R"((%s: f32[64], %x: f32[64]) {
    %y: f32[64] = Neg(%s)
    %n: f32[64] = Add(%s, %x)
    return %y, %n -> %s
  })");
  const PlanMemory memory = check_runs(graph, "cpu");
  EXPECT_EQ(memory.state_bytes, 256U);
  EXPECT_EQ(memory.state_copy_bytes, 0U);
  check_runs(graph, "null");
}

TEST(PlanState, IsCopiedAtTheEndWhereSomethingStillReadsIt) {
  const Graph graph = stateful(R"((%s: f32[64], %x: f32[64]) {
    %n: f32[64] = Add(%s, %x)
    %y: f32[64] = Mul(%n, %s)
    return %n -> %s, %y
  })");
  for (const char* provider : {"cpu", "null"}) EXPECT_EQ(check_runs(graph, provider).state_copy_bytes, 256U);
}

TEST(PlanState, ChangesPlacesAndGivesOutWhatItWas) {
  // %a and %b change places; the old %s goes out as it was and as a view; %k is set to a constant, %i stays.
  const Graph graph = stateful(R"((%a: f32[4], %b: f32[4], %s: f32[4], %k: f32[2], %i: f32[3]) {
    %shape: i64[2] = constant dense(2, 2)
    %seven: f32[2] = constant dense(7.0, 8.0)
    %v: f32[2,2] = Reshape(%s, %shape)
    %n: f32[4] = Add(%s, %a)
    %sum: f32[2] = Add(%k, %seven)
    return %b -> %a, %a -> %b, %v, %s, %n -> %s, %seven -> %k, %i -> %i, %sum
  })");
  for (const char* provider : {"cpu", "null"}) check_runs(graph, provider);
}

TEST(PlanState, OneValueMayBeTheNextOfTwo) {
  const Graph graph = stateful(R"((%fast: f32[8], %slow: f32[8], %x: f32[8]) {
    %n: f32[8] = Add(%slow, %x)
    return %n -> %fast, %n -> %slow
  })");
  for (const char* provider : {"cpu", "null"}) check_runs(graph, provider);
}

TEST(PlanState, IsNotOverwrittenByALaneBesideItsReaders) {
  // Two chains that do not depend on each other: one reads the state late, the other makes its next value early.
  const Graph graph = stateful(R"((%s: f32[4096], %x: f32[4096]) {
    %a: f32[4096] = Exp(%x)
    %n: f32[4096] = Neg(%a)
    %b: f32[4096] = Tanh(%x)
    %c: f32[4096] = Add(%b, %s)
    return %n -> %s, %c
  })");
  check_runs(graph, "cpu", Overlap::kAlways);
}

}  // namespace
}  // namespace hone::runtime
