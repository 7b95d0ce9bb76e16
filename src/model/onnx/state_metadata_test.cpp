#include "model/onnx/state_metadata.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "graph/text.h"
#include "graph/verify.h"
#include "model/onnx/reader.h"
#include "model/onnx/test_model.h"
#include "model/onnx/writer.h"

namespace hone::model {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

graph::Graph parsed_graph(const std::string& text) {
  auto graph = graph::parse("graph \"g\" " + text);
  if (!graph.ok()) throw std::logic_error(graph.error().message);
  return *std::move(graph);
}

Result<graph::Graph> written_and_read(const graph::Graph& graph, const WriteOptions& options = {}) {
  const fs::path path = fs::temp_directory_path() / ("hone_state_" + std::to_string(::getpid()) + ".onnx");
  if (Status written = write_onnx(graph, path, options); !written.ok()) return written.error();
  auto back = read_onnx(path);
  fs::remove(path);
  return back;
}

TEST(StateMetadata, RoundTripsWhateverTheNames) {
  const graph::Graph graph = parsed_graph(R"((%"w:0 = ü": f32[2], %x: f32[2], %n: f32[N,2]) {
    %g: f32[2] = hone.Fused(%x) {kind = "pointwise"} "group"
      graph "body" (%a: f32[2]) { %b: f32[2] = Relu(%a) return %b }
    %"w/next": f32[2] = Add(%"w:0 = ü", %g)
    %m: f32[N,2] = Neg(%n)
    return %g, %m -> %n, %"w/next" -> %"w:0 = ü"
  })");
  const auto back = written_and_read(graph);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_TRUE(graph::verify(*back).ok());
  EXPECT_THAT(graph::print(*back), HasSubstr("return %g, %m -> %n, %w/next -> %\"w:0 = ü\""));
}

TEST(StateMetadata, OwnOperatorsAreKeptOnlyWhereHoneAloneShallRead) {
  const graph::Graph graph = parsed_graph(R"((%x: f32[2], %g: f32[2], %rate: f32[]) {
    %late: f32[2] = hone.Recompute(%g, %x) "fence"
    %next: f32[2] = hone.Sgd(%rate, none, %x, %late) "sgd"
    return %next -> %x
  })");
  const auto refused = written_and_read(graph);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("node 'sgd' (hone.Sgd): ONNX has no such operator"));
  WriteOptions own;
  own.own_operators = true;
  const auto back = written_and_read(graph, own);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_TRUE(graph::same_graph(graph, *back)) << graph::print(*back);
  const auto without = written_and_read(
      parsed_graph("(%x: f32[2]) { %y: f32[2] = hone.Recompute(%x) %z: f32[2] = Neg(%y) return %z }"));
  ASSERT_TRUE(without.ok()) << without.error().message;
  EXPECT_EQ(without->nodes().size(), 1U);
}

// Values that change places, one next value of two states, and an input that is its own: each pair by its own
// name.
TEST(StateMetadata, RoundTripsPairsThatShareValues) {
  const auto exchange = written_and_read(
      parsed_graph("(%a: f32[2], %b: f32[2]) { %y: f32[2] = Add(%a, %b) return %y, %b -> %a, %a -> %b }"));
  ASSERT_TRUE(exchange.ok()) << exchange.error().message;
  EXPECT_THAT(graph::print(*exchange), HasSubstr("return %y, %b -> %a, %a -> %b"));
  const auto shared = written_and_read(
      parsed_graph("(%a: f32[2], %b: f32[2]) { %y: f32[2] = Add(%a, %b) return %y -> %a, %y -> %b }"));
  ASSERT_TRUE(shared.ok()) << shared.error().message;
  EXPECT_THAT(graph::print(*shared), HasSubstr("return %y -> %a, %y_1 -> %b"));
  const auto kept = written_and_read(parsed_graph("(%a: f32[2]) { return %a -> %a }"));
  ASSERT_TRUE(kept.ok()) << kept.error().message;
  EXPECT_EQ(kept->states().size(), 1U);
}

TEST(StateMetadata, HoldsWhereExtentsAreBound) {
  const fs::path path = fs::temp_directory_path() / ("hone_bound_" + std::to_string(::getpid()) + ".onnx");
  const graph::Graph open =
      parsed_graph("(%s: f32[N,2], %x: f32[N,2]) { %n: f32[N,2] = Add(%s, %x) return %n -> %s }");
  ASSERT_TRUE(write_onnx(open, path, {}).ok());
  const auto bound = read_onnx(path, {.symbols = {{"N", 3}}});
  fs::remove(path);
  ASSERT_TRUE(bound.ok()) << bound.error().message;
  EXPECT_EQ(bound->type(bound->next_value(bound->states().at(0))).text(), "f32[3,2]");
}

// y = Relu(x), z = Neg(v) with these metadata.
std::string read_error(const std::vector<std::pair<std::string, std::string>>& metadata) {
  using namespace testing;
  TestGraph graph;
  graph.inputs = {value_info("x", {2}), value_info("v", {3}), value_info("w", {2})};
  graph.initializers = {float_tensor("w", {2}, {1, 2})};
  graph.nodes = {node("Relu", {"x"}, {"y"}), node("Neg", {"v"}, {"z"}), node("Add", {"x", "w"}, {"u"})};
  graph.outputs = {value_info("y", {2}), value_info("z", {3}), value_info("u", {2})};
  std::string bytes = model(graph);
  for (const auto& [key, value] : metadata)
    bytes += Proto().message(14, Proto().bytes(1, key).bytes(2, value)).text();
  const auto read = read_onnx_bytes(bytes);
  return read.ok() ? "" : read.error().message;
}

TEST(StateMetadata, SaysWhatNoLongerFits) {
  EXPECT_EQ(read_error({{"author", "hone.state:x"}, {"hone.state:x", "y"}, {"hone.state:v", "z"}}), "");
  EXPECT_EQ(
      read_error({{"hone.state:x", "y_renamed"}}),
      "its metadata say that output 'y_renamed' is the next value of input 'x' ('hone.state:', written by "
      "hone); rename it in the metadata, too, or remove the entry: the model has no output 'y_renamed'");
  EXPECT_THAT(read_error({{"hone.state:old", "y"}}), HasSubstr("the model has no input 'old'"));
  EXPECT_THAT(read_error({{"hone.state:w", "y"}}), HasSubstr("'w' is an initializer, which no step changes"));
  EXPECT_THAT(read_error({{"hone.state:x", "z"}}), HasSubstr("the input is f32[2], the output f32[3]"));
  EXPECT_THAT(read_error({{"hone.state:x", "y"}, {"hone.state:x", "u"}}),
              HasSubstr("the input has a next value already"));
  EXPECT_THAT(read_error({{"hone.state:", ""}}), HasSubstr("the model has no input ''"));
}

}  // namespace
}  // namespace hone::model
