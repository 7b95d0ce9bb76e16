#include "analyze/cause.h"

namespace hone::analyze {
namespace {

struct CauseNames {
  std::string_view name;
  std::string_view label;
  std::string_view title;
};

constexpr std::array<CauseNames, kCauseCount> kNames = {{
    {"floor", "floor", "The floor"},
    {"precision", "precision", "Precision"},
    {"layout", "layout", "Layout"},
    {"avoidable_traffic", "avoidable traffic", "Avoidable traffic"},
    {"kernel_inefficiency", "kernel inefficiency", "Kernel inefficiency"},
    {"unjudged", "busy, not judged", "Busy time that is not judged"},
    {"launch", "launch", "Launch overhead"},
    {"host_sync", "host sync", "Host synchronisation"},
    {"input", "input", "Waiting for input"},
    {"io", "I/O", "Waiting for I/O"},
    {"host_copy", "host copy", "Copying between host and device"},
    {"allocator", "allocator", "The allocator"},
    {"compile", "compile", "Compilation"},
    {"host_other", "host, other", "Host work"},
    {"comm", "communication", "Communication"},
    {"straggler", "straggler", "A straggler"},
    {"bubble", "bubble", "The pipeline bubble"},
}};

}  // namespace

std::string_view cause_name(Cause cause) { return kNames[static_cast<std::size_t>(cause)].name; }
std::string_view cause_label(Cause cause) { return kNames[static_cast<std::size_t>(cause)].label; }

std::string_view cause_title(Cause cause) { return kNames[static_cast<std::size_t>(cause)].title; }

std::optional<Cause> cause_from_name(std::string_view name) {
  for (Cause cause : all_causes())
    if (cause_name(cause) == name) return cause;
  return std::nullopt;
}

}  // namespace hone::analyze
