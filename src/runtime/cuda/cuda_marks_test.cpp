// What a plan on a GPU tells of its steps, over a driver and a CUPTI without a GPU (cuda/testing), and on one.
#include <memory>
#include <utility>
#include <vector>

#include "cuda/testing/fake_driver.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/clock.h"
#include "core/scope.h"
#include "graph/builder.h"
#include "runtime/plan.h"
#include "runtime/testing/providers.h"

namespace hone::runtime {
namespace {

using cuda::testing::CuptiFaults;
using ::testing::HasSubstr;
using How = MarkTimes::How;

struct ToldMark {
  ScopeListener::Kind kind;
  uint32_t id;
  int64_t start_ns, end_ns;
};

class ToldMarks : public ScopeListener {
 public:
  ToldMarks() : before_(set_scope_listener(this)) {}
  ~ToldMarks() override { set_scope_listener(before_); }
  void on_span(Kind kind, uint32_t id, int64_t start_ns, int64_t end_ns) noexcept override {
    (kind == Kind::kStep ? steps : operators).push_back({kind, id, start_ns, end_ns});
  }
  std::vector<ToldMark> steps, operators;

 private:
  ScopeListener* before_;
};

// y = relu(x · w) + x, several times over.
graph::Graph products(int times) {
  graph::GraphBuilder b("products");
  const auto first = b.input("x", graph::tensor_type(DType::kF32, Shape{8, 8}));
  auto x = first;
  for (int i = 0; i < times; ++i)
    x = b.add(
        "Add",
        {b.add("Relu", {b.add("MatMul", {x, b.constant("w", Tensor::zeros(DType::kF32, {8, 8}))})}), first});
  b.output(x);
  return *std::move(b).finish();
}

std::unique_ptr<Plan> plan_of(const Provider& provider) {
  auto plan = Plan::compile(products(3), provider);
  if (!plan.ok()) throw std::logic_error(plan.error().message);
  if (!(*plan)->write(0, Tensor::zeros(DType::kF32, {8, 8})).ok()) throw std::logic_error("write");
  return *std::move(plan);
}

class MarksOfReplays : public ::testing::TestWithParam<const char*> {
 protected:
  const std::shared_ptr<const Provider> provider_ = testing::provider_named(GetParam());
};

// The step is the device's time from the first to the last; operators are within it, in their order, none twice.
TEST_P(MarksOfReplays, AreOfEachOperatorWithinAStepThatIsTheDevices) {
  const auto plan = plan_of(*provider_);
  EXPECT_EQ(plan->mark_times().how, How::kUnknown);
  const ToldMarks told;
  const int64_t before = now_ns();
  for (int run = 0; run < 3; ++run) ASSERT_TRUE(plan->run().ok());
  const int64_t after = now_ns();
  EXPECT_EQ(plan->mark_times().how, How::kWithinReplay) << plan->mark_times().why_events;
  ASSERT_EQ(told.steps.size(), 3U);
  const std::size_t count = plan->steps().size();
  ASSERT_EQ(told.operators.size(), 3 * count);
  constexpr int64_t kClocksNs = 1'000'000;  // that two clocks may be apart
  for (std::size_t run = 0; run < 3; ++run) {
    const ToldMark& step = told.steps[run];
    EXPECT_GE(step.start_ns, before - kClocksNs);
    EXPECT_LE(step.end_ns, after + kClocksNs);
    int64_t last_ns = step.start_ns;
    for (std::size_t i = 0; i < count; ++i) {
      const ToldMark& mark = told.operators[run * count + i];
      EXPECT_EQ(mark.id, i);
      EXPECT_GE(mark.start_ns, last_ns);
      EXPECT_LE(mark.start_ns, mark.end_ns);
      EXPECT_LE(mark.end_ns, step.end_ns);
      last_ns = mark.start_ns;
    }
  }
}

// By name and geometry, once for each run; where operators ran by the reference there are none of theirs.
TEST_P(MarksOfReplays, NameEachOperatorsKernels) {
  const auto plan = plan_of(*provider_);
  EXPECT_TRUE(plan->marked_kernels().empty());
  const ToldMarks told;
  for (int run = 0; run < 3; ++run) ASSERT_TRUE(plan->run().ok());
  for (std::size_t i = 0; i < plan->steps().size(); ++i) {
    if (plan->steps()[i].implementation.find("(CUDA)") == std::string::npos) continue;
    const auto own = std::ranges::find_if(plan->marked_kernels(),
                                          [i](const MarkedKernel& kernel) { return kernel.op == i; });
    ASSERT_NE(own, plan->marked_kernels().end()) << plan->steps()[i].implementation;
    EXPECT_THAT(own->name, HasSubstr("hone_"));
    EXPECT_GE(own->grid[0], 1U);
    EXPECT_GE(own->block[0], 32U);
    EXPECT_EQ(own->ns.size(), 3U);
    for (const int64_t ns : own->ns) EXPECT_GE(ns, 0);
  }
}

TEST_P(MarksOfReplays, ChangeNothingOfWhatIsComputed) {
  auto plan = Plan::compile(products(1), *provider_);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const Tensor x = Tensor::f32({8, 8}, std::vector<float>(64, 2.5F));
  const ToldMarks told;
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE((*plan)->write(0, Tensor::zeros(DType::kF32, {8, 8})).ok());
    ASSERT_TRUE((*plan)->run().ok());
    ASSERT_TRUE((*plan)->write(0, x).ok());
    ASSERT_TRUE((*plan)->run().ok());
    EXPECT_TRUE(same_tensor(*(*plan)->read(0), x));
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, MarksOfReplays, ::testing::ValuesIn(testing::gpu_providers()),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(All, MarksOfReplays,
                         ::testing::Values(testing::kCudaWithoutGpu, testing::kCudaWithProducts,
                                           testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });

// --- what only a driver without a GPU can be asked ---

class CudaMarks : public ::testing::Test {
 protected:
  // The marks of three runs under `faults`, of which it is told how they came about.
  void run(const char* faults, int runs = 3) {
    const CuptiFaults with(faults);
    const ToldMarks told;
    for (int i = 0; i < runs; ++i) ASSERT_TRUE(plan_->run().ok());
    told_steps_ = told.steps.size();
    told_operators_ = told.operators.size();
  }

  const std::shared_ptr<const Provider> provider_ = testing::provider_named(testing::kCudaWithProducts);
  const std::unique_ptr<Plan> plan_ = plan_of(*provider_);
  std::size_t told_steps_ = 0, told_operators_ = 0;
};

TEST_F(CudaMarks, LeaveTheGraphInOnePiece) {
  const int64_t replays = cuda::testing::graphs_run();
  run("");
  EXPECT_EQ(cuda::testing::graphs_run(), replays + 3);
}

TEST_F(CudaMarks, CostARunNothingToWhichNobodyListens) {
  const int64_t before = cuda::testing::graphs_made();
  ASSERT_TRUE(plan_->run().ok());
  EXPECT_EQ(cuda::testing::graphs_made(), before) << "its second graph is made when somebody listens";
  run("");
  EXPECT_EQ(cuda::testing::graphs_made(), before + 1) << "once";
  EXPECT_FALSE(cuda::testing::profiler_is_on());
  const int64_t records = cuda::testing::records_made();
  ASSERT_TRUE(plan_->run().ok());
  EXPECT_EQ(cuda::testing::records_made(), records);
}

TEST_F(CudaMarks, DoNotMindRecordsOfWhatOthersLaunch) {
  run("foreign");
  EXPECT_EQ(plan_->mark_times().how, How::kWithinReplay) << plan_->mark_times().why_events;
  EXPECT_EQ(told_steps_, 3U);
}

TEST_F(CudaMarks, WaitForRecordsThatComeLate) {
  run("late");
  EXPECT_EQ(plan_->mark_times().how, How::kWithinReplay) << plan_->mark_times().why_events;
  EXPECT_EQ(told_operators_, 3 * plan_->steps().size());
}

// Nothing is told of the run whose records were lost, and events tell of those after it.
TEST_F(CudaMarks, AreOfEventsOnceRecordsDoNotFit) {
  struct Case {
    const char *fault, *why;
  };
  for (const auto& [fault, why] :
       {Case{"loses", "records, where there are"}, Case{"drops", "CUPTI dropped 1"},
        Case{"other_graph", "records, where there are"}, Case{"untimed", "no times"}}) {
    const auto plan = plan_of(*provider_);
    const CuptiFaults with(fault);
    const ToldMarks told;
    const int64_t replays = cuda::testing::graphs_run();
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(plan->run().ok());
    EXPECT_EQ(plan->mark_times().how, How::kEvents) << fault;
    EXPECT_THAT(plan->mark_times().why_events, HasSubstr(why)) << fault;
    EXPECT_EQ(told.steps.size(), 2U) << fault;
    EXPECT_EQ(told.operators.size(), 2 * plan->steps().size()) << fault;
    EXPECT_EQ(cuda::testing::graphs_run(), replays + 1) << fault;
    EXPECT_FALSE(cuda::testing::profiler_is_on()) << fault;
  }
}

TEST_F(CudaMarks, AreOfEventsFromTheBeginningWhereCuptiDoesNotServe) {
  for (const auto& [fault, why] :
       {std::pair{"taken", "another profiler"}, std::pair{"refuses", "run as root"}}) {
    // CUPTI is asked for by the first who listens, and kept as long as its device.
    const auto provider = testing::provider_named(testing::kCudaWithProducts);
    const auto plan = plan_of(*provider);
    const CuptiFaults with(fault);
    const ToldMarks told;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(plan->run().ok());
    EXPECT_EQ(plan->mark_times().how, How::kEvents) << fault;
    EXPECT_THAT(plan->mark_times().why_events, HasSubstr(why)) << fault;
    EXPECT_EQ(told.steps.size(), 3U) << fault;
    EXPECT_EQ(told.operators.size(), 3 * plan->steps().size()) << fault;
    EXPECT_FALSE(cuda::testing::profiler_is_on()) << fault;
  }
}

TEST_F(CudaMarks, AreOfEventsWhereThereIsNoCupti) {
  cuda::LibraryPlaces nowhere = cuda::testing::fake_places();
  nowhere.homes.clear();
  const cuda::ContextPointer context = cuda::testing::fake_context();
  const CudaProvider provider(
      {.device = std::make_shared<CudaDevice>(context, nowhere), .cache = {}, .products = {}});
  const auto plan = plan_of(provider);
  const ToldMarks told;
  ASSERT_TRUE(plan->run().ok());
  EXPECT_EQ(plan->mark_times().how, How::kEvents);
  EXPECT_THAT(plan->mark_times().why_events,
              HasSubstr("CUPTI (libcupti.so.13 or libcupti.so.12) is not here"));
  EXPECT_EQ(told.steps.size(), 1U);
  EXPECT_EQ(told.operators.size(), plan->steps().size());
}

// The host reads between the operators: they are given one by one, and nothing is replayed.
TEST_F(CudaMarks, OfAPlanThatChecksItsNumbersAreTold) {
  auto plan = Plan::compile(products(1), *provider_, {.check_numbers = true});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  ASSERT_TRUE((*plan)->write(0, Tensor::zeros(DType::kF32, {8, 8})).ok());
  const ToldMarks told;
  ASSERT_TRUE((*plan)->run().ok());
  EXPECT_EQ(told.steps.size(), 1U);
  EXPECT_EQ(told.operators.size(), (*plan)->steps().size());
}

TEST_F(CudaMarks, OfTwoPlansInTurnsAreEachItsOwn) {
  const auto other = plan_of(*provider_);
  const ToldMarks told;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(plan_->run().ok());
    ASSERT_TRUE(other->run().ok());
  }
  EXPECT_EQ(told.steps.size(), 4U);
  for (const Plan* const plan : {plan_.get(), other.get()})
    EXPECT_EQ(plan->mark_times().how, How::kWithinReplay) << plan->mark_times().why_events;
}

// The halves of run(), for hosts that do something else meanwhile.
TEST_F(CudaMarks, OfARunInTwoHalvesAreToldWhenItEnds) {
  const ToldMarks told;
  ASSERT_TRUE(plan_->start().ok());
  EXPECT_TRUE(told.operators.empty());
  ASSERT_TRUE(plan_->finish().ok());
  EXPECT_EQ(told.operators.size(), plan_->steps().size());
  EXPECT_EQ(plan_->mark_times().how, How::kWithinReplay);
}

}  // namespace
}  // namespace hone::runtime
