#include "analyze/device/busy/checks.h"

#include <gtest/gtest.h>

#include "analyze/device/testing/fabricate_works.h"

namespace hone::analyze::device {
namespace {

using fabricate::Works;
using fabricate::WorkWords;

WorkWords checked_pass(std::string kind, std::string inputs = "bf16[1024,1024]") {
  return {.kind = std::move(kind), .inputs = std::move(inputs)};
}

WorkWords all(std::string inputs = "bool[1024,1024]") {
  return {.kind = "aten::all",
          .op_class = trace::OperatorClass::kReduction,
          .dtype = DType::kBool,
          .inputs = std::move(inputs)};
}

bool is_check(const WorkSplit& split) {
  return split.cause() == Cause::kHostSync && split.rule == Rule::kHostChecks && split.target_ns == kGone;
}

TEST(Checks, AreThePassesBeforeAnAnswerThatTheHostReads) {
  Works made;
  const uint32_t computed = made.run(checked_pass("aten::relu"));
  const uint32_t first = made.run(checked_pass("aten::abs"));
  made.run(checked_pass("aten::ne"));
  made.run(checked_pass("aten::mul", "bool[1024,1024] bool[1024,1024]"));
  const uint32_t sum = made.run(all()), more = made.also(2, "reduce");
  const uint32_t answer = made.read(1);
  const uint32_t after = made.run(checked_pass("aten::ne"));
  made.end_step();
  const BusySplit split = made.split();
  EXPECT_FALSE(is_check(split.works[computed]));
  for (uint32_t work = first; work <= answer; ++work) EXPECT_TRUE(is_check(split.works[work])) << work;
  EXPECT_TRUE(is_check(split.works[sum]) && is_check(split.works[more]));
  EXPECT_FALSE(is_check(split.works[after]));
}

TEST(Checks, AnswersThatStayOnTheDeviceAreNone) {
  Works made;
  const uint32_t question = made.run(checked_pass("aten::isnan")), sum = made.run(all());
  made.run(checked_pass("aten::relu"));
  made.read(1);
  made.end_step();
  const BusySplit split = made.split();
  EXPECT_FALSE(is_check(split.works[question]));
  EXPECT_FALSE(is_check(split.works[sum]));
}

TEST(Checks, LossesThatAreReadAreNone) {
  Works made;
  WorkWords mean = all("f32[1024,1024]");
  mean.kind = "aten::mean";
  const uint32_t loss = made.run(mean);
  made.read(4);
  made.end_step();
  EXPECT_FALSE(is_check(made.split().works[loss]));
}

TEST(Checks, KeepWhatWasComputedBefore) {
  Works made;
  const uint32_t scaled = made.run(checked_pass("aten::mul")),
                 smaller = made.run(checked_pass("aten::ne", "bf16[64,1024]"));
  made.run(all());
  const uint32_t large = made.run(all("bool[4096,4096]"));
  made.read(4'000'000);  // of more than an answer
  made.end_step();
  const BusySplit split = made.split();
  for (const uint32_t work : {scaled, smaller, large}) EXPECT_FALSE(is_check(split.works[work]));
}

}  // namespace
}  // namespace hone::analyze::device
