#include "model/conformance/cases.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "graph/builder.h"
#include "model/onnx/tensor_file.h"
#include "model/onnx/writer.h"

namespace hone::model {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Conformance : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("hone_conformance_" + std::to_string(::getpid()));
    fs::create_directories(folder_ / "node" / "test_relu" / "test_data_set_0");
    fs::create_directories(folder_ / "light");
    graph::GraphBuilder b("relu");
    b.output(b.add("Relu", {b.input("x", graph::tensor_type(DType::kF32, Shape{1, 4}))}));
    graph_ = *std::move(b).finish();
    const Tensor tensor = Tensor::f32({1, 4}, std::vector<float>{0, 0.25f, 0.5f, 0.75f});
    write(folder_ / "node" / "test_relu" / "model.onnx", tensor,
          {"node/test_relu/test_data_set_0/input_0.pb", "node/test_relu/test_data_set_0/output_0.pb"});
    write(folder_ / "light" / "light_densenet121.onnx", tensor, {"light/light_densenet121_output_0.pb"});
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const fs::path& model, const Tensor& tensor, const std::vector<std::string>& tensors) const {
    ASSERT_TRUE(write_onnx(graph_, model).ok());
    for (const std::string& name : tensors) ASSERT_TRUE(write_tensor_file(folder_ / name, tensor).ok());
  }

  fs::path folder_;
  graph::Graph graph_;
};

TEST_F(Conformance, ListsTheTestsOfEveryKind) {
  const auto cases = find_conformance_cases(folder_);
  ASSERT_TRUE(cases.ok());
  ASSERT_EQ(cases->size(), 2u);
  EXPECT_EQ((*cases)[0].name, "light/light_densenet121");
  EXPECT_EQ((*cases)[0].rtol, 2e-3);
  EXPECT_EQ((*cases)[1].name, "node/test_relu");
  EXPECT_EQ((*cases)[1].rtol, 1e-3);
  EXPECT_EQ(find_conformance_cases(folder_ / "node" / "test_relu")->size(), 1u);
}

TEST_F(Conformance, LoadsOrGeneratesTheirData) {
  const auto cases = find_conformance_cases(folder_);
  for (const ConformanceCase& test : *cases) {
    const auto data = load_conformance_data(test, 0, graph_);
    ASSERT_TRUE(data.ok()) << data.error().message;
    EXPECT_THAT(data->inputs[0].to_doubles(), ElementsAre(0, 0.25, 0.5, 0.75));
    EXPECT_THAT(data->outputs[0].to_doubles(), ElementsAre(0, 0.25, 0.5, 0.75));
    EXPECT_FALSE(load_conformance_data(test, 1, graph_).ok());
  }
}

TEST_F(Conformance, SaysWhereItFoundNothing) {
  EXPECT_THAT(find_conformance_cases(folder_ / "none").error().message, HasSubstr("no such folder"));
  fs::create_directories(folder_ / "empty");
  EXPECT_THAT(find_conformance_cases(folder_ / "empty").error().message, HasSubstr("no tests here"));
}

}  // namespace
}  // namespace hone::model
