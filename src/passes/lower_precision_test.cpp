#include "passes/lower_precision.h"

#include <cmath>

#include <fmt/format.h>

#include "graph/training/step_part.h"
#include "passes/check_rewrite.h"
#include "passes/precision_table.h"

namespace hone::passes {
namespace {

PassContext half_target() {
  PassContext context = willing_target();
  context.target.takes.products = {DType::kF32, DType::kF16, DType::kBF16};
  return context;
}

// A target whose products can read bf16 and that has no other kernels in it.
PassContext converting_target() {
  PassContext context = willing_target();
  context.target.takes.converted_products = {DType::kBF16};
  return context;
}

// What the pass decided about node `name`; a row of kUndefined if it says nothing.
TypeChoice choice_of(const PassOutcome& outcome, std::string_view name) {
  for (const TypeChoice& choice : outcome.types) {
    if (choice.node == name) return choice;
  }
  return {};
}

TEST(LowerPrecision, ConvertsAtTheBordersAndWeightsOnce) {
  check_rewrite(lower_to_f16, R"((%x: f32[2,4]) {
    %w: f32[4,1] = constant dense(1.0, 2.0, 3.0, 1.0)
    %m: f32[*] = MatMul(%x, %w)
    %y: f32[*] = Relu(%m)
    return %y
  })",
                R"((%x: f32[2,4]) {
    %w: f16[4,1] = constant hex"003c00400042003c"
    %c: f16[*] = Cast(%x) {to = 10}
    %m: f16[*] = MatMul(%c, %w)
    %r: f16[*] = Relu(%m)
    %y: f32[*] = Cast(%r) {to = 1}
    return %y
  })",
                half_target());
}

// Where the target has kernels that read narrow numbers and store f32, sums and losses need no conversion.
TEST(LowerPrecision, SumsAndLossesReadNarrowNumbers) {
  PassContext context = half_target();
  context.target.runs = [](const graph::Graph&, const graph::Node&) { return true; };
  check_rewrite(lower_to_bf16, R"((%x: bf16[2,4], %w: bf16[4,3], %t: i64[2]) {
    %a: f32[*] = Cast(%x) {to = 1}
    %b: f32[*] = Cast(%w) {to = 1}
    %m: f32[*] = MatMul(%a, %b)
    %zero: i64[1] = constant dense(0)
    %s: f32[*] = ReduceSum(%m, %zero)
    %l: f32[*] = SoftmaxCrossEntropyLoss(%m, %t) {reduction = "sum"}
    return %s, %l
  })",
                R"((%x: bf16[2,4], %w: bf16[4,3], %t: i64[2]) {
    %a: f32[*] = Cast(%x) {to = 1}
    %b: f32[*] = Cast(%w) {to = 1}
    %c: bf16[*] = Cast(%a) {to = 16}
    %d: bf16[*] = Cast(%b) {to = 16}
    %m: bf16[*] = MatMul(%c, %d)
    %zero: i64[1] = constant dense(0)
    %s: f32[*] = hone.ReduceSum(%m, %zero)
    %l: f32[*] = hone.SoftmaxCrossEntropyLoss(%m, %t) {reduction = "sum"}
    return %s, %l
  })",
                context);
}

// A weight that a step keeps narrow is read as it lies; what else is converted to f32 is meant so.
TEST(LowerPrecision, WeightsThatAreKeptNarrowAreNotConverted) {
  PassContext context = half_target();
  context.target.runs = [](const graph::Graph&, const graph::Node&) { return true; };
  check_rewrite(lower_to_bf16, R"((%r: f32[], %n: i64[], %w: bf16[4,4], %x: bf16[2,4]) {
    %b: f32[*] = Cast(%w) {to = 1}
    %a: f32[*] = Cast(%x) {to = 1}
    %m: f32[*] = MatMul(%a, %b)
    %g: f32[*] = MatMul(%b, %b)
    %next: bf16[*] = hone.Sgd(%r, none, %n, %w, %g) {numbers = [0]}
    return %m, %next -> %w
  })",
                R"((%r: f32[], %n: i64[], %w: bf16[4,4], %x: bf16[2,4]) {
    %a: f32[*] = Cast(%x) {to = 1}
    %c: bf16[*] = Cast(%a) {to = 16}
    %m: bf16[*] = MatMul(%c, %w)
    %g: bf16[*] = MatMul(%w, %w)
    %next: bf16[*] = hone.Sgd(%r, none, %n, %w, %g) {numbers = [0]}
    %o: f32[*] = Cast(%m) {to = 1}
    return %o, %next -> %w
  })",
                context);
}

// An optimizer and the norm read gradients as they come, each of its type, where the target takes them so.
TEST(LowerPrecision, UpdatesAndNormsReadNarrowGradients) {
  PassContext context = half_target();
  context.target.runs = [](const graph::Graph&, const graph::Node&) { return true; };
  const auto types = [&](const char* second) {
    const graph::Graph graph =
        graph_of(fmt::format(R"((%x: f32[4,4], %w: f32[4,4], %v: f32[4,4], %r: f32[]) {{
    %a: f32[*] = MatMul(%x, %w)
    %b: f32[*] = {}(%x, %v)
    %n: f32[*] = hone.SquareSum(%a, %b)
    %nw: f32[*], %nv: f32[*] = hone.Sgd(%r, none, %w, %v, %a, %b)
    return %n, %nw, %nv
  }})",
                             second));
    std::string text;
    const PassOutcome outcome = run_pass(lower_to_bf16, graph, context);
    for (const graph::Node& node : outcome.graph.nodes())
      if (node.op == "hone.SquareSum" || node.op == "hone.Sgd")
        for (const graph::ValueId input : node.inputs)
          if (input.valid() && outcome.graph.type(input).rank() == 2)
            text += std::string(dtype_name(outcome.graph.type(input).dtype)) + " ";
    return text;
  };
  EXPECT_EQ(types("MatMul"), "bf16 bf16 f32 f32 bf16 bf16 ");
  EXPECT_EQ(types("Add"), "bf16 f32 f32 f32 bf16 f32 ");
}

// A narrow number is above a known one in any type that holds that; which of two is, it need not be.
TEST(LowerPrecision, ComparisonsWithWhatTheTypeHoldsAreNarrow) {
  PassContext context = half_target();
  context.target.runs = [](const graph::Graph&, const graph::Node&) { return true; };
  const auto compared = [&](const char* with) {
    const graph::Graph graph = graph_of(fmt::format(R"((%x: f32[2,4], %w: f32[4,4]) {{
    %k: f32[] = constant dense({})
    %m: f32[*] = MatMul(%x, %w)
    %y: bool[*] = Greater(%m, %k)
    return %y
  }})",
                                                    with));
    const PassOutcome outcome = run_pass(lower_to_bf16, graph, context);
    for (const graph::Node& node : outcome.graph.nodes())
      if (node.op == "Greater") return outcome.graph.type(node.inputs[0]).dtype;
    return DType::kUndefined;
  };
  EXPECT_EQ(compared("0.0"), DType::kBF16);
  EXPECT_EQ(compared("0.1"), DType::kF32);
}

TEST(LowerPrecision, ConvertsBeforeATransposeAndOnce) {
  check_rewrite(lower_to_bf16, R"((%x: f32[2,4], %w: f32[3,4], %v: f32[5,3]) {
    %t: f32[*] = Transpose(%w) {perm = [1,0]}
    %a: f32[*] = MatMul(%x, %t)
    %b: f32[*] = MatMul(%v, %w)
    return %a, %b
  })",
                R"((%x: f32[2,4], %w: f32[3,4], %v: f32[5,3]) {
    %c: bf16[*] = Cast(%x) {to = 16}
    %d: bf16[*] = Cast(%w) {to = 16}
    %t: bf16[*] = Transpose(%d) {perm = [1,0]}
    %m: bf16[*] = MatMul(%c, %t)
    %e: bf16[*] = Cast(%v) {to = 16}
    %n: bf16[*] = MatMul(%e, %d)
    %a: f32[*] = Cast(%m) {to = 1}
    %b: f32[*] = Cast(%n) {to = 1}
    return %a, %b
  })",
                half_target());
}

TEST(LowerPrecision, LeavesWhatLiesBetweenProductsInF32WhereOnlyTheyReadTheType) {
  check_rewrite(lower_to_bf16, R"((%x: f32[2,2]) {
    %w: f32[2,2] = constant dense(1.0, 2.0, 1.0, 2.0)
    %m: f32[*] = MatMul(%x, %w)
    %r: f32[*] = Relu(%m)
    %y: f32[*] = MatMul(%r, %w)
    return %y
  })",
                R"((%x: f32[2,2]) {
    %w: bf16[2,2] = constant hex"803f0040803f0040"
    %c: bf16[*] = Cast(%x) {to = 16}
    %m: bf16[*] = MatMul(%c, %w)
    %f: f32[*] = Cast(%m) {to = 1}
    %r: f32[*] = Relu(%f)
    %d: bf16[*] = Cast(%r) {to = 16}
    %n: bf16[*] = MatMul(%d, %w)
    %y: f32[*] = Cast(%n) {to = 1}
    return %y
  })",
                converting_target());
}

// What moves numbers moves half the bytes.
TEST(LowerPrecision, MovesNarrowNumbersBetweenProductsThatReadThem) {
  const PassOutcome outcome = run_pass(lower_to_bf16, graph_of(R"((%x: f32[2,2]) {
    %w: f32[2,2] = constant dense(1.0, 2.0, 1.0, 2.0)
    %m: f32[*] = MatMul(%x, %w)
    %t: f32[*] = Transpose(%m) {perm = [1, 0]}
    %y: f32[*] = MatMul(%t, %w)
    return %y
  })"),
                                       converting_target());
  int casts = 0;
  for (const graph::Node& node : outcome.graph.nodes()) {
    casts += node.op == "Cast" ? 1 : 0;
    if (node.op != "Transpose") continue;
    EXPECT_EQ(outcome.graph.type(node.outputs[0]).dtype, DType::kBF16);
  }
  EXPECT_EQ(casts, 2) << graph::print(outcome.graph);
}

TEST(LowerPrecision, TakesEitherType) {
  check_rewrite(lower_to_bf16, R"((%x: f32[2,2]) {
    %w: f32[2,1] = constant dense(1.0, 2.0)
    %y: f32[*] = MatMul(%x, %w)
    return %y
  })",
                R"((%x: f32[2,2]) {
    %w: bf16[2,1] = constant hex"803f0040"
    %c: bf16[*] = Cast(%x) {to = 16}
    %m: bf16[*] = MatMul(%c, %w)
    %y: f32[*] = Cast(%m) {to = 1}
    return %y
  })",
                half_target());
}

TEST(LowerPrecision, StaysNarrowBetweenProductsAndLeavesWhatMagnifies) {
  check_rewrite(lower_to_f16, R"((%x: f32[2,2], %r: f32[2,2]) {
    %m: f32[*] = MatMul(%x, %r)
    %a: f32[*] = Add(%m, %r)
    %e: f32[*] = Exp(%a)
    %b: f32[*] = Sub(%e, %r)
    %t: f32[*] = Transpose(%a) {perm = [1,0]}
    %y: f32[*] = MatMul(%b, %t)
    return %y
  })",
                R"((%x: f32[2,2], %r: f32[2,2]) {
    %xh: f16[*] = Cast(%x) {to = 10}
    %rh: f16[*] = Cast(%r) {to = 10}
    %m: f16[*] = MatMul(%xh, %rh)
    %a: f16[*] = Add(%m, %rh)
    %af: f32[*] = Cast(%a) {to = 1}
    %e: f32[*] = Exp(%af)
    %b: f32[*] = Sub(%e, %r)
    %t: f16[*] = Transpose(%a) {perm = [1,0]}
    %bh: f16[*] = Cast(%b) {to = 10}
    %p: f16[*] = MatMul(%bh, %t)
    %y: f32[*] = Cast(%p) {to = 1}
    return %y
  })",
                half_target());
}

TEST(LowerPrecision, ConversionsOfTheModelItselfAreNotDoneTwice) {
  check_rewrite(lower_to_f16, R"((%x: f32[2,2]) {
    %m: f32[*] = MatMul(%x, %x)
    %h: f16[*] = Cast(%m) {to = 10}
    %i: i32[*] = Cast(%m) {to = 6}
    %y: f16[*] = Neg(%h)
    return %y, %i
  })",
                R"((%x: f32[2,2]) {
    %c: f16[*] = Cast(%x) {to = 10}
    %m: f16[*] = MatMul(%c, %c)
    %i: i32[*] = Cast(%m) {to = 6}
    %y: f16[*] = Neg(%m)
    return %y, %i
  })",
                half_target());
}

TEST(LowerPrecision, KeepsTheNamesAndTypesOfTheModel) {
  const PassOutcome outcome = run_pass(lower_to_f16, graph_of(R"((%x: f32[2,2], %s: f32[2,2]) {
    %y: f32[*] = MatMul(%x, %x)
    %n: f32[2,2] = Add(%s, %y)
    return %y, %n -> %s
  })"),
                                       half_target());
  EXPECT_EQ(outcome.graph.value(outcome.graph.inputs()[0]).name, "x");
  EXPECT_EQ(outcome.graph.value(outcome.graph.outputs()[0]).name, "y");
  EXPECT_EQ(outcome.graph.type(outcome.graph.outputs()[0]).text(), "f32[2,2]");
  EXPECT_EQ(outcome.graph.states().size(), 1U);
}

TEST(LowerPrecision, LeavesATargetWhoseProductsTakeNoSuchTypeAndSaysSo) {
  check_left_alone(lower_to_f16, "(%x: f32[2,2]) { %y: f32[*] = MatMul(%x, %x) return %y }",
                   "MatMul stays f32: the target's products take no f16: nothing would be faster");
}

TEST(LowerPrecision, LeavesAModelWithoutProducts) {
  check_left_alone(lower_to_f16, "(%x: f32[2,2]) { %y: f32[*] = Relu(%x) return %y }", "", half_target());
}

TEST(LowerPrecision, KeepsWeightsBeyondTheRangeInF32ByName) {
  constexpr std::string_view kText = R"((%x: f32[2,2]) {
    %w: f32[2,1] = constant dense(70000.0, 2.0)
    %y: f32[*] = MatMul(%x, %w)
    return %y
  })";
  check_left_alone(
      lower_to_f16, kText,
      "MatMul stays f32: 1 of 2 numbers of 'w' are beyond f16's largest, 65504; the largest is 7e+04",
      half_target());
  EXPECT_EQ(run_pass(lower_to_bf16, graph_of(kText), half_target()).done.size(), 1U)
      << "bf16 reaches that far";
}

TEST(LowerPrecision, AnEpsilonThatWouldVanishKeepsItsOperatorInF32) {
  const PassOutcome outcome = run_pass(lower_to_f16, graph_of(R"((%x: f32[2,2]) {
    %eps: f32[] = constant dense(1e-12)
    %m: f32[*] = MatMul(%x, %x)
    %a: f32[*] = Add(%m, %eps)
    %y: f32[*] = Div(%x, %a)
    return %y
  })"),
                                       half_target());
  ASSERT_EQ(outcome.types.size(), 2U);
  EXPECT_TRUE(outcome.types[0].narrowed);
  EXPECT_EQ(outcome.types[1].op, "Add");
  EXPECT_FALSE(outcome.types[1].narrowed);
  EXPECT_EQ(outcome.types[1].why, "'eps', 1e-12, is too small for f16");
}

TEST(LowerPrecision, CountsWhatWeightsLose) {
  const PassOutcome outcome = run_pass(lower_to_f16, graph_of(R"((%x: f32[2,4]) {
    %w: f32[4,1] = constant dense(1.0, 1e-06, 1e-09, 0.0)
    %y: f32[*] = MatMul(%x, %w)
    return %y
  })"),
                                       half_target());
  ASSERT_EQ(outcome.types.size(), 1U);
  EXPECT_EQ(outcome.types[0].why, "of 4 known numbers, 1 are subnormal in f16 and 1 vanish");
}

TEST(LowerPrecision, LeavesWhatWasMeasuredToNeedF32) {
  const graph::Graph graph = graph_of(R"((%x: f32[2,2]) {
    %a: f32[*] = MatMul(%x, %x) "first"
    %b: f32[*] = MatMul(%a, %x) "second"
    return %b
  })");
  PassContext context = half_target();
  context.keep_f32["first"] = "reaches 1e+05";
  const PassOutcome outcome = run_pass(lower_to_f16, graph, context);
  EXPECT_FALSE(choice_of(outcome, "first").narrowed);
  EXPECT_EQ(choice_of(outcome, "first").why, "reaches 1e+05");
  EXPECT_TRUE(choice_of(outcome, "second").narrowed);
}

// A target with kernels for all but `without` of half types.
PassContext half_target_without(std::string without) {
  PassContext context = half_target();
  context.target.runs = [without](const graph::Graph& graph, const graph::Node& node) {
    return node.op != without || graph.type(node.inputs[0]).dtype == DType::kF32;
  };
  return context;
}

TEST(LowerPrecision, NothingMovesToAReferenceKernel) {
  const graph::Graph graph = graph_of(R"((%x: f32[1,2,4,4]) {
    %w: f32[2,2,1,1] = constant dense(1.0, 2.0, 3.0, 4.0)
    %c: f32[*] = Conv(%x, %w) "conv"
    %s: f32[*] = Softmax(%c) {axis = -1} "softmax"
    %p: f32[*] = MatMul(%s, %x) "product"
    return %p
  })");
  const PassOutcome no_softmax = run_pass(lower_to_f16, graph, half_target_without("Softmax"));
  EXPECT_TRUE(choice_of(no_softmax, "conv").narrowed);
  EXPECT_EQ(choice_of(no_softmax, "softmax").why, "the target has no kernel for it in f16");
  const PassOutcome no_conv = run_pass(lower_to_f16, graph, half_target_without("Conv"));
  EXPECT_FALSE(choice_of(no_conv, "conv").narrowed);
  EXPECT_EQ(choice_of(no_conv, "softmax").op, "") << "it follows its input, which is f32";
  EXPECT_TRUE(choice_of(no_conv, "product").narrowed);
}

TEST(LowerPrecision, WhatHasNoKernelEitherWayLosesNone) {
  const graph::Graph graph = graph_of(R"((%x: f32[2,2]) {
    %m: f32[*] = MatMul(%x, %x)
    %t: f32[*] = Transpose(%m) {perm = [1,0]} "turn"
    return %t
  })");
  PassContext context = half_target();
  context.target.runs = [](const graph::Graph&, const graph::Node& node) { return node.op == "MatMul"; };
  EXPECT_TRUE(choice_of(run_pass(lower_to_f16, graph, context), "turn").narrowed);
}

TEST(LowerPrecision, LeavesOperandsThatHaveATypeOfTheirOwn) {
  const PassOutcome outcome = run_pass(lower_to_f16, graph_of(R"((%x: f32[1,1,2,2]) {
    %scales: f32[4] = constant dense(1.0, 1.0, 2.0, 2.0)
    %m: f32[*] = MatMul(%x, %x)
    %y: f32[*] = Resize(%m, none, %scales) {mode = "nearest"}
    return %y
  })"),
                                       half_target());
  ASSERT_EQ(outcome.types.size(), 2U);
  EXPECT_TRUE(outcome.types[1].narrowed) << outcome.types[1].why;
}

TEST(LowerPrecision, KnowsWhatNumbersBecome) {
  const std::vector<float> numbers = {1, 65504, 65519, 65520, 1e-5F, 1e-9F, 0, INFINITY, -1e5F};
  const Narrowing found = narrowing_of(Tensor::f32({9}, numbers), DType::kF16);
  EXPECT_EQ(found.overflowing, 2) << "65519 rounds to 65504, 65520 to infinity";
  EXPECT_EQ(found.subnormal, 1);
  EXPECT_EQ(found.vanishing, 1);
  EXPECT_FLOAT_EQ(static_cast<float>(found.largest), 1e5F);
}

TEST(PrecisionTable, SaysOfWhatItKeepsWhy) {
  for (const graph::OpEntry* entry : graph::op_table().entries()) {
    graph::Node node;
    node.op = entry->name;
    const PrecisionRow row = precision_row(node);
    EXPECT_EQ(row.why.empty(), row.rule != PrecisionRule::kKeeps) << entry->name;
  }
}

// --- residual streams of training steps ---

// What the pass makes of a graph whose nodes are all of `part`.
graph::Graph narrowed_step(std::string_view text, graph::StepPart part, bool narrow_residual = false) {
  PassContext context = half_target();
  context.target.runs = [](const graph::Graph&, const graph::Node&) { return true; };
  context.narrow_residual = narrow_residual;
  graph::GraphBuilder builder(graph_of(text));
  if (part != graph::StepPart::kNone) graph::mark_part(builder, 0, part);
  return run_pass(lower_to_bf16, *std::move(builder).finish(), context).graph;
}

// The types of the values named in it.
std::string types_in_step(std::string_view text, const std::vector<std::string>& values, graph::StepPart part,
                          bool narrow_residual = false) {
  const graph::Graph made = narrowed_step(text, part, narrow_residual);
  std::string types;
  for (const std::string& name : values)
    for (const graph::Node& node : made.nodes())
      if (node.outputs[0].valid() && made.value(node.outputs[0]).name == name)
        types += (types.empty() ? "" : " ") + std::string(dtype_name(made.type(node.outputs[0]).dtype));
  return types;
}

// As types promote in PyTorch: the stream is f32 from the embedding on, what products read and give is bf16. A bias behind
// a product goes to f32 with it where the stream alone reads that, and is the product's elsewhere.
TEST(LowerPrecision, ResidualSumsOfATrainingStepStayF32) {
  constexpr std::string_view kBlock = R"((%x: f32[2,4], %w: f32[4,4], %b: f32[4], %s: f32[4]) {
    %n: f32[*] = LayerNormalization(%x, %s)
    %p: f32[*] = MatMul(%n, %w)
    %pb: f32[*] = Add(%p, %b)
    %h: f32[*] = Gelu(%pb)
    %q: f32[*] = MatMul(%h, %w)
    %qb: f32[*] = Add(%q, %b)
    %y: f32[*] = Add(%x, %qb)
    %n2: f32[*] = LayerNormalization(%y, %s)
    %z: f32[*] = MatMul(%n2, %w)
    %e: f32[*] = Exp(%y)
    %f: f32[*] = Exp(%z)
    return %e, %f
  })";
  const std::vector<std::string> values = {"p", "pb", "h", "q", "qb", "y", "n2", "z"};
  using enum graph::StepPart;
  EXPECT_EQ(types_in_step(kBlock, values, kForward), "bf16 bf16 bf16 bf16 f32 f32 f32 bf16");
  EXPECT_EQ(types_in_step(kBlock, values, kForward, true), "bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16");
  EXPECT_EQ(types_in_step(kBlock, values, kNone), "bf16 bf16 bf16 bf16 bf16 bf16 bf16 bf16") << "no step";
}

// The gradient of a tensor of f32 is summed in f32, in whatever order its parts come.
TEST(LowerPrecision, GradientsOfAStreamStayF32) {
  constexpr std::string_view kGradients = R"((%x: f32[2,4], %w: f32[4,4], %s: f32[4], %v: f32[2,4]) {
    %g: f32[*] = MatMul(%v, %w)
    %d: f32[*], %ds: f32[*], %db: f32[*] = hone.LayerNormalizationGradient(%g, %x, %s)
    %q: f32[*] = MatMul(%d, %w)
    %k: f32[*] = MatMul(%d, %w)
    %qk: f32[*] = Add(%q, %k)
    %y: f32[*] = Add(%qk, %d)
    %e: f32[*] = Exp(%y)
    return %e, %ds, %db
  })";
  const std::vector<std::string> values = {"g", "d", "q", "qk", "y"};
  using enum graph::StepPart;
  EXPECT_EQ(types_in_step(kGradients, values, kBackward), "bf16 f32 bf16 f32 f32");
  EXPECT_EQ(types_in_step(kGradients, values, kBackward, true), "bf16 f32 bf16 bf16 bf16");
}

// In f32, of what the product reads: of the stream's gradient as it is where no product reads it.
TEST(LowerPrecision, ABiasOfAStreamIsSummedFromWhatItsProductReads) {
  constexpr std::string_view kGradients = R"((%x: f32[2,3,4], %w: f32[6,5], %s: f32[4], %v: f32[2,3,4]) {
    %axes: i64[2] = constant dense(0, 1)
    %d: f32[*], %ds: f32[*], %db: f32[*] = hone.LayerNormalizationGradient(%v, %x, %s)
    %rows: f32[*] = Flatten(%d) {axis = -1}
    %dw: f32[*] = Gemm(%w, %rows) {transA = 1}
    %bias: f32[*] = ReduceSum(%d, %axes)
    %alone: f32[*] = Add(%d, %x)
    %other: f32[*] = ReduceSum(%alone, %axes)
    return %dw, %bias, %other, %ds, %db
  })";
  const graph::Graph made = narrowed_step(kGradients, graph::StepPart::kBackward);
  int seen = 0;
  for (const graph::Node& node : made.nodes()) {
    const std::string& name = made.value(node.outputs[0]).name;
    if (name != "bias" && name != "other") continue;
    ++seen;
    EXPECT_EQ(made.type(node.outputs[0]).dtype, DType::kF32) << name;
    EXPECT_EQ(made.type(node.inputs[0]).dtype, name == "bias" ? DType::kBF16 : DType::kF32) << name;
    EXPECT_EQ(node.op, name == "bias" ? "hone.ReduceSum" : "ReduceSum") << name;
  }
  EXPECT_EQ(seen, 2);
}

// Where products alone met, as in a residual network of convolutions, there is no f32 to promote to; a mask that is added to
// scores makes none either.
TEST(LowerPrecision, SumsOfNarrowTensorsAndScoresStayNarrow) {
  using enum graph::StepPart;
  EXPECT_EQ(types_in_step(R"((%x: f32[2,4], %w: f32[4,4]) {
    %a: f32[*] = MatMul(%x, %w)
    %b: f32[*] = MatMul(%a, %w)
    %y: f32[*] = Add(%a, %b)
    %e: f32[*] = Exp(%y)
    return %e
  })",
                          {"y"}, kForward),
            "bf16");
  EXPECT_EQ(types_in_step(R"((%x: f32[2,4], %w: f32[4,4], %mask: f32[2,4]) {
    %a: f32[*] = MatMul(%x, %w)
    %m: f32[*] = Add(%a, %mask)
    %p: f32[*] = Softmax(%m)
    %y: f32[*] = MatMul(%p, %w)
    %e: f32[*] = Exp(%y)
    return %e
  })",
                          {"m", "p"}, kForward),
            "bf16 bf16");
}

}  // namespace
}  // namespace hone::passes
