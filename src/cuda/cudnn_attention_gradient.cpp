#include "cuda/cudnn_attention_gradient.h"

#include <fmt/format.h>

namespace hone::cuda {
namespace {

constexpr int64_t kDO = 21, kDq = 22, kDk = 23, kDv = 24, kDots = 25, kDqSums = 26, kOne = 27;
constexpr int kFirstOfAnyLength = 91600;
constexpr int64_t kWholeTile = 128;
constexpr std::size_t kAligned = 256;
std::size_t aligned(int64_t bytes) {
  return (static_cast<std::size_t>(bytes) + kAligned - 1) / kAligned * kAligned;
}

}  // namespace

Result<std::shared_ptr<const AttentionGradient>> AttentionGradient::make(std::shared_ptr<const Cudnn> library,
                                                                         const AttentionGradientDesc& desc) {
  HONE_CHECK(check(*library, desc.forward));
  if (desc.forward.queries < 2 || desc.forward.keys < 2)
    return unsupported("cuDNN has no gradient of attention for one query or one key");
  if (library->version() < kFirstOfAnyLength && desc.forward.keys % kWholeTile != 0)
    return unsupported(
        fmt::format("cuDNN {} computes the gradient of attention for multiples of {} keys alone, and not {}: "
                    "any number takes 9.16.0",
                    library->version_text(), kWholeTile, desc.forward.keys));
  for (const AttentionDesc::Strides& strides : {desc.d_o, desc.dq, desc.dk, desc.dv})
    HONE_CHECK(check_rows(strides));
  HONE_CHECK(library->make_current());
  std::shared_ptr<AttentionGradient> gradient(new AttentionGradient(std::move(library), desc));
  HONE_CHECK(gradient->build());
  return std::shared_ptr<const AttentionGradient>(std::move(gradient));
}

std::size_t AttentionGradient::dots_bytes() const {
  return aligned(desc_.batch * desc_.heads * desc_.queries * 4);
}
std::size_t AttentionGradient::dq_sums_bytes() const {
  return gradient_.deterministic ? 0
                                 : aligned(desc_.batch * desc_.heads * desc_.queries * desc_.head_dim * 4);
}

// Of each row of the result, its product with its gradient: in memory, for a kernel before the others computes them.
Result<CudnnComposition::Piece> AttentionGradient::dots(const Piece& d_o) {
  HONE_ASSIGN(const Piece o, rows(kO, desc_.heads, desc_.queries, desc_.value_dim, desc_.o));
  HONE_ASSIGN(const Piece each,
              between(DType::kF32, {desc_.batch, desc_.heads, desc_.queries, desc_.value_dim}));
  HONE_CHECK(function(CudnnPointwise::kMul, d_o, o, each));
  const Shape row = {desc_.batch, desc_.heads, desc_.queries, 1};
  HONE_ASSIGN(const Piece sum, between(DType::kF32, row));
  HONE_CHECK(reduce(CudnnReduction::kSum, each, sum));
  HONE_ASSIGN(const Piece one, number(kOne));  // where dropout has its scale
  HONE_ASSIGN(const Piece dots, memory(kDots, DType::kF32, row, row_major_strides(row)));
  HONE_CHECK(function(CudnnPointwise::kMul, sum, one, dots));
  return dots;
}

// by_scoreᵀ · rows for each head of queries, summed over those that share a head of keys.
Status AttentionGradient::build_key_gradient(const Piece& by_score, const Piece& of_rows, int64_t uid,
                                             int64_t columns, const AttentionDesc::Strides& strides) {
  const int64_t scores = desc_.queries * desc_.keys;
  HONE_ASSIGN(const Piece turned, between(desc_.dtype, {desc_.batch, desc_.heads, desc_.keys, desc_.queries},
                                          {desc_.heads * scores, scores, 1, desc_.keys}));
  HONE_CHECK(view(by_score, turned));
  HONE_ASSIGN(const Piece result, rows(uid, desc_.kv_heads, desc_.keys, columns, strides));
  if (desc_.heads == desc_.kv_heads) return product(turned, of_rows, result);
  HONE_ASSIGN(const Piece each, between(desc_.dtype, {desc_.batch, desc_.heads, desc_.keys, columns}));
  HONE_CHECK(product(turned, of_rows, each));
  return reduce(CudnnReduction::kSum, each, result);
}

// With p = exp(scores - sums): dv = pᵀ·do, ds = p ∘ (do·vᵀ - dots) · scale, dk = dsᵀ·q, dq = ds·k.
Status AttentionGradient::build() {
  HONE_ASSIGN(const Piece d_o, rows(kDO, desc_.heads, desc_.queries, desc_.value_dim, gradient_.d_o));
  HONE_ASSIGN(const Piece dots, this->dots(d_o));

  HONE_ASSIGN(const Piece q, rows(kQ, desc_.heads, desc_.queries, desc_.head_dim, desc_.q));
  HONE_ASSIGN(const Piece k, columns(kK, desc_.kv_heads, desc_.keys, desc_.head_dim, desc_.k));
  HONE_ASSIGN(const Piece scale, number(kScale));
  HONE_ASSIGN(const Piece all, scores(q, k, scale));
  HONE_ASSIGN(const Piece sums, sums_piece());
  HONE_ASSIGN(const Piece logarithms, between_scores());
  HONE_CHECK(function(CudnnPointwise::kSub, all, sums, logarithms));
  HONE_ASSIGN(const Piece seen, admitted(logarithms));
  HONE_ASSIGN(const Piece weights, between_scores());
  HONE_CHECK(function(CudnnPointwise::kExp, seen, weights));
  HONE_CHECK(build_key_gradient(weights, d_o, kDv, desc_.value_dim, gradient_.dv));

  HONE_ASSIGN(const Piece v, columns(kV, desc_.kv_heads, desc_.keys, desc_.value_dim, desc_.v));
  HONE_ASSIGN(const Piece d_weights, between_scores());
  HONE_CHECK(product(d_o, v, d_weights));
  HONE_ASSIGN(const Piece above, between_scores());
  HONE_CHECK(function(CudnnPointwise::kSub, d_weights, dots, above));
  HONE_ASSIGN(const Piece weighted, between_scores());
  HONE_CHECK(function(CudnnPointwise::kMul, above, weights, weighted));
  HONE_ASSIGN(const Piece d_scores, between_scores());
  HONE_CHECK(function(CudnnPointwise::kMul, weighted, scale, d_scores));
  HONE_CHECK(build_key_gradient(d_scores, q, kDk, desc_.head_dim, gradient_.dk));

  HONE_ASSIGN(const Piece keys,
              between(DType::kF32, {desc_.batch, desc_.kv_heads, desc_.keys, desc_.head_dim},
                      {desc_.k.batch, desc_.k.head, desc_.k.row, 1}));
  HONE_CHECK(view(k, keys));
  HONE_ASSIGN(const Piece dq, rows(kDq, desc_.heads, desc_.queries, desc_.head_dim, gradient_.dq));
  if (gradient_.deterministic) {
    HONE_CHECK(product(d_scores, keys, dq));
    return finish();
  }
  const Shape extents = {desc_.batch, desc_.heads, desc_.queries, desc_.head_dim};
  HONE_ASSIGN(const Piece dq_sums, memory(kDqSums, DType::kF32, extents, row_major_strides(extents)));
  HONE_CHECK(product(d_scores, keys, dq_sums));
  HONE_CHECK(function(CudnnPointwise::kIdentity, dq_sums, dq));
  return finish();
}

std::vector<CudnnOperand> AttentionGradient::operands(const AttentionGradientOperands& addresses) const {
  const AttentionOperands& of = addresses.forward;
  auto* const scratch = static_cast<std::byte*>(addresses.scratch);
  std::vector<CudnnOperand> all = {{kQ, of.q},
                                   {kK, of.k},
                                   {kV, of.v},
                                   {kO, of.o},
                                   {kSums, of.sums},
                                   {kDO, addresses.d_o},
                                   {kDq, addresses.dq},
                                   {kDk, addresses.dk},
                                   {kDv, addresses.dv},
                                   {kScale, &of.numbers->scale},
                                   {kOne, &of.numbers->one},
                                   {kDots, scratch}};
  if (desc_.mask) all.push_back({kMask, of.mask});
  if (desc_.causal) all.push_back({kNever, &of.numbers->never});
  if (!gradient_.deterministic) all.push_back({kDqSums, scratch + dots_bytes()});
  return all;
}

}  // namespace hone::cuda
