#include "kernels/cuda/scan.h"

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

constexpr int64_t kEachOfThread = 4, kEachOfLine = 8;  // neighbours along the axis that are read together
constexpr int64_t kMostScanThreads = 1024, kScanLineThreads = 128;
constexpr int64_t kShortLine = 64;     // from here on a thread alone is slow
constexpr int64_t kManyLines = 32768;  // enough threads to hide that

constexpr std::string_view kScanText = R"cuda(
HONE_FUNCTION hone_i64 hone_line_start(hone_i64 line) { return line / kInner * (kExtent * kInner) + line % kInner; }
// Number `at` of the order in which the line is walked.
HONE_FUNCTION hone_i64 hone_place(hone_i64 at) { return (kReverse ? kExtent - 1 - at : at) * kInner; }
HONE_FUNCTION Sum hone_joined(Sum a, Sum b) { return kProduct ? hone_mul(a, b) : hone_add(a, b); }
)cuda";

constexpr std::string_view kScanByBlocks = R"cuda(
extern "C" __global__ void __launch_bounds__(kThreads, 1) hone_scan(const Memory* in, Memory* out) {
  __shared__ Sum of_warps[kThreads / 32];
  const int lane = (int)threadIdx.x % 32, warp = (int)threadIdx.x / 32;
  const hone_i64 start = hone_line_start(blockIdx.x);
  in += start;
  out += start;
  Sum before = (Sum)kNeutral;  // of all pieces that have been
  for (hone_i64 piece = 0; piece < kExtent; piece += kThreads * kEach) {
    const hone_i64 first = piece + (hone_i64)threadIdx.x * kEach;
    Sum own[kEach], all = (Sum)kNeutral;
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      own[j] = first + j < kExtent ? (Sum)Form::held(in[hone_place(first + j)]) : (Sum)kNeutral;
      all = j == 0 ? own[0] : hone_joined(all, own[j]);
    }
    Sum through = all;  // of the warp's threads, up to this one
#pragma unroll
    for (int by = 1; by < 32; by *= 2) {
      const Sum other = __shfl_up_sync(0xffffffffu, through, by);
      if (lane >= by) through = hone_joined(other, through);
    }
    if (lane == 31) of_warps[warp] = through;
    __syncthreads();
    Sum running = before;
    for (int i = 0; i < kThreads / 32; ++i) {
      if (i == warp) running = before;
      before = hone_joined(before, of_warps[i]);
    }
    const Sum left = __shfl_up_sync(0xffffffffu, through, 1);
    if (lane > 0) running = hone_joined(running, left);
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const Sum without = running;
      running = hone_joined(running, own[j]);
      if (first + j < kExtent) out[hone_place(first + j)] = Form::stored(kExclusive ? without : running);
    }
    __syncthreads();  // the warps' sums have been read
  }
}
)cuda";

constexpr std::string_view kScanByThreads = R"cuda(
extern "C" __global__ void __launch_bounds__(kThreads, 1) hone_scan(const Memory* in, Memory* out) {
  const hone_i64 line = (hone_i64)blockIdx.x * kThreads + threadIdx.x;
  if (line >= kLines) return;
  const hone_i64 start = hone_line_start(line);
  in += start;
  out += start;
  Sum running = (Sum)kNeutral;
  for (hone_i64 first = 0; first < kExtent; first += kEach) {
    Sum own[kEach];  // read together, before what may lie in the same place is written
#pragma unroll
    for (int j = 0; j < kEach; ++j)
      own[j] = first + j < kExtent ? (Sum)Form::held(in[hone_place(first + j)]) : (Sum)kNeutral;
#pragma unroll
    for (int j = 0; j < kEach; ++j) {
      const Sum without = running;
      running = hone_joined(running, own[j]);
      if (first + j < kExtent) out[hone_place(first + j)] = Form::stored(kExclusive ? without : running);
    }
  }
}
)cuda";

struct ScanTypes {
  std::string_view memory, form, sum;
};

Result<ScanTypes> scan_types(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return ScanTypes{"float", "HoneIdentity<float>", "float"};
    case DType::kF16:
      return ScanTypes{"unsigned short", "HoneF16", "float"};
    case DType::kBF16:
      return ScanTypes{"unsigned short", "HoneBf16", "float"};
    case DType::kF64:
      return ScanTypes{"double", "HoneIdentity<double>", "double"};
    case DType::kI32:
      return ScanTypes{"int", "HoneIdentity<int>", "int"};
    case DType::kI64:
      return ScanTypes{"hone_i64", "HoneIdentity<hone_i64>", "hone_i64"};
    default:
      return unsupported(fmt::format("cumulative sums of {}", dtype_name(dtype)));
  }
}

}  // namespace

Result<ScanKernel> generate_scan(const ScanProgram& program) {
  HONE_ASSIGN(const ScanTypes types, scan_types(program.dtype));
  if (program.outer < 1 || program.extent < 1 || program.inner < 1)
    return unsupported("cumulative sums of nothing");
  const int64_t lines = program.outer * program.inner;
  const bool alone = program.extent <= kShortLine || (program.inner >= 32 && lines >= kManyLines);
  ScanKernel kernel;
  const int64_t wanted = (program.extent + kEachOfThread - 1) / kEachOfThread;
  const int64_t threads =
      alone ? kScanLineThreads
            : std::clamp<int64_t>(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(wanted))), 32,
                                  kMostScanThreads);
  kernel.threads = static_cast<int>(threads);
  kernel.blocks = alone ? (lines + threads - 1) / threads : lines;
  std::string text = full_prelude();
  text += fmt::format(
      "typedef {} Memory;\ntypedef {} Form;\ntypedef {} Sum;\n"
      "constexpr hone_i64 kExtent = {}, kInner = {}, kLines = {};\n"
      "constexpr int kThreads = {}, kEach = {}, kNeutral = {};\n"
      "constexpr bool kProduct = {}, kExclusive = {}, kReverse = {};\n",
      types.memory, types.form, types.sum, program.extent, program.inner, lines, threads,
      alone ? kEachOfLine : kEachOfThread, program.product ? 1 : 0, program.product, program.exclusive,
      program.reverse);
  text += kScanText;
  text += alone ? kScanByThreads : kScanByBlocks;
  kernel.source = {.name = "scan.cu", .text = std::move(text), .options = {"--fmad=false"}};
  return kernel;
}

}  // namespace hone::kernels::gpu
