// Attention on tensor cores, by mma.sync. A warp has 16 queries. The fragments of a product are as PTX has them ("Matrix Fragments
// for mma.m16n8k16"): thread 4 g + t holds of A rows g and g + 8, of B column g, of the result rows g and g + 8 and columns 2 t and
// 2 t + 1; t chooses which of the depth.
//   Queries times keys: the depth are a head's columns, and thread t takes eight neighbours of every 32, as 16 bytes.
//   Weights times values: thread g takes eight neighbouring columns of values, one for each of eight products, so that product j
//   has columns 8 g + j. Of the result thread t has then 16 neighbouring columns: 16 t and those that follow.
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/attention_text.h"
#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

constexpr int64_t kMmaQueries = 16, kMmaWarps = kAttentionBlock / 32;
constexpr int64_t kNarrowHead = 64;  // columns: wider ones leave registers for half as many keys at once

constexpr std::string_view kMmaText = R"cuda(
#ifndef HONE_ON_HOST
HONE_FUNCTION void hone_mma(float* c, const unsigned* a, unsigned b0, unsigned b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32." HONE_MMA_TYPES ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
#else
HONE_FUNCTION void hone_mma(float* c, const unsigned* a, unsigned b0, unsigned b1) { hone_host_mma<Form>(c, a, b0, b1); }
#endif
typedef HoneVector<unsigned, 4> Chunk;
HONE_FUNCTION Chunk hone_chunk(const Element* from, bool there) {
  Chunk chunk = {};
  if (there) chunk = *(const Chunk*)from;
  return chunk;
}
HONE_FUNCTION unsigned hone_pair(float low, float high) {
  return (unsigned)Form::stored(low) | (unsigned)Form::stored(high) << 16;
}
// Element `j` of both.
HONE_FUNCTION unsigned hone_pick(const Chunk& low, const Chunk& high, int j) {
  return j % 2 == 0 ? (low.at[j / 2] & 0xffffu) | high.at[j / 2] << 16 : low.at[j / 2] >> 16 | (high.at[j / 2] & 0xffff0000u);
}
// Over the four threads that share rows.
HONE_FUNCTION float hone_most_of_four(float x) {
#pragma unroll
  for (int mask = 2; mask > 0; mask >>= 1) {
    const float y = __shfl_xor_sync(0xffffffffu, x, mask);
    x = x != x || x > y ? x : y;
  }
  return x;
}
HONE_FUNCTION float hone_sum_of_four(float x) {
#pragma unroll
  for (int mask = 2; mask > 0; mask >>= 1) x += __shfl_xor_sync(0xffffffffu, x, mask);
  return x;
}
HONE_FUNCTION float hone_factor(float most, float highest) { return most == highest ? 1.0f : exp(most - highest); }
)cuda";

constexpr std::string_view kMmaBody = R"cuda(
  const float kNothing = hone_float_of_bits(0xff800000u);  // minus infinity
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32, g = lane / 4, t = lane % 4;
  const int first = ((int)blockIdx.x * kQueryWarps + warp % kQueryWarps) * 16;
  const hone_i64 batch = blockIdx.z, head = blockIdx.y;
  q += HONE_Q_PLACE;
  k += HONE_K_PLACE;
  v += HONE_V_PLACE;
  unsigned queries[kGroups][2][4];
#pragma unroll
  for (int i = 0; i < kGroups; ++i) {
    const int column = 32 * i + 8 * t;
    const Chunk low = hone_chunk(q + (first + g) * kQRow + column, column < kDepth && first + g < kQueries);
    const Chunk high = hone_chunk(q + (first + g + 8) * kQRow + column, column < kDepth && first + g + 8 < kQueries);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      queries[i][half][0] = low.at[2 * half];
      queries[i][half][1] = high.at[2 * half];
      queries[i][half][2] = low.at[2 * half + 1];
      queries[i][half][3] = high.at[2 * half + 1];
    }
  }
  const int seen = first >= kQueries ? 0 : kCausal && first + 16 < kKeys ? first + 16 : kKeys;
  float most[2] = {kNothing, kNothing}, sum[2] = {0.0f, 0.0f};
  float result[kSets][8][4] = {};
#pragma unroll 1
  for (int tile = warp / kQueryWarps * kTile; tile < seen; tile += kTile * (4 / kQueryWarps)) {
    Chunk keys[kTile / 8][kGroups], values[kTile / 16][4][kSets];
#pragma unroll
    for (int n = 0; n < kTile / 8; ++n) {
      const int key = tile + 8 * n + g;
#pragma unroll
      for (int i = 0; i < kGroups; ++i) {
        const int column = 32 * i + 8 * t;
        keys[n][i] = hone_chunk(k + key * kKRow + column, column < kDepth && key < kKeys);
      }
    }
#pragma unroll
    for (int h = 0; h < kTile / 16; ++h) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int key = tile + 16 * h + 2 * t + i % 2 + i / 2 * 8;
#pragma unroll
        for (int set = 0; set < kSets; ++set) {
          const int column = 64 * set + 8 * g;
          values[h][i][set] = hone_chunk(v + key * kVRow + column, column < kWidth && key < kKeys);
        }
      }
    }
    float scores[kTile / 8][4] = {};
#pragma unroll
    for (int n = 0; n < kTile / 8; ++n) {
#pragma unroll
      for (int i = 0; i < kGroups; ++i) {
        hone_mma(scores[n], queries[i][0], keys[n][i].at[0], keys[n][i].at[1]);
        hone_mma(scores[n], queries[i][1], keys[n][i].at[2], keys[n][i].at[3]);
      }
    }
    float highest[2] = {most[0], most[1]};
#pragma unroll
    for (int n = 0; n < kTile / 8; ++n) {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const int query = first + g + c / 2 * 8, key = tile + 8 * n + 2 * t + c % 2;
        float x = scores[n][c] * kScale;
        if (key >= kKeys || (kCausal && key > query))
          x = kNothing;
        else if (query < kQueries)
          x = HONE_MASKED(x);
        scores[n][c] = x;
        highest[c / 2] = x != x || x > highest[c / 2] ? x : highest[c / 2];
      }
    }
    float factor[2], added[2] = {0.0f, 0.0f};
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      highest[r] = hone_most_of_four(highest[r]);
      factor[r] = hone_factor(most[r], highest[r]);
      most[r] = highest[r];
    }
#pragma unroll
    for (int n = 0; n < kTile / 8; ++n) {
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const float weight = scores[n][c] == kNothing ? 0.0f : exp(scores[n][c] - most[c / 2]);
        scores[n][c] = weight;
        added[c / 2] += weight;
      }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) sum[r] = sum[r] * factor[r] + added[r];  // of this thread's keys
#pragma unroll
    for (int set = 0; set < kSets; ++set) {
#pragma unroll
      for (int j = 0; j < 8; ++j) {
#pragma unroll
        for (int c = 0; c < 4; ++c) result[set][j][c] *= factor[c / 2];
      }
    }
#pragma unroll
    for (int h = 0; h < kTile / 16; ++h) {
      const unsigned weights[4] = {hone_pair(scores[2 * h][0], scores[2 * h][1]), hone_pair(scores[2 * h][2], scores[2 * h][3]),
                                   hone_pair(scores[2 * h + 1][0], scores[2 * h + 1][1]),
                                   hone_pair(scores[2 * h + 1][2], scores[2 * h + 1][3])};
#pragma unroll
      for (int set = 0; set < kSets; ++set) {
#pragma unroll
        for (int j = 0; j < 8; ++j)
          hone_mma(result[set][j], weights, hone_pick(values[h][0][set], values[h][1][set], j),
                   hone_pick(values[h][2][set], values[h][3][set], j));
      }
    }
  }
  sum[0] = hone_sum_of_four(sum[0]);
  sum[1] = hone_sum_of_four(sum[1]);
  out += HONE_OUT_PLACE;
)cuda";

constexpr std::string_view kMmaOwnRows = R"cuda(
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const int query = first + g + 8 * r;
    if (query >= kQueries) continue;
#pragma unroll
    for (int set = 0; set < kSets; ++set) {
#pragma unroll
      for (int piece = 0; piece < 2; ++piece) {
        const int column = 64 * set + 16 * t + 8 * piece;
        if (column >= kWidth) continue;
        Chunk chunk;
#pragma unroll
        for (int i = 0; i < 4; ++i)
          chunk.at[i] = hone_pair(result[set][2 * i][2 * r + piece] / sum[r], result[set][2 * i + 1][2 * r + piece] / sum[r]);
        *(Chunk*)(out + query * kOutRow + column) = chunk;
      }
    }
  }
}
)cuda";

// What the warps found of the same rows, each of its keys, is joined: eight threads have a row.
constexpr std::string_view kMmaJoinedRows = R"cuda(
  __shared__ float highest_of[4][16], sum_of[4][16];
  __shared__ HoneVector<float, 4> part_of[4][16][kSets * 16 + 1];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    if (t == 0) {
      highest_of[warp][g + 8 * r] = most[r];
      sum_of[warp][g + 8 * r] = sum[r];
    }
#pragma unroll
    for (int set = 0; set < kSets; ++set) {
#pragma unroll
      for (int four = 0; four < 4; ++four) {
        HoneVector<float, 4> part;
#pragma unroll
        for (int i = 0; i < 4; ++i) part.at[i] = result[set][four % 2 * 4 + i][2 * r + four / 2];
        part_of[warp][g + 8 * r][set * 16 + 4 * t + four] = part;
      }
    }
  }
  __syncthreads();
  const int row = (int)threadIdx.x / 8;
  if (first + row >= kQueries) return;
  float highest = highest_of[0][row], total = 0.0f, factors[4];
#pragma unroll
  for (int w = 1; w < 4; ++w) {
    const float x = highest_of[w][row];
    highest = highest != highest || highest > x ? highest : x;
  }
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    factors[w] = hone_factor(highest_of[w][row], highest);
    total += sum_of[w][row] * factors[w];
  }
#pragma unroll
  for (int set = 0; set < kSets; ++set) {
    const int column = 64 * set + (int)threadIdx.x % 8 * 8;
    if (column >= kWidth) continue;
    float x[8] = {};
#pragma unroll
    for (int w = 0; w < 4; ++w) {
#pragma unroll
      for (int i = 0; i < 8; ++i) x[i] = fma(part_of[w][row][column / 4 + i / 4].at[i % 4], factors[w], x[i]);
    }
    Chunk chunk;
#pragma unroll
    for (int i = 0; i < 4; ++i) chunk.at[i] = hone_pair(x[2 * i] / total, x[2 * i + 1] / total);
    *(Chunk*)(out + (first + row) * kOutRow + column) = chunk;
  }
}
)cuda";

}  // namespace

Result<AttentionKernel> generate_attention_mma(const AttentionProgram& program, AttentionSplit split) {
  HONE_CHECK(check_attention(program));
  if (program.dtype == DType::kF32) return unsupported("attention of f32 on tensor cores");
  constexpr int64_t kChunk = 8;
  for (const auto& [rows, columns] : {std::pair{&program.q, program.head_dim},
                                      {&program.k, program.head_dim},
                                      {&program.v, program.value_dim},
                                      {&program.out, program.value_dim}}) {
    if (attention_unit(*rows, columns, program.dtype) < kChunk)
      return unsupported("attention on tensor cores of rows that are not whole 16 bytes");
  }
  const bool keys = split == AttentionSplit::kKeys;
  const int64_t query_warps = keys ? 1 : kMmaWarps;
  const bool narrow = program.head_dim <= kNarrowHead && program.value_dim <= kNarrowHead;
  const auto [memory, form] = attention_element(program.dtype);
  const int64_t together = program.heads / program.kv_heads;
  std::string text = std::string(kBasePrelude);
  text += fmt::format(
      "typedef {} Element;\ntypedef {} Form;\n#define HONE_MMA_TYPES \"{}\"\n"
      "constexpr int kQueries = {}, kKeys = {}, kDepth = {}, kWidth = {};\n"
      "constexpr int kGroups = {}, kSets = {}, kTile = {}, kQueryWarps = {};\n"
      "constexpr hone_i64 kQRow = {}, kKRow = {}, kVRow = {}, kOutRow = {};\n"
      "constexpr bool kCausal = {};\n#define kScale {:a}f\n",
      memory, form, program.dtype == DType::kF16 ? "f16.f16" : "bf16.bf16", program.queries, program.keys,
      program.head_dim, program.value_dim, (program.head_dim + 31) / 32, (program.value_dim + 63) / 64,
      narrow ? 32 : 16, query_warps, program.q.strides[2], program.k.strides[2], program.v.strides[2],
      program.out.strides[2], program.causal, static_cast<double>(program.scale));
  text += fmt::format("#define HONE_Q_PLACE {}\n#define HONE_K_PLACE {}\n", attention_place(program.q),
                      attention_place(program.k, together));
  text += fmt::format("#define HONE_V_PLACE {}\n#define HONE_OUT_PLACE {}\n",
                      attention_place(program.v, together), attention_place(program.out));
  text += attention_mask_text(program.mask);
  text += kMmaText;
  text += fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({}, 1) {}(const Element* q, const Element* k, const "
      "Element* v, {}Element* out) {{",
      kAttentionBlock, kAttentionMmaEntry, attention_mask_parameter(program.mask));
  text += kMmaBody;
  text += keys ? kMmaJoinedRows : kMmaOwnRows;
  AttentionKernel kernel;
  kernel.source = {.name = "attention_mma.cu", .text = std::move(text), .options = {}};
  const int64_t queries = kMmaQueries * query_warps;
  kernel.grid = {(program.queries + queries - 1) / queries, program.heads, program.batch};
  return kernel;
}

}  // namespace hone::kernels::gpu
