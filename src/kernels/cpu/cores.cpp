#include "kernels/cpu/cores.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

#include <omp.h>

#include "kernels/cpu/parallel.h"

namespace hone::kernels {
namespace {

// CPUs' worth of time a period that the control group allows (kernel documentation, cgroup-v2: cpu.max holds
// "$MAX $PERIOD" or "max $PERIOD"); 0 where there is no limit.
int granted_cpus() {
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  double quota = 0, period = 0;
  if (!(file >> quota >> period) || period <= 0) return 0;
  return std::max(1, static_cast<int>(quota / period));
}

}  // namespace

std::vector<int> usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

std::vector<int> one_cpu_per_core(std::span<const int> cpus) {
  std::set<std::string> seen;
  std::vector<int> firsts;
  for (int cpu : cpus) {
    // Hardware threads of one core have the same list of siblings.
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(cpu) +
                       "/topology/thread_siblings_list");
    std::string siblings;
    if (!std::getline(file, siblings)) siblings = std::to_string(cpu);
    if (seen.insert(siblings).second) firsts.push_back(cpu);
  }
  return firsts;
}

int default_thread_count() {
  const int cores = static_cast<int>(one_cpu_per_core(usable_cpus()).size());
  const int granted = granted_cpus();
  return granted > 0 ? std::min(cores, granted) : cores;
}

PinnedTeam::PinnedTeam(int threads) {
  const std::vector<int> cores = one_cpu_per_core(usable_cpus());
  if (omp_in_parallel() != 0 || threads < 2 || static_cast<std::size_t>(threads) != cores.size()) return;
  before_.resize(cores.size());
  const TeamSize team(threads);
#pragma omp parallel
  {
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    sched_getaffinity(0, sizeof(cpu_set_t), &before_[thread]);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cores[thread], &one);
    sched_setaffinity(0, sizeof one, &one);
  }
}

PinnedTeam::~PinnedTeam() {
  if (before_.empty()) return;
  const TeamSize team(static_cast<int>(before_.size()));
#pragma omp parallel
  {
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    if (thread < before_.size()) sched_setaffinity(0, sizeof(cpu_set_t), &before_[thread]);
  }
}

}  // namespace hone::kernels
