#include "kernels/cuda/resize.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernels/cuda/element_form.h"
#include "kernels/cuda/prelude.h"

namespace hone::kernels::gpu {
namespace {

// Fewer threads than this, and vectors or rows are given up for more of them.
constexpr int64_t kEnoughResizeThreads = int64_t{1} << 16;
// From here on a thread has several loads on their way.
constexpr int64_t kManyResizeThreads = int64_t{1} << 20;

// How results are shared out to threads.
struct ResizePlan {
  bool last = false;          // channels lie last
  int64_t results = 1;        // elements
  int64_t lanes = 1;          // neighbouring results of a thread
  int64_t repeated = 0;       // positions of a row that an element becomes; 0: they are looked up
  int64_t repeated_rows = 1;  // rows of results that a thread writes
  int64_t each = 1;           // loads of a thread, which are as many groups of results

  bool vector_loads() const {
    return last || (repeated > 0 && (lanes % repeated == 0 || repeated % lanes == 0));
  }
  int64_t narrow() const { return last || !vector_loads() ? lanes : std::max<int64_t>(lanes / repeated, 1); }
  int64_t items() const { return results / lanes / repeated_rows; }
};

// How often each element of an axis is repeated where that is all that happens to it; else 0.
int64_t repeats_of(const ResizeTable& table, int64_t in) {
  const auto out = static_cast<int64_t>(table.low.size());
  if (out % in != 0) return 0;
  const int64_t times = out / in;
  for (int64_t i = 0; i < out; ++i)
    if (table.low[static_cast<std::size_t>(i)] != i / times) return 0;
  return times;
}

ResizePlan plan_resize(const ResizeDesc& desc, DType dtype, const std::vector<ResizeTable>& tables) {
  ResizePlan plan{.last = desc.layout == Layout::kChannelsLast,
                  .results = desc.batch * desc.channels * element_count(desc.out_spatial)};
  const auto element = static_cast<int64_t>(dtype_size(dtype));
  const int64_t along = plan.last ? desc.channels : desc.out_spatial.back();
  const auto enough = [&](int64_t more) { return plan.items() / more >= kEnoughResizeThreads; };
  while (plan.lanes * 2 * element <= 16 && along % (plan.lanes * 2) == 0 && (plan.last || enough(2)))
    plan.lanes *= 2;
  if (desc.mode != ResizeMode::kNearest) return plan;
  const std::size_t rank = tables.size();
  plan.repeated = repeats_of(tables[rank - 1], desc.in_spatial[rank - 1]);
  const int64_t rows = rank < 2 ? 0 : repeats_of(tables[rank - 2], desc.in_spatial[rank - 2]);
  if (rows > 1 && enough(rows)) plan.repeated_rows = rows;
  if (plan.items() >= kManyResizeThreads) plan.each = 4;
  return plan;
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

// Where the group of results `e` lies, and the image that it is made of. A thread's rows are neighbours.
constexpr std::string_view kResizePlace = R"cuda(
typedef HoneVector<HoneElement, kLanes> Wide;
struct HonePlace { hone_i64 image, to; int z, y, x, c; };
HONE_FUNCTION HonePlace hone_place(hone_index e) {
  HonePlace at;
  at.c = (int)(e % (hone_index)kVectorsOfPosition) * (kLast ? kLanes : 1);
  e /= (hone_index)kVectorsOfPosition;
  at.x = (int)(e % (hone_index)kVectorsOfRow) * (kLast ? 1 : kLanes);
  e /= (hone_index)kVectorsOfRow;
  at.y = (int)(e % (hone_index)(kOut1 / kRepeatedRows)) * kRepeatedRows;
  e /= (hone_index)(kOut1 / kRepeatedRows);
  at.z = (int)(e % (hone_index)kOut0);
  e /= (hone_index)kOut0;
  at.image = (hone_i64)e * ((hone_i64)kIn0 * kIn1 * kIn2 * kInner) + at.c;
  at.to = ((((hone_i64)e * kOut0 + at.z) * kOut1 + at.y) * kOut2 + at.x) * kInner + at.c;
  return at;
}
)cuda";

// All loads of a thread before its first store.
constexpr std::string_view kResizeNearest = R"cuda(
extern "C" __global__ void __launch_bounds__(256, 1) hone_resize(const HoneElement* in, HoneElement* out) {
  typedef HoneVector<HoneElement, kNarrow> Narrow;
  Narrow read[kEach];
  hone_i64 to[kEach];
#pragma unroll
  for (int u = 0; u < kEach; ++u) {
    const hone_index e = ((hone_index)blockIdx.x * kEach + u) * 256 + threadIdx.x;
    to[u] = -1;
    if (e >= (hone_index)kItems) continue;
    const HonePlace at = hone_place(e);
    const int row = kRepeatedRows > 1 ? at.y / kRepeatedRows : low1[at.y];
    const HoneElement* const from = in + at.image + ((hone_i64)low0[at.z] * kIn1 + row) * ((hone_i64)kIn2 * kInner);
    to[u] = at.to;
    if (kLast) read[u] = *(const Narrow*)(from + (hone_i64)low2[at.x] * kInner);
    else if (kVectorLoads) read[u] = *(const Narrow*)(from + at.x / (kVectorLoads ? kRepeated : 1));
    else {
#pragma unroll
      for (int i = 0; i < kNarrow; ++i) read[u].at[i] = from[low2[at.x + i]];
    }
  }
#pragma unroll
  for (int u = 0; u < kEach; ++u) {
    if (to[u] < 0) continue;
    Wide wide;
#pragma unroll
    for (int i = 0; i < kLanes; ++i) wide.at[i] = read[u].at[i * kNarrow / kLanes];
#pragma unroll
    for (int row = 0; row < kRepeatedRows; ++row) *(Wide*)(out + to[u] + (hone_i64)row * kOut2 * kInner) = wide;
  }
}
)cuda";

// Rows are mixed first, as on the CPU, and then positions of the row; neighbours of no weight are not read.
constexpr std::string_view kResizeLinear = R"cuda(
HONE_FUNCTION Wide hone_read(const HoneElement* row, const int* places, int x) {
  if (kLast) return *(const Wide*)(row + (hone_i64)places[x] * kInner);
  Wide wide;
#pragma unroll
  for (int i = 0; i < kLanes; ++i) wide.at[i] = row[places[x + i]];
  return wide;
}
extern "C" __global__ void __launch_bounds__(256, 1) hone_resize(const HoneElement* in, HoneElement* out) {
  const hone_index e = (hone_index)blockIdx.x * 256 + threadIdx.x;
  if (e >= (hone_index)kItems) return;
  const HonePlace at = hone_place(e);
  const int z = at.z, y = at.y, x = at.x;
  in += at.image;
  float left[kLanes] = {}, right[kLanes] = {};
#pragma unroll
  for (int corner = 0; corner < 4; ++corner) {
    const int zz = corner / 2, yy = corner % 2;
    if ((zz && kOut0 == 1 && kIn0 == 1) || (yy && kOut1 == 1 && kIn1 == 1)) continue;
    const float weight = (zz ? weight0[z] : 1.0f - weight0[z]) * (yy ? weight1[y] : 1.0f - weight1[y]);
    if (weight == 0.0f) continue;
    const HoneElement* const row =
        in + ((hone_i64)(zz ? high0[z] : low0[z]) * kIn1 + (yy ? high1[y] : low1[y])) * kIn2 * kInner;
    const Wide a = hone_read(row, low2, x), b = hone_read(row, high2, x);
#pragma unroll
    for (int i = 0; i < kLanes; ++i) {
      left[i] += weight * HoneForm::held(a.at[i]);
      right[i] += weight * HoneForm::held(b.at[i]);
    }
  }
  Wide mixed;
#pragma unroll
  for (int i = 0; i < kLanes; ++i)
    mixed.at[i] = HoneForm::stored(left[i] + weight2[kLast ? x : x + i] * (right[i] - left[i]));
  *(Wide*)(out + at.to) = mixed;
}
)cuda";

}  // namespace

Result<ResizeKernel> generate_resize(const ResizeDesc& desc, DType dtype) {
  if (!is_element_type(dtype) || channel_block(desc.layout) > 1)
    return unsupported(fmt::format("resizing {} in layout {}", dtype_name(dtype), layout_name(desc.layout)));
  HONE_ASSIGN(const std::vector<ResizeTable> tables, resize_tables(desc));
  int64_t positions = 0;
  for (const ResizeTable& table : tables) positions += static_cast<int64_t>(table.low.size());
  if (positions > kMostTablePositions || element_count(desc.out_spatial) == 0)
    return unsupported(fmt::format("resizing to {} positions along the axes", positions));
  const ResizePlan plan = plan_resize(desc, dtype, tables);
  ResizeKernel kernel;
  kernel.lanes = plan.lanes;
  kernel.repeated_rows = plan.repeated_rows;
  kernel.vector_loads = plan.vector_loads();
  kernel.blocks = (plan.items() + kResizeBlock * plan.each - 1) / (kResizeBlock * plan.each);
  kernel.bytes = desc.batch * desc.channels *
                 (element_count(desc.in_spatial) + element_count(desc.out_spatial)) *
                 static_cast<int64_t>(dtype_size(dtype));
  const int64_t row = desc.out_spatial.back();
  std::string text = std::string(kBasePrelude);
  text += fmt::format(
      "typedef {} HoneElement;\ntypedef {} HoneForm;\ntypedef {} hone_index;\n"
      "constexpr bool kLast = {}, kVectorLoads = {};\n"
      "constexpr int kLanes = {}, kNarrow = {}, kRepeated = {}, kRepeatedRows = {}, kEach = {};\n"
      "constexpr hone_i64 kInner = {}, kItems = {}, kVectorsOfPosition = {}, kVectorsOfRow = {};\n",
      element_memory(dtype), element_form(dtype),
      plan.results < (int64_t{1} << 31) ? "unsigned" : "unsigned long long", plan.last, plan.vector_loads(),
      plan.lanes, plan.narrow(), plan.repeated, plan.repeated_rows, plan.each, plan.last ? desc.channels : 1,
      plan.items(), plan.last ? desc.channels / plan.lanes : 1, plan.last ? row : row / plan.lanes);
  text += tables_text(desc, tables) + std::string(kResizePlace) +
          std::string(desc.mode == ResizeMode::kNearest ? kResizeNearest : kResizeLinear);
  kernel.source = {.name = "resize.cu", .text = std::move(text), .options = {"--fmad=false"}};
  return kernel;
}

}  // namespace hone::kernels::gpu
