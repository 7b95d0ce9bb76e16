#include "analyze/device/timeline/loops.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "trace/kernel_family.h"

namespace hone::analyze::device {
namespace {

constexpr std::size_t kNamedWorks = 4;  // of a turn

class LoopFinder {
 public:
  LoopFinder(const trace::Trace& trace, const RankTimeline& timeline) : trace_(trace), timeline_(timeline) {}

  Loops run() {
    result_.of.assign(timeline_.works.size(), kNothing);
    for (uint32_t at = 0; at < timeline_.launched.size(); ++at) {
      const Work& work = timeline_.works[timeline_.launched[at]];
      if (work.kind == WorkKind::kMemset) continue;
      places_.push_back(at);
      tokens_.push_back(token(work));
    }
    for (uint32_t from = 0; from < tokens_.size();) {
      uint32_t to = from;
      while (to < tokens_.size() && step_at(to) == step_at(from)) ++to;
      if (step_at(from) != trace::kNoStep) search(from, to);
      from = to;
    }
    std::sort(result_.loops.begin(), result_.loops.end(),
              [](const Loop& a, const Loop& b) { return a.first < b.first; });
    for (uint32_t i = 0; i < result_.loops.size(); ++i)
      for (uint32_t k = 0; k < result_.loops[i].works; ++k)
        result_.of[timeline_.launched[result_.loops[i].first + k]] = i;
    return std::move(result_);
  }

 private:
  const Work& work_at(uint32_t place) const { return timeline_.works[timeline_.launched[places_[place]]]; }
  int32_t step_at(uint32_t place) const { return work_at(place).step; }

  std::string word(const Work& work) const {
    if (work.op == kNothing)
      return trace::kernel_short_name(trace_.strings.text(trace_.spans.name[work.span]), 30);
    return std::string(trace::operator_word(trace_.operators[work.op].kind));
  }

  uint32_t token(const Work& work) {
    return words_.emplace(word(work), static_cast<uint32_t>(words_.size())).first->second;
  }

  // Equal turns in a row.
  struct Run {
    uint32_t begin, end, period;
  };

  // Short turns first: what they take is not looked at again. Long runs are loops by themselves, shorter ones
  // where the step has several of them.
  void search(uint32_t from, uint32_t to) {
    std::vector<char> taken(to - from, 0);
    for (uint32_t period = 1; period <= kLongestTurn; ++period)
      for (const Run& run : runs(from, to, period, kFewestTurns, taken))
        if (turns_are_calls(run)) take(run, from, taken);
    for (uint32_t period = 1; period <= kLongestTurn; ++period) {
      std::map<std::vector<uint32_t>, std::vector<Run>> alike;
      for (const Run& run : runs(from, to, period, kFewestInARow, taken))
        if (turns_are_calls(run)) alike[turn_of(run)].push_back(run);
      for (const auto& [turn, several] : alike) {
        uint32_t turns = 0;
        for (const Run& run : several) turns += (run.end - run.begin) / period;
        if (several.size() < 2 || turns < kFewestTurns) continue;
        for (const Run& run : several) take(run, from, taken);
      }
    }
  }

  // At least `fewest` turns of `period` works that nothing has taken yet.
  std::vector<Run> runs(uint32_t from, uint32_t to, uint32_t period, uint32_t fewest,
                        const std::vector<char>& taken) const {
    std::vector<Run> found;
    uint32_t same = 0;  // places up to here that equal the one a turn before
    uint32_t free_since = from;
    for (uint32_t place = from; place <= to; ++place) {
      if (place < to && taken[place - from] != 0) free_since = place + 1;
      if (place < to && place >= free_since + period && tokens_[place] == tokens_[place - period]) {
        ++same;
        continue;
      }
      if (same + period >= period * fewest) {
        found.push_back({place - same - period, place, period});
        free_since = place;
      }
      same = 0;
    }
    return found;
  }

  // One turn, wherever a run of them happens to begin.
  std::vector<uint32_t> turn_of(const Run& run) const {
    std::vector<uint32_t> turn(tokens_.begin() + run.begin, tokens_.begin() + run.begin + run.period);
    std::vector<uint32_t> least = turn;
    for (uint32_t k = 1; k < run.period; ++k) {
      std::rotate(turn.begin(), turn.begin() + 1, turn.end());
      least = std::min(least, turn);
    }
    return least;
  }

  // Turns of the program, not of an operator.
  bool turns_are_calls(const Run& run) const { return !is_of_lists(run) && are_calls_of_their_own(run); }

  // Kernels of operators that take all of a list in one call already.
  bool is_of_lists(const Run& run) const {
    for (uint32_t place = run.begin; place < run.begin + run.period; ++place) {
      if (!takes_lists(work_at(place))) return false;
    }
    return true;
  }

  bool takes_lists(const Work& work) const {
    using enum trace::OperatorKind;
    if (work.op == kNothing) return trace_.kernel(work.span).generated;
    const trace::OperatorKind what = trace_.operators[work.op].what;
    return what == kLists || what == kListCopy || what == kUpdate || what == kFused || what == kGenerated;
  }

  // No two turns were launched by the same call of an operator: a sort, or the gradient of an embedding,
  // launches the same kernel again and again.
  bool are_calls_of_their_own(const Run& run) const {
    for (uint32_t place = run.begin + run.period; place < run.end; ++place)
      if (const uint32_t call = work_at(place).execution;
          call != kNothing && call == work_at(place - run.period).execution)
        return false;
    return true;
  }

  void take(const Run& run, uint32_t from, std::vector<char>& taken) {
    take(run.begin, run.end, run.period);
    std::fill(taken.begin() + (run.begin - from), taken.begin() + (run.end - from), 1);
  }

  void take(uint32_t begin, uint32_t end, uint32_t period) {
    Loop loop;
    loop.turns = (end - begin) / period;
    loop.first = places_[begin];
    loop.first_turn = places_[begin + period] - loop.first;
    loop.works = places_[begin + loop.turns * period - 1] + 1 - loop.first;
    loop.step = step_at(begin);
    loop.name = name_of(begin, period);
    loop.copies = true;
    for (uint32_t place = begin; place < begin + period; ++place)
      loop.copies &= work_at(place).kind == WorkKind::kCopyToDevice;
    loop.layers = does(begin, period, trace::OperatorClass::kNormalization) &&
                  (does(begin, period, trace::OperatorClass::kMatrix) ||
                   does(begin, period, trace::OperatorClass::kConvolution));
    result_.loops.push_back(std::move(loop));
  }

  bool does(uint32_t begin, uint32_t period, trace::OperatorClass op_class) const {
    for (uint32_t place = begin; place < begin + period; ++place)
      if (const uint32_t op = work_at(place).op; op != kNothing && trace_.operators[op].op_class == op_class)
        return true;
    return false;
  }

  std::string name_of(uint32_t begin, uint32_t period) const {
    std::string name;
    std::size_t named = 0;
    std::string last;
    for (uint32_t k = 0; k < period; ++k) {
      const std::string text = word(work_at(begin + k));
      if (text == last) continue;
      last = text;
      if (++named > kNamedWorks) return name + ", …";
      name += (name.empty() ? "" : ", ") + text;
    }
    return name;
  }

  const trace::Trace& trace_;
  const RankTimeline& timeline_;
  std::map<std::string, uint32_t> words_;
  std::vector<uint32_t> places_;  // into RankTimeline::launched, of all works but memsets
  std::vector<uint32_t> tokens_;  // by place
  Loops result_;
};

}  // namespace

Loops find_loops(const trace::Trace& trace, const RankTimeline& timeline) {
  return LoopFinder(trace, timeline).run();
}

}  // namespace hone::analyze::device
