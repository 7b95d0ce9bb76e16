// NVIDIA's cuDNN for tests, where it is installed, for GPUs that are described and not there: it judges graphs and makes plans
// as on them. The numbers are NVIDIA's data sheets'.
#pragma once

#include <iostream>
#include <memory>
#include <string>

#include "cuda/cudnn.h"
#include <fmt/format.h>

namespace hone::cuda::testing {

struct DescribedGpu {
  const char* name;
  int version;  // 900 is compute capability 9.0
  int multiprocessors, shared_bytes_a_block, l2_bytes, clock_khz, memory_clock_khz;
  long long bytes;
};
inline constexpr DescribedGpu kA100{
    "NVIDIA A100-SXM4-80GB", 800, 108, 166912, 41943040, 1410000, 1593000, 85899345920};
inline constexpr DescribedGpu kH100{
    "NVIDIA H100 80GB HBM3", 900, 132, 232448, 52428800, 1980000, 2619000, 85520809984};
inline constexpr DescribedGpu kB200{"NVIDIA B200", 1000,    148,     232448,
                                    132644864,     1965000, 3996000, 191503138816};

// Null, and a line that says so, where there is no cuDNN that can do this.
inline std::shared_ptr<const Cudnn> real_cudnn_for(const DescribedGpu& gpu) {
  const std::string json = fmt::format(
      R"({{"version":1,"deviceName":"{}","cudaDeviceId":0,"deviceVer":{},"driverVer":13000,)"
      R"("multiProcessorCount":{},"maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":{},)"
      R"("reservedSharedMemoryPerBlock":1024,"totalGlobalMem":{},"maxGridSize":[2147483647,65535,65535],)"
      R"("maxBlockSize":[1024,1024,64],"regsPerBlock":65536,"warpSize":32,"maxRegistersPerSM":65536,)"
      R"("maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"pciDeviceId":0,"isTccDriver":0,)"
      R"("supportCoopLaunch":1,"smClockRateKHz":{},"memClockRateKHz":{},"l2CacheSize":{}}})",
      gpu.name, gpu.version, gpu.multiprocessors, gpu.shared_bytes_a_block, gpu.bytes, gpu.clock_khz,
      gpu.memory_clock_khz, gpu.l2_bytes);
  LibraryPlaces places = LibraryPlaces::of_this_process();
  places.loaded = false;  // that may be the fake one
  auto cudnn = Cudnn::load_for_described(places, json);
  if (cudnn.ok()) return *cudnn;
  std::cerr << "\n*** NOT RUN: " << cudnn.error().message << " ***\n\n";
  return nullptr;
}

}  // namespace hone::cuda::testing
