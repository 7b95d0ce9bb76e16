#include "lab/training/token_targets.h"

#include <array>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/text/masked_tokens.h"
#include "data/text/next_tokens.h"

namespace hone::lab {
namespace {

// What tokenizers call the token that stands for a hidden one: BERT's, RoBERTa's.
constexpr std::array<std::string_view, 2> kMaskTokens = {"[MASK]", "<mask>"};

class MaskingMaker {
 public:
  MaskingMaker(const model::RecipeMasking& recipe, const data::Tokenizer* tokenizer, bool are_bytes)
      : recipe_(recipe), tokenizer_(tokenizer), are_bytes_(are_bytes) {}

  Result<data::MaskingOptions> make() const {
    data::MaskingOptions options;
    options.share = recipe_.share;
    options.masked = recipe_.masked;
    options.random = recipe_.random;
    options.unchosen = recipe_.unchosen;
    options.vocabulary = tokenizer_ != nullptr ? tokenizer_->vocabulary() : recipe_.vocabulary;
    HONE_ASSIGN(options.mask, mask());
    for (const model::RecipeToken& token : recipe_.never) {
      HONE_ASSIGN(const int64_t number, number_of(token, "never"));
      options.never.push_back(number);
    }
    return options;
  }

 private:
  Result<int64_t> number_of(const model::RecipeToken& token, const char* key) const {
    if (const auto* number = std::get_if<int64_t>(&token)) return *number;
    const auto& text = std::get<std::string>(token);
    if (const auto found = tokenizer_->token_of(text)) return int64_t{*found};
    return invalid(fmt::format("{}: the tokenizer has no token '{}'", key, text));
  }

  Result<int64_t> mask() const {
    if (recipe_.token) return number_of(*recipe_.token, "token");
    if (are_bytes_) return tokenizer_->vocabulary();  // the one behind all bytes
    for (const std::string_view usual : kMaskTokens)
      if (const auto found = tokenizer_->token_of(usual)) return int64_t{*found};
    return invalid(
        fmt::format("the tokenizer has neither of the tokens {}; say which stands for hidden ones: token",
                    fmt::join(kMaskTokens, ", ")));
  }

  const model::RecipeMasking& recipe_;
  const data::Tokenizer* tokenizer_;
  bool are_bytes_;
};

}  // namespace

Result<data::TokenOptions> token_windows(const model::RecipeData& recipe, int64_t length) {
  data::TokenOptions options;
  options.length = length;
  if (!recipe.masking) return options;
  if (length < 2) return invalid("[data] sizes: masking tokens takes a length of 2 or more");
  options.stride = length;  // a window of T, where a token that follows counts as one of them
  options.length = length - 1;
  options.vocabulary = recipe.masking->vocabulary;
  return options;
}

Result<TokenTargets> token_targets(const model::RecipeData& recipe, const data::Tokenizer* tokenizer) {
  if (!recipe.masking) return TokenTargets{data::next_tokens()};
  const auto make = [&]() -> Result<TokenTargets> {
    HONE_ASSIGN(const data::MaskingOptions options,
                MaskingMaker(*recipe.masking, tokenizer, recipe.tokenizer.empty()).make());
    TokenTargets made;
    made.mask = options.mask;
    HONE_ASSIGN(made.transform, data::masked_tokens(options));
    return made;
  };
  auto made = make();
  if (!made.ok()) return made.error().within("[data.masking]");
  return made;
}

}  // namespace hone::lab
