// From windows of tokens to what a masked language model is given and what it is to find again (Devlin et al. 2018,
// section 3.1): some tokens are chosen, most of those replaced, and they alone are predicted.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/result.h"
#include "data/transform.h"

namespace hone::data {

struct MaskingOptions {
  double share = 0.15;           // of the tokens that may be chosen: each by a draw of its own
  double masked = 0.8;           // of the chosen ones: how many become `mask`
  double random = 0.1;           // and how many another token; the rest stay as they are
  int64_t mask = 0;              // the token that stands for a hidden one
  int64_t vocabulary = 0;        // tokens below it are drawn from
  std::vector<int64_t> never{};  // neither chosen nor drawn, as `mask` itself
  int64_t unchosen = -100;       // the label of tokens that were not chosen
};

// "tokens" [T] becomes "tokens" [T] and "labels" [T]: the token that was there, or `unchosen`. What is chosen depends on
// the seed, the epoch and the sample alone. Errors: shares that are none, nothing left to draw; other fields than tokens.
Result<std::shared_ptr<const Transform>> masked_tokens(const MaskingOptions& options);

}  // namespace hone::data
