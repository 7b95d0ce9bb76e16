// What an entry of an account is about, recognised once where it is booked: advice goes by this, and never by
// names that people read.
#pragma once

#include <cstdint>
#include <string_view>

#include "analyze/cause.h"
#include "analyze/device/timeline/rank_timeline.h"
#include "trace/trace.h"

namespace hone::analyze::device {

enum class EntryKind : uint8_t {
  kOther,
  kCopyToDevice,
  kCopyToHost,
  kReduction,      // over ranks
  kReduceScatter,  // likewise, each rank keeps its part
  kGather,
  kExchange,       // another collective of NCCL
  kWaitForDevice,  // for all that it has to do, or for a mark in it
  kWaitForSize,    // of a result
  kRead,           // of files
  kWrite,
};
inline constexpr int kEntryKindCount = static_cast<int>(EntryKind::kWrite) + 1;

struct EntryTraits {
  EntryKind kind = EntryKind::kOther;
  bool pinned = false;  // a copy from or to pinned memory
  bool narrow = false;  // a reduction of numbers in 16 bits
};

EntryTraits traits_of_copy(const Work& work);
EntryTraits traits_of_collective(const trace::Trace& trace, const Work& work);
// A call or a function of the host, in time in which the device idles for `cause`.
EntryTraits traits_of_call(Cause cause, std::string_view name);

}  // namespace hone::analyze::device
