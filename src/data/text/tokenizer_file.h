// What tokenizer.json files have in common, whatever their model: how their parts are read, and the added tokens, which
// stand in a text as they are. Internal to data/text.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/result.h"

namespace hone::data {

Error malformed_tokenizer(const std::string& what);

// A member of an object; null where there is none, or where it is no object.
const nlohmann::json& part_of(const nlohmann::json& object, const char* name);
std::string text_of_part(const nlohmann::json& object, const char* name);  // "": it is no text
Result<uint32_t> token_number(const nlohmann::json& value);

// Texts that are tokens wherever they stand: the first one counts, the longest of those that begin together.
class AddedTokens {
 public:
  // What the model does to a text before it is cut into words; none: nothing.
  using Normalise = std::function<std::string(std::string_view)>;
  // Appends the tokens of a text that holds no added ones.
  using EncodePlain = std::function<void(std::string_view, std::vector<uint32_t>&)>;

  struct Added {
    std::string text;
    uint32_t token = 0;
  };

  // The file's "added_tokens". Those that are "normalized" are looked for in normalised text, the others before it.
  static Result<AddedTokens> read(const nlohmann::json& file, Normalise normalise = {});

  const std::vector<Added>& all() const { return all_; }  // as the file writes them
  std::optional<uint32_t> token_of(std::string_view text) const;

  std::vector<uint32_t> encode(std::string_view text, const EncodePlain& plain) const;

 private:
  Normalise normalise_;
  std::vector<Added> all_, in_text_, in_normalised_;
};

}  // namespace hone::data
