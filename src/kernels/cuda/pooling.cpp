#include "kernels/cuda/pooling.h"

#include <algorithm>
#include <bit>
#include <string>

#include <fmt/format.h>

#include "kernels/cuda/element_form.h"
#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

constexpr int64_t kMostBesideVector =
    4;  // elements on either side of a row's vector that are read one by one

// How results are shared out to threads.
struct PoolPlan {
  PoolPath path = PoolPath::kResults;
  int64_t lanes = 1;            // neighbouring results of a thread: channels, or positions of a row
  int64_t left = 0, right = 0;  // kRows: elements beside the vector
};

PoolPlan plan_pool(const PoolProgram& program) {
  PoolPlan plan;
  const auto element = static_cast<int64_t>(dtype_size(program.dtype));
  if (program.channels_last) {
    while (plan.lanes * 2 * element <= 16 && program.channels % (plan.lanes * 2) == 0) plan.lanes *= 2;
    plan.path = PoolPath::kChannels;
    return plan;
  }
  const Window& w = program.windows.back();
  const int64_t in = program.in.back(), out = program.out.back(), right = w.kernel - w.stride - w.pad_begin;
  if (w.dilation != 1 || out * w.stride != in || !std::has_single_bit(static_cast<uint64_t>(w.stride)) ||
      w.pad_begin > kMostBesideVector || right > kMostBesideVector || w.stride * element > 16)
    return plan;
  int64_t lanes = 1;
  while (lanes * 2 * w.stride * element <= 16 && out % (lanes * 2) == 0) lanes *= 2;
  if (lanes * w.stride * element < 4) return plan;  // no load is wider than a result's own
  plan = {PoolPath::kRows, lanes, w.pad_begin, std::max<int64_t>(right, 0)};
  return plan;
}

// Whether windows of the axis never leave the image.
bool stays_inside(const PoolProgram& program, std::size_t axis) {
  const Window& w = program.windows[axis];
  return w.pad_begin == 0 &&
         (program.out[axis] - 1) * w.stride + (w.kernel - 1) * w.dilation < program.in[axis];
}

// Splits the thread's number into `p<axis>`, output positions, and the rest, and finds where its image begins.
std::string place_text(const PoolProgram& program, const PoolPlan& plan) {
  std::string text;
  const bool last = plan.path == PoolPath::kChannels;
  if (last)
    text +=
        fmt::format("  const hone_i64 c = (hone_i64)(e % (hone_index){0}) * {1};\n  e /= (hone_index){0};\n",
                    program.channels / plan.lanes, plan.lanes);
  for (std::size_t axis = program.out.size(); axis-- > 0;) {
    const int64_t lanes = !last && axis + 1 == program.out.size() ? plan.lanes : 1;
    text += fmt::format("  const int p{0} = (int)(e % (hone_index){1}) * {2};\n  e /= (hone_index){1};\n",
                        axis, program.out[axis] / lanes, lanes);
  }
  const int64_t positions = element_count(program.in);
  return text + (last ? fmt::format("  in += (hone_i64)e * {}LL + c;\n", positions * program.channels)
                      : fmt::format("  in += (hone_i64)e * {}LL;\n", positions));
}

// How many taps of the window at p<axis> are in the image, and how many in it or its padding.
std::string counts_function(const PoolProgram& program) {
  std::string parameters, text;
  for (std::size_t axis = 0; axis < program.windows.size(); ++axis) {
    const Window& w = program.windows[axis];
    parameters += fmt::format("int p{}, ", axis);
    if (stays_inside(program, axis))
      text += fmt::format("  inside *= {0}.0f;\n  padded *= {0}.0f;\n", w.kernel);
    else
      text += fmt::format(
          "  {{\n    int in_image = 0, in_padding = 0;\n"
          "    for (int k = 0; k < {0}; ++k) {{\n      const int at = p{1} * {2} + k * {3} - {4};\n"
          "      in_image += at >= 0 && at < {5};\n      in_padding += at < {6};\n    }}\n"
          "    inside *= (float)in_image;\n    padded *= (float)in_padding;\n  }}\n",
          w.kernel, axis, w.stride, w.dilation, w.pad_begin, program.in[axis], program.in[axis] + w.pad_end);
  }
  return fmt::format(
      "HONE_FUNCTION void hone_counts({}float& inside, float& padded) {{\n  inside = padded = 1.0f;\n{}}}\n",
      parameters, text);
}

// What one element more does to a result. NaN stays.
std::string fold_function(const PoolProgram& program) {
  return fmt::format("HONE_FUNCTION float hone_fold(float sum, float v) {{ return {}; }}\n",
                     program.kind == PoolProgram::Kind::kMax ? "v > sum || v != v ? v : sum" : "sum + v");
}

// Loops over the taps of the first `axes` axes; `offset` becomes where a tap is, `inside` whether it is in the image.
// Loads are not branched around, so that those of all taps are on their way at once.
std::string tap_loops(const PoolProgram& program, std::size_t axes) {
  std::string text, offset = "0", inside = "true";
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const Window& w = program.windows[axis];
    text += fmt::format(
        "{0}  for (int k{1} = 0; k{1} < {2}; ++k{1}) {{\n"
        "    const int at{1} = p{1} * {3} + k{1} * {4} - {5};\n",
        w.kernel <= 4 ? "#pragma unroll\n" : "", axis, w.kernel, w.stride, w.dilation, w.pad_begin);
    if (!stays_inside(program, axis))
      inside += fmt::format(" && at{0} >= 0 && at{0} < {1}", axis, program.in[axis]);
    offset = fmt::format("({}) * {} + at{}", offset, program.in[axis], axis);
  }
  return text + fmt::format("    const int offset = {};\n    const bool inside = {};\n", offset, inside);
}

constexpr std::string_view kPoolTaps = R"cuda(
    Wide x;
    if (inside) x = *(const Wide*)(in + (hone_i64)offset * kStep);
#pragma unroll
    for (int i = 0; i < kLanes; ++i)
      if (inside) sum[i] = hone_fold(sum[i], HoneForm::held(x.at[i]));
)cuda";

// A vector of a row, what windows reach beside it, and the taps of each result.
constexpr std::string_view kPoolRows = R"cuda(
    const HoneElement* const row = in + (hone_i64)offset * kRow + begin;
    HoneVector<HoneElement, kMain> x;
    HoneElement beside[kLeft + kRight + 1];
    if (inside) x = *(const HoneVector<HoneElement, kMain>*)row;
#pragma unroll
    for (int i = 0; i < kLeft + kRight; ++i) {
      const int at = i < kLeft ? i - kLeft : i - kLeft + kMain;
      if (inside && begin + at >= 0 && begin + at < kRow) beside[i] = row[at];
    }
    float span[kLeft + kMain + kRight];
#pragma unroll
    for (int i = 0; i < kLeft + kMain + kRight; ++i) {
      const int at = i - kLeft;
      const bool own = at >= 0 && at < kMain;
      const bool has = inside && (own || (begin + at >= 0 && begin + at < kRow));
      span[i] = has ? HoneForm::held(own ? x.at[own ? at : 0] : beside[at < 0 ? i : own ? 0 : i - kMain]) : kNothing;
    }
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
#pragma unroll
      for (int k = 0; k < kTaps; ++k) sum[i] = hone_fold(sum[i], span[i * kStride + k]);
    }
)cuda";

// Result `i` of a thread.
std::string result_text(const PoolProgram& program, const PoolPlan& plan) {
  if (program.kind == PoolProgram::Kind::kMax) return "    y[i] = sum[i];\n";
  std::string at;
  for (std::size_t axis = 0; axis < program.windows.size(); ++axis)
    at += fmt::format("p{}{}, ", axis,
                      plan.path == PoolPath::kRows && axis + 1 == program.windows.size() ? " + i" : "");
  const std::string_view count = program.kind == PoolProgram::Kind::kAverage ? "inside" : "padded";
  return fmt::format(
      "    float inside, padded;\n    hone_counts({0}inside, padded);\n"
      "    y[i] = {1} == 0.0f ? 0.0f : sum[i] / {1};\n",
      at, count);
}

std::string pool_kernel(const PoolProgram& program, const PoolPlan& plan, int64_t threads) {
  const bool rows = plan.path == PoolPath::kRows;
  const std::size_t axes = program.windows.size() - (rows ? 1 : 0);
  std::string text = fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({0}, 1) {1}(const HoneElement* in, HoneElement* out) "
      "{{\n"
      "  hone_index e = (hone_index)blockIdx.x * {0} + threadIdx.x;\n  if (e >= (hone_index){2}) return;\n"
      "  out += (hone_i64)e * kLanes;\n",
      kPoolBlock, kPoolEntry, threads);
  text += place_text(program, plan);
  if (rows) text += fmt::format("  const int begin = p{} * kStride;\n", axes);
  text +=
      "  float sum[kLanes], y[kLanes];\n#pragma unroll\n  for (int i = 0; i < kLanes; ++i) sum[i] = "
      "kNothing;\n";
  text +=
      axes > 0 ? tap_loops(program, axes) : "  {\n    const int offset = 0;\n    const bool inside = true;\n";
  text += rows ? kPoolRows : kPoolTaps;
  for (std::size_t axis = 0; axis < std::max<std::size_t>(axes, 1); ++axis) text += "  }\n";
  return text + "#pragma unroll\n  for (int i = 0; i < kLanes; ++i) {\n" + result_text(program, plan) +
         "  }\n  hone_store<HoneForm>(out, y);\n}\n";
}

}  // namespace

Result<PoolKernel> generate_pooling(const PoolProgram& program) {
  if (!is_element_type(program.dtype))
    return unsupported(fmt::format("pooling of {}", dtype_name(program.dtype)));
  if (program.windows.empty() || program.windows.size() > 3 || element_count(program.out) == 0 ||
      element_count(program.in) >= int64_t{1} << 31)
    return unsupported("pooling over such axes");
  const PoolPlan plan = plan_pool(program);
  const int64_t images = program.batch * program.channels;
  const int64_t threads = images * element_count(program.out) / plan.lanes;
  const Window& w = program.windows.back();
  PoolKernel kernel;
  kernel.path = plan.path;
  kernel.lanes = plan.lanes;
  kernel.blocks = (threads + kPoolBlock - 1) / kPoolBlock;
  kernel.bytes = images * (element_count(program.in) + element_count(program.out)) *
                 static_cast<int64_t>(dtype_size(program.dtype));
  std::string text = std::string(kBasePrelude);
  text += fmt::format(
      "typedef {} HoneElement;\ntypedef {} HoneForm;\ntypedef {} hone_index;\n"
      "constexpr int kLanes = {}, kLeft = {}, kRight = {}, kMain = {}, kStride = {}, kTaps = {}, kRow = {};\n"
      "constexpr hone_i64 kStep = {};\ntypedef HoneVector<HoneElement, kLanes> Wide;\n#define kNothing {}\n",
      element_memory(program.dtype), element_form(program.dtype),
      threads < (int64_t{1} << 31) ? "unsigned" : "unsigned long long", plan.lanes, plan.left, plan.right,
      plan.lanes * w.stride, w.stride, w.kernel, program.in.back(),
      program.channels_last ? program.channels : 1,
      program.kind == PoolProgram::Kind::kMax ? "hone_float_of_bits(0xff800000u)" : "0.0f");
  text += fold_function(program);
  if (program.kind != PoolProgram::Kind::kMax) text += counts_function(program);
  text += pool_kernel(program, plan, threads) + "#undef kNothing\n";
  kernel.source = {.name = "pooling.cu", .text = std::move(text), .options = {"--fmad=false"}};
  return kernel;
}

}  // namespace hone::kernels::gpu
