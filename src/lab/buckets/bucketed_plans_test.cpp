#include "lab/buckets/bucketed_plans.h"

#include <array>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "core/file.h"
#include "core/testing/scratch_path.h"
#include "graph/builder.h"
#include "graph/text.h"
#include "lab/gate/numeric.h"
#include "lab/prepared.h"
#include "model/zoo/models.h"
#include "runtime/interpreter.h"
#include "runtime/testing/providers.h"
#include "runtime/testing/unmeasured.h"

namespace hone::lab {
namespace {

using graph::Graph;
using runtime::Provider;

// Rows of products and norms over a batch, and over positions of a sequence that nothing joins.
Graph rows_of_a_sequence(float last = 10) {
  const std::string text = R"(graph "rows" (%x: f32[batch,sequence,6]) {
    %w: f32[6,5] = constant dense(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 1, 2, 3, 4, 5, 6, 7, 8, 9, LAST)
    %h: f32[batch,sequence,5] = MatMul(%x, %w) "h"
    %y: f32[batch,sequence,5] = Softmax(%h) {axis = 2} "y"
    return %y
  })";
  const std::size_t at = text.find("LAST");
  return *graph::parse(text.substr(0, at) + std::to_string(last) + text.substr(at + 4));
}

// The same, but each position is divided by the sum of all.
Graph mean_over_the_sequence() {
  return *graph::parse(R"(graph "mean" (%x: f32[batch,sequence,6]) {
    %axes: i64[1] = constant dense(1)
    %m: f32[batch,1,6] = ReduceMean(%x, %axes) "mean of all"
    %y: f32[batch,sequence,6] = Sub(%x, %m) "y"
    return %y
  })");
}

Tensor random_input(const graph::Graph& graph, std::size_t input, const Extents& extents,
                    std::mt19937& random) {
  const graph::Value& value = graph.value(graph.inputs()[input]);
  Shape shape;
  for (const graph::Dim& dim : *value.type.dims)
    shape.push_back(dim.known() ? dim.extent() : extents.at(dim.name()));
  Tensor tensor = Tensor::zeros(value.type.dtype, shape);
  if (value.type.dtype == DType::kI64) {
    const bool is_mask = value.name.find("mask") != std::string::npos;
    for (int64_t& x : tensor.as<int64_t>())
      x = is_mask
              ? 1
              : std::uniform_int_distribution<int64_t>(0, value.name == "token_type_ids" ? 1 : 90)(random);
  } else {
    for (float& x : tensor.as<float>()) x = std::normal_distribution<float>()(random);
  }
  return tensor;
}

std::vector<Tensor> random_inputs(const graph::Graph& graph, const Extents& extents, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < graph.inputs().size(); ++i)
    inputs.push_back(random_input(graph, i, extents, random));
  return inputs;
}

BucketOptions unmeasured(std::map<std::string, std::vector<int64_t>> buckets) {
  BucketOptions options;
  options.buckets = std::move(buckets);
  options.plan.autotune = false;
  return options;
}

const ServedSymbol& symbol_of(const Served& served, const std::string& name) {
  for (const ServedSymbol& symbol : served.symbols)
    if (symbol.name == name) return symbol;
  throw std::logic_error("no symbol " + name);
}

void expect_close(const std::vector<Tensor>& outputs, const std::vector<Tensor>& wanted,
                  const std::string& what) {
  ASSERT_EQ(outputs.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    ASSERT_EQ(outputs[i].shape(), wanted[i].shape()) << what;
    for (int64_t k = 0; k < wanted[i].size(); ++k)
      ASSERT_NEAR(outputs[i].at(k), wanted[i].at(k), 2e-5 * (1 + std::abs(wanted[i].at(k))))
          << what << ", element " << k;
  }
}

class BucketsOnDevices : public ::testing::TestWithParam<const char*> {
 protected:
  const std::shared_ptr<const Provider> provider_ = runtime::testing::provider_named(GetParam(), 1);
};

TEST_P(BucketsOnDevices, GiveWhatTheGraphGivesForInputsOfAnyExtent) {
  const Graph graph = rows_of_a_sequence();
  const auto plans =
      BucketedPlans::make(graph, *provider_, unmeasured({{"batch", {1, 4, 8}}, {"sequence", {4, 16}}}));
  ASSERT_TRUE(plans.ok()) << plans.error().message;
  for (const auto& [batch, sequence, of_batch, of_sequence] : {std::array<int64_t, 4>{1, 4, 1, 4},
                                                               {3, 4, 4, 4},
                                                               {3, 9, 4, 16},
                                                               {8, 1, 8, 4},
                                                               {9, 3, 9, 4},
                                                               {2, 40, 4, 40}}) {
    const std::vector<Tensor> inputs = random_inputs(graph, {{"batch", batch}, {"sequence", sequence}}, 7);
    const auto run = (*plans)->run(inputs);
    ASSERT_TRUE(run.ok()) << run.error().message;
    expect_close(run->outputs, *runtime::interpret(graph, inputs), run->served.text());
    EXPECT_EQ(symbol_of(run->served, "batch").of_plan, of_batch) << run->served.text();
    EXPECT_EQ(symbol_of(run->served, "sequence").of_plan, of_sequence) << run->served.text();
  }
}

TEST_P(BucketsOnDevices, RunExactlyWherePaddingWouldChangeTheNumbersAndSayWhy) {
  const Graph graph = mean_over_the_sequence();
  const auto plans = BucketedPlans::make(graph, *provider_, unmeasured({{"batch", {4}}, {"sequence", {16}}}));
  ASSERT_TRUE(plans.ok());
  const std::vector<Tensor> inputs = random_inputs(graph, {{"batch", 3}, {"sequence", 5}}, 3);
  const auto run = (*plans)->run(inputs);
  ASSERT_TRUE(run.ok()) << run.error().message;
  expect_close(run->outputs, *runtime::interpret(graph, inputs), "mean");
  EXPECT_EQ(symbol_of(run->served, "batch").of_plan, 4);
  EXPECT_EQ(symbol_of(run->served, "sequence").of_plan, 5);
  EXPECT_EQ(run->served.text().substr(0, run->served.text().find("; made")),
            "plan for batch = 4 (3 given, 25 % padding), sequence = 5 (exactly: node 'mean of all' "
            "(ReduceMean) works along "
            "a padded axis)");
  EXPECT_DOUBLE_EQ(run->served.padding(), 0.25);
}

// --- plans that outlive the process ---

class KeptBuckets : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  BucketOptions options() const {
    BucketOptions options = unmeasured({{"batch", {4}}});
    options.plan.autotune = true;
    options.plan.tune_ms_per_node = 1;
    options.plan_folder = folder_;
    return options;
  }
  // What a process that begins anew gives for a batch of 3.
  BucketRun start(const Provider& provider, const BucketOptions& options,
                  const Graph& graph = rows_of_a_sequence()) const {
    auto plans = BucketedPlans::make(graph, provider, options);
    if (!plans.ok()) throw std::logic_error(plans.error().message);
    auto run = (*plans)->run(random_inputs(graph, {{"batch", 3}, {"sequence", 5}}, 7));
    if (!run.ok()) throw std::logic_error(run.error().message);
    return *std::move(run);
  }
  std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> all;
    std::error_code none;
    for (const auto& entry : std::filesystem::directory_iterator(folder_, none)) all.push_back(entry.path());
    return all;
  }

  const std::shared_ptr<const Provider> provider_ = runtime::testing::provider_named(GetParam(), 1);
  const std::filesystem::path folder_ = scratch_path("kept-plans");
};

TEST_P(KeptBuckets, AreReadAtTheNextStartAndNothingIsMeasured) {
  const BucketRun first = start(*provider_, options());
  EXPECT_TRUE(first.served.made_now);
  EXPECT_FALSE(first.served.from_file);
  EXPECT_EQ(first.served.note, "");
  EXPECT_EQ(files().size(), 1U);
  const BucketRun second = start(runtime::testing::Unmeasured(*provider_), options());
  EXPECT_TRUE(second.served.from_file) << second.served.text();
  EXPECT_NE(second.served.text().find("; read from its file now, in "), std::string::npos)
      << second.served.text();
  EXPECT_TRUE(same_tensor(first.outputs[0], second.outputs[0]));
}

TEST_P(KeptBuckets, AreMadeAnewWhereTheFileIsDamagedOrAnothers) {
  const BucketRun first = start(*provider_, options());
  const std::filesystem::path file = files().at(0);
  const std::string whole = *read_file(file);
  start(*provider_, options(), mean_over_the_sequence());
  ASSERT_EQ(files().size(), 2U);
  const std::string foreign = *read_file(files()[0] == file ? files()[1] : files()[0]);
  std::string flipped = whole;
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 0x20);
  for (const std::string& text :
       {std::string(), std::string("no plan at all"), whole.substr(0, whole.size() / 2), flipped, foreign}) {
    ASSERT_TRUE(write_file(file, text).ok());
    const BucketRun again = start(*provider_, options());
    EXPECT_FALSE(again.served.from_file);
    EXPECT_TRUE(same_tensor(first.outputs[0], again.outputs[0]));
    EXPECT_TRUE(start(*provider_, options()).served.from_file) << "it was made anew and not kept";
  }
}

INSTANTIATE_TEST_SUITE_P(All, KeptBuckets, ::testing::Values("cpu", runtime::testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Gpu, KeptBuckets, ::testing::ValuesIn(runtime::testing::gpu_providers()),
                         [](const auto& test) { return std::string(test.param); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KeptBuckets);

using KeptBucketsOfTheCpu = KeptBuckets;
INSTANTIATE_TEST_SUITE_P(Cpu, KeptBucketsOfTheCpu, ::testing::Values("cpu"));

TEST_P(KeptBucketsOfTheCpu, AreOfOneModelOneSetOfPassesAndOneDevice) {
  start(*provider_, options());
  start(*provider_, options(), rows_of_a_sequence(11));  // another number of the model's
  EXPECT_EQ(files().size(), 2U);
  BucketOptions without = options();
  without.disabled_passes = {"fuse"};
  start(*provider_, without);
  EXPECT_EQ(files().size(), 3U);
  start(*runtime::testing::provider_named("null"), options());
  EXPECT_EQ(files().size(), 4U);
  BucketOptions nowhere = options();
  nowhere.plan_folder.clear();
  EXPECT_FALSE(start(*provider_, nowhere).served.from_file) << "the cache is off";
  EXPECT_EQ(files().size(), 4U);
}

TEST_P(KeptBucketsOfTheCpu, MayBeWrittenBySeveralAtOnce) {
  std::vector<std::thread> starts;
  std::atomic<int> agree = 0;
  const Graph graph = rows_of_a_sequence();
  const std::vector<Tensor> wanted =
      *runtime::interpret(graph, random_inputs(graph, {{"batch", 3}, {"sequence", 5}}, 7));
  for (int i = 0; i < 4; ++i)
    starts.emplace_back([&] {
      const auto provider = runtime::testing::cpu_provider(1);
      const BucketRun run = start(*provider, options());
      agree += run.served.note.empty() && run.outputs[0].shape() == wanted[0].shape() &&
                       std::abs(run.outputs[0].at(0) - wanted[0].at(0)) < 1e-4
                   ? 1
                   : 0;
    });
  for (std::thread& one : starts) one.join();
  EXPECT_EQ(agree, 4);
  EXPECT_EQ(files().size(), 1U) << "and nothing unfinished beside it";
  EXPECT_TRUE(start(*provider_, options()).served.from_file);
}

TEST_P(KeptBucketsOfTheCpu, RunAllTheSameWhereTheyCannotBeKept) {
  ASSERT_TRUE(write_file(folder_, "a file where the folder should be").ok());
  const BucketRun run = start(*provider_, options());
  EXPECT_FALSE(run.served.from_file);
  EXPECT_EQ(run.served.note.find("it is not kept for the next start: "), 0U) << run.served.note;
}

INSTANTIATE_TEST_SUITE_P(All, BucketsOnDevices,
                         ::testing::Values("cpu", "null", runtime::testing::kCudaWithoutGpu,
                                           runtime::testing::kCudaOnHost),
                         [](const auto& test) { return std::string(test.param); });
INSTANTIATE_TEST_SUITE_P(Gpu, BucketsOnDevices, ::testing::ValuesIn(runtime::testing::gpu_providers()),
                         [](const auto& test) { return std::string(test.param); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(BucketsOnDevices);

class Buckets : public ::testing::Test {
 protected:
  const std::shared_ptr<const Provider> provider_ = runtime::testing::cpu_provider(1);
};

// Where the same rows run through the same kernels: not even the last bit.
TEST_F(Buckets, GiveTheBitsOfAPlanWithoutPadding) {
  const Graph graph = rows_of_a_sequence();
  const auto padded = BucketedPlans::make(graph, *provider_, unmeasured({{"batch", {8}}}));
  const auto exact = BucketedPlans::make(graph, *provider_, unmeasured({}));
  const std::vector<Tensor> inputs = random_inputs(graph, {{"batch", 5}, {"sequence", 3}}, 1);
  const auto a = (*padded)->run(inputs), b = (*exact)->run(inputs);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_TRUE(same_tensor(a->outputs[0], b->outputs[0]));
  EXPECT_GT(a->served.padding(), 0);
  EXPECT_EQ(b->served.padding(), 0);
}

TEST_F(Buckets, MakeAPlanOnceAndThoseUsedLongestAgoGo) {
  const Graph graph = rows_of_a_sequence();
  BucketOptions options = unmeasured({{"batch", {1, 2, 4}}});
  options.most_plans = 2;
  const auto plans = BucketedPlans::make(graph, *provider_, options);
  const auto made = [&](int64_t batch) {
    const auto run = (*plans)->run(random_inputs(graph, {{"batch", batch}, {"sequence", 3}}, 1));
    EXPECT_TRUE(run.ok());
    return run.ok() && run->served.made_now;
  };
  EXPECT_TRUE(made(1));
  EXPECT_TRUE(made(2));
  EXPECT_FALSE(made(1));
  EXPECT_TRUE(made(3));  // 4; 2 goes
  EXPECT_FALSE(made(4));
  EXPECT_FALSE(made(1));
  EXPECT_TRUE(made(2));
  EXPECT_EQ((*plans)->kept().size(), 2U);
  EXPECT_EQ((*plans)->kept()[0].extents, (Extents{{"batch", 2}, {"sequence", 3}}));

  options.most_plans = 32;
  options.most_bytes = 1;
  const auto small = BucketedPlans::make(graph, *provider_, options);
  for (const int64_t batch : {1, 2, 4})
    ASSERT_TRUE((*small)->run(random_inputs(graph, {{"batch", batch}, {"sequence", 3}}, 1)).ok());
  EXPECT_EQ((*small)->kept().size(), 1U) << "kept alone";
}

TEST_F(Buckets, MakePlansAheadAndRememberKernelsInTheCache) {
  const Graph graph = rows_of_a_sequence();
  runtime::TimingCache cache;
  BucketOptions options = unmeasured({{"batch", {1, 4}}, {"sequence", {8, 16}}});
  options.plan.autotune = true;
  options.plan.tune_ms_per_node = 1;
  options.plan.cache = &cache;
  const auto plans = BucketedPlans::make(graph, *provider_, options);
  const auto count = (*plans)->make_all();
  ASSERT_TRUE(count.ok()) << count.error().message;
  EXPECT_EQ(*count, 4U);
  EXPECT_GT(cache.size(), 0U);
  const auto run = (*plans)->run(random_inputs(graph, {{"batch", 3}, {"sequence", 9}}, 1));
  ASSERT_TRUE(run.ok());
  EXPECT_FALSE(run->served.made_now);
}

TEST_F(Buckets, RefuseWhatCannotBeMeant) {
  const auto message = [&](std::map<std::string, std::vector<int64_t>> buckets) {
    const auto plans = BucketedPlans::make(rows_of_a_sequence(), *provider_, unmeasured(std::move(buckets)));
    return plans.ok() ? std::string() : plans.error().message;
  };
  EXPECT_NE(message({{"bach", {1}}})
                .find("no input has the symbol 'bach'; the model's symbols are batch, sequence"),
            std::string::npos);
  EXPECT_NE(message({{"batch", {4, 2}}}).find("ascend"), std::string::npos);
  EXPECT_NE(message({{"batch", {}}}).find("ascend"), std::string::npos);
  EXPECT_NE(message({{"batch", {0}}}).find("ascend"), std::string::npos);
  const auto plans = BucketedPlans::make(rows_of_a_sequence(), *provider_, unmeasured({{"batch", {4}}}));
  EXPECT_FALSE((*plans)->run(std::vector{Tensor::zeros(DType::kF32, {2, 3, 7})}).ok()) << "no such input";
  EXPECT_FALSE((*plans)->run({}).ok());
  EXPECT_FALSE((*plans)->make_ahead({{"batch", 2}}).ok()) << "sequence is missing";
  EXPECT_FALSE((*plans)->make_all().ok()) << "sequence has no buckets";
  const auto empty = (*plans)->run(std::vector{Tensor::zeros(DType::kF32, {0, 3, 6})});
  EXPECT_TRUE(empty.ok() && empty->served.padding() == 0) << "no rows that could be repeated";
}

TEST_F(Buckets, ServeSeveralThreadsAtOnce) {
  const Graph graph = rows_of_a_sequence();
  BucketOptions options = unmeasured({{"batch", {1, 2, 4, 8}}});
  options.most_plans = 2;  // plans go while others run
  const auto plans = BucketedPlans::make(graph, *provider_, options);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 20; ++i) {
        const int64_t batch = 1 + (t * 5 + i) % 8;
        const std::vector<Tensor> inputs =
            random_inputs(graph, {{"batch", batch}, {"sequence", 3}}, t * 100 + i);
        const auto run = (*plans)->run(inputs);
        const auto wanted = runtime::interpret(graph, inputs);
        if (!run.ok() || run->outputs[0].shape() != (*wanted)[0].shape()) {
          ++wrong;
          continue;
        }
        for (int64_t k = 0; k < (*wanted)[0].size(); ++k)
          if (std::abs(run->outputs[0].at(k) - (*wanted)[0].at(k)) > 1e-5) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// --- models as exporters write them, small ---

struct Network {
  std::string name;
  Graph graph;
  std::set<std::string> padded;  // symbols that may be
};

std::vector<Network> networks() {
  using namespace model::zoo;
  const Common text{1, 0, true}, images{1, 0, false};
  BertSizes bert;
  bert.layers = 2, bert.hidden = 32, bert.heads = 4, bert.intermediate = 64, bert.vocabulary = 100,
  bert.positions = 24;
  bert.length = 8;
  BertSizes mini = bert;
  mini.spelled_layer_norm = false;
  GptSizes gpt;
  gpt.layers = 2, gpt.hidden = 32, gpt.heads = 4, gpt.vocabulary = 100, gpt.positions = 24, gpt.length = 8;
  ResnetSizes resnet;
  resnet.size = 32, resnet.base = 8, resnet.blocks = {1, 1}, resnet.classes = 10;
  return {{"bert", build_bert(text, "bert", bert)->graph, {"batch"}},
          {"minilm", build_bert(text, "minilm", mini)->graph, {"batch"}},
          // Each position sees those before it alone.
          {"gpt2", build_gpt2(text, gpt)->graph, {"batch", "sequence"}},
          {"resnet", build_resnet(images, resnet)->graph, {"batch"}}};
}

TEST_F(Buckets, ServeModelsWithOpenBatchAndSequence) {
  for (const Network& network : networks()) {
    std::map<std::string, std::vector<int64_t>> buckets = {{"batch", {1, 4}}};
    const bool text = network.name != "resnet";
    if (text) buckets["sequence"] = {8, 16};
    const auto plans = BucketedPlans::make(network.graph, *provider_, unmeasured(buckets));
    const auto exact = BucketedPlans::make(network.graph, *provider_, unmeasured({}));
    ASSERT_TRUE(plans.ok() && exact.ok()) << network.name;
    for (const auto& [batch, sequence] : {std::pair<int64_t, int64_t>{3, 11}, {1, 8}, {2, 8}, {4, 5}}) {
      Extents extents = {{"batch", batch}};
      if (text) extents["sequence"] = sequence;
      const std::vector<Tensor> inputs = random_inputs(network.graph, extents, 5);
      const auto run = (*plans)->run(inputs), wanted = (*exact)->run(inputs);
      ASSERT_TRUE(run.ok()) << network.name << ": " << run.error().message;
      ASSERT_TRUE(wanted.ok()) << network.name << ": " << wanted.error().message;
      expect_close(run->outputs, wanted->outputs, network.name + ", " + run->served.text());
      for (const ServedSymbol& symbol : run->served.symbols) {
        const auto& of = buckets.at(symbol.name);
        const int64_t next = *std::lower_bound(of.begin(), of.end(), symbol.extent);
        EXPECT_EQ(symbol.of_plan, network.padded.contains(symbol.name) ? next : symbol.extent)
            << network.name << ": " << run->served.text();
        EXPECT_EQ(symbol.exact.empty(), symbol.of_plan == next) << network.name << ": " << run->served.text();
      }
    }
  }
}

}  // namespace
}  // namespace hone::lab
