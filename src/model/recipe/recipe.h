// Recipes: what is to be trained, on what, and how, as the user wrote it in a TOML file (docs/training.md lists the
// keys). Here it becomes plain structs, with every key known, of the right type and in its range; whether data and model
// fit each other is found where they are made.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/result.h"
#include "graph/training/objective.h"
#include "graph/training/optimizer.h"
#include "graph/training/schedule.h"

namespace hone::model {

struct RecipeModel {
  std::string zoo;                            // a model of the zoo, or
  std::filesystem::path onnx;                 // a file
  std::map<std::string, int64_t> sizes;       // of the zoo's: "base", "levels", …
  uint64_t seed = 0;                          // of the zoo's first weights
  std::vector<std::string> freeze;            // patterns of weights that stay as they are
  std::map<std::string, std::string> inputs;  // the model's input → the field that feeds it
};

// What is done to samples on their way into a batch; data/augment/augment.h says what each means. All strengths are 0
// where the recipe has no [data.augment].
struct RecipeAugment {
  std::vector<int64_t> crop, resize;  // height, width; empty: none
  bool pad = false;
  bool flip_horizontal = false, flip_vertical = false, quarter_turns = false;
  double rotate = 0, scale = 0, elastic = 0;
  double brightness = 0, contrast = 0, gamma = 0, noise = 0;
  bool percentiles = false;  // images are normalised by their own percentiles, not by their type's range
  std::vector<double> mean, deviation;
};

// A token as a recipe names it: by the tokenizer's text for it, or by its number.
using RecipeToken = std::variant<std::string, int64_t>;

// Tokens that are hidden from the model, and then found again by it; data/text/masked_tokens.h says how.
struct RecipeMasking {
  double share = 0.15, masked = 0.8, random = 0.1;
  std::optional<RecipeToken> token;  // that stands for a hidden one; none: the usual one
  std::vector<RecipeToken> never;
  int64_t vocabulary = 0;   // of token files, whose tokens nothing else counts
  int64_t unchosen = -100;  // the label of what is not to be found again: [loss] ignore
};

// Threads that read ahead where a recipe does not say how many: a core is left for the host of the step, and twelve keep up
// with a small network on an H200.
int64_t usual_workers();

struct RecipeData {
  std::string source;            // "digits", "cells", "text", "tokens", "pairs", "folders", "table", "zarr"
  std::filesystem::path path;    // of sources that read files: a text, a folder of images, a table, an array
  std::filesystem::path masks;   // of pairs: their folder; empty: that of the images. Of zarr: an array
  std::filesystem::path labels;  // of zarr: an array of one axis
  std::string axes, mask_axes;   // of zarr: data/zarr/zarr.h
  std::vector<int64_t> patch;    // of zarr: depth, height, width
  std::filesystem::path tokenizer;  // of text: a tokenizer.json; empty: a token a byte
  std::string token_type = "u16";   // of tokens: or "u32"
  std::filesystem::path images;     // of a table: the folder that its files are relative to; empty: its own
  std::string image_suffix, mask_suffix;                     // of pairs
  std::string pages = "first";                               // of pairs: "first", "each", "stack"
  bool binary_masks = false;                                 // of pairs: whatever is not 0 is 1
  std::string file_column = "file", label_column = "label";  // of a table
  std::filesystem::path validation_path;                     // of text
  double validation =
      0.1;  // share of the samples that are only judged by, where there is no path of their own
  std::map<std::string, int64_t> sizes;  // of synthetic sources: "samples", "height", …; of text: "length"
  uint64_t seed = 1;                     // of synthetic sources, and of which samples are kept back
  int64_t workers = usual_workers();     // threads that read ahead
  bool skip_damaged = false;  // others stand in for samples that cannot be read; else they end the run
  int64_t cache_mb = 1000;    // of decoded samples that are kept in memory, those that are judged by included
  std::filesystem::path cache;  // a folder in which they are kept, too; empty: none
  std::optional<RecipeAugment> augment;
  std::optional<RecipeMasking> masking;
};

struct RecipeTrain {
  int64_t steps = 0;  // or
  double epochs = 0;
  int64_t batch = 32;  // of a step, all micro-batches together
  int64_t accumulate = 1;
  std::size_t memory = 0;  // bytes that the run may take; 0: what there is
  double clip = 0;
  double ema = 0;
  uint64_t seed = 1;              // of order, augmentation and dropout
  std::string precision = "f32";  // or "bf16", "fp16": of products and what follows them
  std::string residual =
      "f32";  // or "narrow": of sums of the residual stream, where precision is narrow on a GPU
  std::string weights = "f32";  // or, with precision "bf16", "bf16": kept so, and rounded stochastically
  // Kernels are taken by their place in the provider's list, not by what measuring them says: two runs are then equal
  // bit by bit.
  bool deterministic = true;
  std::vector<std::string> without_passes;  // passes or groups that do not change the step, as hone lab found
  int64_t evaluate_every = 0;               // steps; 0: at the end
  std::optional<double> target;             // stop once the metric has reached it
};

inline constexpr const char* kRecipeFile = "recipe.toml";  // in a run folder, as resolved

struct RecipeCheckpoint {
  int64_t every = 0;  // steps; 0: at the end and when interrupted
  int64_t keep = 2;
};

struct Recipe {
  std::string name;  // of the file, where it says none
  std::string file;
  RecipeModel model;
  RecipeData data;
  graph::Objective objective;  // [loss] and [metric]
  graph::Optimizer optimizer;
  graph::Schedule schedule;  // its steps are set once the data's are known
  double warmup = 0;         // steps where 1 or more, else the share of all steps
  RecipeTrain train;
  RecipeCheckpoint checkpoint;
  std::string resolved;  // the recipe as read, with what --set changed: TOML
};

// `overrides` are the command line's ("train.batch=64"). Paths in the recipe are relative to its folder; what --set says
// is relative to where the user is. An error stands for the first thing that is wrong, with file, line and column.
Result<Recipe> read_recipe(const std::filesystem::path& file, const std::vector<std::string>& overrides = {});
Result<Recipe> parse_recipe(std::string_view text, const std::filesystem::path& file,
                            const std::vector<std::string>& overrides = {});

}  // namespace hone::model
