#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/testing/source_folder.h"
#include "data/testing/scratch_folder.h"
#include "data/text/split_words.h"
#include "data/text/text_set.h"
#include "data/text/tokenizer.h"
#include "data/text/tokens.h"

namespace hone::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::ScratchFolder;

std::filesystem::path test_file(const std::string& name) {
  return source_folder() / "src/data/testing/files" / name;
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t length = word_length(text);
    words.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return words;
}

TEST(Text, IsCutAsGpt2CutsIt) {
  EXPECT_THAT(words_of("Hello  world"), ElementsAre("Hello", " ", " world"));
  EXPECT_THAT(words_of("we're 12ab!?"), ElementsAre("we", "'re", " 12", "ab", "!?"));
  EXPECT_THAT(words_of("a\n\n b  "), ElementsAre("a", "\n\n", " b", "  "));
  EXPECT_THAT(words_of("\n\nx"), ElementsAre("\n", "\n", "x"));
  EXPECT_THAT(words_of(" 's"), ElementsAre(" '", "s"));
  EXPECT_THAT(words_of("na\xc3\xafve\xff\xfe"), ElementsAre("na\xc3\xafve", "\xff\xfe"));
}

TEST(Text, TokensAreThoseOfTheTokenizersLibrary) {
  const auto tokenizer = read_tokenizer(test_file("tokenizer.json"));
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->vocabulary(), 700);
  const auto cases = nlohmann::json::parse(*read_file(test_file("tokenizer_cases.json")));
  ASSERT_GT(cases.size(), 50u);
  for (const auto& one : cases) {
    const auto text = one["text"].get<std::string>();
    EXPECT_EQ((*tokenizer)->encode(text), one["tokens"].get<std::vector<uint32_t>>()) << text;
    EXPECT_EQ((*tokenizer)->decode((*tokenizer)->encode(text)), text);
  }
}

TEST(Text, AnyBytesComeBack) {
  const auto tokenizer = *read_tokenizer(test_file("tokenizer.json"));
  std::string bytes;
  for (int i = 0; i < 1024; ++i) bytes += static_cast<char>(i * 37 + i / 256);
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(bytes)), bytes);
  EXPECT_EQ(byte_tokenizer()->decode(byte_tokenizer()->encode(bytes)), bytes);
  EXPECT_THAT(byte_tokenizer()->encode("a\xff"), ElementsAre(97, 255));
}

TEST(Text, LongWordsTakeNoSquareOfTime) {
  const auto tokenizer = *read_tokenizer(test_file("tokenizer.json"));
  const std::string text(1 << 20, 'e');
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
}

std::string tokenizer_error(const std::string& json) {
  const auto tokenizer = parse_tokenizer(json);
  return tokenizer.ok() ? "parsed" : tokenizer.error().message;
}

TEST(Text, OtherTokenizersAreRefusedByName) {
  auto file = nlohmann::json::parse(*read_file(test_file("tokenizer.json")));
  const auto with = [&](const std::string& pointer, const nlohmann::json& value) {
    auto changed = file;
    changed[nlohmann::json::json_pointer(pointer)] = value;
    return tokenizer_error(changed.dump());
  };
  EXPECT_EQ(with("/version", "1.0"), "parsed");
  EXPECT_THAT(with("/model/type", "Unigram"), HasSubstr("Unigram"));
  EXPECT_THAT(with("/model/type", "WordPiece"), HasSubstr("BertPreTokenizer"));
  EXPECT_THAT(with("/normalizer", {{"type", "NFC"}}), HasSubstr("normalizer (NFC)"));
  EXPECT_THAT(with("/pre_tokenizer", {{"type", "Whitespace"}}), HasSubstr("'Whitespace'"));
  EXPECT_THAT(with("/pre_tokenizer/add_prefix_space", true), HasSubstr("add_prefix_space"));
  EXPECT_THAT(with("/model/merges", {"a q q"}), HasSubstr("merge 0"));
  EXPECT_THAT(with("/model/vocab", {{"a", 0}}), HasSubstr("no token for the byte 0"));
  EXPECT_THAT(with("/model/vocab", {{"a", -1}}), HasSubstr("number"));
  EXPECT_THAT(with("/added_tokens/0/lstrip", true), HasSubstr("lstrip"));
  EXPECT_THAT(tokenizer_error("{"), HasSubstr("not a JSON object"));
  EXPECT_THAT(tokenizer_error("{}"), HasSubstr("no model"));
}

TEST(Tokens, WindowsOverlapByTheTokenThatFollows) {
  const ScratchFolder folder("tokens");
  std::vector<uint16_t> tokens(23);
  for (std::size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<uint16_t>(i * 7);
  const auto text = std::string_view(reinterpret_cast<const char*>(tokens.data()), tokens.size() * 2);
  ASSERT_TRUE(write_file(folder / "a.bin", text).ok());
  ASSERT_TRUE(write_file(folder / "b.bin", text.substr(0, 12)).ok());
  ASSERT_TRUE(write_file(folder / "short.bin", text.substr(0, 4)).ok());
  const auto set = open_token_files({folder / "a.bin", folder / "short.bin", folder / "b.bin"}, DType::kU16,
                                    {.length = 5});
  ASSERT_TRUE(set.ok()) << set.error().message;
  EXPECT_EQ((*set)->size(), 5);  // 4 of the first, 1 of the last
  EXPECT_THAT((*(*set)->read(0))[0].to_ints(), ElementsAre(0, 7, 14, 21, 28, 35));
  EXPECT_THAT((*(*set)->read(3))[0].to_ints(), ElementsAre(105, 112, 119, 126, 133, 140));
  EXPECT_THAT((*(*set)->read(4))[0].to_ints(), ElementsAre(0, 7, 14, 21, 28, 35));
  EXPECT_THAT((*set)->name_of(3), HasSubstr("a.bin (tokens from 15 on)"));
  EXPECT_EQ((*open_token_files({folder / "a.bin"}, DType::kU16, {.length = 5, .stride = 1}))->size(), 18);
}

TEST(Tokens, WhatCannotBeSaysWhy) {
  const ScratchFolder folder("bad-tokens");
  ASSERT_TRUE(write_file(folder / "a.bin", std::string("\x01\x00\x09\x00\x02\x00\x03", 7)).ok());
  EXPECT_THAT(open_token_files({folder / "a.bin"}, DType::kU16, {}).error().message,
              HasSubstr("7 bytes are no whole number of 16-bit"));
  ASSERT_TRUE(write_file(folder / "a.bin", std::string("\x01\x00\x09\x00\x02\x00", 6)).ok());
  EXPECT_THAT(open_token_files({folder / "a.bin"}, DType::kU16, {.length = 3}).error().message,
              HasSubstr("too few for one sample of 4"));
  EXPECT_THAT(open_token_files({folder / "a.bin"}, DType::kU8, {}).error().message,
              HasSubstr("16 or 32 bits"));
  const auto set = open_token_files({folder / "a.bin"}, DType::kU16, {.length = 2, .vocabulary = 9});
  EXPECT_THAT((*set)->read(0).error().message, HasSubstr("the token 9, but the vocabulary has 9"));
  EXPECT_FALSE(open_token_files({folder / "none"}, DType::kU16, {}).ok());
}

TEST(Tokens, TextBecomesWindows) {
  const ScratchFolder folder("text");
  ASSERT_TRUE(write_file(folder / "a.txt", "hello").ok());
  ASSERT_TRUE(write_file(folder / "b.txt", " you").ok());
  const auto set = open_text({folder / "a.txt", folder / "b.txt"}, *byte_tokenizer(), {.length = 4});
  ASSERT_TRUE(set.ok()) << set.error().message;
  EXPECT_EQ((*set)->size(), 2);
  EXPECT_THAT((*(*set)->read(1))[0].to_ints(), ElementsAre('o', ' ', 'y', 'o', 'u'));
  EXPECT_THAT(open_text({folder / "a.txt"}, *byte_tokenizer(), {.length = 9}).error().message,
              HasSubstr("too few"));
}

}  // namespace
}  // namespace hone::data
