#include <gtest/gtest.h>

#include "graph/builder.h"
#include "graph/op_table.h"
#include "graph/text.h"
#include "graph/verify.h"

namespace hone::graph {
namespace {

Graph example() {
  GraphBuilder b("example");
  ValueId x = b.input("x", tensor_type(DType::kF32, Dims{Dim::symbol("batch"), 4}));
  ValueId w = b.constant("w/ odd \"name\"\n", Tensor::f32({4}, std::vector<float>{1, -0.5F, 3e-7F, 1e30F}));
  ValueId y = b.add("Add", {x, w});
  ValueId z = b.add("Relu", {y});
  b.output(z);
  return *std::move(b).finish();
}

TEST(GraphText, RoundTrips) {
  const Graph graph = example();
  const std::string text = print(graph, Constants::kFull);
  auto parsed = parse(text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message << "\n" << text;
  EXPECT_TRUE(same_graph(graph, *parsed)) << text << print(*parsed, Constants::kFull);
  EXPECT_TRUE(verify(*parsed).ok());
}

TEST(GraphText, BigConstantsRoundTripBitwise) {
  GraphBuilder b("big");
  Tensor data(DType::kF32, {5, 7});
  for (int i = 0; i < 35; ++i) data.as<float>()[static_cast<std::size_t>(i)] = static_cast<float>(i) / 3.0F;
  b.output(b.add("Relu", {b.constant("w", data)}));
  const Graph graph = *std::move(b).finish();
  auto parsed = parse(print(graph, Constants::kFull));
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_TRUE(same_graph(graph, *parsed));
}

TEST(GraphText, ErrorsNameTheLine) {
  auto parsed = parse("graph \"g\" (%x: f32[2]) {\n  %y: f32[2] = Relu(%nothing)\n  return %y\n}");
  ASSERT_FALSE(parsed.ok());
  EXPECT_NE(parsed.error().message.find("line 2"), std::string::npos) << parsed.error().message;
  EXPECT_NE(parsed.error().message.find("nothing"), std::string::npos);
}

TEST(GraphText, RefusesShapesThatNoTensorHas) {
  const auto error_of = [](const std::string& shape) {
    auto parsed = parse("graph \"g\" (%x: f32[" + shape + "]) {\n  return %x\n}");
    return parsed.ok() ? "no error" : parsed.error().message;
  };
  EXPECT_NE(error_of("2,-1").find("the extent -1 is negative"), std::string::npos) << error_of("2,-1");
  EXPECT_NE(error_of("n,-1").find("the extent -1 is negative"), std::string::npos);
  EXPECT_NE(error_of("4611686018427387904,8").find("more elements than memory can hold"), std::string::npos);
}

TEST(GraphText, AConstantIsOneValueWithAName) {
  EXPECT_FALSE(parse("graph \"g\" (%x: f32[2]) { _ = constant dense(1.0) return %x }").ok());
  EXPECT_FALSE(
      parse("graph \"g\" (%x: f32[2]) { %a: f32[1], %b: f32[1] = constant dense(1.0) return %a }").ok());
}

TEST(GraphText, EveryPrefixOfAGraphIsAnErrorNotACrash) {
  const std::string text = print(example(), Constants::kFull);
  for (std::size_t n = 0; n + 2 < text.size(); ++n)
    EXPECT_FALSE(parse(std::string_view(text).substr(0, n)).ok()) << n;
}

TEST(GraphBuilder, DropsWhatNothingUses) {
  GraphBuilder b("g");
  ValueId x = b.input("x", tensor_type(DType::kF32, Shape{2}));
  b.add("Neg", {x});
  b.output(b.add("Relu", {x}));
  const Graph graph = *std::move(b).finish();
  EXPECT_EQ(graph.nodes().size(), 1u);
}

TEST(GraphBuilder, KeepsTheInterfacesNamesWhenAnOutputIsReplaced) {
  GraphBuilder b("g");
  ValueId x = b.input("x", tensor_type(DType::kF32, Shape{2}));
  ValueId y = b.add("Identity", {x}, {}, "keep");
  b.output(y);
  b.replace_all_uses(y, x);  // an output cannot be an input under another name: an Identity stays
  const Graph graph = *std::move(b).finish();
  EXPECT_EQ(graph.value(graph.outputs()[0]).name, "keep.out");
  EXPECT_EQ(graph.value(graph.inputs()[0]).name, "x");
  EXPECT_TRUE(verify(graph).ok());
}

TEST(GraphBuilder, RefusesACycle) {
  GraphBuilder b("g");
  ValueId x = b.input("x", tensor_type(DType::kF32, Shape{2}));
  ValueId y = b.add("Add", {x, x});
  ValueId z = b.add("Relu", {y});
  b.replace_input(b.value(y).producer, 1, z);
  b.output(z);
  auto graph = std::move(b).finish();
  ASSERT_FALSE(graph.ok());
  EXPECT_NE(graph.error().message.find("cycle"), std::string::npos);
}

// Momentum: v' = v + x, w' = w + v'.
Graph with_state() {
  GraphBuilder b("momentum");
  const TensorType type = tensor_type(DType::kF32, Shape{2});
  const ValueId w = b.input("w", type);
  const ValueId x = b.input("x", type);
  const ValueId v = b.input("v-", type);
  const ValueId v_next = b.add("Add", {v, x}, {}, "v_next");
  b.output(b.add("Neg", {x}));
  b.next_value(v, v_next);
  b.next_value(w, b.add("Add", {w, v_next}, {}, "w_next"));
  return *std::move(b).finish();
}

TEST(GraphState, PairsInputsWithOutputs) {
  const Graph graph = with_state();
  ASSERT_TRUE(verify(graph).ok());
  ASSERT_EQ(graph.states().size(), 2U);
  const StatePair* v = graph.state_of_input(2);
  ASSERT_NE(v, nullptr);
  EXPECT_EQ(graph.value(graph.state_input(*v)).name, "v-");
  EXPECT_EQ(graph.value(graph.next_value(*v)).name, "v_next.out");
  EXPECT_EQ(graph.state_of_input(1), nullptr);
  EXPECT_EQ(graph.state_of_output(0), nullptr);
  EXPECT_EQ(graph.state_of_output(1), v);
}

TEST(GraphState, TextFormRoundTrips) {
  const Graph graph = with_state();
  const std::string text = print(graph, Constants::kFull);
  EXPECT_NE(text.find("return %neg.out, %v_next.out -> %v-, %w_next.out -> %w\n"), std::string::npos) << text;
  const auto parsed = parse(text);
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_TRUE(same_graph(graph, *parsed)) << print(*parsed);
  GraphBuilder without(graph);
  without.set_states({});
  EXPECT_FALSE(equivalent(graph, *std::move(without).finish()));
  EXPECT_FALSE(parse("graph \"g\" (%x: f32[2]) { %y: f32[2] = Relu(%x) return %y -> %y }").ok());
}

TEST(GraphState, SurvivesWhatAPassDoesToItsValues) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", tensor_type(DType::kF32, Shape{2}));
  const ValueId y = b.add("Relu", {x}, {}, "y");
  b.next_value(x, y);
  b.replace_all_uses(y, b.add("Neg", {x}));
  const Graph graph = *std::move(b).finish();
  ASSERT_TRUE(verify(graph).ok());
  EXPECT_EQ(graph.nodes()[graph.value(graph.next_value(graph.states().at(0))).producer.index].op, "Neg");
}

std::string state_error(std::vector<StatePair> states, Shape x = {2}) {
  GraphBuilder b("g");
  const ValueId a = b.input("a", tensor_type(DType::kF32, Shape{2}));
  const ValueId c = b.input("c", tensor_type(DType::kF32, std::move(x)));
  b.output(b.add("Relu", {a}, {}, "r"));
  b.output(b.add("Relu", {c}, {}, "s"));
  b.set_states(std::move(states));
  const Status status = verify(*std::move(b).finish());
  return status.ok() ? "" : status.error().message;
}

TEST(Verify, StatesPairEachInputAndOutputOnceAndKeepTheType) {
  EXPECT_EQ(state_error({{0, 0}, {1, 1}}), "");
  EXPECT_EQ(state_error({{0, 2}}), "graph 'g': a state pairs input 0 with output 2, but there are 2 and 2");
  EXPECT_EQ(state_error({{0, 0}, {0, 1}}), "graph 'g': input 'a' has two next values; a state has one");
  EXPECT_EQ(state_error({{0, 1}, {1, 1}}),
            "graph 'g': output 's.out' is the next value of two inputs; list it once for each");
  EXPECT_EQ(
      state_error({{0, 1}}, {3}),
      "graph 'g': 's.out' (f32[3]) is said to be the next value of 'a' (f32[2]): both must have one type");
}

TEST(Verify, OnlyTheWholeGraphHasState) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", tensor_type(DType::kF32, Shape{2}));
  Node group;
  group.op = "hone.Fused";
  group.name = "group";
  group.inputs = {x};
  group.attributes.set("kind", std::string("pointwise"));
  group.bodies = {std::make_shared<const Graph>(
      *parse("graph \"body\" (%x: f32[2]) { %y: f32[2] = Relu(%x) return %y -> %x }"))};
  const auto made = b.try_add(std::move(group), std::vector<std::string>{"y"});
  ASSERT_TRUE(made.ok()) << made.error().message;
  b.output(made->at(0));
  const Status status = verify(*std::move(b).finish());
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("sub-graph with state"), std::string::npos);
}

TEST(OpTable, EveryEntryHasASummaryAndCompleteArity) {
  for (const OpEntry* entry : op_table().entries()) {
    EXPECT_FALSE(entry->summary.empty()) << entry->name;
    EXPECT_TRUE(entry->max_inputs < 0 || entry->max_inputs >= entry->min_inputs) << entry->name;
  }
}

TEST(Verify, NamesTheNodeWithAWrongType) {
  GraphBuilder b("g");
  ValueId x = b.input("x", tensor_type(DType::kF32, Shape{2}));
  ValueId y = b.add("Relu", {x}, {}, "the_relu");
  b.set_type(y, tensor_type(DType::kF32, Shape{3}));
  b.output(y);
  const Status status = verify(*std::move(b).finish());
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("the_relu"), std::string::npos) << status.error().message;
}

const char* const kOffloaded = R"(graph "offload" (%x: f32[2,3,4,4]@blocked8@device1, %h: f32[3]@host) {
  %a: f32[2,3,4,4]@blocked8@device1 = Relu(%x) "a" from ["a"]
  %b: f32[2,3,4,4]@blocked8@host = hone.CopyTo(%a) {device = "host"} "b" from ["b"]
  %c: f32[3]@host = Neg(%h) "c" from ["c"]
  return %b, %c
})";

TEST(Devices, ArePartOfATypeAndSurviveTheTextForm) {
  const auto graph = parse(kOffloaded);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_TRUE(verify(*graph).ok());
  EXPECT_EQ(graph->type(graph->inputs()[0]).device, DeviceId(1));
  EXPECT_EQ(graph->type(graph->outputs()[0]).text(), "f32[2,3,4,4]@blocked8@host");
  EXPECT_TRUE(graph->type(graph->outputs()[1]).device.is_host()) << "where its input is";
  const auto again = parse(print(*graph, Constants::kFull));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(same_graph(*graph, *again));
  EXPECT_FALSE(parse("graph \"g\" (%x: f32[2]@nowhere) { return %x }").ok());
  EXPECT_FALSE(parse("graph \"g\" (%x: f32[2]@device) { return %x }").ok());
}

TEST(Devices, OperandsLieOnOneUnlessTheOperatorCopies) {
  GraphBuilder b("g");
  TensorType there = tensor_type(DType::kF32, Shape{3});
  there.device = DeviceId::host();
  const ValueId x = b.input("x", tensor_type(DType::kF32, Shape{3})), h = b.input("h", there);
  Node add;
  add.op = "Add";
  add.inputs = {x, h};
  const std::string name = "y";
  const auto mixed = b.try_add(add, std::span(&name, 1));
  ASSERT_FALSE(mixed.ok());
  EXPECT_NE(mixed.error().message.find("input 0 lies on device0, input 1 on host: add a hone.CopyTo"),
            std::string::npos)
      << mixed.error().message;
  const ValueId here = b.add("hone.CopyTo", {h}, {{"device", std::string("device0")}});
  EXPECT_EQ(b.type(here).device, DeviceId());
  b.output(b.add("Add", {x, here}));
  const ValueId w = b.constant("w", Tensor::f32({3}, std::vector<float>{1, 2, 3}));
  const ValueId beside = b.add("Mul", {h, w});  // constants lie wherever they are read
  EXPECT_TRUE(b.type(beside).device.is_host());
  b.output(beside);
  const auto graph = std::move(b).finish();
  ASSERT_TRUE(graph.ok());
  EXPECT_TRUE(verify(*graph).ok()) << verify(*graph).error().message;
}

TEST(Devices, AreNamed) {
  for (const char* text : {"host", "device0", "device1", "device254"})
    EXPECT_EQ(DeviceId::from_text(text)->text(), text);
  for (const char* text : {"", "Host", "device", "device255", "device1000", "device-1", "device1x"})
    EXPECT_FALSE(DeviceId::from_text(text)) << text;
}

TEST(GraphBuilder, ReferencesOutliveWhatIsAddedAfterThem) {
  GraphBuilder b("g");
  const ValueId x = b.input("x", tensor_type(DType::kF32, Shape{2}));
  ValueId last = b.add("Relu", {x});
  const Node& first = b.node(b.value(last).producer);
  const Value& input = b.value(x);
  const TensorType& type = b.type(last);
  for (int i = 0; i < 5000; ++i) last = b.add("Neg", {last});
  b.output(last);
  EXPECT_EQ(&first, &b.node(NodeId{0}));
  EXPECT_EQ(first.op, "Relu");
  EXPECT_EQ(&input, &b.value(x));
  EXPECT_EQ(input.name, "x");
  EXPECT_EQ(type.text(), "f32[2]");
}

std::string verify_error(const std::string& text) {
  const auto graph = parse("graph \"g\" " + text);
  if (!graph.ok()) return graph.error().message;
  const Status status = verify(*graph);
  return status.ok() ? "" : status.error().message;
}

TEST(Verify, OperatorsOfAnyNumberOfInputsNeedThemAll) {
  for (const char* node : {"Concat(%x, none) {axis = 0}", "Sum(%x, none)", "hone.Recompute(none, %x)"})
    EXPECT_NE(verify_error(std::string("(%x: f32[2]) { %y: f32[*] = ") + node + " return %y }")
                  .find("is required, but absent"),
              std::string::npos)
        << node;
}

TEST(Verify, LayoutsStandOnlyWhereAnOperatorTakesThem) {
  const auto with = [](const std::string& node) {
    return verify_error(
        "(%x: f32[1,16,4,4]) { %b: f32[1,16,4,4]@blocked16 = hone.Reorder(%x) "
        "{layout = \"blocked16\"} %c: f32[*]" +
        node + " %y: f32[*] = hone.Reorder(%c) {layout = \"plain\"} return %y }");
  };
  EXPECT_EQ(with("@blocked16 = Relu(%b)"), "");
  EXPECT_EQ(with("@blocked16 = hone.Recompute(%b)"), "");
  EXPECT_NE(with(" = Transpose(%b)")
                .find("input 0 has layout blocked16, but Transpose reads plain tensors: "
                      "add a hone.Reorder"),
            std::string::npos)
      << with(" = Transpose(%b)");
  EXPECT_NE(with("@blocked16 = Softmax(%b) {axis = 1}").find("Softmax reads plain tensors"),
            std::string::npos);
}

std::string looping(const std::string& body) {
  return "(%n: i64[], %c: bool[], %x: f32[2], %w: f32[3]) { %y: f32[*] = Loop(%n, %c, %x, %w) captures 1 "
         "\"loop\" graph \"body\" " +
         body + " return %y }";
}

TEST(Verify, BodiesFitWhatTheyAreGiven) {
  EXPECT_EQ(verify_error(looping("(%i: i64[], %g: bool[], %v: f32[2], %k: f32[3]) { %u: f32[2] = Neg(%v) "
                                 "return %g, %u }")),
            "");
  const std::string capture = verify_error(
      looping("(%i: i64[], %g: bool[], %v: f32[2], %k: f32[4]) { %u: f32[2] = Neg(%v) return %g, %u }"));
  EXPECT_NE(capture.find("its body takes 'k' as f32[4], but input 3, which it captures, is f32[3]"),
            std::string::npos)
      << capture;
  const std::string carried = verify_error(
      looping("(%i: i64[], %g: bool[], %v: i64[2], %k: f32[3]) { %u: i64[2] = Neg(%v) return %g, %u }"));
  EXPECT_NE(carried.find("its body takes i64 as 'v', but input 2 is f32"), std::string::npos) << carried;
  const std::string next = verify_error(looping(
      "(%i: i64[], %g: bool[], %v: f32[2], %k: f32[3]) { %u: i64[2] = Cast(%v) {to = 7} return %g, %u }"));
  EXPECT_NE(next.find("its body takes 'v' as f32, but gives i64 ('u') for the next round"), std::string::npos)
      << next;
}

TEST(Purity, IsThatOfAllThatABodyHolds) {
  const auto pure = [](const std::string& draw) {
    const auto graph = parse(
        "graph \"g\" (%c: bool[], %x: f32[2]) { %y: f32[2] = If(%c, %x) captures 1 "
        "\"if\" graph \"a\" (%v: f32[2]) { %r: f32[2] = " +
        draw +
        " return %r } graph \"b\" (%v: f32[2]) { %r: f32[2] = Neg(%v) return %r } "
        "return %y }");
    if (!graph.ok()) throw std::logic_error(graph.error().message);
    return is_pure(graph->nodes()[0]);
  };
  EXPECT_TRUE(pure("Relu(%v)"));
  EXPECT_FALSE(pure("RandomNormalLike(%v)"));
}

}  // namespace
}  // namespace hone::graph
