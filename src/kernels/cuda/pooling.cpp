#include "kernels/cuda/pooling.h"

#include <string>

#include <fmt/format.h>

#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

// Channels of one load.
int64_t channels_of_load(const PoolProgram& program) {
  int64_t lanes = 1;
  const auto element = static_cast<int64_t>(dtype_size(program.dtype));
  while (program.channels_last && lanes * 2 * element <= 16 && program.channels % (lanes * 2) == 0)
    lanes *= 2;
  return lanes;
}

// Splits the thread's number into `p<axis>`, output positions, and the rest, and finds where its image begins.
std::string place_text(const PoolProgram& program, int64_t lanes) {
  std::string text;
  if (program.channels_last)
    text += fmt::format("  const hone_i64 c = e % {0}LL * {1}LL;\n  e /= {0}LL;\n", program.channels / lanes,
                        lanes);
  for (std::size_t axis = program.out.size(); axis-- > 0;)
    text += fmt::format("  const int p{0} = (int)(e % {1}LL);\n  e /= {1}LL;\n", axis, program.out[axis]);
  const int64_t positions = element_count(program.in);
  return text + (program.channels_last ? fmt::format("  in += e * {}LL + c;\n", positions * program.channels)
                                       : fmt::format("  in += e * {}LL;\n", positions));
}

// The taps of one axis; `inside` of it are in the image, `padded` in the image or its padding.
std::string counts_text(const PoolProgram& program) {
  std::string text = "  float inside = 1.0f, padded = 1.0f;\n";
  for (std::size_t axis = 0; axis < program.windows.size(); ++axis) {
    const Window& w = program.windows[axis];
    text += fmt::format(
        "  {{\n    int in_image = 0, in_padding = 0;\n"
        "    for (int k = 0; k < {0}; ++k) {{\n      const int at = p{1} * {2} + k * {3} - {4};\n"
        "      in_image += at >= 0 && at < {5};\n      in_padding += at < {6};\n    }}\n"
        "    inside *= (float)in_image;\n    padded *= (float)in_padding;\n  }}\n",
        w.kernel, axis, w.stride, w.dilation, w.pad_begin, program.in[axis], program.in[axis] + w.pad_end);
  }
  return text;
}

std::string pool_loops(const PoolProgram& program) {
  std::string text, offset = "0LL";
  for (std::size_t axis = 0; axis < program.windows.size(); ++axis) {
    const Window& w = program.windows[axis];
    text += fmt::format(
        "{0}  for (int k{1} = 0; k{1} < {2}; ++k{1}) {{\n"
        "    const int at{1} = p{1} * {3} + k{1} * {4} - {5};\n    if (at{1} < 0 || at{1} >= {6}) "
        "continue;\n",
        w.kernel <= 4 ? "#pragma unroll\n" : "", axis, w.kernel, w.stride, w.dilation, w.pad_begin,
        program.in[axis]);
    offset = fmt::format("({}) * {}LL + at{}", offset, program.in[axis], axis);
  }
  text += fmt::format("    const Wide x = *(const Wide*)(in + ({}) * {}LL);\n", offset,
                      program.channels_last ? program.channels : 1);
  text +=
      "#pragma unroll\n    for (int i = 0; i < kLanes; ++i) {\n      const float v = "
      "HoneForm::held(x.at[i]);\n";
  text += program.kind == PoolProgram::Kind::kMax
              ? "      sum[i] = first || v > sum[i] || v != v ? v : sum[i];\n"  // NaN stays
              : "      sum[i] += v;\n";
  text += "    }\n    first = false;\n";
  for (std::size_t axis = 0; axis < program.windows.size(); ++axis) text += "  }\n";
  return text;
}

std::string pool_result(const PoolProgram& program) {
  switch (program.kind) {
    case PoolProgram::Kind::kMax:
      return "first ? hone_float_of_bits(0xff800000u) : sum[i]";
    case PoolProgram::Kind::kAverage:
      return "inside == 0.0f ? 0.0f : sum[i] / inside";
    case PoolProgram::Kind::kAverageWithPadding:
      return "padded == 0.0f ? 0.0f : sum[i] / padded";
  }
  return {};
}

}  // namespace

Result<PoolKernel> generate_pooling(const PoolProgram& program) {
  const bool half = program.dtype == DType::kF16 || program.dtype == DType::kBF16;
  if (!half && program.dtype != DType::kF32)
    return unsupported(fmt::format("pooling of {}", dtype_name(program.dtype)));
  if (program.windows.empty() || program.windows.size() > 3 || element_count(program.out) == 0 ||
      element_count(program.in) >= int64_t{1} << 31)
    return unsupported("pooling over such axes");
  const int64_t lanes = channels_of_load(program);
  const int64_t images = program.batch * program.channels;
  const int64_t threads = images * element_count(program.out) / lanes;
  const std::string_view form = !half                          ? "HoneIdentity<float>"
                                : program.dtype == DType::kF16 ? "HoneF16"
                                                               : "HoneBf16";
  PoolKernel kernel;
  kernel.blocks = (threads + kPoolBlock - 1) / kPoolBlock;
  kernel.bytes = images * (element_count(program.in) + element_count(program.out)) *
                 static_cast<int64_t>(dtype_size(program.dtype));
  const bool average = program.kind != PoolProgram::Kind::kMax;
  std::string text = std::string(kBasePrelude) +
                     fmt::format(
                         "typedef {} HoneElement;\ntypedef {} HoneForm;\nconstexpr int kLanes = {};\n"
                         "typedef HoneVector<HoneElement, kLanes> Wide;\n",
                         half ? "unsigned short" : "float", form, lanes);
  text += fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({0}, 1) {1}(const HoneElement* in, HoneElement* out) "
      "{{\n"
      "  hone_i64 e = (hone_i64)blockIdx.x * {0} + threadIdx.x;\n  if (e >= {2}LL) return;\n"
      "  out += e * kLanes;\n",
      kPoolBlock, kPoolEntry, threads);
  text += place_text(program, lanes) + (average ? counts_text(program) : "");
  text += "  float sum[kLanes] = {};\n  bool first = true;\n" + pool_loops(program);
  text += fmt::format(
      "  Wide y;\n#pragma unroll\n  for (int i = 0; i < kLanes; ++i) y.at[i] = HoneForm::stored({});\n"
      "  *(Wide*)out = y;\n}}\n",
      pool_result(program));
  kernel.source = {.name = "pooling.cu", .text = std::move(text), .options = {"--fmad=false"}};
  return kernel;
}

}  // namespace hone::kernels::gpu
