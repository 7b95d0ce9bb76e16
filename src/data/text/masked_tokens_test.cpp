#include "data/text/masked_tokens.h"

#include <cmath>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/loader.h"
#include "data/text/tokens.h"

namespace hone::data {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kLength = 4000;
constexpr int64_t kMask = 50, kVocabulary = 50, kNotChosen = -100;

struct Masked {
  std::vector<int64_t> before, given, labels;
};

// Sample `sample` of an epoch; its tokens are 0 to 49, over and over.
Masked masked(const MaskingOptions& options, const SampleRandom& random, int64_t length = kLength) {
  Masked made;
  for (int64_t i = 0; i < length; ++i) made.before.push_back(i % kVocabulary);
  const Sample sample = {Tensor::i64({length}, made.before)};
  const Field fields[] = {{"tokens", DType::kI64, {length}}};
  Tensor given = Tensor::i64({length}, std::vector<int64_t>(made.before.size(), 7777));
  Tensor labels = given.clone();
  const TensorView out[] = {given.view(), labels.view()};
  const auto transform = masked_tokens(options);
  if (!transform.ok()) throw std::runtime_error(transform.error().message);
  if (!(*transform)->apply(sample, fields, random, out).ok()) throw std::runtime_error("it did not apply");
  made.given = given.to_ints();
  made.labels = labels.to_ints();
  return made;
}

MaskingOptions usual() {
  MaskingOptions options;
  options.mask = kMask;
  options.vocabulary = kVocabulary;
  return options;
}

// Whether `count` of `of` is what a share of `p` gives: five standard deviations of a binomial distribution.
void expect_share(int64_t count, int64_t of, double p) {
  const double n = static_cast<double>(of);
  EXPECT_NEAR(static_cast<double>(count), n * p, 5 * std::sqrt(n * p * (1 - p))) << "of " << of;
}

TEST(MaskedTokens, FifteenInAHundredAreChosenAndEightOfTenHidden) {
  int64_t chosen = 0, hidden = 0, other = 0, all = 0;
  std::map<int64_t, int64_t> drawn;
  for (int64_t s = 0; s < 50; ++s) {
    const Masked m = masked(usual(), SampleRandom(3, 0, s));
    for (std::size_t i = 0; i < m.before.size(); ++i, ++all) {
      if (m.labels[i] == kNotChosen) {
        ASSERT_EQ(m.given[i], m.before[i]);
        continue;
      }
      ASSERT_EQ(m.labels[i], m.before[i]);
      ++chosen;
      hidden += m.given[i] == kMask;
      if (m.given[i] == kMask || m.given[i] == m.before[i]) continue;
      ++other;
      ++drawn[m.given[i]];
    }
  }
  expect_share(chosen, all, 0.15);
  expect_share(hidden, chosen, 0.8);
  expect_share(other, chosen, 0.1 * (kVocabulary - 1) / kVocabulary);  // who is drawn may be who was there
  EXPECT_EQ(drawn.size(), static_cast<std::size_t>(kVocabulary));
  for (const auto& [token, count] : drawn) expect_share(count, other, 1.0 / kVocabulary);
}

TEST(MaskedTokens, WhatIsNeverChosenIsNeitherHiddenNorDrawn) {
  MaskingOptions options = usual();
  options.share = 1;
  options.masked = 0;
  options.random = 1;
  options.never = {49, 0, 17, 16};
  std::set<int64_t> drawn;
  const Masked m = masked(options, SampleRandom(1, 0, 0));
  const std::set<int64_t> never = {0, 16, 17, 49};
  for (std::size_t i = 0; i < m.before.size(); ++i) {
    if (never.contains(m.before[i])) {
      EXPECT_EQ(m.labels[i], kNotChosen);
      EXPECT_EQ(m.given[i], m.before[i]);
    } else {
      EXPECT_EQ(m.labels[i], m.before[i]);
      drawn.insert(m.given[i]);
    }
  }
  EXPECT_EQ(drawn.size(), 46u);
  for (const int64_t token : never) EXPECT_FALSE(drawn.contains(token)) << token;
}

TEST(MaskedTokens, TheWholeRangeOfSharesIsTaken) {
  MaskingOptions all = usual();
  all.share = all.masked = 1;
  all.random = 0;
  for (const int64_t token : masked(all, SampleRandom(1, 0, 0)).given) EXPECT_EQ(token, kMask);
  MaskingOptions kept = all;
  kept.masked = 0;
  const Masked m = masked(kept, SampleRandom(1, 0, 0));
  EXPECT_EQ(m.given, m.before);
  EXPECT_EQ(m.labels, m.before);
}

TEST(MaskedTokens, DependOnSeedEpochAndSample) {
  const auto labels = [](uint64_t seed, int64_t epoch, int64_t sample) {
    return masked(usual(), SampleRandom(seed, epoch, sample)).labels;
  };
  EXPECT_EQ(labels(1, 2, 3), labels(1, 2, 3));
  EXPECT_NE(labels(1, 2, 3), labels(2, 2, 3));
  EXPECT_NE(labels(1, 2, 3), labels(1, 3, 3));
  EXPECT_NE(labels(1, 2, 3), labels(1, 2, 4));
}

TEST(MaskedTokens, AreTheSameForAnyNumberOfWorkersAndAfterSeeking) {
  std::vector<uint32_t> text(1000);
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<uint32_t>(i * i % 50);
  const auto set = *tokens_in_memory(text, {.length = 15, .stride = 16, .vocabulary = 50}, "text");
  const std::shared_ptr<const Transform> transform = *masked_tokens(usual());
  const auto batches = [&](int workers) {
    LoaderOptions options;
    options.order.batch_size = 8;
    options.order.seed = 5;
    options.workers = workers;
    return *Loader::make(set, transform, options);
  };
  const auto alone = batches(0), many = batches(3), later = batches(2);
  ASSERT_TRUE(later->seek({1, 2}).ok());
  std::optional<Tensor> sought;
  for (int b = 0; b < 20; ++b) {
    const Batch a = *alone->next(), c = *many->next();
    for (std::size_t f = 0; f < 2; ++f) EXPECT_TRUE(same_tensor(a.tensors[f], c.tensors[f])) << b;
    if (a.place == Place{1, 2}) sought = a.tensors[0];
  }
  ASSERT_TRUE(sought);
  EXPECT_TRUE(same_tensor(later->next()->tensors[0], *sought));
}

TEST(MaskedTokens, ImpossibleSharesAndOtherDataAreRefused) {
  const auto refused = [](auto change) {
    MaskingOptions options = usual();
    change(options);
    const auto made = masked_tokens(options);
    return made.ok() ? "made" : made.error().message;
  };
  EXPECT_THAT(refused([](auto& o) { o.share = 0; }), HasSubstr("more than 0, at most 1"));
  EXPECT_THAT(refused([](auto& o) { o.share = 1.5; }), HasSubstr("more than 0, at most 1"));
  EXPECT_THAT(refused([](auto& o) { o.random = 0.3; }), HasSubstr("together they are at most 1"));
  EXPECT_THAT(refused([](auto& o) { o.mask = -1; }), HasSubstr("is none"));
  EXPECT_THAT(refused([](auto& o) { o.vocabulary = 1, o.never = {0}; }), HasSubstr("no token is left"));
  const Field image[] = {{"image", DType::kF32, {1, 4, 4}}};
  EXPECT_FALSE((*masked_tokens(usual()))->fields(image).ok());
}

}  // namespace
}  // namespace hone::data
