#include "cuda/cudnn_attention.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace hone::cuda {
namespace {

using enum CudnnAttribute;

constexpr int kFirstWithAttention = 91300;
constexpr std::array kWrongVersions = {91400};        // gives wrong results
constexpr int64_t kWholeRow = 8, kMostColumns = 256;  // of a head: 16 bytes of halves

}  // namespace

// --- what graphs share ---

Status AttentionComposition::check(const Cudnn& library, const AttentionDesc& desc) {
  if (library.version() < kFirstWithAttention ||
      std::find(kWrongVersions.begin(), kWrongVersions.end(), library.version()) != kWrongVersions.end())
    return unsupported(fmt::format("cuDNN {} {}: attention takes 9.13.0 or a later one, but not 9.14.0",
                                   library.version_text(),
                                   library.version() < kFirstWithAttention ? "has no operation for attention"
                                                                           : "computes attention wrongly"));
  for (const int64_t columns : {desc.head_dim, desc.value_dim}) {
    if (columns % kWholeRow != 0 || columns > kMostColumns)
      return unsupported(
          fmt::format("cuDNN's heads have a multiple of 8 columns, at most 256, and not {}", columns));
  }
  for (const AttentionDesc::Strides& strides : {desc.q, desc.k, desc.v, desc.o})
    HONE_CHECK(check_rows(strides));
  return {};
}

Status AttentionComposition::check_rows(const AttentionDesc::Strides& strides) {
  if ((strides.batch | strides.head | strides.row) % kWholeRow != 0)
    return unsupported("cuDNN's attention reads rows that begin at multiples of 16 bytes");
  return {};
}

Result<CudnnComposition::Piece> AttentionComposition::rows(int64_t uid, int64_t heads, int64_t count,
                                                           int64_t columns,
                                                           const AttentionDesc::Strides& strides) {
  return memory(uid, desc_.dtype, {desc_.batch, heads, count, columns},
                {strides.batch, strides.head, strides.row, 1});
}

Result<CudnnComposition::Piece> AttentionComposition::columns(int64_t uid, int64_t heads, int64_t count,
                                                              int64_t columns,
                                                              const AttentionDesc::Strides& strides) {
  return memory(uid, desc_.dtype, {desc_.batch, heads, columns, count},
                {strides.batch, strides.head, 1, strides.row});
}

Result<CudnnComposition::Piece> AttentionComposition::sums_piece() {
  const Shape extents = {desc_.batch, desc_.heads, desc_.queries, 1};
  return memory(kSums, DType::kF32, extents, row_major_strides(extents));
}

Result<CudnnComposition::Piece> AttentionComposition::between_scores(DType dtype) {
  return between(dtype, {desc_.batch, desc_.heads, desc_.queries, desc_.keys});
}

Result<CudnnComposition::Piece> AttentionComposition::scores(const Piece& q, const Piece& keys_across,
                                                             const Piece& scale) {
  HONE_ASSIGN(const Piece raw, between_scores());
  HONE_CHECK(product(q, keys_across, raw));
  HONE_ASSIGN(const Piece scaled, between_scores());
  HONE_CHECK(function(CudnnPointwise::kMul, raw, scale, scaled));
  if (!desc_.mask) return scaled;
  HONE_ASSIGN(const Piece mask, memory(kMask, desc_.mask->dtype, desc_.mask->extents, desc_.mask->strides));
  HONE_ASSIGN(const Piece masked, between_scores());
  HONE_CHECK(function(CudnnPointwise::kAdd, scaled, mask, masked));
  return masked;
}

Result<CudnnComposition::Piece> AttentionComposition::admitted(const Piece& scores) {
  if (!desc_.causal) return scores;
  HONE_ASSIGN(const Piece query, between_scores(DType::kI32));
  HONE_CHECK(index(scores, 2, query));
  HONE_ASSIGN(const Piece key, between_scores(DType::kI32));
  HONE_CHECK(index(scores, 3, key));
  HONE_ASSIGN(const Piece seen, between_scores(DType::kBool));
  HONE_CHECK(function(CudnnPointwise::kGreaterOrEqual, query, key, seen));
  HONE_ASSIGN(const Piece never, number(kNever));
  HONE_ASSIGN(const Piece chosen, between_scores());
  HONE_CHECK(select(scores, never, seen, chosen));
  return chosen;
}

// --- attention ---

Result<std::shared_ptr<const Attention>> Attention::make(std::shared_ptr<const Cudnn> library,
                                                         const AttentionDesc& desc) {
  HONE_CHECK(check(*library, desc));
  HONE_CHECK(library->make_current());
  std::shared_ptr<Attention> attention(new Attention(std::move(library), desc));
  HONE_CHECK(attention->build());
  return std::shared_ptr<const Attention>(std::move(attention));
}

Status Attention::build() {
  HONE_CHECK(is_one_operation() ? build_operation() : build_composition());
  return finish();
}

Status Attention::build_operation() {
  HONE_ASSIGN(const Piece q, rows(kQ, desc_.heads, desc_.queries, desc_.head_dim, desc_.q));
  HONE_ASSIGN(const Piece k, rows(kK, desc_.kv_heads, desc_.keys, desc_.head_dim, desc_.k));
  HONE_ASSIGN(const Piece v, rows(kV, desc_.kv_heads, desc_.keys, desc_.value_dim, desc_.v));
  HONE_ASSIGN(const Piece o, rows(kO, desc_.heads, desc_.queries, desc_.value_dim, desc_.o));
  HONE_ASSIGN(const Piece scale, number(kScale));
  HONE_ASSIGN(CudnnObject operation, new_object(CudnnDescriptor::kAttention));
  HONE_CHECK(give(operation, kAttentionQ, q.tensor));
  HONE_CHECK(give(operation, kAttentionK, k.tensor));
  HONE_CHECK(give(operation, kAttentionV, v.tensor));
  HONE_CHECK(give(operation, kAttentionO, o.tensor));
  HONE_CHECK(give(operation, kAttentionScale, scale.tensor));
  return add_operation(std::move(operation));
}

// The largest score of a row is subtracted before the exponential; sums = largest + log(sum).
Status Attention::build_composition() {
  HONE_ASSIGN(const Piece q, rows(kQ, desc_.heads, desc_.queries, desc_.head_dim, desc_.q));
  HONE_ASSIGN(const Piece k, columns(kK, desc_.kv_heads, desc_.keys, desc_.head_dim, desc_.k));
  HONE_ASSIGN(const Piece scale, number(kScale));
  HONE_ASSIGN(const Piece all, scores(q, k, scale));
  HONE_ASSIGN(const Piece seen, admitted(all));
  const Shape row = {desc_.batch, desc_.heads, desc_.queries, 1};
  HONE_ASSIGN(const Piece largest, between(DType::kF32, row));
  HONE_CHECK(reduce(CudnnReduction::kMax, seen, largest));
  HONE_ASSIGN(const Piece below, between_scores());
  HONE_CHECK(function(CudnnPointwise::kSub, seen, largest, below));
  HONE_ASSIGN(const Piece exponential, between_scores());
  HONE_CHECK(function(CudnnPointwise::kExp, below, exponential));
  HONE_ASSIGN(const Piece sum, between(DType::kF32, row));
  HONE_CHECK(reduce(CudnnReduction::kSum, exponential, sum));
  HONE_ASSIGN(const Piece logarithm, between(DType::kF32, row));
  HONE_CHECK(function(CudnnPointwise::kLog, sum, logarithm));
  HONE_ASSIGN(const Piece sums, sums_piece());
  HONE_CHECK(function(CudnnPointwise::kAdd, largest, logarithm, sums));
  HONE_ASSIGN(const Piece weights, between_scores(desc_.dtype));
  HONE_CHECK(function(CudnnPointwise::kDiv, exponential, sum, weights));
  HONE_ASSIGN(const Piece v, rows(kV, desc_.kv_heads, desc_.keys, desc_.value_dim, desc_.v));
  HONE_ASSIGN(const Piece o, rows(kO, desc_.heads, desc_.queries, desc_.value_dim, desc_.o));
  return product(weights, v, o);
}

std::size_t Attention::sums_bytes() const {
  if (is_one_operation()) return 0;
  return static_cast<std::size_t>(desc_.batch * desc_.heads * desc_.queries) * dtype_size(DType::kF32);
}

std::vector<CudnnOperand> Attention::operands(const AttentionOperands& addresses) const {
  std::vector<CudnnOperand> all = {{kQ, addresses.q},
                                   {kK, addresses.k},
                                   {kV, addresses.v},
                                   {kO, addresses.o},
                                   {kScale, &addresses.numbers->scale}};
  if (desc_.mask) all.push_back({kMask, addresses.mask});
  if (desc_.causal) all.push_back({kNever, &addresses.numbers->never});
  if (!is_one_operation()) all.push_back({kSums, addresses.sums});
  return all;
}

}  // namespace hone::cuda
