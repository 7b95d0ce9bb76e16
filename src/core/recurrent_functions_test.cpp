#include "core/recurrent_functions.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

using Kind = RecurrentFunction::Kind;

TEST(RecurrentFunctions, AreTheDefaultsOfEachDirectionWhereNoneAreNamed) {
  const auto functions = read_recurrent_functions({}, {"Sigmoid", "Tanh"}, 2);
  ASSERT_TRUE(functions.ok());
  const RecurrentFunction sigmoid{Kind::kSigmoid}, tanh{Kind::kTanh};
  EXPECT_EQ(*functions, (std::vector<RecurrentFunction>{sigmoid, tanh, sigmoid, tanh}));
}

TEST(RecurrentFunctions, TakeParametersInTheirOrderAndNamesInAnyCase) {
  const Attributes attributes{{"activations", Strings{"HARDSIGMOID", "relu", "Affine", "Elu"}},
                              {"activation_alpha", Floats{0.5F, 2.0F}},
                              {"activation_beta", Floats{0.25F}}};
  const auto functions = read_recurrent_functions(attributes, {"Sigmoid", "Tanh"}, 2);
  ASSERT_TRUE(functions.ok());
  EXPECT_EQ((*functions)[0], (RecurrentFunction{Kind::kHardSigmoid, 0.5, 0.25}));
  EXPECT_EQ((*functions)[1], (RecurrentFunction{Kind::kRelu}));
  EXPECT_EQ((*functions)[2], (RecurrentFunction{Kind::kAffine, 2, 0}));
  EXPECT_EQ((*functions)[3], (RecurrentFunction{Kind::kElu, 1, 0}));
}

TEST(RecurrentFunctions, ThatAreTooFewOrUnknownAreErrors) {
  EXPECT_EQ(read_recurrent_functions({{"activations", Strings{"Tanh"}}}, {"Tanh"}, 2).error().code,
            ErrorCode::kInvalidArgument);
  EXPECT_EQ(read_recurrent_functions({{"activations", Strings{"Cubic"}}}, {"Tanh"}, 1).error().code,
            ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace hone
