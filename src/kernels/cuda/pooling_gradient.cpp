#include "kernels/cuda/pooling_gradient.h"

#include <string>

#include <fmt/format.h>

#include "kernels/cuda/element_form.h"
#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

// Splits the thread's number into `q<axis>`, places of the input, and moves the tensors to its image and channel.
std::string gradient_place(const PoolProgram& program) {
  std::string text;
  if (program.channels_last)
    text += fmt::format("  const hone_i64 c = e % {0}LL;\n  e /= {0}LL;\n", program.channels);
  for (std::size_t axis = program.in.size(); axis-- > 0;)
    text += fmt::format("  const int q{0} = (int)(e % {1}LL);\n  e /= {1}LL;\n", axis, program.in[axis]);
  const int64_t in = element_count(program.in), out = element_count(program.out);
  const int64_t step = program.channels_last ? program.channels : 1;
  const std::string channel = program.channels_last ? " + c" : "";
  return text + fmt::format("  g += e * {}LL{};\n", out * step, channel) +
         (program.kind == PoolProgram::Kind::kMax ? fmt::format("  x += e * {}LL{};\n", in * step, channel)
                                                  : "");
}

// The windows that hold the place, axis by axis: `p<axis>`.
std::string holding_windows(const PoolProgram& program) {
  std::string text;
  for (std::size_t axis = 0; axis < program.windows.size(); ++axis) {
    const Window& w = program.windows[axis];
    text += fmt::format(
        "  for (int k{0} = 0; k{0} < {1}; ++k{0}) {{\n    const int t{0} = q{0} + {2} - k{0} * {3};\n"
        "    if (t{0} < 0 || t{0} % {4} != 0 || t{0} / {4} >= {5}) continue;\n    const int p{0} = t{0} / "
        "{4};\n",
        axis, w.kernel, w.pad_begin, w.dilation, w.stride, program.out[axis]);
  }
  return text;
}

std::string flat_place(std::string_view name, const Shape& extents) {
  std::string offset = "0LL";
  for (std::size_t axis = 0; axis < extents.size(); ++axis)
    offset = fmt::format("({}) * {}LL + {}{}", offset, extents[axis], name, axis);
  return offset;
}

// Whether the window's largest is here.
std::string takes_all(const PoolProgram& program, int64_t step) {
  std::string text = "    float best = 0.0f;\n    hone_i64 best_at = -1;\n";
  for (std::size_t axis = 0; axis < program.windows.size(); ++axis) {
    const Window& w = program.windows[axis];
    text += fmt::format(
        "    for (int j{0} = 0; j{0} < {1}; ++j{0}) {{\n      const int a{0} = p{0} * {2} + j{0} * {3} - "
        "{4};\n"
        "      if (a{0} < 0 || a{0} >= {5}) continue;\n",
        axis, w.kernel, w.stride, w.dilation, w.pad_begin, program.in[axis]);
  }
  text += fmt::format(
      "      const hone_i64 at = {};\n      const float v = HoneForm::held(x[at * {}LL]);\n"
      "      if (best_at < 0 || v > best || (v != v && best == best)) {{\n        best = v;\n        best_at "
      "= "
      "at;\n      }}\n",
      flat_place("a", program.in), step);
  for (std::size_t axis = 0; axis < program.windows.size(); ++axis) text += "    }\n";
  return text + fmt::format("    if (best_at == {}) sum += flowing;\n", flat_place("q", program.in));
}

// An equal share for each element that the window counts.
std::string takes_share(const PoolProgram& program) {
  std::string text = "    int counted = 1;\n";
  const bool padded = program.kind == PoolProgram::Kind::kAverageWithPadding;
  for (std::size_t axis = 0; axis < program.windows.size(); ++axis) {
    const Window& w = program.windows[axis];
    text += fmt::format(
        "    {{\n      int inside = 0;\n      for (int j = 0; j < {0}; ++j) {{\n"
        "        const int a = p{1} * {2} + j * {3} - {4};\n        inside += {5};\n      }}\n"
        "      counted *= inside;\n    }}\n",
        w.kernel, axis, w.stride, w.dilation, w.pad_begin,
        padded ? fmt::format("a < {}", program.in[axis] + w.pad_end)
               : fmt::format("a >= 0 && a < {}", program.in[axis]));
  }
  return text + "    sum += flowing / (float)counted;\n";
}

}  // namespace

Result<PoolKernel> generate_pooling_gradient(const PoolProgram& program) {
  if (!is_element_type(program.dtype))
    return unsupported(fmt::format("the gradient of pooling of {}", dtype_name(program.dtype)));
  if (program.windows.empty() || program.windows.size() > 3 || element_count(program.out) == 0 ||
      element_count(program.in) >= int64_t{1} << 31)
    return unsupported("the gradient of pooling over such axes");
  const bool maximum = program.kind == PoolProgram::Kind::kMax;
  const int64_t step = program.channels_last ? program.channels : 1;
  const int64_t images = program.batch * program.channels, threads = images * element_count(program.in);
  PoolKernel kernel;
  kernel.blocks = (threads + kPoolBlock - 1) / kPoolBlock;
  kernel.bytes = images * ((maximum ? 2 : 1) * element_count(program.in) + element_count(program.out)) *
                 static_cast<int64_t>(dtype_size(program.dtype));
  std::string text(kBasePrelude);
  text += fmt::format("typedef {} HoneElement;\ntypedef {} HoneForm;\n", element_memory(program.dtype),
                      element_form(program.dtype));
  text += fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({0}, 1) {1}(const HoneElement* g, const HoneElement* "
      "x, "
      "HoneElement* dx) {{\n  hone_i64 e = (hone_i64)blockIdx.x * {0} + threadIdx.x;\n  if (e >= {2}LL) "
      "return;\n  dx += e;\n",
      kPoolBlock, kPoolGradientEntry, threads);
  text += gradient_place(program) + "  float sum = 0.0f;\n" + holding_windows(program);
  text += fmt::format("    const float flowing = HoneForm::held(g[({}) * {}LL]);\n",
                      flat_place("p", program.out), step);
  text += maximum ? takes_all(program, step) : takes_share(program);
  for (std::size_t axis = 0; axis < program.windows.size(); ++axis) text += "  }\n";
  text += "  *dx = HoneForm::stored(sum);\n}\n";
  kernel.source = {.name = "pooling_gradient.cu", .text = std::move(text), .options = {"--fmad=false"}};
  return kernel;
}

}  // namespace hone::kernels::gpu
