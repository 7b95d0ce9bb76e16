#include "kernels/cuda/axis_softmax.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

constexpr int64_t kMostInRegisters = 32;

constexpr std::string_view kAxisSoftmaxBody = R"cuda(
  const hone_i64 line = (hone_i64)blockIdx.x * 128 + threadIdx.x;
  if (line >= kLines) return;
  const hone_i64 start = line / kInner * (kExtent * kInner) + line % kInner;
  x += start;
  y += start;
#if HONE_IN_REGISTERS
  float v[kExtent];
#pragma unroll
  for (int i = 0; i < kExtent; ++i) v[i] = Form::held(x[i * kInner]);
#endif
  float most = HONE_AT(0);
#pragma unroll kUnroll
  for (int i = 1; i < kExtent; ++i) most = hone_max(most, HONE_AT(i));
  float sum = 0.0f;
#pragma unroll kUnroll
  for (int i = 0; i < kExtent; ++i) sum += exp(HONE_AT(i) - most);
#pragma unroll kUnroll
  for (int i = 0; i < kExtent; ++i)
    y[i * kInner] = Form::stored(kLog ? HONE_AT(i) - most - log(sum) : exp(HONE_AT(i) - most) / sum);
}
)cuda";

}  // namespace

Result<AxisSoftmaxKernel> generate_axis_softmax(const AxisSoftmaxProgram& program) {
  const bool half = program.dtype == DType::kF16 || program.dtype == DType::kBF16;
  if (!half && program.dtype != DType::kF32)
    return unsupported(fmt::format("softmax of {}", dtype_name(program.dtype)));
  if (program.outer < 1 || program.extent < 1 || program.inner < 1 || program.extent >= int64_t{1} << 31)
    return unsupported("softmax along such an axis");
  const bool in_registers = program.extent <= kMostInRegisters;
  const int64_t lines = program.outer * program.inner;
  const std::string_view memory = half ? "unsigned short" : "float";
  AxisSoftmaxKernel kernel;
  kernel.blocks = (lines + kAxisSoftmaxBlock - 1) / kAxisSoftmaxBlock;
  std::string text = full_prelude();
  text += fmt::format(
      "typedef {} Form;\nconstexpr hone_i64 kLines = {}, kInner = {};\nconstexpr int kExtent = {}, kUnroll = "
      "{};\n"
      "constexpr bool kLog = {};\n#define HONE_IN_REGISTERS {}\n#define HONE_AT(i) {}\n",
      !half                          ? "HoneIdentity<float>"
      : program.dtype == DType::kF16 ? "HoneF16"
                                     : "HoneBf16",
      lines, program.inner, program.extent, in_registers ? program.extent : 8, program.log,
      in_registers ? 1 : 0, in_registers ? "v[(i)]" : "Form::held(x[(i) * kInner])");
  text += fmt::format("extern \"C\" __global__ void __launch_bounds__({}, 1) {}(const {}* x, {}* y) {{",
                      kAxisSoftmaxBlock, kAxisSoftmaxEntry, memory, memory);
  text += kAxisSoftmaxBody;
  kernel.source = {.name = "axis_softmax.cu", .text = std::move(text), .options = {"--fmad=false"}};
  return kernel;
}

}  // namespace hone::kernels::gpu
