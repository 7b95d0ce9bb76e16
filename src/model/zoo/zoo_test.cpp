#include "model/zoo/zoo.h"

#include <algorithm>
#include <set>

#include <gmock/gmock.h>

#include "graph/text.h"
#include "graph/verify.h"
#include "model/zoo/models.h"

namespace hone::model {
namespace {

using ::testing::HasSubstr;
using zoo::Built;

Result<Built> tiny_unet(zoo::Common common) {
  return zoo::build_unet(common, {.size = 8, .base = 2, .levels = 2});
}

int64_t operators(const graph::Graph& graph, const std::string& op) {
  return std::count_if(graph.nodes().begin(), graph.nodes().end(),
                       [&](const graph::Node& node) { return node.op == op; });
}

// What the graph holds as floats, less what is not trained.
int64_t trained_elements(const graph::Graph& graph) {
  int64_t count = 0;
  for (const graph::Value& value : graph.values()) {
    const bool statistic = value.name.find("running_") != std::string::npos;
    const bool constant = value.name.find("Constant") != std::string::npos;
    if (value.is_constant() && value.type.dtype == DType::kF32 && !statistic && !constant)
      count += value.constant->size();
  }
  return count;
}

TEST(Zoo, HasThePublishedNumbersOfParameters) {
  for (const ZooModel& model : zoo_models()) {
    const auto graph = build_zoo_model(model.name);
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    EXPECT_EQ(trained_elements(*graph), model.parameters) << model.name;
    EXPECT_TRUE(graph::verify(*graph).ok()) << graph::verify(*graph).error().message;
  }
}

TEST(Zoo, LeavesTheBatchOpenUnlessAsked) {
  EXPECT_EQ(build_zoo_model("mobilenet_v2")->symbols(), std::vector<std::string>{"batch"});
  const graph::Graph fixed = *build_zoo_model("mobilenet_v2", {.batch = 3, .size = 64});
  EXPECT_EQ(fixed.type(fixed.inputs()[0]).text(), "f32[3,3,64,64]");
  EXPECT_EQ(fixed.type(fixed.outputs()[0]).text(), "f32[3,1000]");
}

TEST(Zoo, DrawsWeightsFromTheSeedAndTheirNames) {
  const graph::Graph first = tiny_unet({.seed = 1})->graph;
  const graph::Graph again = tiny_unet({.seed = 1})->graph;
  const graph::Graph other = tiny_unet({.seed = 2})->graph;
  const auto weights = [](const graph::Graph& graph, const char* name) {
    return *graph.value(graph.find_value(name)).constant;
  };
  const char* const name = "down1.maxpool_conv.1.double_conv.0.weight";
  EXPECT_TRUE(graph::equivalent(first, again));
  EXPECT_TRUE(same_tensor(weights(first, name), weights(again, name)));
  EXPECT_FALSE(same_tensor(weights(first, name), weights(other, name)));
  // A smaller network has the same weights under the same name and shape.
  const graph::Graph shallow = zoo::build_unet({.seed = 1}, {.size = 8, .base = 2, .levels = 1})->graph;
  EXPECT_TRUE(same_tensor(weights(first, name), weights(shallow, name)));
}

TEST(Zoo, WritesOperatorsAsExportersDo) {
  const graph::Graph unet = tiny_unet({})->graph;
  EXPECT_EQ(operators(unet, "BatchNormalization"), 10);
  EXPECT_EQ(operators(unet, "ConvTranspose"), 2);
  EXPECT_EQ(operators(unet, "Conv"), 11);
}

TEST(Zoo, SaysWhatItHasAndWhichSizesFit) {
  EXPECT_THAT(build_zoo_model("alexnet").error().message, HasSubstr("there are unet, resnet50"));
  EXPECT_THAT(build_zoo_model("unet", {.size = 250}).error().message, HasSubstr("not a multiple of 16"));
  EXPECT_THAT(build_zoo_model("bert_mlm", {.sizes = {{"heads", 5}}}).error().message,
              HasSubstr("5 heads do not divide a hidden size of 768"));
  EXPECT_THAT(build_zoo_model("bert_mlm", {.size = 513}).error().message,
              HasSubstr("a length of 513 is not in [1, 512]"));
}

}  // namespace
}  // namespace hone::model
