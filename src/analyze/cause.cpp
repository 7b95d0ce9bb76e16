#include "analyze/cause.h"

namespace hone::analyze {
namespace {

struct CauseNames {
  std::string_view name;
  std::string_view label;
};

constexpr std::array<CauseNames, kCauseCount> kNames = {{
    {"floor", "floor"},
    {"precision", "precision"},
    {"layout", "layout"},
    {"avoidable_traffic", "avoidable traffic"},
    {"kernel_inefficiency", "kernel inefficiency"},
    {"launch", "launch"},
    {"host_sync", "host sync"},
    {"input", "input"},
    {"io", "I/O"},
    {"host_copy", "host copy"},
    {"allocator", "allocator"},
    {"compile", "compile"},
    {"host_other", "host, other"},
    {"comm", "communication"},
    {"straggler", "straggler"},
    {"bubble", "bubble"},
}};

}  // namespace

std::string_view cause_name(Cause cause) { return kNames[static_cast<std::size_t>(cause)].name; }
std::string_view cause_label(Cause cause) { return kNames[static_cast<std::size_t>(cause)].label; }

std::optional<Cause> cause_from_name(std::string_view name) {
  for (Cause cause : all_causes())
    if (cause_name(cause) == name) return cause;
  return std::nullopt;
}

}  // namespace hone::analyze
