// Recipes: what they become, and what is said where they are wrong.
#include "model/recipe/recipe.h"

#include <gmock/gmock.h>

#include "core/testing/source_folder.h"
#include "model/recipe/toml.h"

namespace hone::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kLeast = R"([model]
zoo = "digits_cnn"
[data]
source = "digits"
[loss]
kind = "cross-entropy"
[train]
steps = 10
)";

Result<Recipe> with(const std::string& more, const std::vector<std::string>& overrides = {}) {
  return parse_recipe(kLeast + more, "r.toml", overrides);
}

std::string error_of(const std::string& text, const std::vector<std::string>& overrides = {}) {
  const auto recipe = parse_recipe(text, "r.toml", overrides);
  return recipe.ok() ? "no error" : recipe.error().message;
}
std::string error_with(const std::string& more, const std::vector<std::string>& overrides = {}) {
  return error_of(kLeast + more, overrides);
}

TEST(Recipe, TakesWhatItDoesNotSayAsUsual) {
  const auto recipe = with("");
  ASSERT_TRUE(recipe.ok()) << recipe.error().message;
  EXPECT_EQ(recipe->name, "r");
  EXPECT_EQ(recipe->model.zoo, "digits_cnn");
  EXPECT_EQ(recipe->train.steps, 10);
  EXPECT_EQ(recipe->train.batch, 32);
  EXPECT_TRUE(recipe->train.deterministic);
  EXPECT_EQ(recipe->optimizer.kind, graph::OptimizerKind::kAdamW);
  EXPECT_EQ(recipe->schedule.kind, graph::ScheduleKind::kConstant);
}

TEST(Recipe, ReadsEverySection) {
  const auto recipe = with(R"(batch = 12
accumulate = 3
clip = 1
ema = 0.9
[metric]
kind = "accuracy"
target = 0.5
[optimizer]
kind = "sgd"
rate = 1
momentum = 0.5
nesterov = true
[[optimizer.groups]]
match = ["*.bias", "conv1.*"]
rate = 0.1
weight_decay = 0
[schedule]
kind = "one-cycle"
peak_at = 0.4
[checkpoint]
every = 5
keep = 3
)");
  ASSERT_TRUE(recipe.ok()) << recipe.error().message;
  EXPECT_EQ(recipe->train.accumulate, 3);
  EXPECT_EQ(recipe->train.clip, 1);
  EXPECT_EQ(recipe->train.target, 0.5);
  EXPECT_TRUE(recipe->optimizer.nesterov);
  ASSERT_EQ(recipe->optimizer.groups.size(), 1u);
  EXPECT_THAT(recipe->optimizer.groups[0].match, ElementsAre("*.bias", "conv1.*"));
  EXPECT_EQ(recipe->optimizer.groups[0].weight_decay, 0);
  EXPECT_EQ(recipe->schedule.kind, graph::ScheduleKind::kOneCycle);
  EXPECT_EQ(recipe->schedule.peak_at, 0.4);
  EXPECT_EQ(recipe->checkpoint.keep, 3);
}

TEST(Recipe, SaysWhereAKeyIsUnknownAndWhichIsNear) {
  EXPECT_EQ(error_with("bacth = 3\n"), "r.toml:9:1: [train] has no key 'bacth'; did you mean 'batch'?");
  EXPECT_THAT(error_with("[optimiser]\nrate = 1\n"),
              HasSubstr("r.toml:9:2: a recipe has no key 'optimiser'; did "
                        "you mean 'optimizer'?"));
  EXPECT_THAT(error_with("zebra = 3\n"), HasSubstr("its keys are steps, epochs, batch"));
  EXPECT_THAT(error_with("[schedule]\nkind = \"cosin\"\n"),
              HasSubstr("r.toml:10:1: kind is 'cosin', must be one of"));
  EXPECT_THAT(error_with("[schedule]\nkind = \"cosin\"\n"), HasSubstr("did you mean 'cosine'?"));
}

TEST(Recipe, SaysWhereATypeOrARangeIsWrong) {
  EXPECT_EQ(error_with("batch = \"many\"\n"), "r.toml:9:1: batch must be an integer, not text");
  EXPECT_EQ(error_with("batch = 1.5\n"), "r.toml:9:1: batch must be an integer, not a number");
  EXPECT_EQ(error_with("batch = 0\n"), "r.toml:9:1: batch is 0, must be above 0");
  EXPECT_EQ(error_with("ema = 1\n"), "r.toml:9:1: ema is 1, must be at least 0 and below 1");
  EXPECT_EQ(error_with("clip = nan\n"), "r.toml:9:1: clip is nan, must be at least 0");
  EXPECT_EQ(error_with("batch = 10\naccumulate = 3\n"),
            "r.toml:10:1: a batch of 10 cannot be cut into 3 micro-batches");
  EXPECT_THAT(error_with("[[optimizer.groups]]\nrate = 1\n"), HasSubstr("a group needs match"));
  EXPECT_THAT(error_with("[metric]\ntarget = 1\n"), HasSubstr("r.toml:10:1: a target needs a metric"));
  EXPECT_EQ(error_with("[optimizer]\nepsilon = 1e-60\n"),
            "r.toml:10:1: epsilon is 1e-60, which f32 cannot hold (it has 0)");
  EXPECT_THAT(error_with("[optimizer]\nrate = 1e39\n"), HasSubstr("f32 cannot hold (it has inf)"));
  EXPECT_THAT(error_with("ema = 0.9999999999\n"), HasSubstr("f32 cannot hold (it has 1)"));
  EXPECT_THAT(error_with("", {"train.epochs=1e30"}), HasSubstr("must be above 0 and at most 1e+09"));
  EXPECT_THAT(error_with("", {"data.cache_mb=9223372036854775807"}),
              HasSubstr("at least 0 and at most 1e+09"));
  EXPECT_THAT(error_with("", {"data.workers=257"}), HasSubstr("at least 0 and at most 256"));
  EXPECT_EQ(error_with("", {"train=3"}), "--set train: [train] must be a table");
  EXPECT_EQ(error_with("", {"loss.kind=[]"}), "--set loss.kind: kind names no loss");
  EXPECT_THAT(error_with("weights = \"fp16\"\n"), HasSubstr("weights is 'fp16', must be one of f32, bf16"));
  EXPECT_THAT(error_with("weights = \"bf16\"\n"), HasSubstr("need precision = \"bf16\""));
  EXPECT_EQ(error_with("weights = \"bf16\"\nprecision = \"bf16\"\n"), "no error");
  EXPECT_THAT(error_with("residual = \"bf16\"\n"),
              HasSubstr("residual is 'bf16', must be one of f32, narrow"));
  EXPECT_EQ(error_with("residual = \"narrow\"\nprecision = \"bf16\"\n"), "no error");
  EXPECT_EQ(error_with("precision = \"fp16\"\nresidual = \"narrow\"\n"), "no error");
  EXPECT_EQ(error_with("residual = \"f32\"\n"), "no error");
  EXPECT_THAT(error_with("residual = \"narrow\"\n"),
              HasSubstr("r.toml:9:1: residual = \"narrow\" needs precision = \"bf16\" or \"fp16\""));
  EXPECT_THAT(error_with("residual = \"narrow\"\nprecision = \"bf16\"\n", {"train.precision=f32"}),
              HasSubstr("--set train.residual=f32"));
  EXPECT_THAT(error_with("precision = \"int4\"\n"),
              HasSubstr("precision is 'int4', must be one of f32, bf16, fp16"));
}

TEST(Recipe, SaysWhatIsMissing) {
  EXPECT_THAT(error_of("[model]\nzoo = \"unet\"\n"), HasSubstr("[data] needs a source"));
  EXPECT_THAT(error_of("[model]\n"), HasSubstr("[model] needs zoo"));
  EXPECT_THAT(error_of("[model]\nonnx = \"nowhere.onnx\"\n"),
              HasSubstr("r.toml:2:1: onnx names 'nowhere.onnx'"));
  EXPECT_THAT(error_of("[model]\nzoo = \"unet\"\n[data]\nsource = \"text\"\n"), HasSubstr("needs a path"));
  EXPECT_THAT(error_with("epochs = 1\n"), HasSubstr("r.toml:9:1: [train] has both steps and epochs"));
  EXPECT_THAT(error_of("[model\n"), HasSubstr("r.toml:1:"));
  EXPECT_THAT(error_of("when = 2026-01-01\n"), HasSubstr("dates and times have no meaning here"));
  EXPECT_THAT(read_recipe("/nowhere/r.toml").error().message, HasSubstr("/nowhere/r.toml"));
  EXPECT_EQ(read_recipe("/dev/zero").error().message, "/dev/zero: is a device, no recipe");
}

TEST(Recipe, LetsTheCommandLineSetAnyKey) {
  const auto recipe =
      with("", {"train.batch=7", "optimizer.kind=lion", "optimizer.rate=0.5", "data.sizes.samples=99"});
  ASSERT_TRUE(recipe.ok()) << recipe.error().message;
  EXPECT_EQ(recipe->train.batch, 7);
  EXPECT_EQ(recipe->optimizer.kind, graph::OptimizerKind::kLion);
  EXPECT_EQ(recipe->data.sizes.at("samples"), 99);
  EXPECT_EQ(error_with("", {"train.batch=x"}), "--set train.batch: batch must be an integer, not text");
  EXPECT_THAT(error_with("", {"train.bach=1"}),
              HasSubstr("--set train.bach: [train] has no key 'bach'; did you"));
  EXPECT_THAT(error_with("", {"train"}), HasSubstr("write KEY=VALUE"));
  EXPECT_THAT(error_with("", {"name.x=1"}), ::testing::AnyOf(HasSubstr("name"), HasSubstr("no key")));
}

TEST(Recipe, RefusesWhatDataCannotDo) {
  EXPECT_THAT(error_with("", {"data.workers=257"}), HasSubstr("must be at least 0 and at most 256"));
  EXPECT_THAT(error_with("", {"data.cache_mb=9223372036854775807"}), HasSubstr("at most 1e+09"));
  const std::string text = "data.path=" + (source_folder() / "README.md").string();
  const std::string tokenizer =
      "data.tokenizer=" + (source_folder() / "src/data/testing/files/tokenizer.json").string();
  EXPECT_THAT(error_with("", {"data.source=text", text, tokenizer, "metric.kind=bits-per-byte"}),
              HasSubstr("--set metric.kind: bits-per-byte takes a token for a byte, but [data] has"));
  EXPECT_EQ(error_with("", {"data.source=text", text, "metric.kind=bits-per-byte"}), "no error");
}

TEST(Recipe, SaysWhichTokensAreHidden) {
  const std::string text = "data.path=" + (source_folder() / "README.md").string();
  const std::string tokenizer =
      "data.tokenizer=" + (source_folder() / "src/data/testing/files/tokenizer.json").string();
  const auto plain = with("", {"data.source=text", text, "data.masking={}"});
  ASSERT_TRUE(plain.ok()) << plain.error().message;
  EXPECT_EQ(plain->data.masking->share, 0.15);
  EXPECT_FALSE(plain->data.masking->token);
  EXPECT_EQ(plain->objective.ignore, -100) << "what is not to be found counts nothing";
  const auto named =
      with("", {"data.source=text", text, tokenizer,
                "data.masking={share=0.3, mask=0.5, random=0, token=\"<|end|>\", never=[3, \"a\"]}",
                "loss.ignore=-1"});
  ASSERT_TRUE(named.ok()) << named.error().message;
  EXPECT_EQ(named->data.masking->masked, 0.5);
  EXPECT_EQ(named->data.masking->token, RecipeToken("<|end|>"));
  EXPECT_THAT(named->data.masking->never, ElementsAre(RecipeToken(int64_t{3}), RecipeToken("a")));
  EXPECT_EQ(named->data.masking->unchosen, -1);
  const auto error = [&](const std::string& masking, const std::string& more = "train.steps=1") {
    return error_with("", {"data.source=text", text, "data.masking=" + masking, more});
  };
  EXPECT_THAT(error("{share=0}"), HasSubstr("share is 0, must be above 0 and at most 1"));
  EXPECT_THAT(error("{shore=0.1}"), HasSubstr("[data.masking] has no key 'shore'; did you mean 'share'?"));
  EXPECT_THAT(error("{mask=0.8, random=0.3}"), HasSubstr("0.8 are masked and 0.3 drawn: together more than"));
  EXPECT_THAT(error("{token=true}"), HasSubstr("token must be text or an integer, not true or false"));
  EXPECT_THAT(error("{token=-1}"), HasSubstr("token is -1, must be at least 0"));
  EXPECT_THAT(error("{never=[1.5]}"), HasSubstr("never must be text or an integer, not a number"));
  EXPECT_THAT(error("{token=\"[MASK]\"}"), HasSubstr("'[MASK]', but without a tokenizer tokens are numbers"));
  EXPECT_THAT(error("{}", "loss.ignore=7"), HasSubstr("[loss] ignore is 7, a token"));
  EXPECT_THAT(error("{}", "metric.kind=bits-per-byte"), HasSubstr("take accuracy or perplexity"));
  const std::string file = "data.source=tokens";
  EXPECT_THAT(error_with("", {file, text, "data.masking={token=3}"}), HasSubstr("needs the vocabulary"));
  EXPECT_THAT(error_with("", {file, text, "data.masking={vocabulary=9}"}), HasSubstr("needs the token"));
  EXPECT_EQ(error_with("", {file, text, "data.masking={vocabulary=9, token=3}"}), "no error");
  EXPECT_THAT(error_with("", {"data.masking={}"}), HasSubstr("[data] has no key 'masking'"));
}

TEST(Recipe, WhatIsSetReplacesItsAlternative) {
  const auto recipe = with("", {"train.epochs=2"});
  ASSERT_TRUE(recipe.ok()) << recipe.error().message;
  EXPECT_EQ(recipe->train.epochs, 2);
  EXPECT_EQ(recipe->train.steps, 0);
  EXPECT_THAT(with("", {"train.epochs=2"})->resolved, ::testing::Not(HasSubstr("steps")));
  EXPECT_THAT(error_with("", {"train.epochs=2", "train.steps=3"}), HasSubstr("both steps and epochs"));
  EXPECT_THAT(error_with("", {"model.onnx=nowhere.onnx"}), HasSubstr("'nowhere.onnx', which does not exist"));
}

TEST(Recipe, RefusesPathsThatEndEarly) {
  EXPECT_THAT(error_of("[model]\nonnx = \"a\\u0000b\"\n"), HasSubstr("no path can have"));
}

TEST(Recipe, KeysOfASourceAreUnknownToOthers) {
  const std::string cells =
      "[model]\nzoo = \"unet\"\n[loss]\nkind = \"bce\"\n[train]\nsteps = 1\n[data]\nsource = \"cells\"\n";
  EXPECT_THAT(error_of(cells + "binary_masks = true\n"), HasSubstr("[data] has no key 'binary_masks'"));
  EXPECT_THAT(error_of(cells + "path = \"x\"\n"), HasSubstr("source cells is synthetic; it has no path"));
  EXPECT_THAT(error_of(cells + "[data.augment]\ncrop = [3]\n"), HasSubstr("crop must be [height, width]"));
  EXPECT_THAT(error_of(cells + "[data.augment]\nrotate = 400\n"),
              HasSubstr("rotate is 400, must be at least 0 and at most 180"));
  EXPECT_THAT(error_of(cells + "[data.augment]\nflip = true\n"),
              HasSubstr("[data.augment] has no key 'flip'"));
  EXPECT_EQ(error_of(cells + "[data.augment]\nflip_vertical = true\nmean = [1, 2.5]\n"), "no error");
}

TEST(Recipe, ResolvedIsTheSameRecipe) {
  const auto first = with("batch = 12\n[optimizer]\nrate = 0.1\n", {"train.accumulate=4"});
  ASSERT_TRUE(first.ok());
  const auto again = parse_recipe(first->resolved, "elsewhere/other.toml");
  ASSERT_TRUE(again.ok()) << again.error().message << "\n" << first->resolved;
  EXPECT_EQ(again->name, "r");
  EXPECT_EQ(again->train.accumulate, 4);
  EXPECT_EQ(again->optimizer.rate, 0.1);
  EXPECT_EQ(again->resolved, first->resolved);
  EXPECT_THAT(first->resolved, HasSubstr("rate = 0.1\n")) << "as a person writes it";
}

TEST(Toml, RefusesWhatIsNestedTooDeep) {
  std::string deep = "a";
  for (int i = 0; i < 5'000; ++i) deep += ".a";
  EXPECT_THAT(parse_toml("[" + deep + "]\n", "t").error().message, HasSubstr("more than 32 deep"));
  EXPECT_THAT(parse_toml(deep + " = 1\n", "t").error().message, HasSubstr("more than 32 deep"));
  EXPECT_THAT(parse_toml("[a" + std::string(4'000'000, '.') + "]\n", "t").error().message,
              HasSubstr("more than 32 deep"));
  TomlValue root{TomlTable{}, "t"};
  EXPECT_THAT(set_in_toml(root, deep + "=1").error().message, HasSubstr("more than 32 deep"));
}

TEST(Toml, SurvivesItsOwnText) {
  const auto tree =
      parse_toml("a = 1\nb = [1.5, true, \"x\\\"y\"]\n[c.d]\ne = -3\n[[f]]\ng = 1\n[[f]]\ng = 2\n", "t");
  ASSERT_TRUE(tree.ok());
  const std::string text = toml_text(*tree);
  const auto again = parse_toml(text, "t");
  ASSERT_TRUE(again.ok()) << text;
  EXPECT_EQ(toml_text(*again), text);
  EXPECT_EQ(std::get<std::string>(std::get<TomlArray>(again->find("b")->value)[2].value), "x\"y");
}

}  // namespace
}  // namespace hone::model
