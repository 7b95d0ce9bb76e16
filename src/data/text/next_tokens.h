// From windows of tokens to what a language model is given and what it is to predict.
#pragma once

#include <memory>

#include "data/transform.h"

namespace hone::data {

// "tokens" [T + 1] becomes "tokens" [T], all but the last, and "next" [T], all but the first. Other fields are an error.
std::shared_ptr<const Transform> next_tokens();

}  // namespace hone::data
