// What the reader says of models that are broken, hostile, or not models at all.
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "model/onnx/test_read.h"

namespace hone::model {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using namespace testing;

TestGraph one_relu() {
  TestGraph graph;
  graph.nodes = {node("Relu", {"x"}, {"y"}, {}, "act")};
  graph.inputs = {value_info("x", {2, 3})};
  graph.outputs = {value_info("y", {2, 3})};
  return graph;
}

class BadFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("hone_bad_onnx_" + std::to_string(::getpid()) + "_" +
                                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_ / "inside");
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }

  fs::path folder_;
};

TEST_F(BadFile, MissingEmptyAndGarbageFilesAreNamed) {
  EXPECT_THAT(read_onnx(folder_ / "none.onnx").error().message, HasSubstr("none.onnx"));
  EXPECT_FALSE(read_onnx(folder_).ok());
  const fs::path empty = write("empty.onnx", "");
  EXPECT_THAT(read_onnx(empty).error().message, HasSubstr("empty.onnx"));
  const fs::path garbage = write("garbage.onnx", "this is no model, it is text");
  EXPECT_THAT(read_onnx(garbage).error().message, StartsWith(garbage.string() + ": not a"));
}

TEST(BadModel, EveryPrefixOfAModelIsRefused) {
  TestGraph graph = one_relu();
  graph.nodes = {node("Add", {"x", "w"}, {"y"})};
  graph.initializers = {float_tensor("w", {3}, {1, 2, 3})};
  Proto proto;  // the graph last, so that no prefix is complete
  proto.integer(1, 10).message(8, opset_import("", 21)).message(7, graph.to_proto());
  ASSERT_EQ(error_of(proto.text()), "accepted");
  for (std::size_t size = 0; size < proto.text().size(); ++size)
    EXPECT_NE(error_of(proto.text().substr(0, size)), "accepted") << size;
}

TEST(BadModel, EverySingleByteMayChangeWithoutACrash) {
  TestGraph graph = one_relu();
  graph.nodes = {node("Add", {"x", "w"}, {"y"}, {attribute("axis", int64_t{1})})};
  graph.initializers = {float_tensor("w", {3}, {1, 2, 3})};
  const std::string whole = model(graph, 6);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int change : {0x01, 0x80, 0xff}) {
      std::string bytes = whole;
      bytes[at] = static_cast<char>(bytes[at] ^ change);
      const auto result = read_onnx_bytes(bytes);
      EXPECT_TRUE(result.ok() || !result.error().message.empty());
    }
  }
}

TEST(BadModel, WhatTodaysExportersWriteIsNone) {
  EXPECT_EQ(error_of(model(one_relu(), 28, {}, 14)), "accepted");
  EXPECT_EQ(error_of(model(one_relu(), 21, {}, 14)), "accepted");
}

TEST(BadModel, VersionsThatDoNotExistAreNamed) {
  EXPECT_THAT(error_of(model(one_relu(), 29)), ::testing::AllOf(HasSubstr("opset 29, newer than 28"),
                                                                HasSubstr("convert_version(model, 28)")));
  EXPECT_THAT(error_of(model(one_relu(), 21, {}, 15)),
              ::testing::AllOf(HasSubstr("IR 15"), HasSubstr("ir_version = 14")));
  EXPECT_THAT(error_of(model(one_relu(), 0)), HasSubstr("imports opset 0"));
  EXPECT_THAT(error_of(model(one_relu(), 21, {}, 99)), HasSubstr("IR 99"));
  EXPECT_THAT(error_of(model(one_relu(), 21, {}, -3)), HasSubstr("no format version"));
  EXPECT_THAT(error_of(Proto().integer(1, 10).message(7, one_relu().to_proto()).text()),
              HasSubstr("imports no opset"));
  EXPECT_THAT(error_of(Proto().integer(1, 10).text()), HasSubstr("no graph"));
  TestGraph graph = one_relu();
  graph.nodes = {node("Relu", {"x"}, {"y"}, {}, "act", "com.example")};
  EXPECT_THAT(error_of(graph), HasSubstr("imports no opset of its domain 'com.example'"));
}

TEST(BadModel, CyclesAreNamedNodeByNode) {
  TestGraph graph = one_relu();
  graph.nodes = {node("Add", {"x", "b"}, {"a"}, {}, "first"), node("Relu", {"a"}, {"b"}, {}, "second"),
                 node("Relu", {"b"}, {"y"}, {}, "third")};
  const std::string message = error_of(graph);
  EXPECT_THAT(message, HasSubstr("cycle through nodes"));
  EXPECT_THAT(message, HasSubstr("'first'"));
  EXPECT_THAT(message, HasSubstr("'second'"));
  graph.nodes = {node("Relu", {"y"}, {"y"}, {}, "self")};
  EXPECT_THAT(error_of(graph), HasSubstr("cycle through nodes 'self'"));
}

TEST(BadModel, MissingAndDuplicateNamesAreNamed) {
  TestGraph graph = one_relu();
  graph.nodes = {node("Relu", {"nowhere"}, {"y"}, {}, "act")};
  EXPECT_THAT(error_of(graph), HasSubstr("node 'act' (Relu): reads 'nowhere'"));
  graph = one_relu();
  graph.nodes.push_back(node("Abs", {"x"}, {"y"}, {}, "again"));
  EXPECT_THAT(error_of(graph), HasSubstr("'y' is produced twice, by nodes 'act' and 'again'"));
  graph = one_relu();
  graph.nodes = {node("Relu", {"x"}, {"x"}, {}, "act")};
  graph.outputs = {value_info("x", {2, 3})};
  EXPECT_NE(error_of(graph), "accepted");
  graph = one_relu();
  graph.inputs.push_back(graph.inputs[0]);
  EXPECT_THAT(error_of(graph), HasSubstr("two inputs are named 'x'"));
  graph = one_relu();
  graph.outputs.push_back(graph.outputs[0]);
  EXPECT_THAT(error_of(graph), HasSubstr("'y' is listed twice"));
  graph = one_relu();
  graph.outputs = {value_info("z", {2, 3})};
  EXPECT_THAT(error_of(graph), HasSubstr("output 'z'"));
  graph = one_relu();
  graph.outputs.clear();
  EXPECT_THAT(error_of(graph), HasSubstr("no outputs"));
  graph = one_relu();
  graph.initializers = {float_tensor("w", {1}, {1}), float_tensor("w", {1}, {2})};
  EXPECT_THAT(error_of(graph), HasSubstr("two initializers are named 'w'"));
  graph.initializers = {float_tensor("", {1}, {1})};
  EXPECT_THAT(error_of(graph), HasSubstr("initializer has no name"));
}

TEST(BadModel, ShapesThatCannotBeAreNamed) {
  TestGraph graph = one_relu();
  graph.inputs = {value_info("x", {-5, 3})};
  EXPECT_THAT(error_of(graph), HasSubstr("input 'x': extent -5 is negative"));
  graph.inputs = {value_info("x", {int64_t{1} << 40, int64_t{1} << 40})};
  EXPECT_THAT(error_of(graph), HasSubstr("input 'x'"));
  graph.inputs = {value_info("x", {2, 3}, 77)};
  EXPECT_THAT(error_of(graph), HasSubstr("element type 77"));
  graph.inputs = {Proto().bytes(1, "x")};
  EXPECT_THAT(error_of(graph), HasSubstr("input 'x' has no type"));
}

TEST(BadModel, WrongAttributesAndArityNameTheNode) {
  TestGraph graph = one_relu();
  graph.nodes = {node("Relu", {"x", "x"}, {"y"}, {}, "act")};
  EXPECT_THAT(error_of(graph), HasSubstr("node 'act' (Relu): has 2 inputs"));
  graph.nodes = {node("Relu", {"x"}, {"y"}, {attribute("speed", int64_t{9})}, "act")};
  EXPECT_THAT(error_of(graph), HasSubstr("attribute 'speed'"));
  graph.nodes = {node("Elu", {"x"}, {"y"}, {attribute("alpha", int64_t{9})}, "act")};
  EXPECT_THAT(error_of(graph), HasSubstr("attribute 'alpha' has the wrong type"));
  graph.nodes = {node("Elu", {"x"}, {"y"}, {attribute("alpha", 1.f), attribute("alpha", 2.f)}, "act")};
  EXPECT_THAT(error_of(graph), HasSubstr("attribute 'alpha' is given twice"));
  graph.nodes = {node("Add", {"x", ""}, {"y"}, {}, "sum")};
  EXPECT_THAT(error_of(graph), HasSubstr("node 'sum' (Add)"));
}

TEST(BadModel, ControlCharactersInNamesStayOutOfMessages) {
  TestGraph graph = one_relu();
  graph.nodes = {node("Relu", {"no\nwhere"}, {"y"}, {}, std::string(5000, 'n') + "\n")};
  const std::string message = error_of(graph);
  EXPECT_EQ(message.find('\n'), std::string::npos);
  EXPECT_LT(message.size(), 600u);
}

TEST(BadModel, SizesOutOfConstantsThatNoMemoryHoldsNameTheNode) {
  TestGraph graph = one_relu();
  graph.nodes = {node("ConstantOfShape", {"s"}, {"y"}, {}, "vast")};
  graph.initializers = {int_tensor("s", {2}, {int64_t{1} << 62, 2})};
  graph.outputs = {value_info("y", {})};
  EXPECT_THAT(error_of(graph), HasSubstr("node 'vast' (ConstantOfShape): its output's shape"));
  EXPECT_THAT(error_of(graph), HasSubstr("more elements than memory can hold"));
}

TEST(BadModel, BranchesOfDifferentDtypesAreRefused) {
  TestGraph then_branch;
  then_branch.nodes = {node("Relu", {"x"}, {"a"})};
  then_branch.outputs = {value_info("a", {2, 3})};
  TestGraph else_branch;
  else_branch.nodes = {node("Cast", {"x"}, {"b"}, {attribute("to", int64_t{kInt64})})};
  else_branch.outputs = {value_info("b", {2, 3}, kInt64)};
  TestGraph graph = one_relu();
  graph.inputs.push_back(value_info("flag", {}, 9));  // bool
  graph.nodes = {node("If", {"flag"}, {"y"},
                      {graph_attribute("then_branch", then_branch.to_proto()),
                       graph_attribute("else_branch", else_branch.to_proto())},
                      "choice")};
  EXPECT_THAT(error_of(graph), HasSubstr("node 'choice' (If): its branches give f32 and i64 for output 0"));
}

TEST(BadModel, FunctionsInACircleAreNamed) {
  const auto function = [](const std::string& name, const std::string& calls) {
    return Proto()
        .bytes(1, name)
        .bytes(10, "local")
        .bytes(4, "a")
        .bytes(5, "b")
        .message(7, node(calls, {"a"}, {"b"}, {}, "", "local"))
        .message(9, opset_import("local", 1));
  };
  TestGraph graph = one_relu();
  graph.nodes = {node("f", {"x"}, {"y"}, {}, "call", "local")};
  const std::string message = error_of(model(graph, 21, {function("f", "g"), function("g", "f")}));
  EXPECT_THAT(message, HasSubstr("function 'f' calls itself"));
  EXPECT_LT(message.size(), 200u) << message;
}

TEST(BadModel, APointerOfGitLfsIsToldFromAModel) {
  EXPECT_THAT(error_of("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 7\n"),
              HasSubstr("git lfs pull"));
}

// If in If in If …; or a sequence of sequences of …
TEST(BadModel, DeepNestingIsRefused) {
  TestGraph inner;
  inner.nodes = {node("Relu", {"x"}, {"o0"})};
  inner.outputs = {value_info("o0", {2, 3})};
  for (int depth = 1; depth < 400; ++depth) {
    const std::string name = "o" + std::to_string(depth);
    TestGraph outer;
    outer.nodes = {node("If", {"flag"}, {name}, {graph_attribute("then_branch", inner.to_proto())})};
    outer.outputs = {value_info(name, {2, 3})};
    inner = outer;
  }
  EXPECT_THAT(error_of(inner), HasSubstr("nested too deep"));
  Proto type = Proto().message(1, Proto().integer(1, kFloat));
  for (int depth = 0; depth < 400; ++depth) type = Proto().message(4, Proto().message(1, type));
  TestGraph graph = one_relu();
  graph.inputs = {Proto().bytes(1, "x").message(2, type)};
  EXPECT_THAT(error_of(graph), HasSubstr("nested too deep"));
}

// Every function calls the next one twice: 2^20 nodes and more.
TEST(BadModel, FunctionsThatMultiplyAreRefused) {
  std::vector<Proto> functions;
  for (int i = 0; i < 23; ++i) {
    Proto proto;
    const std::string next = "f" + std::to_string(i + 1);
    proto.bytes(1, "f" + std::to_string(i)).bytes(10, "local").bytes(4, "a").bytes(5, "c");
    for (int call = 0; call < 8; ++call)
      proto.message(7, i == 22 ? node("Relu", {"a"}, {"t" + std::to_string(call)})
                               : node(next, {"a"}, {"t" + std::to_string(call)}, {}, "", "local"));
    proto.message(7, node("Identity", {"t0"}, {"c"}))
        .message(9, opset_import("", 21))
        .message(9, opset_import("local", 1));
    functions.push_back(proto);
  }
  TestGraph graph = one_relu();
  graph.nodes = {node("f0", {"x"}, {"y"}, {}, "call", "local")};
  EXPECT_THAT(error_of(model(graph, 21, functions)), HasSubstr("more than 500000 nodes"));
}

Proto external_tensor(const std::string& location, const std::string& offset, const std::string& length) {
  Proto proto = tensor("w", kFloat, {3});
  const auto entry = [&](const char* key, const std::string& value) {
    if (!value.empty()) proto.message(13, Proto().bytes(1, key).bytes(2, value));
  };
  entry("location", location);
  entry("offset", offset);
  entry("length", length);
  return proto.integer(14, 1);
}

class ExternalFile : public BadFile {
 protected:
  Result<graph::Graph> read(const std::string& location, const std::string& offset = {},
                            const std::string& length = {}) const {
    TestGraph graph = one_relu();
    graph.nodes = {node("Add", {"x", "w"}, {"y"})};
    graph.initializers = {external_tensor(location, offset, length)};
    return read_onnx(write("inside/model.onnx", model(graph)));
  }
  std::string error(const std::string& location, const std::string& offset = {},
                    const std::string& length = {}) const {
    const auto graph = read(location, offset, length);
    return graph.ok() ? "accepted" : graph.error().message;
  }
};

TEST_F(ExternalFile, IsReadInsideTheModelsFolder) {
  const float values[] = {0, 1, 2, 3};
  write("inside/weights.bin", std::string(reinterpret_cast<const char*>(values), sizeof values));
  const auto graph = read("weights.bin", "4", "12");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const Tensor& weights = *graph->value(graph->find_value("w")).constant;
  EXPECT_THAT(weights.to_doubles(), ::testing::ElementsAre(1, 2, 3));
}

TEST_F(ExternalFile, IsNeverReadOutsideOfIt) {
  write("secret.bin", "0123456789ab");
  EXPECT_THAT(error("../secret.bin"), HasSubstr("not inside the model's folder"));
  EXPECT_THAT(error((folder_ / "secret.bin").string()), HasSubstr("not inside the model's folder"));
  EXPECT_THAT(error("a/../../secret.bin"), HasSubstr("not inside the model's folder"));
  fs::create_symlink(folder_ / "secret.bin", folder_ / "inside" / "link.bin");
  EXPECT_THAT(error("link.bin"), HasSubstr("not inside the model's folder"));
  fs::create_directory_symlink(folder_, folder_ / "inside" / "up");
  EXPECT_THAT(error("up/secret.bin"), HasSubstr("not inside the model's folder"));
  EXPECT_THAT(error(""), HasSubstr("not inside the model's folder"));
  EXPECT_THAT(error("."), HasSubstr("external data"));
}

TEST_F(ExternalFile, MustBeThereAndLongEnough) {
  EXPECT_THAT(error("none.bin"), HasSubstr("cannot open external data 'none.bin'"));
  write("inside/short.bin", "0123456789");
  EXPECT_THAT(error("short.bin"), HasSubstr("ends before"));
  EXPECT_THAT(error("short.bin", "99"), HasSubstr("ends before"));
  EXPECT_THAT(error("short.bin", "18446744073709551615", "12"), HasSubstr("ends before"));
  EXPECT_THAT(error("short.bin", "-4", "12"), HasSubstr("is not a number"));
  EXPECT_THAT(error("short.bin", "0", "8"), HasSubstr("does not fit"));
}

TEST(BadModel, ExternalDataNeedsAFile) {
  TestGraph graph = one_relu();
  graph.initializers = {external_tensor("weights.bin", "", "")};
  EXPECT_THAT(error_of(graph), HasSubstr("tensor 'w': its data is in another file"));
}

}  // namespace
}  // namespace hone::model
