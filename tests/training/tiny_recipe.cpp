#include "tests/training/tiny_recipe.h"

#include <stdexcept>

namespace hone::training {
namespace {

model::Recipe parsed(const std::string& text, const std::vector<std::string>& overrides) {
  auto recipe = model::parse_recipe(text, "tiny.toml", overrides);
  if (!recipe.ok()) throw std::runtime_error(recipe.error().message);
  return *std::move(recipe);
}

}  // namespace

std::string tiny_digits_text() {
  return R"([model]
zoo = "digits_cnn"
sizes = { size = 12, base = 4 }
[data]
source = "digits"
sizes = { samples = 120, side = 12 }
validation = 0.2
[loss]
kind = "cross-entropy"
[metric]
kind = "accuracy"
[optimizer]
rate = 1e-2
[schedule]
kind = "cosine"
warmup = 4
[train]
steps = 30
batch = 8
clip = 1
ema = 0.9
seed = 3
[checkpoint]
every = 5
)";
}

model::Recipe tiny_digits(const std::vector<std::string>& overrides) {
  return parsed(tiny_digits_text(), overrides);
}

model::Recipe tiny_unet(const std::vector<std::string>& overrides) {
  const std::string text = R"([model]
zoo = "unet"
sizes = { size = 16, channels = 1, base = 4, levels = 1, classes = 1 }
[data]
source = "cells"
sizes = { samples = 24, channels = 1, height = 16, width = 16 }
validation = 0.2
[loss]
kind = ["bce", "dice"]
[metric]
kind = "dice"
[optimizer]
rate = 2e-3
[train]
steps = 30
batch = 4
)";
  return parsed(text, overrides);
}

model::Recipe tiny_gpt2(const std::string& text_file, const std::vector<std::string>& overrides) {
  const std::string text = R"([model]
zoo = "gpt2"
sizes = { size = 16, layers = 1, hidden = 16, heads = 2, vocabulary = 256, positions = 16 }
[data]
source = "text"
path = ")" + text_file + R"("
sizes = { length = 16 }
[loss]
kind = "cross-entropy"
target = "next"
[metric]
kind = "bits-per-byte"
[optimizer]
rate = 3e-3
weight_decay = 0.1
decay_vectors = false
[train]
steps = 30
batch = 8
)";
  return parsed(text, overrides);
}

model::Recipe tiny_bert(const std::string& text_file, const std::vector<std::string>& overrides) {
  const std::string text = R"([model]
zoo = "bert_mlm"
sizes = { size = 16, layers = 1, hidden = 16, heads = 2, intermediate = 32, vocabulary = 257, positions = 16 }
[data]
source = "text"
path = ")" + text_file + R"("
sizes = { length = 16 }
[data.masking]
share = 0.3
[loss]
kind = "cross-entropy"
[metric]
kind = "accuracy"
[optimizer]
rate = 1e-2
[train]
steps = 30
batch = 8
[checkpoint]
every = 5
)";
  return parsed(text, overrides);
}

}  // namespace hone::training
