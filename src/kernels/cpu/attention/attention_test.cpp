#include "kernels/cpu/attention/attention.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/cpu/test_values.h"

namespace hone::kernels {
namespace {

AttentionStrides bhtd(int64_t heads, int64_t rows, int64_t columns) {
  return {heads * rows * columns, rows * columns, columns, 1};
}

AttentionStrides bthd(int64_t heads, int64_t rows, int64_t columns) {
  return {rows * heads * columns, columns, heads * columns, 1};
}

int64_t extent(const AttentionStrides& s, int64_t batch, int64_t heads, int64_t rows, int64_t columns) {
  return (batch - 1) * s.batch + (heads - 1) * s.head + (rows - 1) * s.row + (columns - 1) * s.column + 1;
}

double element_at(const std::vector<float>& data, const AttentionStrides& s, int64_t b, int64_t h, int64_t t,
                  int64_t d) {
  return static_cast<double>(
      data[static_cast<std::size_t>(b * s.batch + h * s.head + t * s.row + d * s.column)]);
}

void check(const AttentionDesc& d, const std::vector<float>& mask = {}) {
  const std::vector<float> q = normal_values(extent(d.q, d.batch, d.heads, d.queries, d.head_dim), 0, 1, 1);
  const std::vector<float> k = normal_values(extent(d.k, d.batch, d.kv_heads, d.keys, d.head_dim), 0, 1, 2);
  const std::vector<float> v = normal_values(extent(d.v, d.batch, d.kv_heads, d.keys, d.value_dim), 0, 1, 3);
  std::vector<float> out(static_cast<std::size_t>(extent(d.out, d.batch, d.heads, d.queries, d.value_dim)),
                         NAN);
  const Result<Attention> kernel = Attention::create(d);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  std::vector<CacheLine> scratch(kernel->scratch_bytes() / 64 + 1);
  std::fill_n(reinterpret_cast<unsigned char*>(scratch.data()), scratch.size() * 64, 0xFF);  // NaN
  kernel->execute(q.data(), k.data(), v.data(), mask.data(), out.data(), scratch.data());
  std::vector<double> p(static_cast<std::size_t>(d.keys));
  for (int64_t b = 0; b < d.batch; ++b) {
    for (int64_t h = 0; h < d.heads; ++h) {
      const int64_t kv = h / (d.heads / d.kv_heads);
      for (int64_t i = 0; i < d.queries; ++i) {
        double max = -INFINITY, sum = 0;
        for (int64_t j = 0; j < d.keys; ++j) {
          double score = 0;
          for (int64_t c = 0; c < d.head_dim; ++c)
            score += element_at(q, d.q, b, h, i, c) * element_at(k, d.k, b, kv, j, c);
          score *= static_cast<double>(d.scale);
          if (d.masked) score += element_at(mask, d.mask, b, h, i, j);
          if (d.causal && j > i + d.causal_offset) score = -INFINITY;
          p[static_cast<std::size_t>(j)] = score;
          max = std::max(max, score);
        }
        for (double& x : p) sum += x = max == -INFINITY ? 0 : std::exp(x - max);
        for (int64_t c = 0; c < d.value_dim; ++c) {
          double exact = 0;
          for (int64_t j = 0; j < d.keys; ++j)
            exact += p[static_cast<std::size_t>(j)] * element_at(v, d.v, b, kv, j, c);
          exact = sum == 0 ? 0 : exact / sum;
          ASSERT_NEAR(element_at(out, d.out, b, h, i, c), exact, 3e-6 * (1 + std::abs(exact)))
              << "query " << i << " of " << d.queries << ", keys " << d.keys << ", dim " << d.head_dim;
        }
      }
    }
  }
}

AttentionDesc attention(int64_t batch, int64_t heads, int64_t queries, int64_t keys, int64_t dim) {
  AttentionDesc d{.batch = batch, .heads = heads, .kv_heads = heads, .queries = queries, .keys = keys};
  d.head_dim = d.value_dim = dim;
  d.scale = 1 / std::sqrt(static_cast<float>(dim));
  d.q = d.out = bhtd(heads, queries, dim);
  d.k = d.v = bhtd(heads, keys, dim);
  return d;
}

TEST(Attention, MatchesTheFormulaForAnySize) {
  for (int64_t dim : {1, 3, 16, 17, 32, 40, 64, 80, 100}) {
    for (int64_t queries : {1, 5, 6, 13}) {
      for (int64_t keys : {1, 7, 127, 128, 129, 300}) check(attention(1, 2, queries, keys, dim));
    }
  }
  check(attention(2, 3, 300, 260, 64));
}

TEST(Attention, IsCausalWithAnOffset) {
  for (int64_t offset : {0, 1, 131, -3}) {
    AttentionDesc d = attention(1, 2, 150, 281, 24);
    d.causal = true;
    d.causal_offset = offset;
    check(d);
  }
}

TEST(Attention, AddsMasksOfAnyBroadcast) {
  AttentionDesc d = attention(2, 3, 20, 141, 16);
  d.masked = true;
  std::vector<float> mask = normal_values(2 * 3 * 20 * 141, 0, 1, 9);
  for (std::size_t i = 0; i < mask.size(); i += 3) mask[i] = -INFINITY;
  std::fill_n(mask.begin() + 141, 141, -INFINITY);  // a query that sees nothing
  d.mask = bhtd(3, 20, 141);
  check(d, mask);
  d.mask = {141, 0, 0, 1};
  check(d, mask);
  d.mask = {0, 0, 141, 1};
  check(d, mask);
  d.mask = {0, 20, 1, 0};
  check(d, mask);
  d.mask = {0, 0, 1, 20};
  d.causal = true;
  check(d, mask);
}

TEST(Attention, TakesAnyLayoutGroupedHeadsAndPackedOperands) {
  AttentionDesc d = attention(2, 6, 37, 53, 20);
  d.kv_heads = 2;
  d.value_dim = 12;
  d.q = bthd(6, 37, 20);
  d.k = {2 * 20 * 53, 20 * 53, 1, 53};  // already transposed
  d.v = bthd(2, 53, 12);
  d.out = bthd(6, 37, 12);
  check(d);
  AttentionDesc packed = attention(2, 4, 45, 45, 16);  // one [B, T, 3, H, D] matrix
  packed.q = packed.k = packed.v = {45 * 3 * 4 * 16, 16, 3 * 4 * 16, 1};
  packed.out = {4 * 16 * 45, 16 * 45, 1, 45};
  packed.q.column = 1;
  check(packed);
  packed.q = {16 * 45 * 4, 16 * 45, 1, 45};
  check(packed);
}

TEST(Attention, RejectsHeadsThatDoNotDivide) {
  AttentionDesc d = attention(1, 4, 2, 2, 8);
  d.kv_heads = 3;
  EXPECT_FALSE(Attention::create(d).ok());
}

}  // namespace
}  // namespace hone::kernels
