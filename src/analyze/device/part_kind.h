// What a part of a row is about, recognised once where it is booked: advice goes by this, and never by names
// that people read.
#pragma once

#include <cstdint>
#include <string_view>

#include "analyze/cause.h"
#include "analyze/device/timeline/rank_timeline.h"
#include "trace/trace.h"

namespace hone::analyze::device {

enum class PartWork : uint8_t {
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

struct PartKind {
  PartWork work = PartWork::kOther;
  bool pinned = false;  // a copy from or to pinned memory
  bool narrow = false;  // a reduction of numbers in 16 bits
};

PartKind kind_of_copy(const Work& work);
PartKind kind_of_collective(const trace::Trace& trace, const Work& work);
// Of a call or a function of the host, in time of the device that idles for `cause`.
PartKind kind_of_call(Cause cause, std::string_view name);

}  // namespace hone::analyze::device
