#include "passes/pipeline.h"

#include <algorithm>
#include <set>

#include "graph/group_kind.h"
#include "passes/check_rewrite.h"

namespace hone::passes {
namespace {

TEST(Pipeline, NamesEveryPassOnceAndKeepsGroupsTogether) {
  std::set<std::string_view> names;
  for (const Pass& pass : pipeline()) {
    EXPECT_TRUE(names.insert(pass.name).second) << pass.name;
    EXPECT_FALSE(pass.summary.empty()) << pass.name;
    ASSERT_NE(pass.run, nullptr) << pass.name;
    EXPECT_EQ(pass.aim, aim_of(pass.group)) << pass.name;
  }
}

TEST(Pipeline, RunsOnlyWhatIsAskedForAndRefusesUnknownNames) {
  const graph::Graph graph =
      graph_of("(%x: f32[2]) { %a: f32[*] = Identity(%x) %y: f32[*] = Relu(%a) return %y }");
  PipelineOptions options;
  options.only = {"simplify_views"};
  auto result = run_pipeline(graph, {}, options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(result->reports.size(), 1U);
  EXPECT_EQ(result->reports[0].done.size(), 1U);
  options.only = {"no_such_pass"};
  result = run_pipeline(graph, {}, options);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("simplify_views (simplify)"), std::string::npos);
}

TEST(Pipeline, PredictsGainsFromPrices) {
  PassContext context;
  context.price = [](const graph::Graph& graph) { return 1e-3 * static_cast<double>(graph.nodes().size()); };
  auto result = run_pipeline(
      graph_of("(%x: f32[2]) { %a: f32[*] = Identity(%x) %y: f32[*] = Relu(%a) return %y }"), context);
  ASSERT_TRUE(result.ok()) << result.error().message;
  double gain = 0;
  for (const PassReport& report : result->reports) gain += report.predicted_gain_ms;
  EXPECT_DOUBLE_EQ(gain, 1.0);
}

// Gives Tanh where the graph has Relu: made up, and not the same numbers.
Result<PassOutcome> approximate(const graph::Graph& graph, const PassContext&) {
  graph::GraphBuilder builder(graph);
  for (uint32_t i = 0; i < graph.nodes().size(); ++i) builder.mutable_node(graph::NodeId{i}).op = "Tanh";
  HONE_ASSIGN(graph::Graph changed, std::move(builder).finish());
  return PassOutcome{std::move(changed), {{"y", "approximated"}}, {}};
}

TEST(Pipeline, ALossyPassRunsOnlyWhereItIsNamedAsOne) {
  const std::vector<Pass> passes = {
      {"approximate", "rough", Numerics::kLossy, "made up", approximate, Aim::kTime, 0.01}};
  const auto op_after = [&](const PipelineOptions& options) {
    auto result =
        run_passes(graph_of("(%x: f32[2]) { %y: f32[*] = Relu(%x) return %y }"), {}, options, passes);
    return result.ok() ? result->graph.nodes()[0].op : result.error().message;
  };
  EXPECT_EQ(op_after({}), "Relu");
  PipelineOptions options;
  options.only = {"approximate"};
  EXPECT_EQ(op_after(options), "Relu") << "to be asked for alone is not to be allowed to lose precision";
  options.only = {};
  options.lossy = {"approximate"};
  EXPECT_EQ(op_after(options), "Tanh");
  options.lossy = {"rough"};
  EXPECT_EQ(op_after(options), "Tanh");
  options.lossy = {"fp4"};
  EXPECT_EQ(op_after(options),
            "'fp4' is not a lossy pass or group of passes; there are: approximate (rough)");
}

TEST(Pipeline, NoLossyPassIsAmongTheGroupsThatAreTriedByDefault) {
  for (const std::string& group : groups()) EXPECT_EQ(lossy_limit_of(group), 0) << group;
  for (const Pass& pass : pipeline())
    EXPECT_EQ(pass.numerics == Numerics::kLossy, pass.lossy_limit > 0)
        << pass.name << ": a lossy pass has a limit";
}

// A pass that rebuilds the graph and forgets what `Forget` does to the builder.
template <auto Forget>
Result<PassOutcome> rebuild(const graph::Graph& graph, const PassContext&) {
  graph::GraphBuilder builder(graph);
  Forget(builder);
  HONE_ASSIGN(graph::Graph rebuilt, std::move(builder).finish());
  return PassOutcome{std::move(rebuilt), {{"y", "rebuilt"}}, {}};
}

constexpr std::string_view kCounter =
    "(%n: f32[2], %x: f32[2]) { %y: f32[*] = Add(%n, %x) %z: f32[*] = Relu(%x) return %y -> %n, %z }";

std::string error_of(PassFunction pass) {
  auto outcome = run_checked({"forgetful", "test", Numerics::kExact, "", pass}, graph_of(kCounter), {});
  return outcome.ok() ? "" : outcome.error().message;
}

TEST(Pipeline, APassThatLosesStateOrInterfaceIsABug) {
  EXPECT_EQ(error_of(rebuild<[](graph::GraphBuilder&) {}>), "");
  EXPECT_EQ(error_of(rebuild<[](graph::GraphBuilder& b) { b.set_states({}); }>),
            "pass forgetful broke the graph (a bug in hone): 'y' is no longer the next value of 'n'");
  EXPECT_EQ(error_of(rebuild<[](graph::GraphBuilder& b) {
              b.set_states({{1, 0}});
            }>),
            "pass forgetful broke the graph (a bug in hone): 'y' is no longer the next value of 'n'");
  EXPECT_EQ(error_of(rebuild<[](graph::GraphBuilder& b) {
              b.set_states({{0, 0}, {1, 1}});
            }>),
            "pass forgetful broke the graph (a bug in hone): an input has a next value that had none");
  EXPECT_EQ(error_of(rebuild<[](graph::GraphBuilder& b) { b.rename(b.inputs()[0], "other"); }>),
            "pass forgetful broke the graph (a bug in hone): the inputs were 'n', 'x' and are now 'other', "
            "'x'");
}

TEST(Pipeline, EveryPassKeepsTheState) {
  // Something for most passes: constants, renamings, a convolution with its normalisation, pointwise chains.
  const graph::Graph graph = graph_of(R"((%m: f32[1,8,4,4], %c: i64[], %x: f32[1,8,6,6]) {
    %w: f32[8,8,3,3] = constant hex")" +
                                      std::string(8 * 8 * 9 * 8, '1') + R"("
    %one: i64[] = constant dense(1)
    %two: i64[] = Add(%one, %one)
    %c_next: i64[] = Add(%c, %two)
    %k: f32[*] = Conv(%x, %w)
    %r: f32[*] = Relu(%k)
    %d: f32[*] = Div(%r, %k)
    %e: f32[*] = Exp(%d)
    %s: f32[*] = Add(%m, %e)
    %m_next: f32[*] = Identity(%s)
    return %m_next -> %m, %e, %c_next -> %c
  })");
  PassContext context = willing_target();
  context.target.takes.convolution_layout = Layout::kBlocked8;
  context.target.takes.laid_out = {DType::kF32};
  context.target.runs = [](const graph::Graph&, const graph::Node&) { return true; };
  const auto result = run_pipeline(graph, context);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(std::is_permutation(result->graph.states().begin(), result->graph.states().end(),
                                  graph.states().begin(), graph.states().end()));
  EXPECT_EQ(result->graph.states().size(), 2U);
}

TEST(Pipeline, GoesIntoTheBodiesOfControlFlow) {
  const auto result = run_pipeline(graph_of(R"((%n: i64[], %c: bool[], %x: f32[4], %w: f32[4]) {
    %y: f32[4] = Loop(%n, %c, %x, %w) captures 1 "loop"
      graph "body" (%i: i64[], %g: bool[], %v: f32[4], %k: f32[4]) {
        %a: f32[4] = Identity(%v)
        %b: f32[4] = Exp(%a)
        %d: f32[4] = Exp(%a)
        %s: f32[4] = Add(%b, %d)
        %z: f32[4] = If(%g, %s, %k) captures 2 "branch"
          graph "then" (%p: f32[4], %q: f32[4]) { %m: f32[4] = Identity(%p) %o: f32[4] = Mul(%m, %q) return %o }
          graph "else" (%p: f32[4], %q: f32[4]) { %o: f32[4] = Neg(%q) return %o }
        return %g, %z
      }
    return %y
  })"),
                                   willing_target());
  ASSERT_TRUE(result.ok()) << result.error().message;
  const graph::Graph& body = *result->graph.nodes()[0].bodies[0];
  ASSERT_EQ(body.nodes().size(), 2U) << graph::print(body);
  EXPECT_TRUE(graph::is_group(body.nodes()[0])) << "Exp and Add in one";
  EXPECT_EQ(body.nodes()[1].bodies[0]->nodes().size(), 1U) << "the Identity is gone";
  bool said = false;
  for (const PassReport& report : result->reports) {
    for (const Note& note : report.done) said = said || note.text.ends_with("(in a body of Loop 'loop')");
  }
  EXPECT_TRUE(said);
}

}  // namespace
}  // namespace hone::passes
