#include "analyze/device/busy/reductions.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace hone::analyze::device {
namespace {

constexpr double kSameElements = 0.02;  // buckets are padded

// What one backward pass reduces.
struct Pass {
  std::vector<uint32_t> works;
  std::vector<double> sizes;
  double elements = 0;
};

// The parameters that one call of the optimizer goes over; 0: it takes them one by one, or there is none.
double updated_elements(const trace::Trace& trace, const BusySplit& split) {
  double most = 0;
  for (std::size_t op = 0; op < split.uses.rows.size(); ++op) {
    if (trace.operators[op].phase != trace::Phase::kOptimizer || split.uses.rows[op].inputs.empty()) continue;
    const trace::CallInput& first = split.uses.rows[op].inputs.front();
    if (first.kind == trace::CallInput::Kind::kList)
      most = std::max(most, static_cast<double>(first.elements()));
  }
  return most;
}

bool is_reduction(const trace::Trace& trace, const trace::Collective& detail) {
  const std::string_view name = detail.name.valid() ? trace.strings.text(detail.name) : std::string_view();
  return name.find("allreduce") != std::string_view::npos ||
         name.find("all_reduce") != std::string_view::npos ||
         name.find("reduce_scatter") != std::string_view::npos;
}

bool is_forward(const trace::Trace& trace, const Work& work) {
  return work.op != kNothing && trace.operators[work.op].phase == trace::Phase::kForward;
}

void mark(const std::vector<Pass>& passes, double updated, BusySplit& split) {
  if (passes.size() < 2) return;
  for (const Pass& pass : passes)
    if (pass.sizes != passes.front().sizes || std::abs(pass.elements - updated) > kSameElements * updated)
      return;
  for (auto pass = passes.begin(); pass + 1 != passes.end(); ++pass)
    for (uint32_t work : pass->works) give_to(split.works[work], Cause::kComm, Reason::kRepeated, kGone);
}

// A conversion of type over as many elements, between f32 and 16 bits.
bool converts(const trace::Trace& trace, const RankTimeline& timeline, const BusySplit& split, uint32_t work,
              double elements) {
  if (work == kNothing || timeline.works[work].op == kNothing) return false;
  const uint32_t op = timeline.works[work].op;
  return is_cast(trace.operators[op], split.uses.rows[op].inputs) && split.uses.rows[op].elements == elements;
}

void give_to_sum(WorkSplit& split, double target_ns) {
  give_to(split, Cause::kComm, Reason::kWideSum, target_ns);
}

}  // namespace

void mark_wide_sums(const trace::Trace& trace, const RankTimeline& timeline, BusySplit& split) {
  uint32_t before = kNothing, sum = kNothing;  // what was launched last, and whether that is a sum in f32
  double elements = 0;
  for (uint32_t i : timeline.launched) {
    const Work& work = timeline.works[i];
    if (sum != kNothing && converts(trace, timeline, split, i, elements)) {
      const bool both = split.works[sum].reason == Reason::kWideSum;
      give_to_sum(split.works[i], kGone);
      if (!both) give_to_sum(split.works[sum], static_cast<double>(timeline.works[sum].ns()) / 2);
    }
    sum = kNothing;
    const trace::Collective* detail =
        work.kind == WorkKind::kCollective ? trace::find_detail(trace.collectives, work.span) : nullptr;
    if (detail != nullptr && detail->dtype == DType::kF32 && is_reduction(trace, *detail) &&
        split.works[i].reason == Reason::kNone) {
      sum = i;
      elements = std::max(detail->elements_in, detail->elements_out);
      if (converts(trace, timeline, split, before, elements)) {
        give_to_sum(split.works[before], kGone);
        give_to_sum(split.works[i], static_cast<double>(work.ns()) / 2);
      }
    }
    before = i;
  }
}

void mark_repeated_reductions(const trace::Trace& trace, const RankTimeline& timeline, BusySplit& split) {
  const double updated = updated_elements(trace, split);
  if (updated <= 0) return;
  std::vector<Pass> passes;
  int32_t step = trace::kNoStep;
  bool forward = true;
  uint32_t before = kNothing;  // what was launched last
  for (uint32_t i : timeline.launched) {
    const Work& work = timeline.works[i];
    if (work.step != step) {
      mark(passes, updated, split);
      passes.clear();
      step = work.step;
      forward = true;
    }
    if (work.kind != WorkKind::kCollective) {
      forward = forward || is_forward(trace, work);
      before = i;
      continue;
    }
    const trace::Collective* detail = trace::find_detail(trace.collectives, work.span);
    if (detail == nullptr || !is_reduction(trace, *detail)) continue;
    if (forward) passes.emplace_back();
    forward = false;
    const double elements = std::max(detail->elements_in, detail->elements_out);
    passes.back().works.push_back(i);
    passes.back().sizes.push_back(elements);
    passes.back().elements += elements;
    if (before != kNothing && timeline.works[before].op != kNothing &&
        split.uses.rows[timeline.works[before].op].elements == elements)
      passes.back().works.push_back(before);  // the division by the number of ranks
    before = kNothing;
  }
  mark(passes, updated, split);
}

}  // namespace hone::analyze::device
