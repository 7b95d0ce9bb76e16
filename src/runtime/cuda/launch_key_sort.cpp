#include "runtime/cuda/launch_key_sort.h"

namespace hone::runtime::cuda_kernels {

namespace gpu = hone::kernels::gpu;

bool launch_key_sort(const cuda::KernelSource& source, const gpu::KeySort& sort, const GpuParameter& keys,
                     GpuLaunches& launches) {
  const auto tiles = line_of_blocks(sort.sorted / sort.tile, static_cast<int>(sort.tile / 2));
  const auto steps = line_of_blocks(sort.step_blocks, 256);
  if (!tiles || !steps) return false;
  const auto integer = [](int64_t number) { return GpuParameter{GpuParameter::Kind::kInteger, number}; };
  launches.launches.push_back({source, gpu::kSortTilesEntry, *tiles, {keys}});
  for (int64_t run = 2 * sort.tile; run <= sort.sorted; run *= 2) {
    for (int64_t distance = run / 2; distance >= sort.tile; distance /= 2)
      launches.launches.push_back(
          {source, gpu::kSortStepEntry, *steps, {keys, integer(distance), integer(run)}});
    launches.launches.push_back({source, gpu::kMergeTilesEntry, *tiles, {keys, integer(run)}});
  }
  return true;
}

}  // namespace hone::runtime::cuda_kernels
