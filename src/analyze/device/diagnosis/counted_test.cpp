#include "analyze/device/diagnosis/counted.h"

#include <gtest/gtest.h>

namespace hone::analyze::device {
namespace {

std::string said(double count) {
  return fmt::format("{0:f32 products} a step, {0:copies}, {0:passes}, {0:products and attentions}; {0}",
                     Counted{count});
}

TEST(Counted, AgreesWithItsNumber) {
  EXPECT_EQ(said(21), "21 f32 products a step, 21 copies, 21 passes, 21 products and attentions; 21");
  EXPECT_EQ(said(1), "1 f32 product a step, 1 copy, 1 pass, 1 product or attention; 1");
  EXPECT_EQ(said(0.5), "0.5 f32 products a step, 0.5 copies, 0.5 passes, 0.5 products and attentions; 0.5");
  EXPECT_EQ(said(1.02), said(1));
}

}  // namespace
}  // namespace hone::analyze::device
