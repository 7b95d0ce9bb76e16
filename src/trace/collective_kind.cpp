#include "trace/collective_kind.h"

#include <array>
#include <cstdio>
#include <string>

namespace hone::trace {
namespace {

using enum CollectiveKind;

constexpr std::array<std::string_view, kCollectiveKindCount> kCollectiveNames = {
    "other",  "all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast",
    "reduce", "gather",     "scatter",        "barrier",    "message",
};

// The first row that matches decides. Sources: torch/csrc/distributed/c10d (opTypeToString and the names that
// record_param_comms is given), NCCL's kernels (src/device), and those names in lower case, as importers that
// have the kernel alone write them.
constexpr NamePattern<CollectiveKind> kCollectives[] = {
    {"allreduce", kAllReduce},
    {"all_reduce", kAllReduce},
    {"AllReduce", kAllReduce},
    {"reduce_scatter", kReduceScatter},
    {"reducescatter", kReduceScatter},
    {"ReduceScatter", kReduceScatter},
    {"allgather", kAllGather},
    {"all_gather", kAllGather},
    {"AllGather", kAllGather},
    {"alltoall", kAllToAll},
    {"all_to_all", kAllToAll},
    {"broadcast", kBroadcast},
    {"Broadcast", kBroadcast},
    {"barrier", kBarrier},
    {"send", kMessage},
    {"Send", kMessage},
    {"recv", kMessage},
    {"gather", kGather},
    {"scatter", kScatter},
    {"reduce", kReduce},
    {"Reduce", kReduce},
};

}  // namespace

std::string_view collective_kind_name(CollectiveKind kind) {
  return kCollectiveNames[static_cast<std::size_t>(kind)];
}

CollectiveKind collective_kind(std::string_view name) {
  return first_match(collective_kind_table(), name).value_or(kOther);
}

std::span<const NamePattern<CollectiveKind>> collective_kind_table() { return kCollectives; }

std::optional<MessageEnds> message_ends(std::string_view name) {
  const std::string text(name);
  int own = 0, peer = 0;
  if (std::sscanf(text.c_str(), "nccl:send %d->%d", &own, &peer) == 2) return MessageEnds{own, peer};
  if (std::sscanf(text.c_str(), "nccl:recv %d<-%d", &own, &peer) == 2) return MessageEnds{peer, own};
  return std::nullopt;
}

bool ends_at_once(CollectiveKind kind) {
  return kind == kAllReduce || kind == kAllGather || kind == kReduceScatter;
}

bool adds_up(CollectiveKind kind) { return kind == kAllReduce || kind == kReduceScatter; }

bool sizes_agree(CollectiveKind kind) { return kind == kAllReduce || kind == kBroadcast || kind == kBarrier; }

}  // namespace hone::trace
