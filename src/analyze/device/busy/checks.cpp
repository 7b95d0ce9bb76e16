#include "analyze/device/busy/checks.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace hone::analyze::device {
namespace {

constexpr double kAnswerBytes = 8;

bool is_one_of(std::string_view kind, const auto& kinds) {
  return std::find(std::begin(kinds), std::end(kinds), kind) != std::end(kinds);
}

bool sums_answers_up(std::string_view kind) {
  constexpr std::string_view kKinds[] = {"aten::all", "aten::any"};
  return is_one_of(kind, kKinds);
}

// What isnan, isinf, isfinite, isclose and comparisons run; abs and sub only before one of the others.
bool asks(std::string_view kind) {
  constexpr std::string_view kKinds[] = {
      "aten::eq",         "aten::ne",          "aten::lt",          "aten::le",          "aten::gt",
      "aten::ge",         "aten::isnan",       "aten::logical_not", "aten::logical_and", "aten::isinf",
      "aten::logical_or", "aten::bitwise_not", "aten::abs",         "aten::bitwise_and", "aten::bitwise_or"};
  return is_one_of(kind, kKinds);
}

class CheckFinder {
 public:
  CheckFinder(const trace::Trace& trace, const RankTimeline& timeline, BusySplit& split)
      : trace_(trace), timeline_(timeline), split_(split) {}

  void run() {
    for (std::size_t place = 1; place < timeline_.launched.size(); ++place)
      if (is_answer(timeline_.launched[place])) mark_before(place);
  }

 private:
  bool is_answer(uint32_t work) const {
    const Work& row = timeline_.works[work];
    const trace::Copy* copy = trace::find_detail(trace_.copies, row.span);
    return row.kind == WorkKind::kCopyToHost && copy != nullptr && copy->bytes <= kAnswerBytes;
  }

  // Of two truth values: their product is their conjunction.
  bool joins(uint32_t op) const {
    const Inputs& inputs = split_.uses.rows[op].inputs;
    return trace_.operators[op].kind == "aten::mul" && is_tensor(inputs, 0) &&
           inputs[0].dtype == DType::kBool;
  }

  void mark_before(std::size_t answer) {
    const int32_t step = timeline_.works[timeline_.launched[answer]].step;
    bool summed = false;
    double elements = 0;
    for (std::size_t place = answer; place > 0; --place) {
      const uint32_t work = timeline_.launched[place - 1];
      const Work& row = timeline_.works[work];
      if (row.kind == WorkKind::kMemset) continue;  // clears what the reduction adds to
      if (row.op == kNothing || row.step != step) break;
      const OperatorUse& use = split_.uses.rows[row.op];
      const std::string_view kind = trace_.operators[row.op].kind;
      const bool sums = sums_answers_up(kind) && (!summed || use.elements == elements || elements == 0);
      if (!sums && !(summed && use.elements == elements && (asks(kind) || joins(row.op)))) break;
      if (sums) elements = std::max(elements, use.elements);
      summed = true;
      give_to(split_.works[work], Cause::kHostSync, Reason::kCheck, kGone);
    }
    if (summed) give_to(split_.works[timeline_.launched[answer]], Cause::kHostSync, Reason::kCheck, kGone);
  }

  const trace::Trace& trace_;
  const RankTimeline& timeline_;
  BusySplit& split_;
};

}  // namespace

void mark_checks(const trace::Trace& trace, const RankTimeline& timeline, BusySplit& split) {
  CheckFinder(trace, timeline, split).run();
}

}  // namespace hone::analyze::device
