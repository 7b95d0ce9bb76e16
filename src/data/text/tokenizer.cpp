#include "data/text/tokenizer.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "data/text/byte_level_bpe.h"
#include "data/text/tokenizer_file.h"
#include "data/text/word_piece.h"

namespace hone::data {
namespace {

using nlohmann::json;

class ByteTokenizer final : public Tokenizer {
 public:
  int64_t vocabulary() const override { return 256; }
  std::optional<uint32_t> token_of(std::string_view /*name*/) const override { return std::nullopt; }
  std::vector<uint32_t> encode(std::string_view text) const override {
    std::vector<uint32_t> tokens;
    tokens.reserve(text.size());
    for (const char c : text) tokens.push_back(static_cast<unsigned char>(c));
    return tokens;
  }
  std::string decode(std::span<const uint32_t> tokens) const override {
    std::string text;
    for (const uint32_t token : tokens)
      if (token < 256) text += static_cast<char>(token);
    return text;
  }
};

}  // namespace

std::shared_ptr<const Tokenizer> byte_tokenizer() { return std::make_shared<ByteTokenizer>(); }

Result<std::shared_ptr<const Tokenizer>> parse_tokenizer(std::string_view text) {
  const json file = json::parse(text, nullptr, false);
  if (file.is_discarded() || !file.is_object()) return malformed_tokenizer("it is not a JSON object");
  const json& model = part_of(file, "model");
  if (!model.is_object()) return malformed_tokenizer("it has no model");
  const std::string type = text_of_part(model, "type");
  if (type == "BPE" || type.empty()) return parse_byte_level_bpe(file);
  if (type == "WordPiece") return parse_word_piece(file);
  return unsupported(fmt::format(
      "the tokenizer's model is {}; hone reads byte-level BPE and WordPiece, or takes bytes as tokens",
      type));
}

Result<std::shared_ptr<const Tokenizer>> read_tokenizer(const std::filesystem::path& path) {
  HONE_ASSIGN(const auto file, MappedFile::open(path));
  auto tokenizer = parse_tokenizer(file->text());
  if (!tokenizer.ok()) return tokenizer.error().within(path.string());
  return tokenizer;
}

}  // namespace hone::data
