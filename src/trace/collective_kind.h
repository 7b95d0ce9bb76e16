// What a collective does, recognised once by its name: as the framework records it ("_allgather_base"), or as
// the kernel that runs it is called ("ncclDevKernel_AllGather_RING_LL"). One table (collective_kind.cpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "trace/name_patterns.h"

namespace hone::trace {

enum class CollectiveKind : uint8_t {
  kOther,
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kAllToAll,
  kBroadcast,
  kReduce,   // to one rank
  kGather,   // to one rank
  kScatter,  // from one rank
  kBarrier,
  kMessage,  // a send, a receive, or the kernel that runs both
};
inline constexpr int kCollectiveKindCount = static_cast<int>(CollectiveKind::kMessage) + 1;

std::string_view collective_kind_name(CollectiveKind kind);  // "all-reduce"; "other"

CollectiveKind collective_kind(std::string_view name);
// The table, for tests.
std::span<const NamePattern<CollectiveKind>> collective_kind_table();

// The ranks at the ends of a message, by the name of the range around it: "nccl:send 0->1", "nccl:recv 1<-0".
struct MessageEnds {
  int from = 0, to = 0;
};
std::optional<MessageEnds> message_ends(std::string_view name);

// Whether all ranks leave it together, so that its ends tell how far clocks are apart: of a broadcast or a
// reduction to one rank some are done earlier.
bool ends_at_once(CollectiveKind kind);
// Whether it adds up what the ranks have, for all of them.
bool adds_up(CollectiveKind kind);
// Whether every rank gives as much as every other.
bool sizes_agree(CollectiveKind kind);

}  // namespace hone::trace
