// Byte-level BPE as GPT-2 has it: words are bytes, of which known pairs are merged. Internal to data/text.
#pragma once

#include <memory>

#include <nlohmann/json_fwd.hpp>

#include "core/result.h"
#include "data/text/tokenizer.h"

namespace hone::data {

// Of a whole tokenizer.json whose model is BPE.
Result<std::shared_ptr<const Tokenizer>> parse_byte_level_bpe(const nlohmann::json& file);

}  // namespace hone::data
