// Text to tokens and back: bytes as they are, or what a tokenizer.json says: byte-level BPE as GPT-2 has it, or
// WordPiece as BERT has it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace hone::data {

// Thread-safe.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  virtual int64_t vocabulary() const = 0;  // every token is below it
  // The token that the tokenizer's file calls so ("[MASK]"); of bytes there is none.
  virtual std::optional<uint32_t> token_of(std::string_view name) const = 0;
  virtual std::vector<uint32_t> encode(std::string_view text) const = 0;
  // The bytes of tokens, which need not be whole UTF-8; numbers that are no token give nothing. WordPiece has
  // forgotten white space, and what normalising took: its words are a space apart.
  virtual std::string decode(std::span<const uint32_t> tokens) const = 0;
};

// A token a byte: 256 of them.
std::shared_ptr<const Tokenizer> byte_tokenizer();

// A tokenizer.json of the library "tokenizers": BPE over bytes ("ByteLevel" before it; GPT-2's and those of its kind), or
// WordPiece behind BERT's normaliser and way to cut words. What else such a file can ask for (other normalizers and
// pre-tokenizers, Unigram) is refused by name. Added tokens in the text become themselves. What the file puts around a
// text ([CLS], [SEP]) is left away: windows of a running text have no ends.
Result<std::shared_ptr<const Tokenizer>> parse_tokenizer(std::string_view tokenizer_json);
Result<std::shared_ptr<const Tokenizer>> read_tokenizer(const std::filesystem::path& path);

}  // namespace hone::data
