// Training a model that finds hidden tokens again: what is hidden, that runs go on bit by bit, and what does not fit.
#include <fstream>

#include "tests/cli/run_program.h"
#include "tests/training/tiny_recipe.h"
#include <gmock/gmock.h>

#include "core/testing/source_folder.h"
#include "lab/training/checkpoint.h"
#include "lab/training/datasets.h"
#include "lab/training/trainer.h"
#include "model/onnx/reader.h"

namespace hone::training {
namespace {

using ::testing::HasSubstr;
using testing_support::TemporaryFolder;
namespace fs = std::filesystem;

struct MaskedRun {
  lab::TrainingResult result;
  std::vector<double> losses;
};

class MaskedLanguageModel : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string text;  // every byte is as those around it in its window
    for (int i = 0; i < 4000; ++i) text += static_cast<char>('a' + i / 16 % 7);
    std::ofstream(folder_ / "t.txt") << text;
  }
  model::Recipe recipe(const std::vector<std::string>& overrides = {}) const {
    return tiny_bert(folder_ / "t.txt", overrides);
  }
  Result<MaskedRun> train(const model::Recipe& recipe, const fs::path& out, bool resume = false,
                          int64_t stop_behind = -1) const {
    MaskedRun run;
    lab::TrainerOptions options;
    options.out = out;
    options.resume = resume;
    options.threads = 1;
    int64_t step = 0;
    options.on_step = [&](const lab::TrainingReport& report) {
      run.losses.push_back(report.loss);
      step = report.step;
    };
    options.should_stop = [&] { return step == stop_behind; };
    HONE_ASSIGN(run.result, lab::train(recipe, options));
    return run;
  }
  std::string error_of(const std::vector<std::string>& overrides) const {
    const auto run = train(recipe(overrides), folder_ / "refused");
    return run.ok() ? "no error" : run.error().message;
  }

  TemporaryFolder folder_;
};

TEST_F(MaskedLanguageModel, LearnsToFindHiddenBytesAgain) {
  const auto run = train(recipe({"train.steps=300"}), folder_ / "run");
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_LT(run->losses.back(), run->losses.front() / 3);
  EXPECT_GT(run->result.evaluation->metric, 0.6) << "seven bytes: 0.14 by chance";
  const auto model = model::read_onnx(run->result.model);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(model->type(model->outputs()[0]).text(), "f32[batch,16,257]");
}

TEST_F(MaskedLanguageModel, IsTheSameForAnyWorkersAndAfterStopping) {
  const auto whole = train(recipe(), folder_ / "whole");
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_EQ(train(recipe({"data.workers=3"}), folder_ / "workers")->losses, whole->losses);
  EXPECT_NE(train(recipe({"train.seed=2"}), folder_ / "seed")->losses, whole->losses);
  const auto begun = train(recipe(), folder_ / "stopped", false, 13);
  const auto rest =
      train(*model::read_recipe(folder_ / "stopped" / model::kRecipeFile), folder_ / "stopped", true);
  ASSERT_TRUE(rest.ok()) << rest.error().message;
  std::vector<double> losses = begun->losses;
  losses.insert(losses.end(), rest->losses.begin(), rest->losses.end());
  EXPECT_EQ(losses, whole->losses);
  EXPECT_EQ(rest->result.evaluation->metric, whole->result.evaluation->metric)
      << "the same tokens are hidden in each evaluation";
}

TEST_F(MaskedLanguageModel, IsJudgedByPerplexityToo) {
  const auto run = train(recipe({"metric.kind=perplexity"}), folder_ / "run");
  ASSERT_TRUE(run.ok()) << run.error().message;
  EXPECT_NEAR(run->result.evaluation->metric, std::exp(run->result.evaluation->loss), 1e-6);
}

TEST_F(MaskedLanguageModel, TakesTheTokensOfATokenizer) {
  const std::string tokenizer =
      "data.tokenizer=" + (source_folder() / "src/data/testing/files/tokenizer.json").string();
  EXPECT_THAT(error_of({tokenizer}),
              HasSubstr("[data.masking]: the tokenizer has neither of the tokens [MASK], <mask>"));
  EXPECT_THAT(error_of({tokenizer, "data.masking.token=nobody"}),
              HasSubstr("[data.masking]: token: the tokenizer has no token 'nobody'"));
  EXPECT_THAT(error_of({tokenizer, "data.masking.token=<|endoftext|>", "data.masking.never=[\"nix\"]"}),
              HasSubstr("[data.masking]: never: the tokenizer has no token 'nix'"));
  EXPECT_EQ(error_of({tokenizer, "data.masking.token=<|endoftext|>", "model.sizes.vocabulary=700",
                      "train.steps=2"}),
            "no error");
}

TEST_F(MaskedLanguageModel, TakesTheTokensOfBertsTokenizer) {
  std::string text;
  for (int i = 0; i < 400; ++i) text += "The measured gain, caf\u00e9 [SEP]\n";
  std::ofstream(folder_ / "t.txt") << text;
  const std::vector<std::string> overrides = {
      "data.tokenizer=" + (source_folder() / "src/data/testing/files/word_piece.json").string(),
      "data.masking.never=[\"[SEP]\"]", "model.sizes.vocabulary=600", "train.steps=2"};
  EXPECT_EQ(error_of(overrides), "no error");
  const auto data = lab::open_data(recipe(overrides).data);
  ASSERT_TRUE(data.ok()) << data.error().message;
  EXPECT_EQ(data->mask_token, 4);
  const data::Batch batch = *(*lab::training_batches(*data, recipe(overrides)))->next();
  for (int64_t i = 0; i < batch.tensors[1].size(); ++i)
    EXPECT_NE(batch.tensors[1].int_at(i), 3) << "[SEP] is never chosen";
}

TEST_F(MaskedLanguageModel, SaysWhatDoesNotFit) {
  EXPECT_THAT(
      error_of({"model.sizes.vocabulary=256"}),
      HasSubstr("the token 256 stands for hidden ones, but the model knows 256 tokens, 0 to 255; it needs "
                "[model] sizes.vocabulary = 257"));
  EXPECT_THAT(error_of({"data.sizes.length=1", "model.sizes.size=1"}), HasSubstr("a length of 2 or more"));
  EXPECT_THAT(error_of({"data.sizes.length=8"}), HasSubstr("the model's input 'input_ids' is i64[batch,16]"));
  EXPECT_THAT(error_of({"data.sizes.length=5000", "model.sizes.size=5000", "model.sizes.positions=5000"}),
              HasSubstr("4000 tokens, too few for one sample of 5000"));
}

TEST_F(MaskedLanguageModel, ReadsFilesOfTokens) {
  std::ofstream file(folder_ / "t.u16", std::ios::binary);
  for (int i = 0; i < 4000; ++i) file << static_cast<char>(i % 7) << '\0';
  file.close();
  std::vector<std::string> overrides = {"data.source=tokens", "data.path=" + (folder_ / "t.u16").string(),
                                        "data.masking={vocabulary=8, token=7, never=[0]}"};
  const lab::TrainingData data = *lab::open_data(recipe(overrides).data);
  const auto batches = *lab::training_batches(data, recipe(overrides));
  const data::Batch batch = *batches->next();
  int64_t chosen = 0;
  for (int64_t i = 0; i < batch.tensors[1].size(); ++i) {
    EXPECT_NE(batch.tensors[1].int_at(i), 0) << "which is never chosen";
    chosen += batch.tensors[1].int_at(i) != -100;
  }
  EXPECT_GT(chosen, 0);
  overrides.back() = "data.masking={vocabulary=6, token=5}";
  EXPECT_THAT(error_of(overrides), HasSubstr("it holds the token 6, but the vocabulary has 6"));
}

}  // namespace
}  // namespace hone::training
