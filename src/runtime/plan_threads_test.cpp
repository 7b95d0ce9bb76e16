// A plan belongs to one thread at a time: whoever comes meanwhile is told so, and changes nothing.
#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "graph/builder.h"
#include "runtime/host_device.h"
#include "runtime/plan.h"
#include "runtime/testing/providers.h"

namespace hone::runtime {
namespace {

using graph::GraphBuilder;

// Its kernels tell that they run, and wait until they may end.
class HeldProvider : public HostProvider {
 public:
  std::string_view name() const override { return "held"; }
  std::string signature(Share) const override { return "held"; }
  Result<std::vector<Candidate>> candidates(const graph::Graph&, const graph::Node&, Share) const override {
    return std::vector<Candidate>{{"held", [this]() -> Result<std::unique_ptr<Kernel>> {
                                     return std::unique_ptr<Kernel>(std::make_unique<HeldKernel>(*this));
                                   }}};
  }
  mutable std::promise<void> runs, may_end;

 private:
  class HeldKernel : public Kernel {
   public:
    explicit HeldKernel(const HeldProvider& of) : of_(of) {}
    std::string implementation() const override { return "held"; }
    Status enqueue(const KernelArguments&, Queue&) override {
      of_.runs.set_value();
      of_.may_end.get_future().wait();
      return {};
    }

   private:
    const HeldProvider& of_;
  };
};

graph::Graph one_relu() {
  GraphBuilder b("relu");
  b.output(b.add("Relu", {b.input("x", graph::tensor_type(DType::kF32, Shape{4}))}));
  return *std::move(b).finish();
}

TEST(PlanOfOneThread, IsAnErrorForAnotherWhileItRuns) {
  const HeldProvider provider;
  const auto plan = Plan::compile(one_relu(), provider);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const Tensor x = Tensor::zeros(DType::kF32, {4});
  Status first;
  std::thread other([&] { first = (*plan)->run(); });
  provider.runs.get_future().wait();
  const auto expect_told = [](const Status& status) {
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find("in use by another thread"), std::string::npos)
        << status.error().message;
  };
  const auto status_of = [](const auto& result) { return result.ok() ? Status() : Status(result.error()); };
  expect_told((*plan)->run());
  expect_told((*plan)->write(0, x));
  expect_told((*plan)->start());
  expect_told((*plan)->finish());
  expect_told(status_of((*plan)->read(0)));
  expect_told(status_of((*plan)->read_input(0)));
  expect_told(status_of((*plan)->read_all()));
  expect_told(status_of((*plan)->run(std::vector{x})));
  provider.may_end.set_value();
  other.join();
  EXPECT_TRUE(first.ok()) << "the run that was under way is not disturbed";
  EXPECT_TRUE((*plan)->write(0, x).ok()) << "and the plan is free again";
}

// Whatever threads do, a call gives what its own inputs give, or says that the plan is in use.
TEST(PlanOfOneThread, NeverMixesInputsOfCalls) {
  for (const char* name : {"cpu", "null", testing::kCudaOnHost}) {
    const auto provider = testing::provider_named(name, 1);
    const auto plan = Plan::compile(one_relu(), *provider);
    ASSERT_TRUE(plan.ok());
    std::atomic<int> wrong = 0, right = 0;
    std::vector<std::thread> threads;
    for (int t = 1; t <= 4; ++t)
      threads.emplace_back([&, t] {
        Tensor x = Tensor::zeros(DType::kF32, {4});
        for (float& value : x.as<float>()) value = static_cast<float>(t);
        for (int i = 0; i < 200; ++i) {
          const auto outputs = (*plan)->run(std::vector{x});
          if (!outputs.ok()) continue;
          (same_tensor((*outputs)[0], x) ? right : wrong) += 1;
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, 0) << name;
    EXPECT_GT(right, 0) << name;
  }
}

}  // namespace
}  // namespace hone::runtime
