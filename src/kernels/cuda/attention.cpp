#include "kernels/cuda/attention.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "kernels/cuda/attention_text.h"
#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

constexpr int64_t kQueriesOfBlock = 16, kKeysOfTile = 32;

// Eight threads have a query: each computes the scores of every eighth key of a tile, and four neighbouring columns in 32 of the
// result. Rows of tiles are an odd number of 16 bytes, so that eight threads which read eight rows meet no bank twice.
constexpr std::string_view kAttentionText = R"cuda(
typedef HoneVector<float, 4> Four;

// Rows of a tile from memory, those and columns that there are not as zeros. Each load is of kUnit elements.
template <int kUnit, int kColumns, int kPadded, int kStride>
HONE_FUNCTION void hone_load_rows(Four* to, const Element* from, hone_i64 stride, int rows, int there, float factor) {
  typedef HoneVector<Element, kUnit> Wide;
  constexpr int kUnits = (kPadded + kUnit - 1) / kUnit;
  for (int i = (int)threadIdx.x; i < rows * kUnits; i += kThreads) {
    const int r = i / kUnits, c = i % kUnits * kUnit;
    float* const at = (float*)(to + r * kStride) + c;
    if (r < there && c < kColumns) {
      const Wide x = *(const Wide*)(from + r * stride + c);
#pragma unroll
      for (int j = 0; j < kUnit; ++j) at[j] = Form::held(x.at[j]) * factor;
    } else {
#pragma unroll
      for (int j = 0; j < kUnit; ++j) at[j] = 0.0f;
    }
  }
}
HONE_FUNCTION float hone_most_of_eight(float x) {
#pragma unroll
  for (int mask = 4; mask > 0; mask >>= 1) {
    const float y = __shfl_xor_sync(0xffffffffu, x, mask);
    x = x != x || x > y ? x : y;
  }
  return x;
}
HONE_FUNCTION float hone_sum_of_eight(float x) {
#pragma unroll
  for (int mask = 4; mask > 0; mask >>= 1) x += __shfl_xor_sync(0xffffffffu, x, mask);
  return x;
}
)cuda";

constexpr std::string_view kAttentionBody = R"cuda(
  __shared__ Four q_tile[kQueriesOfBlock * kDepthStride];
  __shared__ Four k_tile[kKeysOfTile * kDepthStride];
  __shared__ Four v_tile[kKeysOfTile * kChunks * 8];
  __shared__ Four p_tile[kQueriesOfBlock * (kKeysOfTile / 4 + 1)];
  const float kNothing = hone_float_of_bits(0xff800000u);  // minus infinity
  const int lane = (int)threadIdx.x % 8, row = (int)threadIdx.x / 8;
  const int first = (int)blockIdx.x * kQueriesOfBlock, query = first + row;
  const hone_i64 batch = blockIdx.z, head = blockIdx.y;
  q += HONE_Q_PLACE + first * kQRow;
  k += HONE_K_PLACE;
  v += HONE_V_PLACE;
  const int queries_here = kQueries - first < kQueriesOfBlock ? kQueries - first : kQueriesOfBlock;
  hone_load_rows<kQUnit, kDepth, kPaddedDepth, kDepthStride>(q_tile, q, kQRow, kQueriesOfBlock, queries_here, kScale);
  const int seen = kCausal && first + kQueriesOfBlock < kKeys ? first + kQueriesOfBlock : kKeys;
  float* const p = (float*)(p_tile + row * (kKeysOfTile / 4 + 1));
  float most = kNothing, sum = 0.0f;
  Four result[kChunks] = {};
  for (int tile = 0; tile < seen; tile += kKeysOfTile) {
    const int here = kKeys - tile < kKeysOfTile ? kKeys - tile : kKeysOfTile;
    __syncthreads();  // the tile before has been read
    hone_load_rows<kKUnit, kDepth, kPaddedDepth, kDepthStride>(k_tile, k + tile * kKRow, kKRow, kKeysOfTile, here, 1.0f);
    hone_load_rows<kVUnit, kWidth, kChunks * 32, kChunks * 8>(v_tile, v + tile * kVRow, kVRow, kKeysOfTile, here, 1.0f);
    __syncthreads();
    float scores[kKeysOfTile / 8] = {};
#pragma unroll 4
    for (int d = 0; d < kPaddedDepth / 4; ++d) {
      const Four a = q_tile[row * kDepthStride + d];
#pragma unroll
      for (int j = 0; j < kKeysOfTile / 8; ++j) {
        const Four b = k_tile[(lane + 8 * j) * kDepthStride + d];
#pragma unroll
        for (int i = 0; i < 4; ++i) scores[j] = fma(a.at[i], b.at[i], scores[j]);
      }
    }
    float highest = most;
#pragma unroll
    for (int j = 0; j < kKeysOfTile / 8; ++j) {
      const int key = tile + lane + 8 * j;
      if (key >= kKeys || (kCausal && key > query))
        scores[j] = kNothing;
      else if (query < kQueries)
        scores[j] = HONE_MASKED(scores[j]);
      highest = scores[j] != scores[j] || scores[j] > highest ? scores[j] : highest;
    }
    highest = hone_most_of_eight(highest);
    const float factor = most == highest ? 1.0f : exp(most - highest);
    most = highest;
    float added = 0.0f;
#pragma unroll
    for (int j = 0; j < kKeysOfTile / 8; ++j) {
      const float weight = scores[j] == kNothing ? 0.0f : exp(scores[j] - most);
      added += weight;
      p[lane + 8 * j] = weight;
    }
    sum = sum * factor + hone_sum_of_eight(added);
    __syncwarp();
#pragma unroll
    for (int m = 0; m < kChunks; ++m)
      for (int i = 0; i < 4; ++i) result[m].at[i] *= factor;
#pragma unroll 2
    for (int key = 0; key < kKeysOfTile; key += 4) {
      const Four weights = p_tile[row * (kKeysOfTile / 4 + 1) + key / 4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int m = 0; m < kChunks; ++m) {
          const Four x = v_tile[(key + i) * kChunks * 8 + lane + 8 * m];
#pragma unroll
          for (int c = 0; c < 4; ++c) result[m].at[c] = fma(weights.at[i], x.at[c], result[m].at[c]);
        }
      }
    }
  }
  if (query >= kQueries) return;
  out += HONE_OUT_PLACE + query * kOutRow;
#pragma unroll
  for (int m = 0; m < kChunks; ++m) {
#pragma unroll
    for (int c = 0; c < 4; ++c) {
      const int column = 32 * m + 4 * lane + c;
      if (column < kWidth) out[column] = Form::stored(result[m].at[c] / sum);
    }
  }
}
)cuda";

}  // namespace

Result<AttentionKernel> generate_attention(const AttentionProgram& program) {
  HONE_CHECK(check_attention(program));
  const auto [memory, form] = attention_element(program.dtype);
  const int64_t padded = (program.head_dim + 7) / 8 * 8, chunks = (program.value_dim + 31) / 32;
  std::string text = std::string(kBasePrelude);
  text += fmt::format(
      "typedef {} Element;\ntypedef {} Form;\n"
      "constexpr int kThreads = {}, kQueriesOfBlock = {}, kKeysOfTile = {};\n"
      "constexpr int kQueries = {}, kKeys = {}, kDepth = {}, kWidth = {};\n"
      "constexpr int kPaddedDepth = {}, kDepthStride = {}, kChunks = {};\n"
      "constexpr int kQUnit = {}, kKUnit = {}, kVUnit = {};\n"
      "constexpr hone_i64 kQRow = {}, kKRow = {}, kVRow = {}, kOutRow = {};\n"
      "constexpr bool kCausal = {};\n#define kScale {:a}f\n",
      memory, form, kAttentionBlock, kQueriesOfBlock, kKeysOfTile, program.queries, program.keys,
      program.head_dim, program.value_dim, padded, padded / 4 + 1, chunks,
      attention_unit(program.q, program.head_dim, program.dtype),
      attention_unit(program.k, program.head_dim, program.dtype),
      attention_unit(program.v, program.value_dim, program.dtype), program.q.strides[2], program.k.strides[2],
      program.v.strides[2], program.out.strides[2], program.causal, static_cast<double>(program.scale));
  const int64_t together = program.heads / program.kv_heads;
  text += fmt::format("#define HONE_Q_PLACE {}\n#define HONE_K_PLACE {}\n", attention_place(program.q),
                      attention_place(program.k, together));
  text += fmt::format("#define HONE_V_PLACE {}\n#define HONE_OUT_PLACE {}\n",
                      attention_place(program.v, together), attention_place(program.out));
  text += attention_mask_text(program.mask);
  text += kAttentionText;
  const std::string mask_text = attention_mask_parameter(program.mask);
  text += fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({}, 1) {}(const Element* q, const Element* k, const "
      "Element* v, "
      "{}Element* out) {{",
      kAttentionBlock, kAttentionEntry, mask_text);
  text += kAttentionBody;
  AttentionKernel kernel;
  kernel.source = {.name = "attention.cu", .text = std::move(text), .options = {}};
  kernel.grid = {(program.queries + kQueriesOfBlock - 1) / kQueriesOfBlock, program.heads, program.batch};
  return kernel;
}

}  // namespace hone::kernels::gpu
