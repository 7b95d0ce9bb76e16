#include "kernels/cuda/resize.h"

#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

int64_t lanes_of_resize(const ResizeDesc& desc, DType dtype) {
  int64_t lanes = 1;
  const auto element = static_cast<int64_t>(dtype_size(dtype));
  while (desc.layout == Layout::kChannelsLast && lanes * 2 * element <= 16 &&
         desc.channels % (lanes * 2) == 0)
    lanes *= 2;
  return lanes;
}

// Three axes, outermost first; what an image lacks is one position.
std::string tables_text(const ResizeDesc& desc, std::vector<ResizeTable> tables) {
  Shape in = desc.in_spatial, out = desc.out_spatial;
  while (tables.size() < 3) {
    tables.insert(tables.begin(), ResizeTable{{0}, {0}, {0.0F}});
    in.insert(in.begin(), 1);
    out.insert(out.begin(), 1);
  }
  std::string text;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    std::vector<std::string> weights;
    for (const float weight : tables[axis].weight) weights.push_back(fmt::format("{:a}f", weight));
    text += fmt::format(
        "constexpr int kIn{0} = {1}, kOut{0} = {2};\n__device__ const int low{0}[{2}] = {{{3}}};\n"
        "__device__ const int high{0}[{2}] = {{{4}}};\n__device__ const float weight{0}[{2}] = {{{5}}};\n",
        axis, in[axis], out[axis], fmt::join(tables[axis].low, ", "), fmt::join(tables[axis].high, ", "),
        fmt::join(weights, ", "));
  }
  return text;
}

constexpr std::string_view kResizePlace = R"cuda(
extern "C" __global__ void __launch_bounds__(256, 1) hone_resize(const HoneElement* in, HoneElement* out) {
  hone_i64 e = (hone_i64)blockIdx.x * 256 + threadIdx.x;
  if (e >= kResults) return;
  out += e * kLanes;
  in += e % (kInner / kLanes) * kLanes;
  e /= kInner / kLanes;
  const int x = (int)(e % kOut2);
  e /= kOut2;
  const int y = (int)(e % kOut1);
  e /= kOut1;
  const int z = (int)(e % kOut0);
  in += e / kOut0 * kIn0 * kIn1 * kIn2 * kInner;
)cuda";

constexpr std::string_view kResizeNearest = R"cuda(
  *(Wide*)out = *(const Wide*)(in + (((hone_i64)low0[z] * kIn1 + low1[y]) * kIn2 + low2[x]) * kInner);
}
)cuda";

// Rows are mixed first, as on the CPU, and then positions of the row; neighbours of no weight are not read.
constexpr std::string_view kResizeLinear = R"cuda(
  float left[kLanes] = {}, right[kLanes] = {};
#pragma unroll
  for (int corner = 0; corner < 4; ++corner) {
    const int zz = corner / 2, yy = corner % 2;
    if ((zz && kOut0 == 1 && kIn0 == 1) || (yy && kOut1 == 1 && kIn1 == 1)) continue;
    const float weight = (zz ? weight0[z] : 1.0f - weight0[z]) * (yy ? weight1[y] : 1.0f - weight1[y]);
    if (weight == 0.0f) continue;
    const HoneElement* const row =
        in + ((hone_i64)(zz ? high0[z] : low0[z]) * kIn1 + (yy ? high1[y] : low1[y])) * kIn2 * kInner;
    const Wide a = *(const Wide*)(row + (hone_i64)low2[x] * kInner);
    const Wide b = *(const Wide*)(row + (hone_i64)high2[x] * kInner);
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      left[i] += weight * HoneForm::held(a.at[i]);
      right[i] += weight * HoneForm::held(b.at[i]);
    }
  }
  Wide mixed;
#pragma unroll
  for (int i = 0; i < kLanes; ++i)
    mixed.at[i] = HoneForm::stored(left[i] + weight2[x] * (right[i] - left[i]));
  *(Wide*)out = mixed;
}
)cuda";

}  // namespace

Result<ResizeKernel> generate_resize(const ResizeDesc& desc, DType dtype) {
  const bool half = dtype == DType::kF16 || dtype == DType::kBF16;
  if ((!half && dtype != DType::kF32) || channel_block(desc.layout) > 1)
    return unsupported(fmt::format("resizing {} in layout {}", dtype_name(dtype), layout_name(desc.layout)));
  HONE_ASSIGN(const std::vector<ResizeTable> tables, resize_tables(desc));
  int64_t positions = 0;
  for (const ResizeTable& table : tables) positions += static_cast<int64_t>(table.low.size());
  if (positions > kMostTablePositions || element_count(desc.out_spatial) == 0)
    return unsupported(fmt::format("resizing to {} positions along the axes", positions));
  const int64_t lanes = lanes_of_resize(desc, dtype);
  const bool last = desc.layout == Layout::kChannelsLast;
  const int64_t results = desc.batch * desc.channels * element_count(desc.out_spatial) / lanes;
  ResizeKernel kernel;
  kernel.blocks = (results + kResizeBlock - 1) / kResizeBlock;
  kernel.bytes = desc.batch * desc.channels *
                 (element_count(desc.in_spatial) + element_count(desc.out_spatial)) *
                 static_cast<int64_t>(dtype_size(dtype));
  std::string text =
      std::string(kBasePrelude) +
      fmt::format(
          "typedef {} HoneElement;\ntypedef {} HoneForm;\nconstexpr int kLanes = {};\n"
          "constexpr hone_i64 kInner = {}, kResults = {};\ntypedef HoneVector<HoneElement, kLanes> Wide;\n",
          half ? "unsigned short" : "float",
          !half                  ? "HoneIdentity<float>"
          : dtype == DType::kF16 ? "HoneF16"
                                 : "HoneBf16",
          lanes, last ? desc.channels : 1, results);
  text += tables_text(desc, tables) + std::string(kResizePlace) +
          std::string(desc.mode == ResizeMode::kNearest ? kResizeNearest : kResizeLinear);
  kernel.source = {.name = "resize.cu", .text = std::move(text), .options = {"--fmad=false"}};
  return kernel;
}

}  // namespace hone::kernels::gpu
