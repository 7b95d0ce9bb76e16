// What a change wins is what it does to all works, and what it costs the host.
#include "analyze/device/change_gains.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "analyze/device/testing/fabricate_works.h"
#include "analyze/device/testing/gains_of.h"

namespace hone::analyze::device {
namespace {

using fabricate::Works;

double gain_of(const Works& made, std::string_view change) {
  const Study study = make_study(made.trace(), gpu_roofs("NVIDIA H200"));
  const Accounts accounts = make_accounts(study, study.headline);
  const Gains gains(study, accounts);
  for (const ChangeGain& gain : change_gains(study, accounts, gains))
    if (gain.change == change) return gain.predicted_gain_ms;
  return -1;
}

double finding_gain_of(const Works& made, Rule rule) {
  const Study study = make_study(made.trace(), gpu_roofs("NVIDIA H200"));
  return gains_of(study).of(rule);
}

// A step of 10 convolutions in tf32 and as many passes over their f32 images, which reach the DRAM's rate; `host_us` of the host
// before each.
Works network(double host_us) {
  Works made;
  made.trace().meta.framework = trace::Framework::kPyTorch;
  for (int step = 0; step < 3; ++step) {
    for (int layer = 0; layer < 10; ++layer) {
      made.pass(host_us);
      made.run({.kind = "aten::cudnn_convolution",
                .op_class = trace::OperatorClass::kConvolution,
                .dtype = DType::kF32,
                .inputs = "f32[16,64,256,256] f32[64,64,3,3]",
                .flops = 77.1e9,  // 100 µs at the roof of bf16
                .us = 300,
                .kernel = "sm90_xmma_fprop_tf32"});
      made.pass(host_us);
      made.run({.kind = "aten::relu",
                .op_class = trace::OperatorClass::kPointwise,
                .dtype = DType::kF32,
                .inputs = "f32[16,64,256,256]",
                .bytes = 0.4e-3 * 4.2e12 / 2,
                .written = 0.4e-3 * 4.2e12 / 2,
                .us = 400,
                .kernel = "vectorized_elementwise_kernel"});
    }
    made.end_step();
  }
  return made;
}

TEST(ChangeGains, OfBf16CountWhatLiesBetweenConvolutions) {
  const Works made = network(0);
  const double products = finding_gain_of(made, Rule::kTf32Products);
  EXPECT_GT(products, 1.0);
  EXPECT_NEAR(gain_of(made, "autocast_bf16"), products + 10 * 0.2, 0.05);
}

// The same on a host that has little time left: what its conversions cost is more than what the device wins.
TEST(ChangeGains, OfBf16AreLostOnAHostThatConvertsForIt) {
  Works made = network(250);
  EXPECT_LT(gain_of(made, "autocast_bf16"), 0.3);
  EXPECT_LT(finding_gain_of(made, Rule::kTf32Products), 0.3);
  made.trace().meta.framework =
      trace::Framework::kJax;  // a compiler joins conversions with what is before them
  EXPECT_GT(finding_gain_of(made, Rule::kTf32Products), 1.0);
}

// What removing all launches would win is not what a graph wins of a step that hardly waits for launches.
TEST(ChangeGains, AreNoMoreThanTheTimeThatIsLost) {
  const Works made = network(0);
  const Study study = make_study(made.trace(), gpu_roofs("NVIDIA H200"));
  const double lost = make_accounts(study, study.headline)[static_cast<std::size_t>(Cause::kLaunch)].ms;
  EXPECT_LE(gain_of(made, "compile_reduce_overhead"), lost);
}

TEST(ChangeGains, AreOfPyTorchAlone) {
  Works made = network(0);
  made.trace().meta.framework = trace::Framework::kJax;
  EXPECT_EQ(gain_of(made, "autocast_bf16"), -1);
}

}  // namespace
}  // namespace hone::analyze::device
