#include "model/recipe/recipe.h"

#include <algorithm>
#include <thread>
#include <tuple>

#include <fmt/format.h>

#include "core/file.h"
#include "core/memory_budget.h"
#include "model/recipe/section_reader.h"
#include "model/recipe/toml.h"
#include "model/zoo/zoo.h"

namespace hone::model {
namespace {

class RecipeReader {
 public:
  RecipeReader(TomlValue root, std::filesystem::path file) : root_(std::move(root)), file_(std::move(file)) {}

  Result<Recipe> read();

 private:
  Status read_model(SectionReader s);
  Status read_data(SectionReader s);
  Status read_augment(SectionReader s);
  Status read_masking(SectionReader s);
  // What of a run that masks tokens must go together.
  Status check_masking();
  Status read_loss(SectionReader s);
  Status read_metric(SectionReader s);
  Status read_optimizer(SectionReader s);
  Status read_group(SectionReader s);
  Status read_schedule(SectionReader s);
  Status read_train(SectionReader s);
  Status read_checkpoint(SectionReader s);
  // A path that the recipe gives; what the command line sets is relative to the working directory.
  void read_path(SectionReader& s, const char* section, const char* key, std::filesystem::path& to,
                 bool may_be_new = false);

  TomlValue root_;
  std::vector<std::pair<std::string, std::filesystem::path>>
      paths_;  // "data.path", as it will be found from anywhere
  std::filesystem::path file_;
  Recipe recipe_;
};

void RecipeReader::read_path(SectionReader& s, const char* section, const char* key,
                             std::filesystem::path& to, bool may_be_new) {
  std::string text;
  s.read(key, text);
  if (text.empty()) return;
  if (text.find('\0') != std::string::npos)
    return s.fail(key, fmt::format("{} holds a character that no path can have (0)", key));
  to = text;
  if (to.is_relative() && !s.place(key).starts_with("--set")) to = file_.parent_path() / to;
  std::error_code ignored;
  if (!may_be_new && !std::filesystem::exists(to, ignored))
    s.fail(key, fmt::format("{} names '{}', which does not exist", key, to.string()));
  paths_.emplace_back(fmt::format("{}.{}", section, key), std::filesystem::absolute(to).lexically_normal());
}

Status RecipeReader::read_model(SectionReader s) {
  RecipeModel& m = recipe_.model;
  if (!s.has("zoo") && !s.has("onnx"))
    s.fail("", "[model] needs zoo = \"NAME\" (hone zoo lists them) or onnx = \"FILE.onnx\"");
  if (s.has("zoo") && s.has("onnx")) s.fail("onnx", "[model] has both zoo and onnx; keep one");
  std::vector<std::string> names;
  for (const ZooModel& each : zoo_models()) names.emplace_back(each.name);
  std::size_t chosen = 0;
  s.read_name("zoo", chosen, names);
  if (s.has("zoo")) m.zoo = names[chosen];
  read_path(s, "model", "onnx", m.onnx);
  s.read("sizes", m.sizes);
  if (!m.sizes.empty() && m.zoo.empty())
    s.fail("sizes", "sizes are of models of the zoo; a file has its own");
  s.read("seed", m.seed);
  s.read("freeze", m.freeze);
  s.read("inputs", m.inputs);
  s.read("output", recipe_.objective.output);
  return s.finish();
}

Status RecipeReader::read_augment(SectionReader s) {
  RecipeAugment a;
  s.read("crop", a.crop, kPositive);
  s.read("resize", a.resize, kPositive);
  for (const auto& [key, sides] : {std::pair{"crop", &a.crop}, {"resize", &a.resize}})
    if (!sides->empty() && sides->size() != 2) s.fail(key, fmt::format("{} must be [height, width]", key));
  s.read("pad", a.pad);
  s.read("flip_horizontal", a.flip_horizontal);
  s.read("flip_vertical", a.flip_vertical);
  s.read("quarter_turns", a.quarter_turns);
  s.read("rotate", a.rotate, Range{0, 180});
  s.read("scale", a.scale, kNotNegative);
  s.read("elastic", a.elastic, kNotNegative);
  s.read("brightness", a.brightness, kNotNegative);
  s.read("contrast", a.contrast, kNotNegative);
  s.read("gamma", a.gamma, kNotNegative);
  s.read("noise", a.noise, kNotNegative);
  s.read("percentiles", a.percentiles);
  s.read("mean", a.mean, Range{});
  s.read("deviation", a.deviation, kPositive);
  recipe_.data.augment = std::move(a);
  return s.finish();
}

Status RecipeReader::read_masking(SectionReader s) {
  RecipeMasking m;
  s.read("share", m.share, Range{0, 1, true});
  s.read("mask", m.masked, kShare);
  s.read("random", m.random, kShare);
  if (m.masked + m.random > 1)
    s.fail("random",
           fmt::format("of the chosen tokens {:g} are masked and {:g} drawn: together more than all",
                       m.masked, m.random));
  s.read("token", m.token);
  s.read("never", m.never);
  const bool is_files = recipe_.data.source == "tokens";
  if (is_files) {
    s.read("vocabulary", m.vocabulary, kPositive);
    if (m.vocabulary == 0)
      s.fail("", "of source tokens [data.masking] needs the vocabulary: how many there are");
    if (!m.token) s.fail("", "of source tokens [data.masking] needs the token that stands for hidden ones");
  }
  const bool has_names = recipe_.data.source == "text" && !recipe_.data.tokenizer.empty();
  const auto check = [&](const char* key, const RecipeToken& token) {
    const auto* text = std::get_if<std::string>(&token);
    if (!has_names && text != nullptr)
      s.fail(key, fmt::format("{} names '{}', but without a tokenizer tokens are numbers", key, *text));
  };
  if (m.token) check("token", *m.token);
  for (const RecipeToken& token : m.never) check("never", token);
  recipe_.data.masking = std::move(m);
  return s.finish();
}

Status RecipeReader::read_data(SectionReader s) {
  RecipeData& d = recipe_.data;
  const std::vector<std::string> sources = {"digits", "cells",   "text",  "tokens",
                                            "pairs",  "folders", "table", "zarr"};
  if (!s.has("source")) s.fail("", fmt::format("[data] needs a source: {}", fmt::join(sources, ", ")));
  std::size_t chosen = 0;
  s.read_name("source", chosen, sources);
  d.source = sources[chosen];
  const bool synthetic = d.source == "digits" || d.source == "cells";
  if (s.has("source") && !synthetic && !s.has("path"))
    s.fail("source", fmt::format("source {} needs a path", d.source));
  if (synthetic && s.has("path"))
    s.fail("path", fmt::format("source {} is synthetic; it has no path", d.source));
  read_path(s, "data", "path", d.path);
  s.read("validation", d.validation, kBelowOne);
  s.read("seed", d.seed);
  s.read("workers", d.workers, Range{0, 256});  // as many as data/loader.cpp takes
  const bool is_tokens = d.source == "text" || d.source == "tokens";
  if (synthetic || is_tokens) s.read("sizes", d.sizes);
  if (is_tokens) read_path(s, "data", "validation_path", d.validation_path);
  if (d.source == "text") read_path(s, "data", "tokenizer", d.tokenizer);
  if (d.source == "tokens") {
    const std::vector<std::string> types = {"u16", "u32"};
    std::size_t type = 0;
    s.read_name("type", type, types);
    d.token_type = types[type];
  }
  if (d.source == "zarr") {
    read_path(s, "data", "masks", d.masks);
    read_path(s, "data", "labels", d.labels);
    s.read("axes", d.axes);
    s.read("mask_axes", d.mask_axes);
    s.read("patch", d.patch, kNotNegative);
    if (!d.patch.empty() && d.patch.size() != 3) s.fail("patch", "patch must be [depth, height, width]");
  }
  if (d.source == "pairs") {
    read_path(s, "data", "masks", d.masks);
    s.read("image_suffix", d.image_suffix);
    s.read("mask_suffix", d.mask_suffix);
    s.read("binary_masks", d.binary_masks);
    const std::vector<std::string> pages = {"first", "each", "stack"};
    std::size_t page = 0;
    s.read_name("pages", page, pages);
    d.pages = pages[page];
  }
  if (d.source == "table") {
    read_path(s, "data", "images", d.images);
    s.read("file_column", d.file_column);
    s.read("label_column", d.label_column);
  }
  if (is_tokens)
    if (const TomlValue* masking = s.child("masking"))
      HONE_CHECK(read_masking(SectionReader(masking, "[data.masking]")));
  if (!is_tokens) s.read("cache_mb", d.cache_mb, Range{0, 1e9});  // a petabyte
  if (!is_tokens) read_path(s, "data", "cache", d.cache, true);
  if (!synthetic && !is_tokens) s.read("skip_damaged", d.skip_damaged);
  if (!is_tokens)
    if (const TomlValue* augment = s.child("augment"))
      HONE_CHECK(read_augment(SectionReader(augment, "[data.augment]")));
  return s.finish();
}

Status RecipeReader::read_loss(SectionReader s) {
  graph::Objective& o = recipe_.objective;
  if (!s.has("kind"))
    s.fail("", fmt::format("[loss] needs a kind: {}", fmt::join(graph::loss_names(), ", ")));
  std::vector<std::string> kinds;
  if (const TomlValue* kind = s.child("kind");
      kind != nullptr && std::holds_alternative<TomlArray>(kind->value)) {
    s.read("kind", kinds);
    if (kinds.empty()) s.fail("kind", "kind names no loss");
  } else {
    s.read("kind", kinds.emplace_back());
  }
  for (const std::string& name : kinds) {
    const auto known = graph::loss_names();
    const auto found = std::find(known.begin(), known.end(), name);
    if (found == known.end())
      s.fail("kind", fmt::format("kind is '{}', must be of {}", name, fmt::join(known, ", ")));
    else
      o.terms.push_back({static_cast<graph::LossKind>(found - known.begin()), 1});
  }
  s.read("target", o.target);
  s.read("ignore", o.ignore);
  s.read("smoothing", o.smoothing, kBelowOne);
  s.read("delta", o.huber_delta, kPositive);
  return s.finish();
}

Status RecipeReader::read_metric(SectionReader s) {
  s.read_name("kind", recipe_.objective.metric, graph::metric_names());
  s.read("target", recipe_.train.target);
  if (recipe_.train.target && recipe_.objective.metric == graph::MetricKind::kNone)
    s.fail("target", "a target needs a metric: kind");
  if (recipe_.objective.metric == graph::MetricKind::kBitsPerByte && !recipe_.data.tokenizer.empty())
    s.fail("kind", "bits-per-byte takes a token for a byte, but [data] has a tokenizer; take perplexity");
  return s.finish();
}

Status RecipeReader::check_masking() {
  if (!recipe_.data.masking) return {};
  graph::Objective& o = recipe_.objective;
  int64_t& unchosen = recipe_.data.masking->unchosen;
  unchosen = o.ignore.value_or(unchosen);
  o.ignore = unchosen;
  if (unchosen >= 0)
    return invalid(fmt::format(
        "{}: [loss] ignore is {}, a token; with [data.masking] it must be below 0 (left out: -100)",
        recipe_.file, unchosen));
  if (o.metric == graph::MetricKind::kBitsPerByte)
    return invalid(
        fmt::format("{}: [metric] bits-per-byte is of models that predict every byte; with [data.masking] "
                    "take accuracy or perplexity",
                    recipe_.file));
  return {};
}

Status RecipeReader::read_group(SectionReader s) {
  graph::ParameterGroup group;
  s.read("match", group.match);
  if (group.match.empty()) s.fail("match", "a group needs match = [\"PATTERN\", …] of parameters' names");
  s.read("rate", group.rate, kNotNegative);
  s.read("weight_decay", group.weight_decay);
  if (group.weight_decay && *group.weight_decay < 0)
    s.fail("weight_decay", "weight_decay must be at least 0");
  recipe_.optimizer.groups.push_back(std::move(group));
  return s.finish();
}

Status RecipeReader::read_optimizer(SectionReader s) {
  graph::Optimizer& o = recipe_.optimizer;
  s.read_name("kind", o.kind, graph::optimizer_names());
  if (o.kind == graph::OptimizerKind::kMuon) o.momentum = 0.95, o.nesterov = true;
  if (o.kind == graph::OptimizerKind::kLion) o.beta2 = 0.99;
  if (o.kind == graph::OptimizerKind::kLamb) o.epsilon = 1e-6;
  s.read("rate", o.rate, kPositive);
  s.read("momentum", o.momentum, kBelowOne);
  s.read("nesterov", o.nesterov);
  s.read("beta1", o.beta1, kBelowOne);
  s.read("beta2", o.beta2, kBelowOne);
  s.read("epsilon", o.epsilon, kPositive);
  s.read("weight_decay", o.weight_decay, kNotNegative);
  s.read("decay_vectors", o.decay_vectors);
  s.read("vector_rate", o.vector_rate, kPositive);
  if (o.nesterov && o.momentum == 0) s.fail("nesterov", "nesterov needs a momentum");
  if (o.beta1 == 0 && o.kind == graph::OptimizerKind::kLamb) s.fail("beta1", "lamb needs beta1 above 0");
  if (const TomlValue* groups = s.child("groups")) {
    const auto* list = std::get_if<TomlArray>(&groups->value);
    if (list == nullptr) s.fail("groups", "groups are written [[optimizer.groups]]");
    for (std::size_t i = 0; list != nullptr && i < list->size(); ++i)
      HONE_CHECK(read_group(SectionReader(&(*list)[i], "[[optimizer.groups]]")));
  }
  return s.finish();
}

Status RecipeReader::read_schedule(SectionReader s) {
  graph::Schedule& schedule = recipe_.schedule;
  s.read_name("kind", schedule.kind, graph::schedule_names());
  const bool one_cycle = schedule.kind == graph::ScheduleKind::kOneCycle;
  if (one_cycle) schedule.final = schedule.start / 1e4;
  s.read("warmup", recipe_.warmup, Range{0, 1e12});
  s.read("final", schedule.final, kShare);
  s.read("decay", schedule.decay, Range{0, 1, true});
  s.read("peak_at", schedule.peak_at, Range{0, 1, true, true});
  s.read("start", schedule.start, kShare);
  if (one_cycle && recipe_.warmup > 0)
    s.fail("warmup", "one-cycle rises by itself (peak_at); it takes no warmup");
  return s.finish();
}

Status RecipeReader::read_train(SectionReader s) {
  RecipeTrain& t = recipe_.train;
  if (s.has("steps") == s.has("epochs"))
    s.fail("epochs",
           s.has("steps") ? "[train] has both steps and epochs; keep one" : "[train] needs steps or epochs");
  s.read("steps", t.steps, kPositive);
  s.read("epochs", t.epochs, Range{0, 1e9, true});
  s.read("batch", t.batch, kPositive);
  s.read("accumulate", t.accumulate, Range{1, 256});
  if (t.batch % t.accumulate != 0)
    s.fail("accumulate",
           fmt::format("a batch of {} cannot be cut into {} micro-batches", t.batch, t.accumulate));
  std::string memory;
  s.read("memory", memory);
  if (const auto bytes = parse_memory(memory))
    t.memory = *bytes;
  else if (s.has("memory"))
    s.fail("memory", fmt::format("'{}' is no amount of memory; give one like \"2 GiB\"", memory));
  s.read("clip", t.clip, kNotNegative);
  s.read("ema", t.ema, kBelowOne);
  s.read("seed", t.seed);
  std::size_t precision = 0;
  static const std::vector<std::string> kPrecisions = {"f32", "bf16", "fp16"};
  s.read_name("precision", precision, kPrecisions);
  t.precision = kPrecisions[precision];
  std::size_t residual = 0;
  static const std::vector<std::string> kResiduals = {"f32", "narrow"};
  s.read_name("residual", residual, kResiduals);
  t.residual = kResiduals[residual];
  if (t.residual == "narrow" && t.precision == "f32")
    s.fail(
        "residual",
        "residual = \"narrow\" needs precision = \"bf16\" or \"fp16\": in f32 there is no narrower type for "
        "sums; leave it out, or --set train.residual=f32");
  std::size_t weights = 0;
  static const std::vector<std::string> kWeights = {"f32", "bf16"};
  s.read_name("weights", weights, kWeights);
  t.weights = kWeights[weights];
  if (t.weights == "bf16" && t.precision != "bf16")
    s.fail("weights",
           "weights of bf16 need precision = \"bf16\": other products would keep f32 copies of them");
  s.read("deterministic", t.deterministic);
  s.read("without_passes", t.without_passes);
  s.read("evaluate_every", t.evaluate_every, kNotNegative);
  return s.finish();
}

Status RecipeReader::read_checkpoint(SectionReader s) {
  s.read("every", recipe_.checkpoint.every, kNotNegative);
  s.read("keep", recipe_.checkpoint.keep, Range{1, 1000});
  return s.finish();
}

Result<Recipe> RecipeReader::read() {
  recipe_.file = file_.string();
  recipe_.name = file_.stem().string();
  SectionReader top(&root_, "a recipe");
  top.read("name", recipe_.name);
  const auto section = [&](const char* name) {
    return SectionReader(top.child(name), fmt::format("[{}]", name));
  };
  const TomlValue empty{TomlTable{}, recipe_.file};
  const auto needed = [&](const char* name) {
    const TomlValue* table = top.child(name);
    return SectionReader(table == nullptr ? &empty : table, fmt::format("[{}]", name));
  };
  SectionReader model = needed("model"), data = needed("data"), loss = needed("loss"),
                train = needed("train");
  SectionReader metric = section("metric"), optimizer = section("optimizer"), schedule = section("schedule"),
                checkpoint = section("checkpoint");
  HONE_CHECK(top.finish());
  HONE_CHECK(read_model(std::move(model)));
  HONE_CHECK(read_data(std::move(data)));
  HONE_CHECK(read_loss(std::move(loss)));
  HONE_CHECK(read_train(std::move(train)));
  HONE_CHECK(read_metric(std::move(metric)));
  HONE_CHECK(check_masking());
  HONE_CHECK(read_optimizer(std::move(optimizer)));
  HONE_CHECK(read_schedule(std::move(schedule)));
  HONE_CHECK(read_checkpoint(std::move(checkpoint)));
  for (const auto& [key, path] : paths_)
    HONE_CHECK(set_in_toml(root_, fmt::format("{}={}", key, toml_string(path.string()))));
  HONE_CHECK(set_in_toml(root_, "name=" + toml_string(recipe_.name)));
  recipe_.resolved = toml_text(root_);
  return std::move(recipe_);
}

// Of two keys that exclude each other, the one that --set gave replaces the file's.
void replace_alternatives(TomlValue& root) {
  for (const auto& [section, a, b] : {std::tuple{"train", "steps", "epochs"}, {"model", "zoo", "onnx"}}) {
    for (TomlEntry& table : std::get<TomlTable>(root.value)) {
      auto* keys = std::get_if<TomlTable>(&table.value.value);
      if (table.key != section || keys == nullptr) continue;
      const auto is_set = [&](const char* key) {
        const TomlValue* value = table.value.find(key);
        return value != nullptr && value->place.starts_with("--set");
      };
      if (is_set(a) == is_set(b)) continue;
      const std::string other = is_set(a) ? b : a;
      std::erase_if(*keys, [&](const TomlEntry& entry) { return entry.key == other; });
    }
  }
}

}  // namespace

Result<Recipe> parse_recipe(std::string_view text, const std::filesystem::path& file,
                            const std::vector<std::string>& overrides) {
  HONE_ASSIGN(TomlValue root, parse_toml(text, file.string()));
  for (const std::string& assignment : overrides) HONE_CHECK(set_in_toml(root, assignment));
  replace_alternatives(root);
  return RecipeReader(std::move(root), file).read();
}

int64_t usual_workers() {
  return std::clamp<int64_t>(static_cast<int64_t>(std::thread::hardware_concurrency()) - 1, 1, 12);
}

Result<Recipe> read_recipe(const std::filesystem::path& file, const std::vector<std::string>& overrides) {
  std::error_code unknown;
  if (std::filesystem::is_character_file(file, unknown))  // /dev/zero has no end
    return invalid(fmt::format("{}: is a device, no recipe", file.string()));
  HONE_ASSIGN(const std::string text, read_file(file));
  return parse_recipe(text, file, overrides);
}

}  // namespace hone::model
