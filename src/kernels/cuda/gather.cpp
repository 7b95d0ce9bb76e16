#include "kernels/cuda/gather.h"

#include <limits>
#include <string>

#include "kernels/cuda/gather_plan.h"

namespace hone::kernels::gpu {
namespace {

constexpr std::string_view kGatherKernel = R"cuda(
extern "C" __global__ void __launch_bounds__(256, 1) hone_gather(const HoneUnit* data, const HoneIndex* indices, HoneUnit* out,
    unsigned long long* fault, unsigned long long word) {
  const hone_i64 e = hone_thread();
  if (e >= kUnits) return;
  const hone_i64 item = e / kRun, place = hone_place(indices, item);
  HoneUnit unit = HoneUnit();
  if (place >= 0) unit = data[place * kRun + (e - item * kRun)];
  else hone_tell(fault, word);
  out[e] = unit;
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
  kernel.blocks = gather_blocks(units.all);
  kernel.bytes = 2 * plan.items * plan.run;
  kernel.source = {
      .name = "gather.cu", .text = gather_prelude(plan, units) + std::string(kGatherKernel), .options = {}};
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
