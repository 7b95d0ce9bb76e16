#include "lab/program/switching_session.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "core/statistics.h"

namespace hone::lab {
namespace {

// Twelve blocks and a pair that is not told, of 0.3 s each and what each leaves out at its beginning.
constexpr double kOrder_s = 7;
constexpr double kCompile_s = 25;  // until it has compiled, and that
constexpr double kLongestOrder_s = 150;
constexpr std::string_view kCompileGroup = "compile";

bool is_compiled(const Change& change) { return change.group == kCompileGroup; }

PairedRuns blocks_of(const Trial& trial, int order) {
  const auto found = trial.blocks.find(order);
  if (found == trial.blocks.end()) return {{}, {}, true};
  const std::size_t pairs = std::min(found->second.without_ms.size(), found->second.with_ms.size());
  PairedRuns runs{found->second.without_ms, found->second.with_ms, true};
  runs.before_ms.resize(pairs);
  runs.after_ms.resize(pairs);
  return runs;
}

}  // namespace

double expected_switching_s(const Change& change) { return is_compiled(change) ? kCompile_s : kOrder_s; }

bool group_is_taken(const Change& change, const std::vector<std::string>& kept) {
  return !change.group.empty() && std::any_of(kept.begin(), kept.end(), [&](const std::string& name) {
    return find_change(name)->group == change.group;
  });
}

bool can_be_switched(const Change& change, const std::vector<std::string>& kept) {
  return change.switches && std::none_of(kept.begin(), kept.end(), [](const std::string& name) {
           return is_compiled(*find_change(name));
         });
}

SwitchingSession::SwitchingSession(std::vector<Candidate> queue, std::vector<std::string> kept,
                                   const Acceptance& acceptance, SwitchingOptions options)
    : queue_(queue.begin(), queue.end()),
      kept_(std::move(kept)),
      acceptance_(acceptance),
      options_(std::move(options)) {
  // What is compiled is compiled as everything else has it, and nothing is switched after it.
  std::stable_partition(queue_.begin(), queue_.end(),
                        [](const Candidate& each) { return !is_compiled(*each.change); });
}

std::vector<std::string> SwitchingSession::switched() const {
  std::vector<std::string> names;
  const auto add = [&](std::string_view name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
  };
  for (const Candidate& each : queue_)
    for (const Change* change = each.change; change != nullptr; change = find_change(change->instead))
      if (options_.on_device || !change->of_devices) add(change->name);
  return names;
}

std::optional<SwitchOrder> SwitchingSession::direct(const Trial& so_far, double seconds) {
  const std::string what = current_
                               ? fmt::format("{}, switched off and on", current_->candidate.change->title)
                               : "starting the program to switch changes in it";
  interrupted_ = !options_.goes_on(what);
  if (interrupted_) return std::nullopt;
  if (!so_far.carries_out_orders)
    return seconds > options_.patience_s ? std::nullopt : std::optional(SwitchOrder());
  while (!current_ || settle(so_far, seconds))
    if (!next(so_far, seconds)) return std::nullopt;
  return order_;
}

// Whether the change that is being tried is decided.
bool SwitchingSession::settle(const Trial& so_far, double seconds) {
  const PairedRuns runs = blocks_of(so_far, order_.number);
  const bool is_over = seconds - began_s_ > limit_s_;
  if (judge_blocks(runs, options_.least_gain) == BlocksSay::kGoOn && !is_over) return false;
  if (runs.before_ms.size() >= kFewestBlocks) {
    judge(runs);
    took_s_.push_back(seconds - began_s_);
  } else {
    current_->outcome = Outcome::kUndecided;
    current_->why =
        fmt::format("{:.0f} s were not enough for {} pairs of blocks of steps", limit_s_, kFewestBlocks);
  }
  conclude();
  return true;
}

bool SwitchingSession::next(const Trial& so_far, double seconds) {
  while (!queue_.empty()) {
    const Candidate candidate = queue_.front();
    queue_.pop_front();
    const Change& change = *candidate.change;
    if (was_tried(change) || group_is_taken(change, kept_)) continue;
    if (!can_be_switched(change, kept_)) {
      left_.push_back(candidate);
      continue;
    }
    TriedChange tried;
    tried.candidate = candidate;
    if (!has_time_for(candidate)) {
      if (candidate.unasked) continue;
      tried.why = why_not_tried(options_.left_s(!kept_.empty()), expected_s(change));
      tried_.push_back(tried);
      continue;
    }
    if (!acceptance_.is_made(so_far, tried)) {
      if (!candidate.unasked) tried_.push_back(tried);
      try_instead(candidate);
      continue;
    }
    order_ = {order_.number + 1, std::string(change.name), kept_};
    current_ = std::move(tried);
    began_s_ = seconds;
    limit_s_ = std::clamp(options_.left_s(!kept_.empty()), expected_s(change), kLongestOrder_s);
    return true;
  }
  return false;
}

void SwitchingSession::judge(const PairedRuns& runs) {
  TriedChange& tried = *current_;
  tried.runs = runs;
  const bool kept = judge_last_blocks(runs, options_.least_gain) == BlocksSay::kFaster;
  const Interval speedup = runs.interval(0);
  tried.outcome = kept ? Outcome::kKept : Outcome::kNoGain;
  tried.gain_ms = median(runs.before_ms) * (1 - 1 / speedup.median);
  tried.why = fmt::format("{:.2f} times as fast ({:.2f} to {:.2f}) in {} pairs of blocks of steps of one run",
                          speedup.median, speedup.low, speedup.high, runs.before_ms.size());
  if (!kept) tried.why += fmt::format("; {:.2f} would be worth a line", 1 + options_.least_gain);
}

void SwitchingSession::conclude() {
  const TriedChange tried = std::move(*current_);
  current_.reset();
  tried_.push_back(tried);
  if (tried.outcome == Outcome::kKept)
    kept_.emplace_back(tried.candidate.change->name);
  else if (tried.outcome != Outcome::kNotTried && tried.outcome != Outcome::kUndecided)
    try_instead(tried.candidate);
}

// What is to be tried instead takes the prediction along.
void SwitchingSession::try_instead(const Candidate& candidate) {
  const Change* instead = find_change(candidate.change->instead);
  if (instead == nullptr || (instead->of_devices && !options_.on_device)) return;
  Candidate next = candidate;
  next.change = instead;
  queue_.push_front(next);
}

bool SwitchingSession::was_tried(const Change& change) const {
  return std::any_of(tried_.begin(), tried_.end(),
                     [&](const TriedChange& tried) { return tried.candidate.change == &change; });
}

double SwitchingSession::expected_s(const Change& change) const {
  return is_compiled(change) || took_s_.empty() ? expected_switching_s(change) : median(took_s_);
}

// What nobody asked for leaves the others their time.
bool SwitchingSession::has_time_for(const Candidate& candidate) const {
  double needed_s = expected_s(*candidate.change);
  if (candidate.unasked)
    for (const Candidate& each : queue_) needed_s += each.unasked ? 0 : expected_s(*each.change);
  return options_.left_s(!kept_.empty()) >= needed_s;
}

void SwitchingSession::finish(const Trial& done) {
  if (current_) {
    const PairedRuns runs = blocks_of(done, order_.number);
    if (interrupted_) {
      current_->why = "interrupted";
      conclude();
    } else if (acceptance_.has_failed(done)) {
      current_->outcome = Outcome::kCrashed;
      current_->why = fmt::format("it ended with exit status {}", *done.exit_status);
      conclude();
    } else if (runs.before_ms.size() >= kFewestBlocks) {
      judge(runs);
      conclude();
    } else {
      left_.push_back(current_->candidate);
      current_.reset();
    }
  }
  left_.insert(left_.end(), queue_.begin(), queue_.end());
  queue_.clear();
}

}  // namespace hone::lab
