#include "graph/padding.h"

#include <cctype>

#include <gtest/gtest.h>

#include "graph/padding_rules.h"
#include "graph/specialise.h"
#include "graph/text.h"

namespace hone::graph {
namespace {

// N is 3 with padding to 8, S is 5 with padding to 7.
Result<Graph> with_extents(std::string text, int64_t n, int64_t s) {
  for (const auto& [symbol, extent] : {std::pair{std::string("N"), n}, {std::string("S"), s}})
    for (std::size_t at = 0; (at = text.find(symbol, at)) != std::string::npos; ++at)
      if (!std::isalpha(static_cast<unsigned char>(text[at + 1])) &&
          (at == 0 || !std::isalpha(static_cast<unsigned char>(text[at - 1]))))
        text.replace(at, 1, std::to_string(extent));
  return parse(text);
}

Result<std::vector<PaddedAxes>> followed(const std::string& body, Beyond beyond = Beyond::kAnything) {
  const std::string text = "graph \"g\" " + body;
  const auto kept = with_extents(text, 3, 5), padded = with_extents(text, 8, 7);
  if (!kept.ok()) return kept.error();
  if (!padded.ok()) return padded.error();
  return follow_padding(*kept, *padded, beyond);
}

std::string axes_text(const PaddedAxes& axes) {
  std::string text;
  for (const AxisParts& parts : axes.axes) {
    text += '[';
    for (const AxisPart& part : parts)
      text += part.longer() ? std::to_string(part.kept) + "/" + std::to_string(part.padded) + " "
                            : std::to_string(part.kept) + " ";
    text += ']';
  }
  return text;
}

// What stops the walk, or the axes of the first output.
std::string verdict(const std::string& body) {
  const auto axes = followed(body);
  if (!axes.ok())
    return axes.error().code == ErrorCode::kUnsupported ? "stops: " + axes.error().message
                                                        : "BAD TEST: " + axes.error().message;
  return axes_text((*axes)[0]);
}

TEST(Padding, GoesThroughWhatKeepsRowsApart) {
  EXPECT_EQ(verdict("(%x: f32[N,4]) { %y: f32[N,4] = Relu(%x) \"r\" return %y }"), "[3/8 ][4 ]");
  EXPECT_EQ(verdict("(%x: f32[N,4], %b: f32[4]) { %y: f32[N,4] = Add(%x, %b) \"a\" return %y }"),
            "[3/8 ][4 ]");
  EXPECT_EQ(verdict("(%x: f32[N,4]) { %y: f32[N,4] = Softmax(%x) {axis = 1} \"s\" return %y }"),
            "[3/8 ][4 ]");
  EXPECT_EQ(verdict("(%x: f32[N,4], %w: f32[4,6]) { %y: f32[N,6] = MatMul(%x, %w) \"m\" return %y }"),
            "[3/8 ][6 ]");
  EXPECT_EQ(
      verdict("(%x: f32[4,N], %w: f32[4,6]) { %y: f32[N,6] = Gemm(%x, %w) {transA = 1} \"m\" return %y }"),
      "[3/8 ][6 ]");
  EXPECT_EQ(
      verdict("(%x: f32[N,4,6,6], %w: f32[2,4,3,3]) { %y: f32[N,2,4,4] = Conv(%x, %w) \"c\" return %y }"),
      "[3/8 ][2 ][4 ][4 ]");
  EXPECT_EQ(verdict("(%x: f32[N,4,S]) { %y: f32[S,N,4] = Transpose(%x) {perm = [2, 0, 1]} \"t\" return %y }"),
            "[5/7 ][3/8 ][4 ]");
  EXPECT_EQ(verdict("(%x: f32[N,4], %t: i64[2]) { %i: i64[2] = constant dense(0, 2) %y: f32[2,4] = "
                    "Gather(%x, %i) \"g\" "
                    "return %y }"),
            "[2 ][4 ]")
      << "places that data have";
  EXPECT_EQ(verdict("(%x: f32[9,4], %i: i64[N,S]) { %y: f32[N,S,4] = Gather(%x, %i) \"g\" return %y }"),
            "[3/8 ][5/7 ][4 ]");
}

TEST(Padding, IsFollowedThroughAxesThatAreJoinedAndPartedAgain) {
  const std::string joined =
      "%f: i64[2] = constant dense(-1, 12) %y: f32[*] = Reshape(%x, %f) \"j\" return %y }";
  EXPECT_EQ(verdict("(%x: f32[N,S,12]) { " + joined), "[3/8 5/7 ][12 ]");
  EXPECT_EQ(verdict("(%x: f32[N,4,12]) { " + joined), "[3/8 4 ][12 ]");
  EXPECT_EQ(
      verdict(
          "(%x: f32[N,S,12]) { %f: i64[4] = constant dense(0, 0, 3, 4) %y: f32[*] = Reshape(%x, %f) \"p\" "
          "return %y }"),
      "[3/8 ][5/7 ][3 ][4 ]");
  EXPECT_EQ(verdict("(%x: f32[2,N,6]) { %f: i64[2] = constant dense(4, -1) %y: f32[*] = Reshape(%x, %f) "
                    "\"c\" return %y }"),
            "stops: node 'c' (Reshape) cuts or joins a padded axis");
  EXPECT_EQ(verdict("(%x: f32[6,N]) { %f: i64[2] = constant dense(-1, 2) %y: f32[*] = Reshape(%x, %f) \"c\" "
                    "return %y }"),
            "stops: node 'c' (Reshape) cuts or joins a padded axis");
}

TEST(Padding, StopsWhereSomethingWorksAlongThePaddedAxis) {
  const std::pair<const char*, const char*> cases[] = {
      {"(%x: f32[4,N]) { %y: f32[4,N] = Softmax(%x) {axis = 1} \"n\" return %y }", "Softmax"},
      {"(%x: f32[N,4]) { %y: f32[1,1] = ReduceMean(%x) \"n\" return %y }", "ReduceMean"},
      {"(%x: f32[4,N], %w: f32[N,6]) { %y: f32[4,6] = MatMul(%x, %w) \"n\" return %y }", "MatMul"},
      {"(%x: f32[2,4,N,6], %w: f32[2,4,1,1]) { %y: f32[2,2,N,6] = Conv(%x, %w) \"n\" return %y }", "Conv"},
      {"(%x: f32[N,4], %z: f32[2,4]) { %y: f32[*] = Concat(%x, %z) {axis = 0} \"n\" return %y }", "Concat"},
      {"(%x: f32[N,4], %i: i64[2]) { %y: f32[2,4] = Gather(%x, %i) \"n\" return %y }", "Gather"},
      {"(%x: f32[N,4], %s: f32[4], %b: f32[4], %m: f32[4], %v: f32[4]) { %y: f32[N,4], %rm: f32[4], %rv: "
       "f32[4] = "
       "BatchNormalization(%x, %s, %b, %m, %v) {training_mode = 1} \"n\" return %y }",
       "BatchNormalization"},
      {"(%x: f32[2,N], %s: f32[N]) { %y: f32[2,N] = LayerNormalization(%x, %s) {axis = 1} \"n\" return %y }",
       "LayerNormalization"},
      {"(%x: f32[N,4]) { %y: u8[N,4], %s: f32[], %z: u8[] = DynamicQuantizeLinear(%x) \"n\" return %y }",
       "DynamicQuantizeLinear"},
      {"(%x: f32[N,4]) { %y: i64[2,?] = NonZero(%x) \"n\" return %y }", "NonZero"},
      {"(%x: f32[N,4]) { %k: i64[2] = Shape(%x) \"n\" return %k }", "Shape"},
      {"(%x: f32[N,4]) { %s: i64[1] = constant dense(-1) %e: i64[1] = constant dense(9223372036854775807) "
       "%a: i64[1] = "
       "constant dense(0) %y: f32[1,4] = Slice(%x, %s, %e, %a) \"n\" return %y }",
       "Slice"},
  };
  for (const auto& [body, op] : cases) {
    const std::string found = verdict(body);
    EXPECT_TRUE(found.starts_with("stops: node 'n' (" + std::string(op) + ")")) << body << "\n" << found;
  }
}

std::string attention(const std::string& attributes) {
  return "(%q: f32[N,2,S,4], %k: f32[N,2,S,4], %v: f32[N,2,S,4]) { %y: f32[N,2,S,4] = Attention(%q, %k, %v)" +
         attributes + " \"a\" return %y }";
}

TEST(Padding, OfASequenceNeedsAttentionToBeCausal) {
  EXPECT_EQ(verdict(attention(" {is_causal = 1}")), "[3/8 ][2 ][5/7 ][4 ]");
  EXPECT_EQ(verdict(attention("")), "stops: node 'a' (Attention) works along a padded axis");
  std::string batch = attention("");
  for (std::size_t at = 0; (at = batch.find(",S,", at)) != std::string::npos;) batch.replace(at, 3, ",5,");
  EXPECT_EQ(verdict(batch), "[3/8 ][2 ][5 ][4 ]");
}

TEST(Padding, TakesAttentionOnHeadsThatAreJoinedAndMasksOfTheData) {
  const auto joined = [](const std::string& mask, const std::string& attributes) {
    return "(%q: f32[N,S,8], %k: f32[N,S,8], %v: f32[N,S,8]" +
           (mask.empty() ? mask : ", %m: bool[" + mask + "]") + ") { %y: f32[N,S,8] = Attention(%q, %k, %v" +
           (mask.empty() ? mask : ", %m") + ") {" + attributes +
           "q_num_heads = 2, kv_num_heads = 2} \"a\" return %y }";
  };
  EXPECT_EQ(verdict(joined("", "is_causal = 1, ")), "[3/8 ][5/7 ][8 ]");
  EXPECT_EQ(verdict(joined("N,1,S,S", "is_causal = 1, ")), "[3/8 ][5/7 ][8 ]");
  EXPECT_EQ(verdict(joined("", "")), "stops: node 'a' (Attention) works along a padded axis");
  EXPECT_EQ(verdict(joined("N,1,1,S", "")), "stops: node 'a' (Attention) works along a padded axis");
}

TEST(Padding, OfABatchGoesThroughRecurrentLayersAndOfTheirStepsDoesNot) {
  const auto lstm = [](const std::string& steps, const std::string& batch) {
    return "(%x: f32[" + steps + "," + batch + ",4], %w: f32[1,12,4], %r: f32[1,12,3], %h: f32[1," + batch +
           ",3]) { %y: f32[" + steps + ",1," + batch + ",3], %yh: f32[1," + batch +
           ",3] = LSTM(%x, %w, %r, none, none, %h) {hidden_size = 3} \"l\" " + "return %y, %yh }";
  };
  EXPECT_EQ(verdict(lstm("6", "N")), "[6 ][][3/8 ][3 ]");
  EXPECT_EQ(axes_text((*followed(lstm("6", "N")))[1]), "[][3/8 ][3 ]");
  EXPECT_EQ(verdict(lstm("S", "2")), "stops: node 'l' (LSTM) works along a padded axis");
}

// Positions, masks: exporters compute them from extents, and folding makes constants of them.
TEST(Padding, TakesConstantsThatBeginWithThoseOfTheData) {
  const auto graph = [](const char* extent, const char* constant) {
    return *parse(std::string("graph \"g\" (%x: f32[") + extent + "]) { %c: f32[" + extent +
                  "] = constant dense(" + constant + ") %y: f32[" + extent +
                  "] = Add(%x, %c) \"a\" return %y }");
  };
  EXPECT_TRUE(follow_padding(graph("2", "1, 2"), graph("4", "1, 2, 3, 4")).ok());
  EXPECT_FALSE(follow_padding(graph("2", "1, 2"), graph("4", "1, 3, 3, 4")).ok());
  EXPECT_FALSE(follow_padding(graph("2", "1, 2"), graph("2", "1, 3")).ok())
      << "another constant of the same extents";
}

Tensor counted(Shape shape) {
  Tensor tensor = Tensor::zeros(DType::kF32, std::move(shape));
  for (std::size_t i = 0; i < tensor.as<float>().size(); ++i) tensor.as<float>()[i] = static_cast<float>(i);
  return tensor;
}

TEST(PaddedData, RepeatTheirLastPlacesAndAreCutToWhatTheyWere) {
  const Tensor data = counted({2, 3});
  const auto padded = pad_by_repeating(data, {4, 5});
  ASSERT_TRUE(padded.ok());
  const std::vector<double> rows = {0, 1, 2, 2, 2, 3, 4, 5, 5, 5, 3, 4, 5, 5, 5, 3, 4, 5, 5, 5};
  EXPECT_EQ(padded->to_doubles(), rows);
  const auto cut = cut_padding(*padded, {{{{2, 4}}, {{3, 5}}}});
  ASSERT_TRUE(cut.ok());
  EXPECT_TRUE(same_tensor(*cut, data));
  EXPECT_FALSE(pad_by_repeating(Tensor::zeros(DType::kF32, {0, 3}), {4, 5}).ok()) << "nothing to repeat";
  EXPECT_FALSE(pad_by_repeating(data, {1, 5}).ok());
  EXPECT_FALSE(cut_padding(data, {{{{2, 4}}, {{3, 5}}}}).ok()) << "not of these extents";
}

TEST(PaddedData, AreCutOutOfJoinedAxes) {
  const Tensor joined = counted({2 * 3, 2});  // two axes, 2 and 3, joined
  const auto cut = cut_padding(joined, {{{{1, 2}, {2, 3}}, {{2, 2}}}});
  ASSERT_TRUE(cut.ok()) << cut.error().message;
  EXPECT_EQ(cut->shape(), (Shape{2, 2}));
  EXPECT_EQ(cut->to_doubles(), (std::vector<double>{0, 1, 2, 3}));
}

// Rows of a batch that stand there over again.
TEST(RowsOfTheData, MayStandAtAnyPlaceWhereNothingKnowsItsPlace) {
  const auto axes = [](const std::string& body) { return followed(body, Beyond::kRowsOfTheData); };
  EXPECT_TRUE(axes("(%x: f32[N,4]) { %y: f32[N,4] = Softmax(%x) {axis = 1} \"s\" return %y }").ok());
  EXPECT_FALSE(axes("(%x: f32[N,4]) { %y: f32[N,4] = Softmax(%x) {axis = 0} \"s\" return %y }").ok());
  EXPECT_FALSE(axes("(%x: f32[N,4]) { %y: f32[1,1] = ReduceMean(%x) \"m\" return %y }").ok());
  const auto causal = axes(attention(" {is_causal = 1}"));
  ASSERT_FALSE(causal.ok()) << "padding behind the data is harmless, rows over again are not";
  EXPECT_EQ(causal.error().message, "node 'a' (Attention) looks back along an axis of rows");
}

TEST(RowsOfTheData, TakeConstantsOfOneRowOverAndOverAlone) {
  const auto graph = [](const char* extent, const char* constant) {
    return *parse(std::string("graph \"g\" (%x: f32[") + extent + "]) { %c: f32[" + extent +
                  "] = constant dense(" + constant + ") %y: f32[" + extent +
                  "] = Add(%x, %c) \"a\" return %y }");
  };
  const auto ok = [&](const char* few, const char* all) {
    return follow_padding(graph("2", few), graph("4", all), Beyond::kRowsOfTheData).ok();
  };
  EXPECT_TRUE(ok("7, 7", "7, 7, 7, 7"));
  EXPECT_FALSE(ok("1, 2", "1, 2, 3, 4")) << "a place has a number of its own";
  EXPECT_FALSE(ok("1, 2", "1, 2, 1, 2")) << "which row stands where is not known";
}

TEST(RowsOfTheData, AreSpreadOverAxesOfTheBatch) {
  const Tensor data = counted({2, 3});
  const std::vector<int64_t> rows = {0, 1, 1, 0, 1};
  const auto batch = spread_rows(data, axes_between({2, 3}, {5, 3}), rows);
  ASSERT_TRUE(batch.ok()) << batch.error().message;
  EXPECT_EQ(batch->shape(), (Shape{5, 3}));
  EXPECT_EQ(batch->to_doubles(), (std::vector<double>{0, 1, 2, 3, 4, 5, 3, 4, 5, 0, 1, 2, 3, 4, 5}));
  const auto inner = spread_rows(counted({2, 2, 2}), axes_between({2, 2, 2}, {2, 5, 2}), rows);
  ASSERT_TRUE(inner.ok()) << inner.error().message;
  EXPECT_EQ(inner->to_doubles(),
            (std::vector<double>{0, 1, 2, 3, 2, 3, 0, 1, 2, 3, 4, 5, 6, 7, 6, 7, 4, 5, 6, 7}));
  // Rows and something else in one axis, as [batch · heads].
  const auto joined = spread_rows(counted({4}), {{{{2, 5}, {2, 2}}}}, rows);
  ASSERT_TRUE(joined.ok()) << joined.error().message;
  EXPECT_EQ(joined->to_doubles(), (std::vector<double>{0, 1, 2, 3, 2, 3, 0, 1, 2, 3}));
  EXPECT_TRUE(same_tensor(*cut_padding(*inner, axes_between({2, 2, 2}, {2, 5, 2})), counted({2, 2, 2})));
  EXPECT_TRUE(same_tensor(*spread_rows(data, axes_between({2, 3}, {2, 3}), rows), data)) << "of no batch";
  EXPECT_FALSE(spread_rows(data, axes_between({2, 3}, {6, 3}), rows).ok()) << "five rows, six places";
  EXPECT_FALSE(spread_rows(data, axes_between({1, 3}, {5, 3}), rows).ok()) << "not of these extents";
  const std::vector<int64_t> beyond = {0, 1, 2, 0, 1};
  EXPECT_FALSE(spread_rows(data, axes_between({2, 3}, {5, 3}), beyond).ok()) << "there is no third row";
}

}  // namespace
}  // namespace hone::graph
