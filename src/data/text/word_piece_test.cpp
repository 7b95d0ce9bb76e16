#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/testing/source_folder.h"
#include "data/text/bert_text.h"
#include "data/text/tokenizer.h"

namespace hone::data {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

json word_piece_file(const std::string& name = "word_piece.json") {
  return json::parse(*read_file(source_folder() / "src/data/testing/files" / name));
}

std::shared_ptr<const Tokenizer> word_piece_of(const json& file) {
  auto made = parse_tokenizer(file.dump());
  if (!made.ok()) throw std::runtime_error(made.error().message);
  return *std::move(made);
}

TEST(WordPiece, TokensAreThoseOfTheTokenizersLibraryUnderAllSettings) {
  json file = word_piece_file();
  const json settings = word_piece_file("word_piece_cases.json");
  ASSERT_GE(settings.size(), 6u);
  for (const json& setting : settings) {
    file["normalizer"] = setting["normalizer"];
    const auto tokenizer = word_piece_of(file);
    ASSERT_GT(setting["texts"].size(), 50u);
    for (const json& one : setting["texts"]) {
      const auto text = one["text"].get<std::string>();
      EXPECT_EQ(tokenizer->encode(text), one["tokens"].get<std::vector<uint32_t>>())
          << setting["normalizer"] << '\n'
          << text;
    }
  }
}

TEST(WordPiece, KnowsItsTokensByName) {
  const auto tokenizer = word_piece_of(word_piece_file());
  EXPECT_EQ(tokenizer->token_of("[MASK]"), 4u);
  EXPECT_EQ(tokenizer->token_of("[UNK]"), 1u);
  EXPECT_EQ(tokenizer->token_of("Lysosome"), tokenizer->vocabulary() - 1);
  EXPECT_FALSE(tokenizer->token_of("no such token"));
}

TEST(WordPiece, GivesWordsBackASpaceApart) {
  const auto tokenizer = word_piece_of(word_piece_file());
  EXPECT_EQ(tokenizer->decode(tokenizer->encode("The  measured gain\nis [MASK] milliseconds.")),
            "the measured gain is [MASK] milliseconds .");
  const uint32_t none[] = {1'000'000};
  EXPECT_EQ(tokenizer->decode(none), "");
}

TEST(WordPiece, BytesThatAreNoUtf8CountAsReplacementCharacters) {
  json file = word_piece_file();
  const auto cleaned = word_piece_of(file);
  EXPECT_EQ(cleaned->encode("ab\xff\xc3 c\xe4\xb8"), cleaned->encode("ab c"));
  file["normalizer"]["clean_text"] = false;
  EXPECT_THAT(word_piece_of(file)->encode("\xff"), ElementsAre(1));
  file["normalizer"] = nullptr;
  EXPECT_THAT(word_piece_of(file)->encode("\xff"), ElementsAre(1));
}

TEST(WordPiece, AddedTokensThatNeverComeCostNoSquareOfTime) {
  const auto tokenizer = word_piece_of(word_piece_file());
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "[SEP]";
  EXPECT_EQ(tokenizer->encode(text), std::vector<uint32_t>(200'000, 3));
}

TEST(WordPiece, NormalisingDecomposesAndOrdersMarks) {
  BertNormaliser keep;
  keep.lowercase = false;
  // Hangul syllables become their letters; a mark that takes room stays.
  EXPECT_EQ(keep("\xed\x95\x9c"), "\xe1\x84\x92\xe1\x85\xa1\xe1\x86\xab");
  EXPECT_EQ(keep("\xe3\x80\xae\xcc\x81"), "\xe3\x80\xae");
  BertNormaliser lower = keep;
  lower.lowercase = true;
  lower.strip_accents = false;
  EXPECT_EQ(lower("\xc4\xb0X"), "i\xcc\x87x");
}

std::string word_piece_error(const std::string& pointer, const json& value) {
  json file = word_piece_file();
  file[json::json_pointer(pointer)] = value;
  const auto tokenizer = parse_tokenizer(file.dump());
  return tokenizer.ok() ? "parsed" : tokenizer.error().message;
}

TEST(WordPiece, WhatItDoesNotKnowIsRefusedByName) {
  EXPECT_EQ(word_piece_error("/version", "1.0"), "parsed");
  EXPECT_THAT(word_piece_error("/normalizer/type", "Lowercase"), HasSubstr("normalizer is Lowercase"));
  EXPECT_THAT(word_piece_error("/normalizer/lowercase", "yes"), HasSubstr("lowercase is neither true nor"));
  EXPECT_THAT(word_piece_error("/pre_tokenizer/type", "Whitespace"), HasSubstr("'Whitespace'"));
  EXPECT_THAT(word_piece_error("/pre_tokenizer", nullptr), HasSubstr("'nothing'"));
  EXPECT_THAT(word_piece_error("/model/unk_token", "<unk>"), HasSubstr("has no '<unk>'"));
  EXPECT_THAT(word_piece_error("/model/max_input_chars_per_word", -1), HasSubstr("no number of characters"));
  EXPECT_THAT(word_piece_error("/model/vocab", json::object()), HasSubstr("no vocabulary"));
  EXPECT_THAT(word_piece_error("/model/vocab/a", "x"), HasSubstr("number"));
  EXPECT_THAT(word_piece_error("/added_tokens/0/single_word", true), HasSubstr("single_word"));
}

}  // namespace
}  // namespace hone::data
