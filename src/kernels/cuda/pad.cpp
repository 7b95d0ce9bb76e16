#include "kernels/cuda/pad.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

// Where an axis of `extent` has what stands at `at`; -1: nowhere.
std::string_view padded_text(PadProgram::Mode mode) {
  switch (mode) {
    case PadProgram::Mode::kConstant:
      return "  return -1;\n";
    case PadProgram::Mode::kEdge:
      return "  return at < 0 ? 0 : extent - 1;\n";
    case PadProgram::Mode::kReflect:
      return "  if (extent == 1) return 0;\n  const hone_i64 period = 2 * (extent - 1);\n"
             "  const hone_i64 folded = (at % period + period) % period;\n"
             "  return folded < extent ? folded : period - folded;\n";
    case PadProgram::Mode::kWrap:
      return "  return (at % extent + extent) % extent;\n";
  }
  return {};
}

}  // namespace

Result<PadKernel> generate_pad(const PadProgram& program) {
  const auto size = static_cast<int64_t>(program.element_size);
  if (size != 1 && size != 2 && size != 4 && size != 8)
    return unsupported(fmt::format("padding elements of {} bytes", size));
  if (program.shape.empty() || element_count(program.shape) == 0) return unsupported("padding nothing");
  const std::size_t last = program.shape.size() - 1;
  int64_t lanes = 1;
  const bool whole = program.before[last] == 0 && program.after[last] == 0;
  while (whole && lanes * 2 * size <= 16 && program.shape[last] % (lanes * 2) == 0) lanes *= 2;
  std::string place;
  int64_t step = 1, units = 1;
  for (std::size_t axis = last + 1; axis-- > 0;) {
    const int64_t extent = axis == last ? program.shape[axis] / lanes : program.shape[axis];
    const int64_t padded = extent + program.before[axis] + program.after[axis];
    if (padded < 1) return unsupported("padding to nothing");
    place += fmt::format(
        "  {{\n    const hone_i64 at = hone_padded(rest % {}LL - {}LL, {}LL);\n    rest /= {}LL;\n"
        "    inside = inside && at >= 0;\n    from += at * {}LL;\n  }}\n",
        padded, program.before[axis], extent, padded, step);
    step *= extent;
    units *= padded;
  }
  PadKernel kernel;
  kernel.blocks = (units + kPadBlock - 1) / kPadBlock;
  std::string text = std::string(kBasePrelude);
  text += fmt::format(
      "typedef {} Element;\ntypedef HoneVector<Element, {}> Wide;\n"
      "HONE_FUNCTION hone_i64 hone_padded(hone_i64 at, hone_i64 extent) {{\n"
      "  if (at >= 0 && at < extent) return at;\n{}}}\n",
      size == 1   ? "unsigned char"
      : size == 2 ? "unsigned short"
      : size == 4 ? "unsigned"
                  : "unsigned long long",
      lanes, padded_text(program.mode));
  text += fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({0}, 1) {1}(const Wide* in, Wide* out, const Element* "
      "value) {{\n"
      "  const hone_i64 e = (hone_i64)blockIdx.x * {0} + threadIdx.x;\n  if (e >= {2}LL) return;\n"
      "  hone_i64 rest = e, from = 0;\n  bool inside = true;\n{3}"
      "  Wide wide;\n  if (inside) wide = in[from];\n  else {{\n"
      "    const Element filling = value ? *value : (Element)0;\n"
      "#pragma unroll\n    for (int i = 0; i < {4}; ++i) wide.at[i] = filling;\n  }}\n"
      "  out[e] = wide;\n}}\n",
      kPadBlock, kPadEntry, units, place, lanes);
  kernel.source = {.name = "pad.cu", .text = std::move(text), .options = {}};
  return kernel;
}

}  // namespace hone::kernels::gpu
