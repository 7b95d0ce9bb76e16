#include "kernels/cuda/gather.h"

#include <limits>
#include <string>

#include <fmt/format.h>

#include "kernels/cuda/gather_plan.h"

namespace hone::kernels::gpu {
namespace {

constexpr int64_t kManyGatherUnits = int64_t{1}
                                     << 20;  // from here on a thread has several loads on their way

// A thread's indices come first, then what they choose, and nothing is branched around: no load waits for another. Past the
// last unit the last index is read again.
constexpr std::string_view kGatherKernel = R"cuda(
extern "C" __global__ void __launch_bounds__(256, 1) hone_gather(const HoneUnit* data, const HoneIndex* indices, HoneUnit* out,
    unsigned long long* fault, unsigned long long word) {
  const hone_item first = (hone_item)blockIdx.x * (kEach * 256) + threadIdx.x, last = (hone_item)(kUnits - 1);
  hone_i64 from[kEach];
  HoneUnit unit[kEach];
  bool wrong = false;
#pragma unroll
  for (int u = 0; u < kEach; ++u) {
    const hone_item own = first + u * 256, e = own < last ? own : last, item = e / (hone_item)kRun;
    const hone_i64 place = hone_place(indices, item);
    from[u] = place < 0 ? -1 : place * kRun + (hone_i64)(e - item * (hone_item)kRun);
    wrong = wrong || place < 0;
  }
#pragma unroll
  for (int u = 0; u < kEach; ++u) {
    unit[u] = HoneUnit();
    if (from[u] >= 0) unit[u] = data[from[u]];
  }
#pragma unroll
  for (int u = 0; u < kEach; ++u)
    if (first + u * 256 <= last) out[first + u * 256] = unit[u];
  if (wrong) hone_tell(fault, word);
}
)cuda";

constexpr std::string_view kScatterKernels = R"cuda(
extern "C" __global__ void __launch_bounds__(256, 1) hone_clear_claims(int* claims) {
  const hone_i64 e = hone_thread();
  if (e < kPlaces) claims[e] = -1;
}
extern "C" __global__ void __launch_bounds__(256, 1) hone_claim(const HoneIndex* indices, int* claims,
    unsigned long long* fault, unsigned long long word) {
  const hone_i64 item = hone_thread();
  if (item >= kItems) return;
  const hone_i64 place = hone_place(indices, item);
  if (place >= 0) atomicMax(claims + place, (int)item);
  else hone_tell(fault, word);
}
extern "C" __global__ void __launch_bounds__(256, 1) hone_scatter(const HoneUnit* updates, const HoneIndex* indices,
    const int* claims, HoneUnit* out) {
  const hone_i64 e = hone_thread();
  if (e >= kUnits) return;
  const hone_i64 item = e / kRun, place = hone_place(indices, item);
  if (place >= 0 && claims[place] == (int)item) out[place * kRun + (e - item * kRun)] = updates[e];
}
)cuda";

}  // namespace

Result<GatherKernel> generate_gather(const GatherForm& form) {
  HONE_ASSIGN(const GatherPlan plan, checked_plan(form));
  const GatherUnits units = units_of(plan);
  GatherKernel kernel;
  const int64_t each = units.all >= kManyGatherUnits ? 4 : 1;
  kernel.blocks = gather_blocks((units.all + each - 1) / each);
  kernel.bytes = 2 * plan.items * plan.run;
  kernel.source = {.name = "gather.cu",
                   .text = gather_prelude(plan, units) + fmt::format("constexpr int kEach = {};\n", each) +
                           std::string(kGatherKernel),
                   .options = {}};
  return kernel;
}

Result<ScatterKernels> generate_scatter(const GatherForm& form) {
  HONE_ASSIGN(const GatherPlan plan, checked_plan(form));
  if (plan.items > std::numeric_limits<int32_t>::max())
    return unsupported("a scatter of more updates than 32 bits count");
  const GatherUnits units = units_of(plan);
  ScatterKernels kernels;
  kernels.places = plan.places;
  kernels.clear_blocks = gather_blocks(plan.places);
  kernels.claim_blocks = gather_blocks(plan.items);
  kernels.scatter_blocks = gather_blocks(units.all);
  kernels.source = {.name = "scatter.cu",
                    .text = gather_prelude(plan, units) + std::string(kScatterKernels),
                    .options = {}};
  return kernels;
}

}  // namespace hone::kernels::gpu
