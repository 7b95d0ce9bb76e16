#include "cuda/cudnn_attention.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace hone::cuda {
namespace {

using enum CudnnAttribute;

constexpr int kFirstWithAttention = 91300;
constexpr std::array kWrongVersions = {91400};  // gives wrong results
constexpr int64_t kQ = 1, kK = 2, kV = 3, kO = 4, kScale = 5;
constexpr int64_t kWholeRow = 8, kMostColumns = 256;  // of a head: 16 bytes of halves

Status check_attention(const Cudnn& library, const AttentionDesc& desc) {
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
  for (const AttentionDesc::Strides& strides : {desc.q, desc.k, desc.v, desc.o}) {
    if ((strides.batch | strides.head | strides.row) % kWholeRow != 0)
      return unsupported("cuDNN's attention reads rows that begin at multiples of 16 bytes");
  }
  return {};
}

}  // namespace

Result<std::shared_ptr<const Attention>> Attention::make(std::shared_ptr<const Cudnn> library,
                                                         const AttentionDesc& desc) {
  HONE_CHECK(check_attention(*library, desc));
  HONE_CHECK(library->make_current());
  std::shared_ptr<Attention> attention(new Attention(std::move(library), desc));
  HONE_CHECK(attention->build());
  return std::shared_ptr<const Attention>(std::move(attention));
}

Status Attention::build() {
  const auto add_rows = [&](int64_t uid, int64_t heads, int64_t rows, int64_t columns,
                            const AttentionDesc::Strides& strides) {
    return add_tensor(uid, desc_.dtype, {desc_.batch, heads, rows, columns},
                      {strides.batch, strides.head, strides.row, 1});
  };
  HONE_ASSIGN(const auto q, add_rows(kQ, desc_.heads, desc_.queries, desc_.head_dim, desc_.q));
  HONE_ASSIGN(const auto k, add_rows(kK, desc_.kv_heads, desc_.keys, desc_.head_dim, desc_.k));
  HONE_ASSIGN(const auto v, add_rows(kV, desc_.kv_heads, desc_.keys, desc_.value_dim, desc_.v));
  HONE_ASSIGN(const auto o, add_rows(kO, desc_.heads, desc_.queries, desc_.value_dim, desc_.o));
  HONE_ASSIGN(const auto scale, add_tensor(kScale, DType::kF32, {1, 1, 1, 1}, {1, 1, 1, 1}, Kept::kByValue));
  HONE_ASSIGN(CudnnObject operation, new_object(CudnnDescriptor::kAttention));
  HONE_CHECK(give(operation, kAttentionQ, q));
  HONE_CHECK(give(operation, kAttentionK, k));
  HONE_CHECK(give(operation, kAttentionV, v));
  HONE_CHECK(give(operation, kAttentionO, o));
  HONE_CHECK(give(operation, kAttentionScale, scale));
  HONE_CHECK(add_operation(std::move(operation)));
  return finish();
}

std::vector<CudnnOperand> Attention::operands(const AttentionOperands& addresses) const {
  return {
      {kQ, addresses.q}, {kK, addresses.k}, {kV, addresses.v}, {kO, addresses.o}, {kScale, addresses.scale}};
}

}  // namespace hone::cuda
