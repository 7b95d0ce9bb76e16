#include "lab/experiment/price.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include <gtest/gtest.h>

#include "core/clock.h"
#include "graph/builder.h"
#include "lab/experiment/profile.h"
#include "runtime/cpu/cpu_provider.h"
#include "runtime/host_device.h"
#include "runtime/testing/providers.h"
#include "runtime/testing/told_timer.h"

namespace hone::lab {
namespace {

using graph::GraphBuilder;
using graph::ValueId;

constexpr int64_t kRows = 512;

graph::Graph chain(const std::vector<std::string>& ops) {
  GraphBuilder b("chain");
  ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{kRows, 1024}));
  for (const std::string& op : ops) x = b.add(op, {x});
  b.output(b.add("Reshape", {x, b.constant("to", Tensor::i64({1}, std::vector<int64_t>{kRows * 1024}))}));
  return *std::move(b).finish();
}

class Prices : public testing::Test {
 protected:
  Prices() {
    options_.cache = &cache_;
    options_.step_bytes = std::size_t{6} << 20;
  }

  trace::Trace profile(runtime::Plan& plan) {
    ProfileOptions profile;
    profile.budget_ns = 20'000'000;
    auto seen = profile_plan(plan, Roofs{}, profile);
    EXPECT_TRUE(seen.ok());
    return std::move(seen->trace);
  }
  std::unique_ptr<runtime::Plan> compile(const graph::Graph& graph) {
    auto plan = runtime::Plan::compile(graph, provider_, options_);
    EXPECT_TRUE(plan.ok());
    Tensor halves(DType::kF32, graph.type(graph.inputs()[0]).shape());
    std::fill_n(halves.as<float>().data(), halves.size(), 0.5F);
    EXPECT_TRUE((*plan)->write(0, halves).ok());
    return std::move(*plan);
  }

  const std::shared_ptr<const runtime::Provider> machine_ = runtime::testing::cpu_provider();
  const runtime::Provider& provider_ = *machine_;
  runtime::TimingCache cache_;
  runtime::PlanOptions options_;
};

TEST_F(Prices, ANodeCostsWhatItsProfileSawAndAViewNothing) {
  const graph::Graph graph = chain({"Exp", "Relu"});
  runtime::Tuner tuner(provider_, options_);
  PriceList prices(tuner);
  EXPECT_EQ(prices.step(chain({})), 0);
  const auto plan = compile(graph);
  trace::Trace seen = profile(*plan);
  for (std::size_t i = 0; i < seen.spans.size(); ++i) EXPECT_GT(seen.spans.row(i).duration_ns, 0);
  prices.learn(*plan, seen);
  std::map<uint32_t, std::pair<double, double>> seconds;  // shortest and longest run of each operator
  for (std::size_t i = 0; i < seen.spans.size(); ++i) {
    const trace::Span span = seen.spans.row(i);
    if (span.category != trace::Category::kOperator) continue;
    const double run = static_cast<double>(span.duration_ns) * 1e-9;
    auto& [least, most] = seconds.try_emplace(span.op.index, run, run).first->second;
    least = std::min(least, run);
    most = std::max(most, run);
  }
  double least = 0, most = 0;
  for (const auto& [op, range] : seconds) {
    least += range.first;
    most += range.second;
  }
  EXPECT_GE(prices.step(graph), 0.999 * least);
  EXPECT_LE(prices.step(graph), 1.001 * most);
  EXPECT_GT(prices.step(graph), 0);
}

// Two timings of a machine that others use may disagree; of three attempts one meets a quiet moment.
TEST_F(Prices, ANewNodeCostsItsTimeAloneAsItsClassDoesInAStep) {
  const graph::Graph graph = chain({"Exp", "Relu"}), changed = chain({"Tanh"});
  double price = 0, expected = 0;
  for (int attempt = 0; attempt < 3 && (price <= 0.4 * expected || price >= 2.5 * expected); ++attempt) {
    runtime::Tuner tuner(provider_, options_);
    PriceList prices(tuner);
    const auto plan = compile(graph);
    prices.learn(*plan, profile(*plan));
    price = prices.step(changed);
    const auto alone = tuner.remembered(changed, changed.nodes()[0]);
    ASSERT_TRUE(alone);
    expected = *alone * prices.step_to_alone(trace::OperatorClass::kPointwise);
    EXPECT_DOUBLE_EQ(prices.step_to_alone(trace::OperatorClass::kConvolution),
                     prices.step_to_alone(trace::OperatorClass::kPointwise))
        << "a class that the profile did not have is taken as all others together";
    EXPECT_TRUE(prices.ratios_text().starts_with("pointwise ")) << prices.ratios_text();
  }
  EXPECT_GT(price, 0.4 * expected) << "but for how much the machine has changed since";
  EXPECT_LT(price, 2.5 * expected);
}

// Whatever the node, a kernel that takes a third of a millisecond times how slow the machine is just now.
class Spinning : public runtime::HostProvider {
 public:
  std::string_view name() const override { return "machine"; }
  std::string signature(runtime::Share) const override { return "machine"; }
  Result<std::vector<runtime::Candidate>> candidates(const graph::Graph&, const graph::Node&,
                                                     runtime::Share) const override {
    return std::vector<runtime::Candidate>{{"spin", [this]() -> Result<std::unique_ptr<runtime::Kernel>> {
                                              return std::unique_ptr<runtime::Kernel>(
                                                  std::make_unique<Spin>(slowness));
                                            }}};
  }
  Result<std::unique_ptr<runtime::KernelTimer>> make_timer(std::size_t, runtime::Share) const override {
    return std::unique_ptr<runtime::KernelTimer>(
        std::make_unique<runtime::testing::ToldTimer>([this] { return 333 * slowness; }));
  }
  double slowness = 1;

 private:
  struct Spin : runtime::Kernel {
    explicit Spin(const double& factor) : slowness(factor) {}
    std::string implementation() const override { return "spin"; }
    Status enqueue(const runtime::KernelArguments&, runtime::Queue&) override {
      for (const int64_t end = now_ns() + static_cast<int64_t>(333e3 * slowness); now_ns() < end;) {
      }
      return {};
    }
    const double& slowness;
  };
};

TEST_F(Prices, AreThoseOfTheMachineAsItWasWhenTheProfileWasTaken) {
  Spinning machine;
  runtime::Tuner tuner(machine, options_);
  PriceList prices(tuner);
  const auto plan = *runtime::Plan::compile(chain({"Exp", "Relu"}), machine, options_);
  prices.learn(*plan, profile(*plan));
  machine.slowness = 0.5;  // its neighbours have gone home
  const graph::Graph changed = chain({"Tanh"});
  const double price = prices.step(changed);
  EXPECT_NEAR(*tuner.remembered(changed, changed.nodes()[0]), 0.5 * 333e-6, 0.3 * 333e-6);
  EXPECT_NEAR(price, 333e-6, 0.35 * 333e-6);
}

graph::Graph convolution(bool bias) {
  GraphBuilder b("convolution");
  const ValueId x = b.input("x", graph::tensor_type(DType::kF32, Shape{1, 16, 64, 64}));
  std::vector<ValueId> inputs = {x, b.constant("w", Tensor::zeros(DType::kF32, {16, 16, 3, 3}))};
  if (bias) inputs.push_back(b.constant("b", Tensor::zeros(DType::kF32, {16})));
  b.output(b.add("Conv", inputs));
  return *std::move(b).finish();
}

TEST_F(Prices, AConvolutionThatGainedABiasCostsWhatItDidWithout) {
  runtime::Tuner tuner(provider_, options_);
  PriceList prices(tuner);
  const graph::Graph with = convolution(true), without = convolution(false);
  const double price = prices.step(without);
  EXPECT_GT(price, 0);
  EXPECT_EQ(prices.step(with), price);
  EXPECT_FALSE(tuner.remembered(with, with.nodes()[0])) << "there was nothing to time";
}

// On a machine whose other readings no neighbour disturbs.
TEST_F(Prices, AReadingFarAboveTheProfileIsForgottenAndNamed) {
  const graph::Graph graph = chain({"Exp", "Relu"});
  const graph::Node& exp = graph.nodes()[0];
  const Spinning machine;
  runtime::Tuner remembers(machine, options_);
  remembers.remember(graph, exp, {"any", 1e6});  // as if something else had run meanwhile
  PriceList prices(remembers);
  const auto plan = *runtime::Plan::compile(graph, machine, options_);
  const auto contradictions = prices.learn(*plan, profile(*plan));
  ASSERT_EQ(contradictions.size(), 1U);
  EXPECT_EQ(contradictions[0].node, exp.name);
  EXPECT_DOUBLE_EQ(contradictions[0].alone, 1.0);
  EXPECT_FALSE(remembers.remembered(graph, exp));
}

// A provider whose kernels are compiled, and which counts how many are at once. Each waits for another.
class CompilingProvider : public runtime::CpuProvider {
 public:
  explicit CompilingProvider(int threads) : CpuProvider(threads) {}
  bool compiles() const override { return true; }
  Result<std::vector<runtime::Candidate>> candidates(const graph::Graph& graph, const graph::Node& node,
                                                     runtime::Share share) const override {
    HONE_ASSIGN(std::vector<runtime::Candidate> found, CpuProvider::candidates(graph, node, share));
    for (runtime::Candidate& candidate : found)
      candidate.make = [this, make = candidate.make] {
        const int now = ++at_once_;
        ++made_;
        for (int most = most_at_once_; now > most && !most_at_once_.compare_exchange_weak(most, now);) {
        }
        const int64_t end = now_ns() + kWait_ns;
        while (most_at_once_ < 2 && now_ns() < end) std::this_thread::yield();
        auto kernel = make();
        --at_once_;
        return kernel;
      };
    return found;
  }
  int most_at_once() const { return most_at_once_; }
  int made() const { return made_; }

 private:
  static constexpr int64_t kWait_ns = 2'000'000'000;
  mutable std::atomic<int> at_once_ = 0, most_at_once_ = 0, made_ = 0;
};

TEST(PricesOfCompiledKernels, AreOfKernelsThatWereCompiledSideBySide) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "one core: nothing is side by side";
  const CompilingProvider provider(1);
  runtime::TimingCache cache;
  runtime::PlanOptions options;
  options.cache = &cache;
  runtime::Tuner tuner(provider, options);
  PriceList prices(tuner);
  EXPECT_GT(prices.step(chain({"Exp", "Relu", "Tanh", "Sigmoid"})), 0);
  EXPECT_GE(provider.most_at_once(), 2);
  const int made = provider.made();
  EXPECT_GT(prices.step(chain({"Exp", "Relu", "Tanh", "Sigmoid"})), 0);
  EXPECT_EQ(provider.made(), made) << "what has a price is not made again";
}

}  // namespace
}  // namespace hone::lab
