// WordPiece as BERT has it: words are cut into the longest pieces that the vocabulary knows. Internal to data/text.
#pragma once

#include <memory>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "data/text/tokenizer.h"

namespace hone::data {

// Of a whole tokenizer.json whose model is WordPiece.
Result<std::shared_ptr<const Tokenizer>> parse_word_piece(const nlohmann::json& file);

}  // namespace hone::data
