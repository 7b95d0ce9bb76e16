#include "model/onnx/writer.h"

#include <cstdint>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/file.h"
#include "graph/builder.h"
#include "graph/random_seeds.h"
#include "graph/text.h"
#include "graph/verify.h"
#include "model/onnx/reader.h"
#include "model/onnx/tensor_file.h"

namespace hone::model {
namespace {

namespace fs = std::filesystem;
using graph::Dim;
using graph::Graph;
using graph::GraphBuilder;
using graph::Node;
using graph::tensor_type;
using graph::ValueId;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class Writer : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("hone_write_onnx_" + std::to_string(::getpid()) + "_" +
                                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  Graph round_trip(const Graph& graph, const WriteOptions& options = {}) const {
    const fs::path path = folder_ / "model.onnx";
    if (Status written = write_onnx(graph, path, options); !written.ok())
      throw std::runtime_error(written.error().message);
    auto back = read_onnx(path);
    if (!back.ok()) throw std::runtime_error(back.error().message);
    if (Status valid = graph::verify(*back); !valid.ok()) throw std::runtime_error(valid.error().message);
    return *std::move(back);
  }

  fs::path folder_;
};

Graph finished(GraphBuilder&& builder) { return *std::move(builder).finish(); }

// x → MatMul with a weight of `width` columns → Relu → y
Graph layer(int64_t width = 5) {
  GraphBuilder b("layer");
  const ValueId x = b.input("x", tensor_type(DType::kF32, graph::Dims{Dim::symbol("batch"), Dim(3), Dim()}));
  std::vector<float> weights(static_cast<std::size_t>(3 * width));
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i);
  const ValueId w = b.constant("w", Tensor::f32({3, width}, weights));
  const ValueId scale = b.constant("scale", Tensor::scalar_f32(2));
  const ValueId product = b.add("MatMul", {b.add("Transpose", {x}, {{"perm", Ints{0, 2, 1}}}), w});
  b.output(b.add("Relu", {b.add("Mul", {product, scale})}));
  return finished(std::move(b));
}

TEST_F(Writer, ReadsBackWhatItWrote) {
  const Graph graph = layer();
  const Graph back = round_trip(graph);
  EXPECT_TRUE(graph::equivalent(graph, back)) << graph::print(graph) << graph::print(back);
  EXPECT_EQ(back.name(), "layer");
  EXPECT_EQ(back.type(back.inputs()[0]).text(), "f32[batch,3,?]");
}

TEST_F(Writer, AlignsWeightsSoThatReadersNeedNotCopyThem) {
  const Graph back = round_trip(layer(64));
  const Tensor& weights = *back.value(back.find_value("w")).constant;
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(weights.data()) % 64, 0u);
}

TEST_F(Writer, PutsWeightsBesideTheModelWhenAsked) {
  const Graph graph = layer(200);
  const Graph back = round_trip(graph, {.weights = WriteOptions::Weights::kBeside});
  EXPECT_TRUE(graph::equivalent(graph, back));
  EXPECT_GE(fs::file_size(folder_ / "model.onnx.data"), 3u * 200u * 4u);
  EXPECT_LT(fs::file_size(folder_ / "model.onnx"), 2000u);
}

TEST_F(Writer, KeepsEveryElementType) {
  GraphBuilder b("types");
  const ValueId x = b.input("x", tensor_type(DType::kBool, Shape{}));
  for (const DType dtype :
       {DType::kF16, DType::kBF16, DType::kF64, DType::kI8, DType::kU16, DType::kI64, DType::kBool,
        DType::kF8E4M3FN, DType::kF8E5M2, DType::kI4, DType::kU4, DType::kF4E2M1, DType::kI2}) {
    Tensor tensor = Tensor::zeros(dtype, {3});
    static_cast<uint8_t*>(tensor.data())[0] = 1;
    b.output(b.add("Identity", {b.constant(std::string(dtype_name(dtype)), tensor)}));
  }
  Tensor strings(DType::kString, {2});
  strings.strings() = {"a", "b"};
  b.output(b.add("Identity", {b.constant("text", strings)}));
  b.output(b.add("Not", {x}));
  const Graph graph = finished(std::move(b));
  EXPECT_TRUE(graph::equivalent(graph, round_trip(graph)));
}

Graph relu_body() {
  GraphBuilder body("body");
  const ValueId a = body.input("a", tensor_type(DType::kF32, Shape{2, 3}));
  const ValueId c = body.constant("half", Tensor::scalar_f32(0.5f));
  body.output(body.add("Relu", {body.add("Mul", {a, c})}));
  return finished(std::move(body));
}

Node group_of(Graph body, std::vector<ValueId> inputs) {
  Node node;
  node.op = "hone.Fused";
  node.name = "group";
  node.attributes.set("kind", std::string("pointwise"));
  node.inputs = std::move(inputs);
  node.bodies = {std::make_shared<const Graph>(std::move(body))};
  return node;
}

// A convolution that gives blocked channels, and behind a Reorder an operator with one number a channel,
// which blocked tensors do not take.
TEST_F(Writer, ForgetsLayoutsThatConvolutionsGive) {
  GraphBuilder b("layouts");
  const ValueId x = b.input("x", tensor_type(DType::kF32, Shape{1, 3, 4, 4}));
  const ValueId w = b.constant("w", Tensor::zeros(DType::kF32, {16, 3, 1, 1}));
  const ValueId c = b.add("Conv", {x, w}, {{"output_layout", std::string("blocked16")}});
  const ValueId plain = b.add("hone.Reorder", {c}, {{"layout", std::string("plain")}});
  const ValueId scale = b.constant("scale", Tensor::zeros(DType::kF32, {16, 1, 1}));
  b.output(b.add("Mul", {plain, scale}));
  const Graph back = round_trip(finished(std::move(b)));
  ASSERT_EQ(back.nodes().size(), 2u);
  EXPECT_EQ(back.type(back.outputs()[0]).text(), "f32[1,16,4,4]");
}

// ONNX's operators have no such attribute: it stands beside them, where programs that do not know it leave it alone.
TEST_F(Writer, KeepsHowProductsMayMultiply) {
  GraphBuilder b("tf32");
  const ValueId x = b.input("x", tensor_type(DType::kF32, Shape{2, 2}));
  const ValueId rounds = b.add("MatMul", {x, x}, {{"math", std::string("tf32")}});
  b.output(b.add("Gemm", {rounds, x}, {{"alpha", 0.5F}}));
  const Graph back = round_trip(finished(std::move(b)));
  ASSERT_EQ(back.nodes().size(), 2u);
  EXPECT_EQ(back.nodes()[0].attributes.text("math", ""), "tf32");
  EXPECT_FALSE(back.nodes()[1].attributes.has("math"));
}

TEST_F(Writer, OpensGroupsAndForgetsReorders) {
  GraphBuilder b("groups");
  const ValueId x = b.input("x", tensor_type(DType::kF32, Shape{2, 3}));
  const std::vector<std::string> names{"y"};
  const ValueId y = b.try_add(group_of(relu_body(), {x}), names)->front();
  b.output(b.add("hone.Reorder", {y}, {{"layout", std::string("plain")}}));
  const Graph graph = finished(std::move(b));
  const std::string output = graph.value(graph.outputs()[0]).name;
  const Graph back = round_trip(graph);
  ASSERT_EQ(back.nodes().size(), 2u);
  EXPECT_EQ(back.nodes()[0].op, "Mul");
  EXPECT_EQ(back.nodes()[1].op, "Relu");
  EXPECT_EQ(back.value(back.outputs()[0]).name, output);
}

// ONNX Runtime refuses one that names its first output only.
TEST_F(Writer, NamesAllOutputsOfABatchNormalizationThatTrains) {
  GraphBuilder b("training");
  const ValueId x = b.input("x", tensor_type(DType::kF32, Shape{2, 3}));
  const ValueId each = b.constant("each", Tensor::zeros(DType::kF32, {3}));
  Node node;
  node.op = "BatchNormalization";
  node.name = "bn";
  node.inputs = {x, each, each, each, each};
  node.attributes.set("training_mode", int64_t{1});
  const std::vector<std::string> names{"y"};
  b.output(b.try_add(std::move(node), names)->front());
  (void)round_trip(finished(std::move(b)));  // our reader forgets what nobody reads
  const std::string bytes = *read_file(folder_ / "model.onnx");
  EXPECT_THAT(bytes, HasSubstr("bn.unread"));
  EXPECT_THAT(bytes, HasSubstr("bn.unread_1"));
}

// ONNX Runtime refuses a mask with one row for all queries.
TEST_F(Writer, GivesAttentionsMaskARowForEachQuery) {
  GraphBuilder b("mask");
  const ValueId x = b.input("x", tensor_type(DType::kF32, Shape{2, 3, 4}));
  const ValueId mask = b.input("mask", tensor_type(DType::kF32, Shape{2, 1, 1, 3}));
  b.output(b.add("Attention", {x, x, x, mask}, {{"q_num_heads", int64_t{2}}, {"kv_num_heads", int64_t{2}}}));
  const Graph back = round_trip(finished(std::move(b)));
  ASSERT_EQ(back.nodes().size(), 2u);
  EXPECT_EQ(back.nodes()[0].op, "Expand");
  EXPECT_EQ(back.type(back.nodes()[1].inputs[3]).shape(), (Shape{2, 1, 3, 3}));
}

// if (flag) then x * 0.5 else w, with x and w from outside and names that clash with theirs.
TEST_F(Writer, TurnsCapturesBackIntoOuterNames) {
  const auto branch = [](const std::string& op) {
    GraphBuilder body(op);
    const ValueId a = body.input("x", tensor_type(DType::kF32, Shape{2, 3}));
    const ValueId c = body.input("w", tensor_type(DType::kF32, Shape{2, 3}));
    body.output(op == "pass" ? c
                             : body.add(op, {a, body.constant("half", Tensor::scalar_f32(0.5f))}, {}, "x"));
    return std::make_shared<const Graph>(finished(std::move(body)));
  };
  GraphBuilder b("captures");
  const ValueId flag = b.input("flag", tensor_type(DType::kBool, Shape{}));
  const ValueId x = b.input("half", tensor_type(DType::kF32, Shape{2, 3}));
  Node node;
  node.op = "If";
  node.name = "choice";
  node.inputs = {flag, x, b.add("Neg", {x})};
  node.captures = 2;
  node.bodies = {branch("Mul"), branch("pass")};
  const std::vector<std::string> names{"y"};
  b.output(b.try_add(std::move(node), names)->front());
  const Graph graph = finished(std::move(b));
  const Graph back = round_trip(graph);
  ASSERT_EQ(back.nodes().size(), 2u);
  const Node& read = back.nodes()[1];
  EXPECT_EQ(read.captures, 2u);
  EXPECT_EQ(read.bodies[0]->nodes()[0].op, "Mul");
  EXPECT_EQ(read.bodies[1]->nodes()[0].op, "Identity");  // ONNX wants a node behind every output of a branch
  EXPECT_EQ(back.type(back.outputs()[0]).text(), "f32[2,3]");
}

// Seeds that hone made for nodes that had none. Iterations of a loop draw different numbers, which ONNX says
// by giving no seed at all.
TEST_F(Writer, GivesRandomOperatorsTheSeedThatOnnxCanSay) {
  const auto parsed = graph::parse(R"(graph "g" (%n: i64[], %go: bool[], %x: f32[2]) {
    %y: f32[2] = Loop(%n, %go, %x) "loop"
      graph "body" (%i: i64[], %c: bool[], %v: f32[2]) {
        %r: f32[2] = RandomNormalLike(%v) "draw"
        %s: f32[2] = RandomUniformLike(%v) {seed = 3.0} "given"
        %t: f32[2] = Add(%r, %s)
        %w: f32[2] = Add(%v, %t)
        return %c, %w
      }
    %z: f32[2] = RandomNormalLike(%y) "outside"
    return %z
  })");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const auto seeded = graph::give_seeds(*parsed, 7);
  ASSERT_TRUE(seeded.ok()) << seeded.error().message;
  const Graph back = round_trip(*seeded);
  EXPECT_EQ(graph::count_unseeded(back), 1U);
  const Graph& body = *back.nodes()[0].bodies[0];
  const Node& draw = body.node(body.value(body.find_value("r")).producer);
  EXPECT_EQ(draw.op, "RandomNormalLike");
  EXPECT_FALSE(draw.attributes.has("seed"));
  EXPECT_EQ(body.node(body.value(body.find_value("s")).producer).attributes.real("seed", 0), 3.0F);
  EXPECT_TRUE(back.nodes()[1].attributes.has("seed"));
}

TEST_F(Writer, NamesWhatTheAskedOpsetCannotSay) {
  const Status status = write_onnx(layer(), folder_ / "m.onnx", {.opset = 17});
  EXPECT_THAT(status.error().message, HasSubstr("opset 17 cannot express"));
  EXPECT_FALSE(fs::exists(folder_ / "m.onnx"));
}

TEST_F(Writer, LeavesAnExistingFileWholeWhenItFails) {
  std::ofstream(folder_ / "m.onnx") << "before";
  EXPECT_FALSE(write_onnx(layer(), folder_ / "m.onnx", {.opset = 17}).ok());
  EXPECT_EQ(fs::file_size(folder_ / "m.onnx"), 6u);
  EXPECT_THAT(write_onnx(layer(), folder_ / "none" / "m.onnx").error().message, HasSubstr("m.onnx"));
}

TEST_F(Writer, OverwritesTheModelThatItsWeightsComeFrom) {
  const Graph first = round_trip(layer(64));
  const Graph second = round_trip(first);
  EXPECT_TRUE(graph::equivalent(layer(64), second));
}

TEST_F(Writer, TensorFilesGoBothWays) {
  const Tensor tensor = Tensor::f32({2, 2}, std::vector<float>{1, 2, 3, 4});
  ASSERT_TRUE(write_tensor_file(folder_ / "t.pb", tensor, "t").ok());
  EXPECT_TRUE(same_tensor(*read_tensor_file(folder_ / "t.pb"), tensor));
  Tensor packed = Tensor::zeros(DType::kI4, {3});
  static_cast<int8_t*>(packed.data())[1] = -3;
  ASSERT_TRUE(write_tensor_file(folder_ / "p.pb", packed).ok());
  EXPECT_TRUE(same_tensor(*read_tensor_file(folder_ / "p.pb"), packed));
  EXPECT_THAT(read_tensor_file(folder_ / "none.pb").error().message, HasSubstr("none.pb"));
  std::ofstream(folder_ / "bad.pb") << "not a tensor";
  EXPECT_THAT(read_tensor_file(folder_ / "bad.pb").error().message, HasSubstr("bad.pb"));
}

}  // namespace
}  // namespace hone::model
