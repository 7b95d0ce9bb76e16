// Small runs for the tests of the trainer: a recipe that takes a second.
#pragma once

#include <string>
#include <vector>

#include "model/recipe/recipe.h"

namespace hone::training {

// The digits' network on 12 x 12 pictures, 120 samples in batches of 8: 12 steps an epoch, a fifth kept back. With
// `overrides`, as --set. Throws where it cannot be read.
model::Recipe tiny_digits(const std::vector<std::string>& overrides = {});
std::string tiny_digits_text();

// A U-Net of one level on 16 x 16 pictures of cells, 24 of them in batches of 4.
model::Recipe tiny_unet(const std::vector<std::string>& overrides = {});

// A GPT-2 of one layer on the bytes of `text_file`, 16 of them a sample.
model::Recipe tiny_gpt2(const std::string& text_file, const std::vector<std::string>& overrides = {});

// A BERT of one layer that finds hidden bytes of `text_file` again, 16 of them a sample.
model::Recipe tiny_bert(const std::string& text_file, const std::vector<std::string>& overrides = {});

}  // namespace hone::training
