// What stands beside the list of events: devices, ranks, process groups, the time that the clock counts from.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/blocks.h"
#include "trace/details.h"
#include "trace/trace.h"

namespace hone::trace::kineto {

struct Header {
  bool is_pytorch = false;  // it has members that only PyTorch's profiler writes
  std::vector<DeviceInfo> devices;
  std::optional<int> rank;
  int world_size = 1;
  std::string backend;
  std::vector<ProcessGroup> groups;
  std::optional<int64_t> base_ns;  // the time that events count from
  // What hone.record() of the Python package says of the steps around those that it had recorded ("honeSteps").
  std::vector<BlockSteps> steps;
  std::optional<HostUse> host_use;  // and whether its thread had a CPU meanwhile ("honeHost")
  std::vector<std::pair<std::string, std::string>> notes;
  std::vector<std::string> warnings;

  // Adds the members in `text`: `"a": 1, "b": 2`, with or without commas and a brace at its ends.
  void read(std::string_view text);
};

}  // namespace hone::trace::kineto
