// What a recipe has a model of tokens predict: the token that follows each, or those that were hidden.
#pragma once

#include <memory>

#include "core/result.h"
#include "data/text/tokenizer.h"
#include "data/text/tokens.h"
#include "data/transform.h"
#include "model/recipe/recipe.h"

namespace hone::lab {

// The windows that such samples are made of.
Result<data::TokenOptions> token_windows(const model::RecipeData& recipe, int64_t length);

struct TokenTargets {
  std::shared_ptr<const data::Transform> transform;  // from a window to a sample
  int64_t mask = -1;                                 // the token that stands for hidden ones; -1: none are
};

// `tokenizer` is the text's; null where the tokens come from files of numbers. Errors: a token
// that the tokenizer does not have.
Result<TokenTargets> token_targets(const model::RecipeData& recipe, const data::Tokenizer* tokenizer);

}  // namespace hone::lab
