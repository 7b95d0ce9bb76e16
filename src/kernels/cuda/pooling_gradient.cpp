#include "kernels/cuda/pooling_gradient.h"

#include <array>
#include <optional>
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

// --- MaxPool over two axes, in tiles ---

// One axis of a thread's tile of the input: `strides` steps of the windows, beginning where a window does.
struct TileAxis {
  Window window;
  int64_t strides = 1, in = 0, out = 0;

  int64_t extent() const { return strides * window.stride; }
  int64_t before() const {
    return (window.kernel - 1) * window.dilation / window.stride;
  }  // windows that reach in
  int64_t windows() const { return strides + before(); }
  int64_t tiles() const { return (in + window.pad_begin + extent() - 1) / extent(); }
};

struct MaxTile {
  std::array<TileAxis, 2> axes;
  int64_t lanes = 1;  // neighbouring channels

  int64_t places() const { return axes[0].extent() * axes[1].extent(); }
  int64_t taps() const {
    return axes[0].windows() * axes[1].windows() * axes[0].window.kernel * axes[1].window.kernel;
  }
};

// Windows that overlap are looked through by each tile that they touch: two strides along each axis halve that. What a tile
// holds lies in registers; all its taps are written out.
std::optional<MaxTile> tile_of(const PoolProgram& program) {
  constexpr int64_t kMostTaps = 160, kMostSums = 64;
  if (program.kind != PoolProgram::Kind::kMax || program.windows.size() != 2) return std::nullopt;
  for (const int64_t strides : {2, 1}) {
    MaxTile tile;
    for (std::size_t i = 0; i < 2; ++i)
      tile.axes[i] = {.window = program.windows[i], .in = program.in[i], .out = program.out[i]};
    const bool overlap = tile.axes[0].before() + tile.axes[1].before() > 0;
    if (!overlap && strides > 1) continue;
    for (TileAxis& axis : tile.axes) axis.strides = strides;
    if (tile.taps() > kMostTaps || tile.places() > kMostSums) continue;
    const auto size = static_cast<int64_t>(dtype_size(program.dtype));
    while (program.channels_last && program.channels % (2 * tile.lanes) == 0 && 2 * tile.lanes * size <= 16 &&
           2 * tile.lanes * tile.places() <= kMostSums)
      tile.lanes *= 2;
    return tile;
  }
  return std::nullopt;
}

// Each window's largest is found once a tile, by its tap, and gets what flows where the tile holds it. Values that are no
// numbers are the largest; among equals it is the first.
constexpr std::string_view kMaxTileKernel = R"cuda(
extern "C" __global__ void __launch_bounds__(kBlock, 1) hone_pool_gradient(const HoneElement* g, const HoneElement* x, HoneElement* dx) {
  HoneIndex e = (HoneIndex)blockIdx.x * kBlock + threadIdx.x;
  if (e >= kThreads) return;
  const int c = (int)(e % kVectors) * kLanes;
  e /= kVectors;
  const int tile1 = (int)(e % kTiles1);
  e /= kTiles1;
  const int tile0 = (int)(e % kTiles0);
  const hone_i64 image = (hone_i64)(e / kTiles0);
  g += image * (kOut0 * kOut1 * kStep) + c;
  x += image * (kIn0 * kIn1 * kStep) + c;
  dx += image * (kIn0 * kIn1 * kStep) + c;
  float sum[kExtent0 * kExtent1][kLanes];
#pragma unroll
  for (int i = 0; i < kExtent0 * kExtent1; ++i)
#pragma unroll
    for (int lane = 0; lane < kLanes; ++lane) sum[i][lane] = 0.0f;
#pragma unroll
  for (int w0 = -kBefore0; w0 < kStrides0; ++w0) {
#pragma unroll
    for (int w1 = -kBefore1; w1 < kStrides1; ++w1) {
      const int p0 = tile0 * kStrides0 + w0, p1 = tile1 * kStrides1 + w1;
      if (p0 < 0 || p0 >= kOut0 || p1 < 0 || p1 >= kOut1) continue;
      const Wide flowing = *(const Wide*)(g + (p0 * kOut1 + p1) * kStep);
      const int a0 = p0 * kStride0 - kPad0, a1 = p1 * kStride1 - kPad1;
      const int first0 = a0 < 0 ? (kDilation0 - 1 - a0) / kDilation0 : 0, first1 = a1 < 0 ? (kDilation1 - 1 - a1) / kDilation1 : 0;
      float best[kLanes];
      int at[kLanes];
#pragma unroll
      for (int lane = 0; lane < kLanes; ++lane) {
        best[lane] = hone_float_of_bits(0xff800000u);
        at[lane] = first0 * kKernel1 + first1;
      }
#pragma unroll
      for (int k0 = 0; k0 < kKernel0; ++k0) {
#pragma unroll
        for (int k1 = 0; k1 < kKernel1; ++k1) {
          const int q0 = a0 + k0 * kDilation0, q1 = a1 + k1 * kDilation1;
          if ((unsigned)q0 >= (unsigned)kIn0 || (unsigned)q1 >= (unsigned)kIn1) continue;
          const Wide values = *(const Wide*)(x + (hone_i64)(q0 * kIn1 + q1) * kStep);
#pragma unroll
          for (int lane = 0; lane < kLanes; ++lane) {
            const float v = HoneForm::held(values.at[lane]);
            const bool takes = !(v <= best[lane]) && best[lane] == best[lane];
            best[lane] = takes ? v : best[lane];
            at[lane] = takes ? k0 * kKernel1 + k1 : at[lane];
          }
        }
      }
#pragma unroll
      for (int k0 = 0; k0 < kKernel0; ++k0) {
#pragma unroll
        for (int k1 = 0; k1 < kKernel1; ++k1) {
          const int t0 = w0 * kStride0 + k0 * kDilation0, t1 = w1 * kStride1 + k1 * kDilation1;
          if (t0 < 0 || t0 >= kExtent0 || t1 < 0 || t1 >= kExtent1) continue;
#pragma unroll
          for (int lane = 0; lane < kLanes; ++lane)
            sum[t0 * kExtent1 + t1][lane] += at[lane] == k0 * kKernel1 + k1 ? HoneForm::held(flowing.at[lane]) : 0.0f;
        }
      }
    }
  }
#pragma unroll
  for (int t0 = 0; t0 < kExtent0; ++t0) {
#pragma unroll
    for (int t1 = 0; t1 < kExtent1; ++t1) {
      const int q0 = tile0 * kExtent0 - kPad0 + t0, q1 = tile1 * kExtent1 - kPad1 + t1;
      if ((unsigned)q0 >= (unsigned)kIn0 || (unsigned)q1 >= (unsigned)kIn1) continue;
      hone_store<HoneForm>(dx + (hone_i64)(q0 * kIn1 + q1) * kStep, sum[t0 * kExtent1 + t1]);
    }
  }
}
)cuda";

std::string tile_constants(const PoolProgram& program, const MaxTile& tile, int64_t threads) {
  std::string text = fmt::format(
      "typedef {} HoneIndex;\nconstexpr HoneIndex kThreads = {};\nconstexpr int kBlock = {}, kLanes = {};\n"
      "constexpr HoneIndex kVectors = {};\nconstexpr hone_i64 kStep = {};\n"
      "typedef HoneVector<HoneElement, kLanes> Wide;\n",
      threads < (int64_t{1} << 31) ? "unsigned" : "unsigned long long", threads, kPoolBlock, tile.lanes,
      program.channels_last ? program.channels / tile.lanes : 1,
      program.channels_last ? program.channels : 1);
  for (std::size_t i = 0; i < 2; ++i) {
    const TileAxis& axis = tile.axes[i];
    const Window& w = axis.window;
    text += fmt::format(
        "constexpr int kStrides{0} = {1}, kExtent{0} = {2}, kBefore{0} = {3}, kIn{0} = {4}, kOut{0} = {5}, "
        "kKernel{0} = {6}, kStride{0} = {7}, kDilation{0} = {8}, kPad{0} = {9};\n"
        "constexpr HoneIndex kTiles{0} = {10};\n",
        i, axis.strides, axis.extent(), axis.before(), axis.in, axis.out, w.kernel, w.stride, w.dilation,
        w.pad_begin, axis.tiles());
  }
  return text;
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
  const auto tile = tile_of(program);
  const int64_t images = program.batch * program.channels;
  const int64_t threads = tile ? images / tile->lanes * tile->axes[0].tiles() * tile->axes[1].tiles()
                               : images * element_count(program.in);
  PoolKernel kernel;
  kernel.blocks = (threads + kPoolBlock - 1) / kPoolBlock;
  kernel.bytes = images * ((maximum ? 2 : 1) * element_count(program.in) + element_count(program.out)) *
                 static_cast<int64_t>(dtype_size(program.dtype));
  std::string text(kBasePrelude);
  text += fmt::format("typedef {} HoneElement;\ntypedef {} HoneForm;\n", element_memory(program.dtype),
                      element_form(program.dtype));
  if (tile) {
    text += tile_constants(program, *tile, threads);
    text += kMaxTileKernel;
    kernel.source = {.name = "pooling_gradient.cu", .text = std::move(text), .options = {"--fmad=false"}};
    return kernel;
  }
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
