// The gradient of attention against the reference in f64, in odd sizes, over masks, shared heads and either layout.
#include "kernels/cpu/attention/attention_gradient.h"

#include <cmath>
#include <cstring>

#include <gtest/gtest.h>

#include "kernels/cpu/test_values.h"
#include "kernels/ref/ref.h"

namespace hone::kernels {
namespace {

struct GradientCase {
  int64_t batch = 1, heads = 1, kv_heads = 1, queries = 1, keys = 1, head_dim = 1, value_dim = 1;
  bool causal = false;
  bool packed = false;  // [B, T, H·D] instead of [B, H, T, D]
  Shape mask = {};      // of [B, H, Tq, Tk], broadcast
};

Shape shape_of(const GradientCase& c, int64_t heads, int64_t rows, int64_t columns) {
  return c.packed ? Shape{c.batch, rows, heads * columns} : Shape{c.batch, heads, rows, columns};
}

AttentionStrides strides_in(const GradientCase& c, int64_t heads, int64_t rows, int64_t columns) {
  if (c.packed) return {rows * heads * columns, columns, heads * columns, 1};
  return {heads * rows * columns, rows * columns, columns, 1};
}

Tensor normals(const Shape& shape, unsigned seed) {
  const std::vector<float> values = normal_values(element_count(shape), 0, 1, seed);
  return Tensor::f32(shape, values);
}

void check_gradient_of(const GradientCase& c) {
  SCOPED_TRACE(::testing::Message() << c.batch << " " << c.heads << "/" << c.kv_heads << " " << c.queries
                                    << "x" << c.keys << " " << c.head_dim << " " << c.value_dim);
  const Tensor q = normals(shape_of(c, c.heads, c.queries, c.head_dim), 1);
  const Tensor k = normals(shape_of(c, c.kv_heads, c.keys, c.head_dim), 2);
  const Tensor v = normals(shape_of(c, c.kv_heads, c.keys, c.value_dim), 3);
  const Tensor dy = normals(shape_of(c, c.heads, c.queries, c.value_dim), 4);
  const Tensor mask = c.mask.empty() ? Tensor() : normals(c.mask, 5);
  const Attributes attributes{{"q_num_heads", c.heads},
                              {"kv_num_heads", c.kv_heads},
                              {"is_causal", int64_t{c.causal}},
                              {"scale", 0.3F}};
  const std::vector<Tensor> inputs{q, k, v, mask, dy};
  const auto want = ref::ref_table().find("hone.AttentionGradient")(
      {.op = "hone.AttentionGradient", .attributes = attributes, .inputs = inputs});
  ASSERT_TRUE(want.ok()) << want.error().message;
  AttentionGradientDesc desc;
  AttentionDesc& d = desc.forward;
  d = {.batch = c.batch,
       .heads = c.heads,
       .kv_heads = c.kv_heads,
       .queries = c.queries,
       .keys = c.keys,
       .head_dim = c.head_dim,
       .value_dim = c.value_dim,
       .scale = 0.3F,
       .causal = c.causal};
  d.q = desc.dq = strides_in(c, c.heads, c.queries, c.head_dim);
  d.k = desc.dk = strides_in(c, c.kv_heads, c.keys, c.head_dim);
  d.v = desc.dv = strides_in(c, c.kv_heads, c.keys, c.value_dim);
  d.out = strides_in(c, c.heads, c.queries, c.value_dim);
  if ((d.masked = !c.mask.empty())) {
    std::vector<int64_t> own = row_major_strides(c.mask);
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = c.mask[i] == 1 ? 0 : own[i];
    d.mask = {own[0], own[1], own[2], own[3]};
  }
  const auto kernel = AttentionGradient::create(desc);
  ASSERT_TRUE(kernel.ok()) << kernel.error().message;
  std::vector<CacheLine> scratch(kernel->scratch_bytes() / 64 + 1);
  std::memset(scratch.data(), 0xff, scratch.size() * 64);
  std::vector<Tensor> got{Tensor(DType::kF32, q.shape()), Tensor(DType::kF32, k.shape()),
                          Tensor(DType::kF32, v.shape())};
  for (Tensor& tensor : got) std::memset(tensor.data(), 0xff, tensor.bytes());
  const float* const masks = mask.defined() ? mask.as<float>().data() : nullptr;
  kernel->execute(q.as<float>().data(), k.as<float>().data(), v.as<float>().data(), masks,
                  std::as_const(dy).as<float>().data(), got[0].as<float>().data(), got[1].as<float>().data(),
                  got[2].as<float>().data(), scratch.data());
  for (std::size_t i = 0; i < got.size(); ++i)
    for (int64_t j = 0; j < got[i].size(); ++j)
      ASSERT_NEAR(got[i].at(j), (*want)[i].at(j), 2e-5 * (1 + std::abs((*want)[i].at(j))))
          << "dq dk dv"[3 * i + 1] << " " << j;
}

TEST(AttentionGradientKernel, IsTheReferencesInEitherLayout) {
  for (const bool packed : {false, true}) {
    check_gradient_of({.batch = 2,
                       .heads = 3,
                       .kv_heads = 3,
                       .queries = 64,
                       .keys = 64,
                       .head_dim = 16,
                       .value_dim = 16,
                       .packed = packed});
    check_gradient_of({.batch = 2,
                       .heads = 2,
                       .kv_heads = 2,
                       .queries = 37,
                       .keys = 53,
                       .head_dim = 19,
                       .value_dim = 7,
                       .packed = packed});
    check_gradient_of({.queries = 1, .keys = 1, .packed = packed});
    check_gradient_of({.heads = 1,
                       .kv_heads = 1,
                       .queries = 5,
                       .keys = 131,
                       .head_dim = 33,
                       .value_dim = 65,
                       .packed = packed});
  }
}

TEST(AttentionGradientKernel, SumsOverHeadsThatShareKeys) {
  check_gradient_of({.batch = 2,
                     .heads = 6,
                     .kv_heads = 2,
                     .queries = 21,
                     .keys = 34,
                     .head_dim = 8,
                     .value_dim = 24,
                     .packed = true});
  check_gradient_of({.heads = 4,
                     .kv_heads = 1,
                     .queries = 50,
                     .keys = 50,
                     .head_dim = 16,
                     .value_dim = 16,
                     .causal = true});
}

TEST(AttentionGradientKernel, HidesWhatACausalMaskHides) {
  for (const int64_t length : {1, 6, 7, 63, 65, 150})
    check_gradient_of({.batch = 1,
                       .heads = 2,
                       .kv_heads = 2,
                       .queries = length,
                       .keys = length,
                       .head_dim = 12,
                       .value_dim = 12,
                       .causal = true,
                       .packed = true});
  // Fewer keys than queries, and more.
  check_gradient_of({.queries = 30, .keys = 11, .head_dim = 4, .value_dim = 4, .causal = true});
  check_gradient_of({.queries = 11, .keys = 30, .head_dim = 4, .value_dim = 4, .causal = true});
}

TEST(AttentionGradientKernel, AddsMasksThatAreBroadcast) {
  for (const Shape& mask : {Shape{2, 3, 9, 20}, {1, 1, 9, 20}, {2, 1, 1, 20}, {1, 3, 9, 1}})
    check_gradient_of({.batch = 2,
                       .heads = 3,
                       .kv_heads = 3,
                       .queries = 9,
                       .keys = 20,
                       .head_dim = 8,
                       .value_dim = 8,
                       .mask = mask});
}

// Rows of scores are long enough that few queries are worked on at once.
TEST(AttentionGradientKernel, IsTheReferencesForLongSequences) {
  check_gradient_of(
      {.heads = 1, .kv_heads = 1, .queries = 100, .keys = 2300, .head_dim = 16, .value_dim = 16});
}

TEST(AttentionGradientKernel, AQueryThatSeesNoKeyHasNoPart) {
  AttentionGradientDesc desc;
  desc.forward = {
      .queries = 3, .keys = 2, .head_dim = 2, .value_dim = 2, .causal = true, .causal_offset = -1};
  for (AttentionStrides* strides :
       {&desc.forward.q, &desc.forward.k, &desc.forward.v, &desc.forward.out, &desc.dq, &desc.dk, &desc.dv})
    *strides = {6, 6, 2, 1};
  const auto kernel = AttentionGradient::create(desc);
  ASSERT_TRUE(kernel.ok());
  const std::vector<float> x(6, 1);
  std::vector<float> dq(6, NAN), dk(6, 7), dv(6, 7);
  std::vector<CacheLine> scratch(kernel->scratch_bytes() / 64 + 1);
  kernel->execute(x.data(), x.data(), x.data(), nullptr, x.data(), dq.data(), dk.data(), dv.data(),
                  scratch.data());
  EXPECT_EQ(dq[0], 0);
  EXPECT_EQ(dq[1], 0);
  // Queries 1 and 2 see key 0, query 2 key 1: weights 1 + 1/2 and 1/2.
  EXPECT_FLOAT_EQ(dv[0], 1.5F);
  EXPECT_FLOAT_EQ(dv[2], 0.5F);
  EXPECT_EQ(dv[4], 7) << "there is no third key";
}

TEST(AttentionGradientKernel, RefusesWhatDoesNotFit) {
  AttentionGradientDesc desc;
  desc.forward = {.heads = 3, .kv_heads = 2, .queries = 1, .keys = 1, .head_dim = 1, .value_dim = 1};
  EXPECT_FALSE(AttentionGradient::create(desc).ok());
  desc.forward = {.queries = 1, .keys = 0, .head_dim = 1, .value_dim = 1};
  EXPECT_FALSE(AttentionGradient::create(desc).ok());
}

}  // namespace
}  // namespace hone::kernels
