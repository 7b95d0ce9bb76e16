// The roofs of an NVIDIA GPU, measured: matrix products by type, arithmetic without matrix units, bandwidth by level,
// links to the host, and what launches cost.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cuda/blas_lt.h"
#include "cuda/kernel_cache.h"

#include "core/result.h"
#include "core/roofs.h"
#include "lab/ceilings/ceilings.h"
#include "lab/ceilings/gpu/gpu_watch.h"
#include "runtime/cuda/cuda_device.h"

namespace hone::lab {

// FLOP/s of dense products of random numbers, by cuBLASLt's fastest algorithm of its first guesses. A burst is
// milliseconds long, after a rest; sustained, when the limits of power and heat have set the clock.
struct MatrixRoof {
  std::string type;  // "f32", "tf32", "f16", "bf16", "i8", "f8e4m3fn"
  int64_t size = 0;  // of square matrices
  Rate burst, sustained;
  GpuState burst_state, sustained_state;
};

struct LinkRoof {
  bool to_device = false;
  bool pinned = false;
  Rate bytes;  // bytes/s, one way
};

struct GpuCeilings {
  std::string device, driver;  // "NVIDIA H100 80GB HBM3", "13.0"
  int architecture = 0, multiprocessors = 0, cublaslt = 0, nvrtc = 0;
  std::vector<MatrixRoof> matrix;
  Rate vector_f32;  // FLOP/s
  GpuState vector_state;
  std::vector<MemoryRoof> memory;  // "DRAM", "L2", "shared"; copies count both directions
  std::vector<LinkRoof> links;
  Duration launch, graph_node;  // from one kernel that does nothing to the next: given one by one, in a graph
  struct NotMeasured {
    std::string what, why;
  };
  std::vector<NotMeasured> not_measured;
  bool quick = false, from_cache = false;
  double seconds = 0;       // that measuring took
  std::string measured_at;  // ISO 8601, UTC
  std::vector<std::string> notes;
};

// As tables that passes and analysis read. Products are by their burst: the most that a kernel can reach.
Roofs roofs_of(const GpuCeilings& ceilings);
Ceilings ceilings_of(const GpuCeilings& ceilings);

// What is measured with; tests make it of a driver that computes nothing.
struct GpuTools {
  std::shared_ptr<runtime::CudaDevice> device;
  std::shared_ptr<cuda::KernelCache> cache;
  std::shared_ptr<const cuda::BlasLt> products;
  // An error says in one line what is missing (driver, library, version, GPU) and where it was looked for.
  static Result<GpuTools> open(int index = 0);
};

// How much work is given; the defaults are for a GPU.
struct GpuRoofSizes {
  int64_t matrix = 8192;
  std::size_t memory_bytes = std::size_t{2} << 30;  // each way, of DRAM
  std::size_t link_bytes = std::size_t{256} << 20;
  int rounds = 4096;       // of the arithmetic and the shared memory's kernel
  double replay_s = 4e-3;  // of one reading
  double burst_rest_s = 0.1;
  double sustained_s = 2;
  int launches = 2000;
};

struct GpuCeilingsOptions {
  bool quick = false;                  // sustained rates after half a second
  bool refresh = false;                // measure even when the cache has an answer
  std::filesystem::path cache_folder;  // empty: hone's
  std::function<bool(double fraction, const std::string& what)> progress;  // false ends it
  GpuRoofSizes sizes;
};

Result<GpuCeilings> measure_gpu_ceilings(const GpuTools& tools, const GpuCeilingsOptions& options);
// From the cache, where this GPU's roofs stand there for these versions of driver and libraries; else measured, and kept.
Result<GpuCeilings> load_or_measure_gpu_ceilings(const GpuTools& tools, const GpuCeilingsOptions& options);

}  // namespace hone::lab
