#include "analyze/device/busy/gathers.h"

#include <algorithm>
#include <string_view>

namespace hone::analyze::device {
namespace {

// What is left after reducing first, as a part of what is read now.
constexpr double kLittle = 1.0 / 16;
// A gather of almost nothing takes this long.
constexpr double kSmallGatherNs = 20'000;

struct Gather {
  uint32_t work = kNothing;
  double elements = 0;  // of all ranks together
  double ranks = 1;
};

Gather gather_of(const trace::Trace& trace, const RankTimeline& timeline, uint32_t work) {
  const trace::Collective* detail = trace::find_detail(trace.collectives, timeline.works[work].span);
  if (detail == nullptr || !detail->name.valid() || detail->elements_in <= 0) return {};
  const std::string_view name = trace.strings.text(detail->name);
  const bool gathers =
      name.find("allgather") != std::string_view::npos || name.find("all_gather") != std::string_view::npos;
  const double ranks = detail->elements_out / detail->elements_in;
  return gathers && ranks > 1 ? Gather{work, detail->elements_out, ranks} : Gather{};
}

bool reduces(const trace::Operator& op, const OperatorUse& use, double elements) {
  return op.op_class == trace::OperatorClass::kReduction && use.largest_input == elements &&
         op.bytes_written > 0 && op.bytes_written <= kLittle * op.bytes_read;
}

}  // namespace

void mark_whole_gathers(const trace::Trace& trace, const RankTimeline& timeline, BusySplit& split) {
  Gather gather;  // the last one, until something reads its result
  for (uint32_t i : timeline.launched) {
    const Work& work = timeline.works[i];
    if (work.kind == WorkKind::kCollective) {
      gather = gather_of(trace, timeline, i);
      continue;
    }
    if (gather.work == kNothing || work.op == kNothing) continue;
    const trace::Operator& op = trace.operators[work.op];
    const OperatorUse& use = split.uses.rows[work.op];
    if (use.largest_input != gather.elements) continue;
    if (reduces(op, use, gather.elements)) {
      const auto ns = static_cast<double>(timeline.works[gather.work].ns());
      const double carried = ns * op.bytes_written / op.bytes_read;
      give_to(split.works[gather.work], Cause::kComm, Reason::kWholeGather,
              std::min(ns, std::max(kSmallGatherNs, carried)));
      give_to(split.works[i], Cause::kComm, Reason::kWholeGather,
              static_cast<double>(work.ns()) / gather.ranks);
    }
    gather = {};
  }
}

}  // namespace hone::analyze::device
