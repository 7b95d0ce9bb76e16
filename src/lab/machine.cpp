#include "lab/machine.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <omp.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/version.h"
#include "kernels/cpu/cores.h"
#include "kernels/cpu/roof/arithmetic.h"
#include "kernels/cpu/roof/gemm.h"

namespace hone::lab {
namespace {

const std::filesystem::path kCpus = "/sys/devices/system/cpu";

// The first line of a small system file; empty if it isn't there. (/proc and /sys files have no size to map.)
std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The value of "key : value" or KEY="value" in a system file.
std::string value_of(const std::filesystem::path& path, const std::string& key, char separator) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find(separator);
    if (at == std::string::npos || line.compare(0, key.size(), key) != 0) continue;
    const std::size_t begin = line.find_first_not_of(" \t\"", at + 1), end = line.find_last_not_of(" \t\"");
    return begin == std::string::npos ? "" : line.substr(begin, end - begin + 1);
  }
  return {};
}

std::vector<CacheLevel> read_caches(const std::vector<int>& cpus) {
  std::map<int, CacheLevel> levels;
  std::map<int, std::set<std::string>> instances;
  for (int cpu : cpus) {
    for (int index = 0;; ++index) {
      const auto folder = kCpus / fmt::format("cpu{}/cache/index{}", cpu, index);
      const std::string type = first_line(folder / "type");
      if (type.empty()) break;
      if (type == "Instruction") continue;
      const int level = std::atoi(first_line(folder / "level").c_str());
      const std::string shared = first_line(folder / "shared_cpu_list");
      CacheLevel& cache = levels[level];
      cache.level = level;
      cache.bytes = std::max(cache.bytes, internal::parse_cache_size(first_line(folder / "size")));
      cache.shared_by = std::max(1, static_cast<int>(internal::parse_cpu_list(shared).size()));
      instances[level].insert(shared.empty() ? std::to_string(cpu) : shared);
    }
  }
  std::vector<CacheLevel> caches;
  for (auto& [level, cache] : levels) {
    cache.instances = static_cast<int>(instances[level].size());
    if (cache.bytes > 0) caches.push_back(cache);
  }
  return caches;
}

int64_t memory_line(const std::string& key) {
  return std::atoll(value_of("/proc/meminfo", key, ':').c_str()) * 1024;
}

std::string cpu_name(const std::string& architecture) {
  for (const char* key : {"model name", "Model", "cpu"}) {
    const std::string name = value_of("/proc/cpuinfo", key, ':');
    if (!name.empty()) return name;
  }
  return architecture + " CPU";
}

}  // namespace

std::vector<int> internal::parse_cpu_list(const std::string& text) {
  std::vector<int> cpus;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    int first = 0, last = 0;
    const char* end = part.data() + part.size();
    auto parsed = std::from_chars(part.data(), end, first);
    if (parsed.ec != std::errc() || first < 0) continue;
    last = first;
    if (parsed.ptr != end && *parsed.ptr == '-') std::from_chars(parsed.ptr + 1, end, last);
    for (int cpu = first; cpu <= last && cpu < first + CPU_SETSIZE; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

int64_t internal::parse_cache_size(const std::string& text) {
  int64_t size = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, size);
  if (parsed.ec != std::errc() || size < 0 || size > (int64_t{1} << 40)) return 0;
  if (parsed.ptr == end) return size;
  if (*parsed.ptr == 'K') return size << 10;
  if (*parsed.ptr == 'M') return size << 20;
  if (*parsed.ptr == 'G') return size << 30;
  return 0;
}

int internal::parse_cpu_quota(const std::string& text) {
  std::istringstream numbers(text);
  int64_t quota = 0, period = 0;
  if (!(numbers >> quota >> period) || quota <= 0 || period <= 0) return 0;
  return static_cast<int>((quota + period - 1) / period);
}

std::string internal::openmp_version(int month) {
  switch (month) {
    case 201511:
      return "4.5";
    case 201811:
      return "5.0";
    case 202011:
      return "5.1";
    case 202111:
      return "5.2";
    default:
      return std::to_string(month);
  }
}

Machine describe_machine() {
  Machine machine;
  utsname system{};
  if (uname(&system) == 0) {
    machine.architecture = system.machine;
    machine.kernel = fmt::format("{} {}", system.sysname, system.release);
  }
  machine.cpu = cpu_name(machine.architecture);
  const std::vector<int> cpus = kernels::usable_cpus();
  machine.hardware_threads = static_cast<int>(cpus.size());
  machine.cores = static_cast<int>(kernels::one_cpu_per_core(cpus).size());
  machine.installed_threads = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  if (const int quota = internal::parse_cpu_quota(first_line("/sys/fs/cgroup/cpu.max")); quota > 0) {
    machine.hardware_threads = std::min(machine.hardware_threads, quota);
    machine.cores = std::min(machine.cores, quota);
  }
  machine.caches = read_caches(cpus);
  machine.memory_bytes = memory_line("MemTotal");
  machine.available_bytes = memory_line("MemAvailable");
  machine.os = value_of("/etc/os-release", "PRETTY_NAME", '=');
  machine.governor = first_line(kCpus / "cpu0/cpufreq/scaling_governor");
  machine.vector_features = kernels::roof::vector_features();
  machine.hone = std::string(kVersion);
#if defined(__clang__)
  machine.compiler = "clang " __clang_version__;
#else
  machine.compiler = "g++ " __VERSION__;
#endif
  machine.libraries = {{"oneDNN", kernels::roof::dnnl_version_text()},
                       {"OpenMP", internal::openmp_version(_OPENMP)}};
  return machine;
}

std::string machine_title(const Machine& machine) {
  return fmt::format("{}, {} core{}", machine.cpu, machine.cores, machine.cores == 1 ? "" : "s");
}

nlohmann::json machine_json(const Machine& machine) {
  nlohmann::json caches = nlohmann::json::array();
  for (const CacheLevel& cache : machine.caches)
    caches.push_back({{"level", cache.level},
                      {"bytes", cache.bytes},
                      {"instances", cache.instances},
                      {"shared_by", cache.shared_by}});
  nlohmann::json libraries = nlohmann::json::object();
  for (const auto& [name, version] : machine.libraries) libraries[name] = version;
  return {{"title", machine_title(machine)},
          {"cpu", machine.cpu},
          {"architecture", machine.architecture},
          {"cores", machine.cores},
          {"hardware_threads", machine.hardware_threads},
          {"installed_threads", machine.installed_threads},
          {"caches", caches},
          {"memory_bytes", machine.memory_bytes},
          {"available_bytes", machine.available_bytes},
          {"os", machine.os},
          {"kernel", machine.kernel},
          {"governor", machine.governor},
          {"vector_features", machine.vector_features},
          {"hone", machine.hone},
          {"compiler", machine.compiler},
          {"libraries", libraries}};
}

}  // namespace hone::lab
