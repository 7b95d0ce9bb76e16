// The processes of a program (the one that was started, and all that it started), and what each has taken of the machine.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "trace/segments/record.h"

namespace hone::observe {

struct TreeProcess {
  int pid = 0;
  int parent = 0;
  std::string command;
};

// By pid; the root first. Those whose parent has ended are not found any more.
std::vector<TreeProcess> process_tree(int root);
std::vector<int> threads_of(int pid);

// Counters since the process began; what cannot be read is 0. `block` is the caller's.
trace::segments::HostUse use_of_process(int pid);
// What hone itself has had that process write by now, in bytes: its segments in `folder`.
uint64_t bytes_recorded_by(const std::filesystem::path& folder, int pid);
// Of the machine: its networks.
trace::segments::HostUse use_of_machine();

}  // namespace hone::observe
