#include "kernels/cuda/reduce.h"

#include <algorithm>
#include <bit>
#include <string>

#include <fmt/format.h>

#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

constexpr int64_t kReduceThreads = 256;
constexpr int64_t kLongRow = 1024;      // loads: from here on a row has a whole block
constexpr int64_t kWantedBlocks = 528;  // four for each multiprocessor of the largest GPUs
constexpr int64_t kLeastOfPart = 2048;  // loads of a block, less than which no part is worth a second kernel
constexpr int64_t kMostParts = 512;

// One axis of the walk through the input; steps in elements.
struct ReduceAxis {
  int64_t extent = 1, step = 1;
};

struct ReducePlan {
  std::vector<ReduceAxis> kept, reduced;  // outermost first, neighbours joined
  int64_t outputs = 1, count = 1;         // results; elements of one
  bool rows = false;                      // the innermost axis is reduced
  int64_t lanes = 1;     // elements of one load: of one result's in rows, of as many results' in columns
  int64_t threads = 32;  // of one result: along x for rows, along y for columns
  int64_t parts = 1;

  int64_t loads() const { return rows ? count / lanes : count; }
  int64_t threads_x() const { return rows ? threads : kReduceThreads / threads; }
};

ReducePlan plan_axes(const ReduceDesc& desc) {
  ReducePlan plan;
  const std::vector<int64_t> steps = row_major_strides(desc.shape);
  bool last = false, first = true;  // of the axis before: whether it is reduced
  for (std::size_t i = 0; i < desc.shape.size(); ++i) {
    if (desc.shape[i] == 1) continue;
    const bool reduced =
        std::find(desc.axes.begin(), desc.axes.end(), static_cast<int64_t>(i)) != desc.axes.end();
    std::vector<ReduceAxis>& axes = reduced ? plan.reduced : plan.kept;
    (reduced ? plan.count : plan.outputs) *= desc.shape[i];
    if (!first && last == reduced)
      axes.back() = {axes.back().extent * desc.shape[i], steps[i]};
    else
      axes.push_back({desc.shape[i], steps[i]});
    last = reduced;
    first = false;
  }
  plan.rows = !first && last;
  return plan;
}

void choose_loads(ReducePlan& plan, int64_t element) {
  const std::vector<ReduceAxis>&along = plan.rows ? plan.reduced : plan.kept,
        &across = plan.rows ? plan.kept : plan.reduced;
  if (along.empty()) return;
  const auto whole = [&](int64_t lanes) {
    const auto steps = [&](const ReduceAxis& axis) { return axis.step % lanes == 0; };
    return along.back().extent % lanes == 0 && std::all_of(across.begin(), across.end(), steps) &&
           std::all_of(along.begin(), along.end() - 1, steps);
  };
  while (plan.lanes * 2 * element <= 16 && whole(plan.lanes * 2)) plan.lanes *= 2;
}

int64_t pieces(int64_t count, int64_t piece) { return (count + piece - 1) / piece; }

// Blocks of the first kernel, without its parts.
int64_t blocks_of(const ReducePlan& plan) {
  return plan.rows ? pieces(plan.outputs, kReduceThreads / plan.threads)
                   : pieces(plan.outputs / plan.lanes, plan.threads_x());
}

// Columns: as many threads along x as a row has vectors, up to a warp.
void choose_threads(ReducePlan& plan) {
  if (plan.rows) {
    plan.threads = plan.loads() >= kLongRow ? kReduceThreads : 32;
  } else {
    const auto vectors = static_cast<uint64_t>(std::min<int64_t>(plan.outputs / plan.lanes, 32));
    plan.threads = kReduceThreads / static_cast<int64_t>(std::bit_ceil(vectors));
  }
  const int64_t blocks = blocks_of(plan);
  if (blocks >= kWantedBlocks) return;
  const int64_t of_block =
      plan.rows ? plan.loads() * (kReduceThreads / plan.threads) : plan.loads() * plan.threads_x();
  plan.parts =
      std::clamp<int64_t>(std::min(pieces(kWantedBlocks, blocks), of_block / kLeastOfPart), 1, kMostParts);
  plan.parts = std::min(plan.parts, plan.loads());
}

// --- what is computed ---

// A state that holds one number.
struct FoldText {
  std::string_view identity, map, join, result;
};

FoldText fold_text(Reduction op) {
  constexpr std::string_view kAdd = "a + b", kNothing = "x";
  switch (op) {
    case Reduction::kSum:
      return {"0.0f", kNothing, kAdd, kNothing};
    case Reduction::kMean:
      return {"0.0f", kNothing, kAdd, "x / (float)kCount"};
    case Reduction::kMax:
      return {"hone_float_of_bits(0xff800000u)", kNothing, "a != a || a > b ? a : b", kNothing};
    case Reduction::kMin:
      return {"hone_float_of_bits(0x7f800000u)", kNothing, "a != a || a < b ? a : b", kNothing};
    case Reduction::kProd:
      return {"1.0f", kNothing, "a * b", kNothing};
    case Reduction::kL1:
      return {"0.0f", "fabs(x)", kAdd, kNothing};
    case Reduction::kL2:
      return {"0.0f", "x * x", kAdd, "sqrt(x)"};
    case Reduction::kSumSquare:
      return {"0.0f", "x * x", kAdd, kNothing};
    case Reduction::kLogSum:
      return {"0.0f", kNothing, kAdd, "log(x)"};
    case Reduction::kLogSumExp:
      break;
  }
  return {};
}

// The largest element, and the sum of exponentials of differences to it: nothing overflows.
constexpr std::string_view kLogSumExpFold = R"cuda(
struct HoneState { float most, sum; };
HONE_FUNCTION HoneState hone_identity() { return HoneState{hone_float_of_bits(0xff800000u), 0.0f}; }
HONE_FUNCTION HoneState hone_state(float x, hone_i64) { return HoneState{x, 1.0f}; }
HONE_FUNCTION float hone_scale(float x, float most) { return x == most ? 1.0f : exp(x - most); }
HONE_FUNCTION HoneState hone_join(HoneState a, HoneState b) {
  const float most = a.most != a.most || a.most > b.most ? a.most : b.most;
  return HoneState{most, a.sum * hone_scale(a.most, most) + b.sum * hone_scale(b.most, most)};
}
HONE_FUNCTION float hone_result(HoneState x) { return log(x.sum) + x.most; }
HONE_FUNCTION HoneState hone_across(HoneState x, int mask) {
  return HoneState{__shfl_xor_sync(0xffffffffu, x.most, mask), __shfl_xor_sync(0xffffffffu, x.sum, mask)};
}
)cuda";

constexpr std::string_view kArgFold = R"cuda(
struct HoneState { HoneHeld value; hone_i64 at; };
HONE_FUNCTION HoneState hone_identity() { return HoneState{(HoneHeld)0, -1}; }
HONE_FUNCTION HoneState hone_state(HoneHeld x, hone_i64 at) { return HoneState{x, at}; }
HONE_FUNCTION bool hone_better(HoneHeld a, HoneHeld b) {
  if (b != b) return false;
  return a != a || (kMin ? a < b : a > b);
}
HONE_FUNCTION HoneState hone_join(HoneState a, HoneState b) {
  if (a.at < 0 || b.at < 0) return a.at < 0 ? b : a;
  if (hone_better(a.value, b.value)) return a;
  if (hone_better(b.value, a.value)) return b;
  return (a.at > b.at) == kLast ? a : b;
}
HONE_FUNCTION hone_i64 hone_result(HoneState x) { return x.at; }
HONE_FUNCTION HoneState hone_across(HoneState x, int mask) {
  return HoneState{__shfl_xor_sync(0xffffffffu, x.value, mask), __shfl_xor_sync(0xffffffffu, x.at, mask)};
}
)cuda";

std::string fold_functions(const ReduceProgram& program) {
  if (program.arg) {
    const std::string_view held = program.dtype == DType::kI32   ? "int"
                                  : program.dtype == DType::kI64 ? "hone_i64"
                                                                 : "float";
    return fmt::format("typedef {} HoneHeld;\nconstexpr bool kMin = {}, kLast = {};\n", held,
                       program.arg->min, program.arg->last) +
           std::string(kArgFold);
  }
  if (program.desc.op == Reduction::kLogSumExp)
    return "typedef float HoneHeld;\n" + std::string(kLogSumExpFold);
  const FoldText fold = fold_text(program.desc.op);
  return fmt::format(
      "typedef float HoneHeld;\ntypedef float HoneState;\n"
      "HONE_FUNCTION float hone_identity() {{ return {}; }}\n"
      "HONE_FUNCTION float hone_state(float x, hone_i64) {{ return {}; }}\n"
      "HONE_FUNCTION float hone_join(float a, float b) {{ return {}; }}\n"
      "HONE_FUNCTION float hone_result(float x) {{ return {}; }}\n"
      "HONE_FUNCTION float hone_across(float x, int mask) {{ return __shfl_xor_sync(0xffffffffu, x, "
      "mask); "
      "}}\n",
      fold.identity, fold.map, fold.join, fold.result);
}

// --- the kernels ---

// Where in the input the index `e` of `axes` is.
std::string offset_function(std::string_view name, const std::vector<ReduceAxis>& axes,
                            int64_t innermost_by) {
  std::string text = fmt::format("HONE_FUNCTION hone_i64 {}(hone_index e) {{\n  hone_i64 at = 0;\n", name);
  for (std::size_t i = axes.size(); i-- > 0;) {
    const int64_t by = i + 1 == axes.size() ? innermost_by : 1;
    const int64_t extent = axes[i].extent / by;
    const std::string place = i == 0 ? "e" : fmt::format("e % (hone_index){}", extent);
    text += fmt::format("  at += (hone_i64)({}) * {}LL;\n", place, axes[i].step * by);
    if (i > 0) text += fmt::format("  e /= (hone_index){};\n", extent);
  }
  return text + "  return at;\n}\n";
}

constexpr std::string_view kReduceShared = R"cuda(
// Each lane of a warp gets the whole: the same tree every time.
HONE_FUNCTION HoneState hone_over_warp(HoneState x) {
#pragma unroll
  for (int mask = 16; mask > 0; mask >>= 1) x = hone_join(x, hone_across(x, mask));
  return x;
}
HONE_FUNCTION void hone_give(HoneTarget* out, hone_i64 output, HoneState x) {
  if (kParts == 1) ((HoneOut*)out)[output] = hone_stored(x);
  else ((HoneState*)out)[(hone_i64)blockIdx.y * kOutputs + output] = x;
}
// Every kThreads-th load of `from` from `first` on, up to `limit`; as many as kUnroll on their way at once.
typedef HoneVector<HoneIn, kLanes> Wide;
template <typename Take> HONE_FUNCTION void hone_each(const HoneIn* from, hone_index first, hone_index limit, Take take) {
  const auto load = [&](hone_index e) { return *(const Wide*)(from + hone_reduced(e)); };
  hone_index e = first;
  for (; e + (kUnroll - 1) * kThreads < limit; e += kUnroll * kThreads) {
    Wide x[kUnroll];
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) x[k] = load(e + k * kThreads);
#pragma unroll
    for (int k = 0; k < kUnroll; ++k) take(x[k], e + k * kThreads);
  }
  if (e >= limit) return;
  Wide x[kUnroll];
#pragma unroll
  for (int k = 0; k < kUnroll - 1; ++k)
    if (e + k * kThreads < limit) x[k] = load(e + k * kThreads);
#pragma unroll
  for (int k = 0; k < kUnroll - 1; ++k)
    if (e + k * kThreads < limit) take(x[k], e + k * kThreads);
}
// Those loads of a result that this part has.
HONE_FUNCTION hone_index hone_first() { return kParts == 1 ? 0 : (hone_index)(kLoads * (hone_i64)blockIdx.y / kParts); }
HONE_FUNCTION hone_index hone_limit() { return (hone_index)(kParts == 1 ? kLoads : kLoads * ((hone_i64)blockIdx.y + 1) / kParts); }
)cuda";

constexpr std::string_view kRowKernel = R"cuda(
extern "C" __global__ void __launch_bounds__(256, 1) hone_reduce(const HoneIn* in, HoneTarget* out) {
  const hone_i64 output = (hone_i64)blockIdx.x * blockDim.y + threadIdx.y;
  HoneState sum = hone_identity();
  if (output < kOutputs) {
    const HoneIn* const row = in + hone_kept((hone_index)output);
    hone_each(row, hone_first() + (hone_index)threadIdx.x, hone_limit(), [&](Wide x, hone_index e) {
#pragma unroll
      for (int i = 0; i < kLanes; ++i) sum = hone_join(sum, hone_state(HoneForm::held(x.at[i]), (hone_i64)e * kLanes + i));
    });
  }
  sum = hone_over_warp(sum);
  if (kThreads > 32) {
    __shared__ HoneState parts[32];
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = parts[0];
    for (int i = 1; i < kThreads / 32; ++i) sum = hone_join(sum, parts[i]);
  }
  if (threadIdx.x == 0 && output < kOutputs) hone_give(out, output, sum);
}
)cuda";

constexpr std::string_view kColumnKernel = R"cuda(
extern "C" __global__ void __launch_bounds__(256, kBlocksAtOnce) hone_reduce(const HoneIn* in, HoneTarget* out) {
  constexpr int kWidth = 256 / kThreads;
  const hone_i64 first = ((hone_i64)blockIdx.x * kWidth + threadIdx.x) * kLanes;
  HoneState sum[kLanes];
#pragma unroll
  for (int i = 0; i < kLanes; ++i) sum[i] = hone_identity();
  if (first < kOutputs) {
    const HoneIn* const column = in + hone_kept((hone_index)first);
    hone_each(column, hone_first() + (hone_index)threadIdx.y, hone_limit(), [&](Wide x, hone_index e) {
#pragma unroll
      for (int i = 0; i < kLanes; ++i) sum[i] = hone_join(sum[i], hone_state(HoneForm::held(x.at[i]), e));
    });
  }
  __shared__ HoneState parts[kThreads][kWidth * kLanes];
#pragma unroll
  for (int i = 0; i < kLanes; ++i) parts[threadIdx.y][threadIdx.x * kLanes + i] = sum[i];
  __syncthreads();
  for (int i = (int)(threadIdx.y * kWidth + threadIdx.x); i < kWidth * kLanes; i += 256) {
    const hone_i64 output = (hone_i64)blockIdx.x * (kWidth * kLanes) + i;
    if (output >= kOutputs) return;
    HoneState all = parts[0][i];
    for (int k = 1; k < kThreads; ++k) all = hone_join(all, parts[k][i]);
    hone_give(out, output, all);
  }
}
)cuda";

// Neighbouring threads have neighbouring results, whose parts lie together.
constexpr std::string_view kJoinKernel = R"cuda(
extern "C" __global__ void __launch_bounds__(256, 1) hone_join_parts(const HoneState* parts, HoneOut* out) {
  constexpr int kWidth = kOutputs >= 32 ? 32 : 8;
  const int x = (int)threadIdx.x % kWidth, y = (int)threadIdx.x / kWidth;
  const hone_i64 output = (hone_i64)blockIdx.x * kWidth + x;
  HoneState sum = hone_identity();
  if (output < kOutputs) {
#pragma unroll 8
    for (int i = y; i < kParts; i += 256 / kWidth) sum = hone_join(sum, parts[(hone_i64)i * kOutputs + output]);
  }
  __shared__ HoneState sums[256 / kWidth][kWidth];
  sums[y][x] = sum;
  __syncthreads();
  if (y != 0 || output >= kOutputs) return;
  for (int i = 1; i < 256 / kWidth; ++i) sum = hone_join(sum, sums[i][x]);
  out[output] = hone_stored(sum);
}
)cuda";

struct ReduceTypes {
  std::string_view memory, form;
};

std::optional<ReduceTypes> types_of(const ReduceProgram& program) {
  switch (program.dtype) {
    case DType::kF32:
      return ReduceTypes{"float", "HoneIdentity<float>"};
    case DType::kF16:
      return ReduceTypes{"unsigned short", "HoneF16"};
    case DType::kBF16:
      return ReduceTypes{"unsigned short", "HoneBf16"};
    case DType::kI32:
      if (program.arg) return ReduceTypes{"int", "HoneIdentity<int>"};
      break;
    case DType::kI64:
      if (program.arg) return ReduceTypes{"hone_i64", "HoneIdentity<hone_i64>"};
      break;
    default:
      break;
  }
  return std::nullopt;
}

// Of a thread: up to `most`, and not many more than it has.
int64_t loads_at_once(const ReducePlan& plan, int64_t most) {
  const int64_t own = pieces(plan.loads(), plan.parts * plan.threads);
  return std::min(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(own))), most);
}

std::string reduce_source(const ReduceProgram& program, const ReducePlan& plan, const ReduceTypes& types) {
  const std::string stored =
      program.arg ? "HONE_FUNCTION hone_i64 hone_stored(HoneState x) { return hone_result(x); }\n"
      : program.f32_results
          ? "HONE_FUNCTION float hone_stored(HoneState x) { return hone_result(x); }\n"
          : "HONE_FUNCTION HoneOut hone_stored(HoneState x) { return HoneForm::stored(hone_result(x)); }\n";
  // Loads on their way, and registers for them: a state that is one number leaves more, and in columns each load has states
  // of its own.
  const bool number = !program.arg && program.desc.op != Reduction::kLogSumExp;
  const bool small = plan.outputs * plan.count < int64_t{1}
                                                     << 31;  // indices go past an end by less than a block
  return std::string(kBasePrelude) +
         fmt::format(
             "typedef {} HoneIn;\ntypedef {} HoneOut;\ntypedef {} HoneForm;\ntypedef void HoneTarget;\n"
             "constexpr hone_i64 kOutputs = {}, kCount = {}, kLoads = {}, kParts = {};\n"
             "constexpr int kThreads = {}, kLanes = {}, kUnroll = {}, kBlocksAtOnce = {};\ntypedef {} "
             "hone_index;\n",
             types.memory,
             program.arg           ? "hone_i64"
             : program.f32_results ? "float"
                                   : types.memory,
             types.form, plan.outputs, plan.count, plan.loads(), plan.parts, plan.threads, plan.lanes,
             loads_at_once(plan, number && plan.rows ? 8 : 4), number ? 4 : 1,
             small ? "unsigned" : "unsigned long long") +
         fold_functions(program) + stored + offset_function("hone_kept", plan.kept, 1) +
         offset_function("hone_reduced", plan.reduced, plan.rows ? plan.lanes : 1) +
         std::string(kReduceShared) + std::string(plan.rows ? kRowKernel : kColumnKernel) +
         (plan.parts > 1 ? std::string(kJoinKernel) : "");
}

}  // namespace

Result<ReduceKernel> generate_reduce(const ReduceProgram& program) {
  const auto types = types_of(program);
  if (!types) return unsupported(fmt::format("reductions of {}", dtype_name(program.dtype)));
  if (element_count(program.desc.shape) == 0) return unsupported("a reduction of no elements");
  const auto element = static_cast<int64_t>(dtype_size(program.dtype));
  ReducePlan plan = plan_axes(program.desc);
  choose_loads(plan, element);
  choose_threads(plan);
  ReduceKernel kernel;
  kernel.blocks = blocks_of(plan);
  kernel.parts = plan.parts;
  kernel.threads_x = static_cast<int>(plan.threads_x());
  kernel.threads_y = static_cast<int>(kReduceThreads / kernel.threads_x);
  kernel.join_blocks = pieces(plan.outputs, plan.outputs >= 32 ? 32 : 8);
  const int64_t state = program.arg ? 16 : program.desc.op == Reduction::kLogSumExp ? 8 : 4;
  if (plan.parts > 1) kernel.scratch_bytes = static_cast<std::size_t>(plan.parts * plan.outputs * state);
  kernel.bytes = (plan.outputs * plan.count + plan.outputs) * element;
  kernel.source = {
      .name = "reduce.cu", .text = reduce_source(program, plan, *types), .options = {"--fmad=false"}};
  return kernel;
}

}  // namespace hone::kernels::gpu
