// Text files as a data set of tokens: encoded when it is made, and held in memory.
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "data/text/tokenizer.h"
#include "data/text/tokens.h"

namespace hone::data {

// The files one behind the other; `options.vocabulary` is the tokenizer's. Text for which there is no memory is an
// error: make token files of it.
Result<std::shared_ptr<const Dataset>> open_text(const std::vector<std::filesystem::path>& files,
                                                 const Tokenizer& tokenizer, TokenOptions options);

}  // namespace hone::data
