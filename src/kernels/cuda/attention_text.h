// What the texts of attention kernels have in common.
#pragma once

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "kernels/cuda/attention.h"

namespace hone::kernels::gpu {

// Elements of the widest load, 16 bytes at most, that divides where rows begin and how long they are.
inline int64_t attention_unit(const AttentionRows& rows, int64_t columns, DType dtype) {
  const auto element = static_cast<int64_t>(dtype_size(dtype));
  int64_t all = rows.offset | columns;
  for (const int64_t stride : rows.strides) all |= stride;
  int64_t unit = 1;
  while (unit * 2 * element <= 16 && all % (unit * 2) == 0) unit *= 2;
  return unit;
}

inline std::string attention_place(const AttentionRows& rows, int64_t heads_together = 1) {
  return fmt::format("({}LL + batch * {}LL + {} * {}LL)", rows.offset, rows.strides[0],
                     heads_together == 1 ? "head" : fmt::format("(head / {})", heads_together),
                     rows.strides[1]);
}

struct AttentionElement {
  std::string_view memory, form;
};
inline AttentionElement attention_element(DType dtype) {
  if (dtype == DType::kF32) return {"float", "HoneIdentity<float>"};
  return {"unsigned short", dtype == DType::kF16 ? "HoneF16" : "HoneBf16"};
}

inline bool is_attention_type(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

// The score with its mask, as a macro of it.
inline std::string attention_mask_text(const std::optional<AttentionMaskRows>& mask) {
  if (!mask) return "#define HONE_MASKED(x) (x)\n";
  const auto& [batch, head, query, key] = mask->strides;
  const std::string at =
      fmt::format("mask[batch * {}LL + head * {}LL + query * {}LL + key * {}LL]", batch, head, query, key);
  return mask->dtype == DType::kBool ? fmt::format("#define HONE_MASKED(x) ({} ? (x) : kNothing)\n", at)
                                     : fmt::format("#define HONE_MASKED(x) ((x) + {}::held({}))\n",
                                                   attention_element(mask->dtype).form, at);
}

inline Status check_attention(const AttentionProgram& program) {
  if (!is_attention_type(program.dtype))
    return unsupported(fmt::format("attention of {}", dtype_name(program.dtype)));
  if (program.mask && program.mask->dtype != DType::kBool && !is_attention_type(program.mask->dtype))
    return unsupported(fmt::format("masks of {}", dtype_name(program.mask->dtype)));
  if (program.head_dim > kMostAttentionColumns || program.value_dim > kMostAttentionColumns)
    return unsupported(fmt::format("heads of {} columns and {} values, where {} are the most",
                                   program.head_dim, program.value_dim, kMostAttentionColumns));
  constexpr int64_t kMostOfGrid = 65535, kMostRows = int64_t{1} << 30;
  if (program.heads > kMostOfGrid || program.batch > kMostOfGrid || program.queries > kMostRows ||
      program.keys > kMostRows || program.kv_heads < 1 || program.heads % program.kv_heads != 0)
    return unsupported("attention of so many rows, heads or batches");
  return {};
}

inline std::string attention_mask_parameter(const std::optional<AttentionMaskRows>& mask) {
  if (!mask) return {};
  return fmt::format("const {}* mask, ",
                     mask->dtype == DType::kBool ? "hone_bool" : attention_element(mask->dtype).memory);
}

}  // namespace hone::kernels::gpu
