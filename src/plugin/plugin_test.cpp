#include "plugin/plugin.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/testing/source_folder.h"
#include "graph/verify.h"
#include "plugin/node_view.h"
#include "plugin/testing/affine_plugin.h"

namespace hone::plugin {
namespace {

using testing::affine_graph;
using testing::AffinePlugin;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::try_custom;

// What a plugin is refused with that was changed by `change`.
template <typename Change>
std::string refusal(const Change& change) {
  AffinePlugin plugin;
  change(plugin);
  const auto operators = plugin.describe();
  return operators.ok() ? "" : operators.error().message;
}

TEST(PluginIsDescribed, AsAnEntryWithTheLibraryInItsIdentity) {
  const AffinePlugin plugin;
  const auto custom = plugin.described();
  EXPECT_EQ(custom->name, "test.Affine");
  EXPECT_EQ(custom->plugin, "affine 1.0");
  EXPECT_EQ(custom->entry.name, "test.Affine");
  EXPECT_EQ(custom->entry.max_inputs, 2);
  EXPECT_TRUE(custom->entry.pure);
  EXPECT_NE(custom->identity, (*plugin.describe("another build"))[0]->identity);
  EXPECT_THAT(custom->identity, HasSubstr("affine 1.0"));
}

TEST(PluginIsRefused, WhereWhatItSaysOfItselfMakesNoSense) {
  EXPECT_EQ(refusal([](AffinePlugin&) {}), "");
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.given.abi = 2; }),
              AllOf(HasSubstr("libaffine.so"), HasSubstr("version 2"), HasSubstr("knows version 1")));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.given.abi = 0; }), HasSubstr("version 0"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.given.name = nullptr; }), HasSubstr("its name is NULL"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.given.name = "a b"; }), HasSubstr("other characters"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.given.version = ""; }), HasSubstr("its version"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.given.operator_count = 0; }), HasSubstr("no operators"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.given.operators = nullptr; }), HasSubstr("no operators"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.operators[0] = nullptr; }), HasSubstr("operator 0: is NULL"));
}

TEST(PluginIsRefused, WhereAnOperatorMakesNoSense) {
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.affine.name = nullptr; }),
              HasSubstr("operator 0: its name is NULL"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.affine.name = "A.B"; }), HasSubstr("other characters"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.affine.domain = ""; }),
              AllOf(HasSubstr("operator 'Affine'"), HasSubstr("a domain of its own")));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.affine.domain = "ai.onnx"; }),
              HasSubstr("a domain of its own"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.affine.domain = "hone"; }), HasSubstr("hone's own"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.affine.domain = "d/e"; }),
              HasSubstr("domain of other characters"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.affine.since_version = 0; }), HasSubstr("since_version 0"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.affine.min_inputs = 3; }), HasSubstr("takes 3 to 2 inputs"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.affine.min_outputs = 0; }), HasSubstr("gives 0 to 1 outputs"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.affine.flags = 6; }), HasSubstr("flags 0x6"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.affine.infer = nullptr; }), HasSubstr("infer is NULL"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.affine.attributes = nullptr; }),
              HasSubstr("attributes is NULL"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.attributes[1].name = nullptr; }),
              HasSubstr("attribute 1 has no name"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.attributes[1].name = "alpha"; }), HasSubstr("listed twice"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.attributes[0].kind = 99; }),
              HasSubstr("'alpha' is of kind 99"));
}

TEST(PluginIsRefused, WhereAnOperatorIsOneThatHoneHas) {
  const auto refusal_of = [](const char* domain, const char* name) {
    return refusal([&](AffinePlugin& p) {
      p.affine.domain = domain;
      p.affine.name = name;
    });
  };
  EXPECT_THAT(refusal_of("", "Conv"), AllOf(HasSubstr("operator 'Conv'"), HasSubstr("hone has already")));
  EXPECT_THAT(refusal_of("ai.onnx", "Conv"), HasSubstr("hone has already"));
  EXPECT_THAT(refusal_of("hone", "Fused"), HasSubstr("hone has already"));
  EXPECT_EQ(refusal_of("mine", "Conv"), "");
}

TEST(PluginIsRefused, WhereAKernelMakesNoSense) {
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.affine.cpu_kernels = nullptr; }),
              HasSubstr("cpu_kernels is NULL"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.cpu[1] = nullptr; }), HasSubstr("cpu kernel 1 is NULL"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.plain.name = ""; }), HasSubstr("cpu kernel 1 has no name"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.plain.name = "a\tb"; }), HasSubstr("cpu kernel 1 has no name"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.plain.name = "rows"; }),
              HasSubstr("two cpu kernels are named 'rows'"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.rows.run = nullptr; }),
              HasSubstr("cpu kernel 'rows': run is NULL"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.gpu.source = nullptr; }), HasSubstr("source is NULL"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.gpu.plan = nullptr; }), HasSubstr("plan is NULL"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.gpu.option_count = 1; }), HasSubstr("options is NULL"));
  EXPECT_THAT(refusal([](AffinePlugin& p) { p.affine.cpu_kernel_count = 0; }),
              HasSubstr("neither a reference nor a cpu kernel"));
  hone_cpu_kernel nothing = {};
  EXPECT_THAT(refusal([&](AffinePlugin& p) { p.affine.reference = &nothing; }),
              HasSubstr("reference: run is NULL"));
}

TEST(LoadPlugins, SaysWhatIsWrongWithAFile) {
  const auto refusal_of = [](const std::vector<std::string>& files) {
    const auto loaded = load_plugins(files);
    return loaded.ok() ? "" : loaded.error().message;
  };
  EXPECT_EQ(refusal_of({}), "");
  EXPECT_THAT(refusal_of({"/nowhere/libnone.so"}),
              AllOf(HasSubstr("/nowhere/libnone.so"), HasSubstr("no such file")));
  // A bare name is a file of this folder, never a library of the system's.
  EXPECT_THAT(refusal_of({"libm.so.6"}), HasSubstr("no such file"));
  EXPECT_THAT(refusal_of({source_folder().string()}), HasSubstr("is a folder"));
  EXPECT_THAT(refusal_of({(source_folder() / "README.md").string()}), HasSubstr("cannot be loaded"));
}

// --- types and costs ---

std::string error_of_affine(const AffinePlugin& plugin, graph::TensorType x, Attributes attributes = {}) {
  graph::GraphBuilder builder("g");
  const graph::ValueId input = builder.input("x", std::move(x));
  const auto y = try_custom(builder, plugin.described(), {input}, std::move(attributes));
  return y.ok() ? "" : y.error().message;
}

const graph::TensorType kTwoByThree = graph::tensor_type(DType::kF32, Shape{2, 3});

TEST(PluginInfers, TypesThatKeepSymbolsAndCosts) {
  const AffinePlugin plugin;
  graph::GraphBuilder builder("g");
  const graph::ValueId x = builder.input(
      "x", graph::tensor_type(DType::kF32, graph::Dims{graph::Dim::symbol("batch"), graph::Dim()}));
  const auto y = try_custom(builder, plugin.described(), {x});
  ASSERT_TRUE(y.ok()) << y.error().message;
  EXPECT_EQ(builder.type(*y).text(), "f32[batch,?]");

  const graph::Graph known = affine_graph(plugin, 5, 7);
  EXPECT_TRUE(graph::verify(known).ok()) << graph::verify(known).error().message;
  const graph::Cost cost = graph::node_cost(known, known.nodes()[0]);
  EXPECT_EQ(cost.flops, 70);
  EXPECT_EQ(cost.bytes_read, 4 * (35 + 7));
  EXPECT_EQ(cost.bytes_written, 4 * 35);
}

TEST(PluginInfers, NamingThePluginInItsErrors) {
  const AffinePlugin plugin;
  EXPECT_THAT(error_of_affine(plugin, graph::tensor_type(DType::kF32, Shape{2})),
              AllOf(HasSubstr("plugin affine 1.0"), HasSubstr("x has rank 1, not 2")));
  EXPECT_THAT(error_of_affine(plugin, graph::tensor_type(DType::kString, Shape{2, 3})),
              HasSubstr("tensors of numbers"));
  EXPECT_THAT(error_of_affine(plugin, kTwoByThree, {{"alpha", int64_t{1}}}),
              HasSubstr("attribute 'alpha' has the wrong type: an int, where test.Affine takes a float"));
  EXPECT_THAT(error_of_affine(plugin, kTwoByThree, {{"beta", 1.0F}}),
              HasSubstr("'beta' is not one of test.Affine"));
  AffinePlugin throwing;
  throwing.affine.infer = [](const hone_node*, hone_tensor_type*, hone_error*) -> int {
    throw std::out_of_range("index 9");
  };
  EXPECT_THAT(error_of_affine(throwing, kTwoByThree), HasSubstr("threw an exception: index 9"));
  AffinePlugin silent;
  silent.affine.infer = [](const hone_node*, hone_tensor_type*, hone_error*) { return 7; };
  EXPECT_THAT(error_of_affine(silent, kTwoByThree), HasSubstr("failed without saying why"));
}

template <auto kGive>
int give(const hone_node*, hone_tensor_type* outputs, hone_error*) {
  outputs[0] = kGive();
  return 0;
}

template <auto kGive>
std::string error_of_type() {
  AffinePlugin plugin;
  plugin.affine.infer = give<kGive>;
  return error_of_affine(plugin, kTwoByThree);
}

TEST(PluginInfers, NothingThatMakesNoSense) {
  EXPECT_THAT((error_of_type<[] {
                return hone_tensor_type{HONE_F32, -1, {}};
              }>()),
              HasSubstr("output 0: infer() did not set its type"));
  EXPECT_THAT((error_of_type<[] { return hone_tensor_type{0, 1, {3}}; }>()), HasSubstr("element type 0"));
  EXPECT_THAT((error_of_type<[] { return hone_tensor_type{8, 1, {3}}; }>()), HasSubstr("element type 8"));
  EXPECT_THAT((error_of_type<[] { return hone_tensor_type{HONE_F32, 17, {}}; }>()), HasSubstr("rank 17"));
  EXPECT_THAT((error_of_type<[] { return hone_tensor_type{HONE_F32, -5, {}}; }>()), HasSubstr("rank -5"));
  EXPECT_THAT((error_of_type<[] {
                return hone_tensor_type{HONE_F32, 1, {-9}};
              }>()),
              AllOf(HasSubstr("axis 0"), HasSubstr("extent -9 is negative")));
  EXPECT_THAT((error_of_type<[] {
                return hone_tensor_type{HONE_F32, 1, {std::numeric_limits<int64_t>::min()}};
              }>()),
              HasSubstr("is negative"));
  EXPECT_THAT((error_of_type<[] {
                return hone_tensor_type{HONE_F32, 2, {int64_t{1} << 40, int64_t{1} << 40}};
              }>()),
              AllOf(HasSubstr("plugin affine 1.0"), HasSubstr("more elements than memory")));
}

TEST(PluginInfers, NoCostThatMakesNoSense) {
  AffinePlugin plugin;
  plugin.affine.cost = [](const hone_node*, hone_cost* cost, hone_error*) {
    cost->flops = std::nan("");
    return 0;
  };
  EXPECT_THAT(error_of_affine(plugin, kTwoByThree), HasSubstr("cost() gave flops = nan"));
  plugin.affine.cost = [](const hone_node*, hone_cost* cost, hone_error*) {
    cost->bytes_read = -1;
    return 0;
  };
  EXPECT_THAT(error_of_affine(plugin, kTwoByThree), HasSubstr("cost() gave bytes_read = -1"));
  plugin.affine.cost = [](const hone_node*, hone_cost*, hone_error* error) {
    return hone_fail(error, "no idea");
  };
  EXPECT_THAT(error_of_affine(plugin, kTwoByThree), HasSubstr("cost(): no idea"));
}

TEST(NodeView, ShowsAttributesOfEveryKindAndKnownData) {
  const AffinePlugin plugin;
  graph::Node node;
  node.custom = plugin.described();
  node.name = "n";
  node.attributes = {{"i", int64_t{-3}},
                     {"f", 1.5F},
                     {"s", std::string("text")},
                     {"is", Ints{1, 2, 3}},
                     {"fs", Floats{0.5F}},
                     {"ss", Strings{"a", "bc"}},
                     {"t", Tensor::f32({2}, std::vector<float>{4, 5})}};
  NodeView view(node);
  const Tensor known = Tensor::i64({2}, std::vector<int64_t>{8, 9});
  const graph::TensorType type = graph::tensor_type(DType::kI64, Shape{2});
  view.add_input(&type, &known);
  view.add_input(nullptr, nullptr);
  const hone_node& c = view.c();
  EXPECT_EQ(hone_integer(&c, "i", 0), -3);
  EXPECT_EQ(hone_integer(&c, "f", 11), 11);  // of another kind
  EXPECT_EQ(hone_real(&c, "f", 0), 1.5);
  EXPECT_STREQ(hone_string(&c, "s", ""), "text");
  const hone_attribute* const integers = hone_find_attribute(&c, "is");
  ASSERT_EQ(integers->count, 3);
  EXPECT_EQ(integers->integers[2], 3);
  EXPECT_EQ(hone_find_attribute(&c, "fs")->reals[0], 0.5F);
  EXPECT_STREQ(hone_find_attribute(&c, "ss")->strings[1], "bc");
  EXPECT_EQ(static_cast<const float*>(hone_find_attribute(&c, "t")->tensor->data)[1], 5);
  EXPECT_EQ(hone_find_attribute(&c, "none"), nullptr);
  ASSERT_EQ(c.input_count, 2);
  EXPECT_EQ(static_cast<const int64_t*>(c.inputs[0]->data)[1], 9);
  EXPECT_EQ(c.inputs[1], nullptr);
}

}  // namespace
}  // namespace hone::plugin
