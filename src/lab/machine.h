// What this machine is: the environment that every result names, and the sizes that measurements are laid out
// by. Read from the operating system once; nothing is measured here (lab/ceilings does).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace hone::lab {

// One kind of data or unified cache, as the CPUs that the process may use see it.
struct CacheLevel {
  int level = 1;
  int64_t bytes = 0;  // of one instance
  int instances = 1;  // that the usable CPUs have together
  int shared_by = 1;  // hardware threads an instance
};

struct Machine {
  std::string cpu;           // model name
  std::string architecture;  // "x86_64"
  int cores = 1;  // physical cores that the process may use: affinity mask and container quota considered
  int hardware_threads = 1;        // likewise
  int installed_threads = 1;       // hardware threads of the whole machine
  std::vector<CacheLevel> caches;  // data and unified, by level
  int64_t memory_bytes = 0;
  int64_t available_bytes = 0;  // memory that programs can still get
  std::string os;               // "Debian GNU/Linux 12 (bookworm)"
  std::string kernel;           // "Linux 6.1.0"
  std::string governor;         // frequency governor; empty if the system doesn't tell (virtual machines)
  std::string vector_features;  // what hone's kernels use: "fma AVX3_DL, vdpbf16ps 512, …"
  std::string hone;             // hone's version
  std::string compiler;         // that built hone
  std::vector<std::pair<std::string, std::string>> libraries;  // name and version
};

Machine describe_machine();

// "AMD EPYC 9R45, 2 cores".
std::string machine_title(const Machine& machine);
nlohmann::json machine_json(const Machine& machine);

namespace internal {
// Exposed for tests. "0-3,8,10-11" → {0, 1, 2, 3, 8, 10, 11}; unreadable parts are left out.
std::vector<int> parse_cpu_list(const std::string& text);
// "48K", "32M" → bytes; 0 if unreadable.
int64_t parse_cache_size(const std::string& text);
// cgroup v2 "max 100000" or "150000 100000" → CPUs, rounded up; 0: no limit.
int parse_cpu_quota(const std::string& text);
// The value of _OPENMP, a month, as the version of the standard: 201511 → "4.5"; the month itself if unknown.
std::string openmp_version(int month);
}  // namespace internal

}  // namespace hone::lab
