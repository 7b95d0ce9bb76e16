#include "analyze/device/reductions.h"

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
    for (uint32_t work : pass->works) {
      split.works[work].cause = Cause::kComm;
      split.works[work].reason = Reason::kRepeated;
      split.works[work].target_ns = kGone;
    }
}

}  // namespace

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
