// What only some spans have, as rows of their own: sparse where the span table is dense. Every table is
// ordered by span, so that a span's row is found by bisection (find_detail). What a recorder did not write is
// 0, empty or invalid.

#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "trace/collective_kind.h"
#include "trace/strings.h"

namespace hone::trace {

inline constexpr int64_t kNoSequence = -1;

// A call of a framework's operator, on the host.
struct Call {
  uint32_t span = 0;
  StringId inputs = {};  // shapes, types and values as call_inputs.h writes them; invalid: not recorded
  int64_t sequence = kNoSequence;  // the same for a forward call and the backward call that belongs to it
  uint64_t external = 0;           // the framework's id of this call; device work may carry it
  friend bool operator==(const Call&, const Call&) = default;
};

// How a kernel was launched.
struct Launch {
  uint32_t span = 0;
  uint64_t external = 0;  // Call::external of the operator that caused it
  std::array<uint32_t, 3> grid = {};
  std::array<uint32_t, 3> block = {};
  uint32_t registers = 0;     // per thread
  uint32_t shared_bytes = 0;  // per block, static and dynamic
  uint64_t graph_node = 0;    // of the CUDA graph that launched it; 0: none
  friend bool operator==(const Launch&, const Launch&) = default;
};

enum class MemoryKind : uint8_t { kUnknown, kPageable, kPinned, kDevice, kManaged };

struct Copy {
  uint32_t span = 0;
  uint64_t external = 0;
  MemoryKind from = MemoryKind::kUnknown;
  MemoryKind to = MemoryKind::kUnknown;
  double bytes = 0;
  friend bool operator==(const Copy&, const Copy&) = default;
};

// A collective, a send or a receive, as the kernel that runs it says.
struct Collective {
  uint32_t span = 0;
  StringId name = {};   // "allreduce", "_allgather_base", …
  StringId group = {};  // name of the process group: ProcessGroup::name
  uint32_t group_size = 0;
  DType dtype = DType::kUndefined;
  double elements_in = 0;  // of one rank
  double elements_out = 0;
  CollectiveKind kind = CollectiveKind::kOther;  // what `name` names; link_trace fills it in
  friend bool operator==(const Collective&, const Collective&) = default;
};

// The row of `span`; null if it has none.
template <typename Detail>
const Detail* find_detail(const std::vector<Detail>& details, uint32_t span) {
  const auto at = std::lower_bound(details.begin(), details.end(), span,
                                   [](const Detail& row, uint32_t wanted) { return row.span < wanted; });
  return at != details.end() && at->span == span ? &*at : nullptr;
}

// A device that a trace's program drove.
struct DeviceInfo {
  int rank = 0;
  int index = 0;
  std::string name;  // "NVIDIA H200"
  double memory_bytes = 0;
  int multiprocessors = 0;
  int compute_major = 0, compute_minor = 0;
  friend bool operator==(const DeviceInfo&, const DeviceInfo&) = default;
};

struct ProcessGroup {
  std::string name;
  std::string description;
  std::vector<int> ranks;
  friend bool operator==(const ProcessGroup&, const ProcessGroup&) = default;
};

// One process of a (distributed) program.
struct RankInfo {
  int rank = 0;
  int world_size = 1;
  std::string source;   // the file it came from
  std::string backend;  // "nccl"
  std::vector<ProcessGroup> groups;
  friend bool operator==(const RankInfo&, const RankInfo&) = default;
};

}  // namespace hone::trace
