#include "observe/inject/counters/counter_rounds.h"

#include <algorithm>

namespace hone::observe::inject {
namespace {

constexpr int64_t kRoundPatience = 2'000'000'000;  // ns without a count, for kernels that do not come

}  // namespace

void CounterRounds::begin(std::vector<WantedKernel> kernels, size_t groups, bool each_once, int64_t quiet_ns,
                          int64_t now_ns) {
  wanted_.clear();
  instances_ = 0;
  for (WantedKernel& kernel : kernels) {
    instances_ = std::max(instances_, kernel.instances);
    const size_t number = wanted_.size();
    Wanted& wanted = wanted_.emplace_back();
    wanted.kernel = std::move(kernel);
    wanted.number = number;
  }
  quiet_ns_ = quiet_ns;
  last_seen_ns_ = last_count_ns_ = now_ns;
  change_groups(groups, each_once);
}

// The last group, whose launches the others are to be like; each other as often as it has to be; and the last again.
void CounterRounds::change_groups(size_t groups, bool each_once) {
  rounds_.clear();
  if (groups == 0 || instances_ == 0) return;
  const size_t times = each_once ? 1 : instances_, last = groups - 1;
  rounds_.push_back(last);
  for (size_t group = 0; group < last; ++group) rounds_.insert(rounds_.end(), times, group);
  rounds_.insert(rounds_.end(), times - 1, last);
}

CounterRounds::Wanted* CounterRounds::find(const char* symbol, const uint32_t* grid, const uint32_t* block,
                                           int64_t now_ns) {
  for (Wanted& each : wanted_) {
    const WantedKernel& kernel = each.kernel;
    if (!std::equal(kernel.grid, kernel.grid + 3, grid) ||
        !std::equal(kernel.block, kernel.block + 3, block) || kernel.symbol != symbol)
      continue;
    each.seen = each.waited_for = true;
    last_seen_ns_ = now_ns;
    return &each;
  }
  return nullptr;
}

bool CounterRounds::is_due(const Wanted& wanted, int64_t now_ns) const {
  const size_t next = wanted.round;
  return next < rounds_.size() && (next == round() || waited_enough(now_ns));
}

// Those that are rounds behind have not come.
size_t CounterRounds::take(const Wanted& wanted) {
  for (Wanted& each : wanted_) {
    if (each.round < wanted.round) each.waited_for = false;
  }
  return rounds_[wanted.round];
}

void CounterRounds::count(Wanted& wanted, bool again, int64_t now_ns) {
  last_count_ns_ = now_ns;
  if (again) return;
  ++wanted.counted;
  ++wanted.round;
}

bool CounterRounds::done(int64_t now_ns) const {
  if (is_quiet(now_ns)) return true;
  const bool all = std::all_of(wanted_.begin(), wanted_.end(),
                               [&](const Wanted& each) { return each.round >= rounds_.size(); });
  return all || (round() >= rounds_.size() && waited_enough(now_ns));
}

size_t CounterRounds::round() const {
  size_t first = rounds_.size();
  for (const Wanted& each : wanted_) {
    if (each.waited_for) first = std::min(first, each.round.load());
  }
  return first;
}

bool CounterRounds::waited_enough(int64_t now_ns) const { return now_ns - last_count_ns_ > kRoundPatience; }

}  // namespace hone::observe::inject
