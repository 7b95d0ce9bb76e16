// The measured roofs of a machine, as a table that analysis and passes read. lab/ceilings measures it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/dtype.h"

namespace hone {

// A measured rate with its spread (lowest and highest of the kept repetitions), in units per second.
struct Rate {
  double median = 0;
  double low = 0;
  double high = 0;
};

// A measured time with its spread, in seconds.
struct Duration {
  double median = 0;
  double low = 0;
  double high = 0;
};

// The method of a roof of f32 that is of other arithmetic: products of numbers rounded to 10 bits. It is no roof of f32.
inline constexpr std::string_view kTf32Method = "tf32 gemm";

struct ComputeRoof {
  DType dtype = DType::kF32;
  // "fma" (micro-kernel on vector registers), "tiles" (on matrix tiles, where the CPU has them), "gemm" (the
  // library's best matrix product) or kTf32Method.
  std::string method;
  int threads = 1;
  Rate flops;  // FLOP/s
};

struct MemoryRoof {
  std::string level;      // "L1", "L2", "L3", "DRAM"
  std::string operation;  // "read", "write", "copy" (copy counts bytes read plus bytes written)
  int threads = 1;
  double capacity_bytes = 0;  // of the level, all threads' share together; 0 for DRAM
  Rate bytes;                 // bytes/s
};

// The least time that a traffic can take, and the level that takes most of it.
struct TrafficTime {
  double seconds = 0;
  std::string level;  // empty if no level was measured
};

struct Roofs {
  std::string machine;  // "AMD EPYC 9R45, 2 cores"
  int threads = 1;      // all the cores that hone uses here
  std::vector<ComputeRoof> compute;
  std::vector<MemoryRoof> memory;
  Duration barrier;       // one barrier over all threads
  Duration thread_start;  // entering and leaving a parallel region

  // The best measured rate for `dtype` with `threads` threads, in FLOP/s; of f32 where the dtype was not
  // measured; 0 if none.
  double compute_roof(DType dtype, int thread_count) const;
  // DRAM copy bandwidth with `thread_count` threads, in bytes/s; 0 if not measured.
  double dram_roof(int thread_count) const;
  // The roof of the smallest level that holds `working_set_bytes`; null if no level was measured.
  const MemoryRoof* memory_level(double working_set_bytes, int thread_count) const;
  // The least time to read and write so many bytes, each once, when `from_dram` of those read cannot be in a
  // cache and all others may be: each level serves as much as it holds beyond the levels inside it, and DRAM
  // the rest. So the time has no jump where a tensor outgrows a cache, and data that the operator before left
  // there cannot beat it.
  TrafficTime traffic(double read_bytes, double written_bytes, double from_dram, int thread_count) const;
};

}  // namespace hone
