#include "lab/program/experiment.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/clock.h"

namespace hone::lab {
namespace {

// A speed-up must exceed so many standard errors. With all pairs on its side, that is taken for a gain without being one in
// some 3 of 100 changes that change nothing (experiment_test.cpp).
constexpr double kBeyondNoise = 2.5;
// A change whose first pair is so far below the least gain has had its chance.
constexpr double kHopeless = 1;  // standard deviations of a pair
// What runs differ by at least, where too few have been seen to tell.
constexpr double kLeastNoise = 0.005;
constexpr std::string_view kBudgetSpent = "the budget was spent before its turn (--budget)";
constexpr double kLeastPatience_s = 20, kMostPatience_s = 300;
// Blocks begin where a run of the program would long have ended.
constexpr double kFirstBlock = 2;

class ProgramLoop {
 public:
  ProgramLoop(const std::vector<Candidate>& candidates, const RunTrial& run_trial,
              const ProgramExperimentOptions& options)
      : candidates_(candidates), run_trial_(run_trial), options_(options) {}

  Result<ProgramExperiment> run() {
    if (candidates_.empty()) return std::move(result_);
    HONE_CHECK(baseline());
    if (result_.why_nothing.empty()) {
      for (const Candidate& candidate : candidates_) HONE_CHECK(consider(candidate));
      HONE_CHECK(all_together());
    }
    result_.noise = noise();
    result_.seconds = spent();
    return std::move(result_);
  }

 private:
  double spent() const { return static_cast<double>(now_ns() - start_ns_) * 1e-9; }
  bool goes_on() { return !(result_.interrupted = result_.interrupted || !tell()); }
  bool tell() const {
    return !options_.progress || options_.progress(std::min(1.0, spent() / options_.budget_s), what_);
  }
  double run_s() const { return runs_s_.empty() ? 0 : median(runs_s_); }
  // What is left must hold so many runs, and of what was kept a pair of all together.
  bool has_time_for(int runs) const {
    return spent() + run_s() * (runs + (kept_.empty() ? 0 : 2)) <= options_.budget_s;
  }

  // With a change that `tried` is about, which is ended early where it is dropped for what it did or computed.
  Result<Trial> trial(const std::vector<std::string>& changes, TriedChange* tried = nullptr) {
    HONE_ASSIGN(Trial done, run_trial_({changes, {}, {}, worth_measuring(tried), patience()}));
    ++result_.runs;
    result_.ranks = std::max(result_.ranks, done.ranks);
    if (!done.measured()) return done;
    runs_s_.push_back(done.seconds);
    if (changes.empty()) result_.unchanged_ms.push_back(done.step_ms);
    return done;
  }

  std::function<bool(const Trial&)> worth_measuring(TriedChange* tried) {
    if (tried == nullptr) return {};
    return [this, tried](const Trial& so_far) { return is_sound(so_far, *tried); };
  }

  // The unchanged program takes what it takes; what is tried must not take more than is left.
  double patience() const {
    return !runs_s_.empty() ? std::clamp(options_.budget_s - spent(), kLeastPatience_s, kMostPatience_s)
                            : kMostPatience_s;
  }

  // Two runs of the unchanged program: what it computes, and how far it differs from itself.
  Status baseline() {
    for (int i = 0; i < 2; ++i) {
      what_ = fmt::format("the program as it is, run {} of 2", i + 1);
      HONE_ASSIGN(Trial done, trial({}));
      if (!done.measured()) {
        result_.failed_with = done.exit_status.value_or(0);
        result_.why_nothing =
            fmt::format("the steps of the unchanged program could not be measured: {}", done.why_none);
        return {};
      }
      unchanged_status_ = done.exit_status;
      (i == 0 ? result_.unchanged : result_.again) = std::move(done.computed);
    }
    note_spread(result_.unchanged_ms);
    if (result_.unchanged.empty())
      result_.why_nothing =
          "it goes backward from no loss, and its model returns nothing that could be compared: whether a "
          "change "
          "keeps its numbers cannot be told";
    return {};
  }

  std::vector<std::string> kept_with(std::string_view added) const {
    std::vector<std::string> names = kept_;
    if (!added.empty()) names.emplace_back(added);
    return names;
  }

  bool group_is_taken(const Change& change) const {
    return !change.group.empty() && std::any_of(kept_.begin(), kept_.end(), [&](const std::string& name) {
      return find_change(name)->group == change.group;
    });
  }

  Status consider(Candidate candidate) {
    // What is to be tried instead takes the prediction along.
    while (candidate.change != nullptr) {
      if (group_is_taken(*candidate.change) || was_tried(*candidate.change)) return {};
      HONE_ASSIGN(const TriedChange tried, try_change(candidate));
      result_.changes.push_back(tried);
      if (tried.outcome == Outcome::kKept) {
        keep(tried);
        return {};
      }
      if (tried.outcome == Outcome::kNotTried || candidate.change->instead.empty()) return {};
      candidate.change = find_change(candidate.change->instead);
      if (candidate.change->of_devices && !options_.on_device) return {};
    }
    return {};
  }

  void keep(const TriedChange& tried) { kept_.emplace_back(tried.candidate.change->name); }

  bool was_tried(const Change& change) const {
    return std::any_of(result_.changes.begin(), result_.changes.end(),
                       [&](const TriedChange& tried) { return tried.candidate.change == &change; });
  }

  Result<TriedChange> try_change(const Candidate& candidate) {
    TriedChange tried;
    tried.candidate = candidate;
    const bool switched = can_be_switched(*candidate.change);
    if (!goes_on() || !has_time_for(switched ? 1 : 2)) {
      tried.why = result_.interrupted ? "interrupted" : std::string(kBudgetSpent);
      return tried;
    }
    const std::string name(candidate.change->name);
    if (switched) {
      what_ = fmt::format("{}, switched off and on", candidate.change->title);
      HONE_ASSIGN(const bool decided, try_switched(name, tried));
      if (decided) return tried;
      if (!has_time_for(2)) {
        tried.why = std::string(kBudgetSpent);
        return tried;
      }
    }
    for (int pair = 0; pair < options_.most_pairs; ++pair) {
      what_ = fmt::format("{}, pair {} of runs", candidate.change->title, pair + 1);
      HONE_ASSIGN(const bool more, one_pair(name, pair, tried));
      if (!more) return tried;
      if (is_decided(tried.runs) || !has_time_for(2)) break;
    }
    note_spread(tried.runs.before_ms);
    judge(tried);
    return tried;
  }

  // What torch.compile has compiled would be compiled again at each switch.
  bool can_be_switched(const Change& change) const {
    return change.switches && std::none_of(kept_.begin(), kept_.end(), [](const std::string& name) {
             return find_change(name)->group == "compile";
           });
  }

  // In blocks of steps of one run. False: it could not be switched, and is to be tried in runs of its own.
  Result<bool> try_switched(const std::string& name, TriedChange& tried) {
    const double patience_s = patience(), least = options_.least_gain;
    const double first_block_s = kFirstBlock * run_s() + kLeastPatience_s;
    const auto enough = [&](const SwitchedBlocks& blocks, double seconds) {
      if (blocks.with_ms.empty()) return seconds > first_block_s;
      return judge_blocks({blocks.without_ms, blocks.with_ms, true}, least) != BlocksSay::kGoOn;
    };
    HONE_ASSIGN(const Trial done,
                run_trial_({kept_with(name), name, enough, worth_measuring(&tried), patience_s}));
    ++result_.runs;
    if (!goes_on()) {
      tried.why = "interrupted";
      return true;
    }
    if (done.blocks.with_ms.size() < kFewestBlocks) {
      const AppliedChange* said = done.said(name);
      const bool made = said != nullptr && said->status == AppliedChange::Status::kApplied;
      return (!made || done.exit_status.value_or(0) != 0) && !accept(done, tried);
    }
    if (!accept(done, tried)) return true;
    tried.runs = {done.blocks.without_ms, done.blocks.with_ms, true};
    judge_switched(tried);
    return true;
  }

  void judge_switched(TriedChange& tried) {
    const bool kept = judge_last_blocks(tried.runs, options_.least_gain) == BlocksSay::kFaster;
    const Interval speedup = tried.runs.interval(noise());
    tried.outcome = kept ? Outcome::kKept : Outcome::kNoGain;
    tried.gain_ms = median(tried.runs.before_ms) * (1 - 1 / speedup.median);
    tried.why =
        fmt::format("{:.2f} times as fast ({:.2f} to {:.2f}) in {} pairs of blocks of steps of one run",
                    speedup.median, speedup.low, speedup.high, tried.runs.before_ms.size());
    if (!kept) tried.why += fmt::format("; {:.2f} would be worth a line", 1 + options_.least_gain);
  }

  // A pair of runs, in an order that alternates. False: the change is decided.
  Result<bool> one_pair(const std::string& name, int pair, TriedChange& tried) {
    std::optional<Trial> before, after;
    for (const bool changed : {pair % 2 == 0, pair % 2 == 1}) {
      HONE_ASSIGN(Trial done, changed ? trial(kept_with(name), &tried) : trial(kept_));
      (changed ? after : before) = std::move(done);
      if (changed && !accept(*after, tried)) return false;
      if (result_.interrupted) {
        tried.why = "interrupted";
        return false;
      }
    }
    if (!before->measured()) {
      tried.outcome = Outcome::kCrashed;
      tried.why = "the program without it could not be measured this time: " + before->why_none;
      return false;
    }
    tried.runs.before_ms.push_back(before->step_ms);
    tried.runs.after_ms.push_back(after->step_ms / tried.candidate.change->samples);
    return true;
  }

  // The change was made, and its numbers are the same; else `tried` says what is not.
  bool is_sound(const Trial& done, TriedChange& tried) {
    const std::string name(tried.candidate.change->name);
    const AppliedChange* said = done.said(name);
    if (said == nullptr || said->status != AppliedChange::Status::kApplied) {
      tried.outcome = said != nullptr && said->status == AppliedChange::Status::kFailed ? Outcome::kCrashed
                                                                                        : Outcome::kRefused;
      tried.why = said != nullptr ? said->text : "the program does nothing that it would change";
      return false;
    }
    tried.text = said->text;
    tried.edits.clear();
    for (const AppliedChange& each : done.changes)
      if (each.name == name && each.edit) tried.edits.push_back(*each.edit);
    if (tried.candidate.change->effect == Effect::kTraining) return true;
    if (done.computed.empty()) return true;  // it may have ended before; accept() tells
    tried.numbers = compare_numbers(result_.unchanged, result_.again, done.computed, effect_of(done, name));
    tried.computed = done.computed;
    if (tried.numbers.same) return true;
    tried.outcome = Outcome::kOtherNumbers;
    tried.why = tried.numbers.sentence;
    return false;
  }

  // Whether a run with the change tells anything of its time.
  bool accept(const Trial& done, TriedChange& tried) {
    if (!is_sound(done, tried)) return false;
    if (!done.measured() && done.blocks.with_ms.empty()) {
      tried.outcome = Outcome::kCrashed;
      tried.why = done.why_none;
      return false;
    }
    // One that fails is not to be had for being quick.
    if (done.exit_status.value_or(0) != 0 && done.exit_status != unchanged_status_) {
      tried.outcome = Outcome::kCrashed;
      tried.why = fmt::format("it ended with exit status {}", *done.exit_status);
      return false;
    }
    if (!done.computed.empty() || tried.candidate.change->effect == Effect::kTraining) return true;
    tried.outcome = Outcome::kOtherNumbers;
    tried.why = "neither losses nor outputs were seen with the change";
    return false;
  }

  // The widest of what is kept and this one, as they said in a run.
  Effect effect_of(const Trial& done, const std::string& name = {}) const {
    Effect widest = Effect::kNone;
    for (const std::string& each : kept_with(name)) {
      const AppliedChange* said = done.said(each);
      widest = std::max(widest, said != nullptr && said->draws ? Effect::kOrder : find_change(each)->effect);
    }
    return widest;
  }

  // Of the logarithms of steps of the same program in several runs.
  void note_spread(const std::vector<double>& step_ms) {
    if (step_ms.size() < 2) return;
    double mean = 0, squares = 0;
    for (const double ms : step_ms) mean += std::log(ms) / static_cast<double>(step_ms.size());
    for (const double ms : step_ms) squares += (std::log(ms) - mean) * (std::log(ms) - mean);
    squares_ += squares;
    freedom_ += static_cast<double>(step_ms.size() - 1);
  }
  double noise() const { return std::max(kLeastNoise, freedom_ > 0 ? std::sqrt(squares_ / freedom_) : 0); }

  double least_speedup(std::size_t pairs) const {
    const double error = noise() * std::sqrt(2 / static_cast<double>(pairs));
    return std::exp(std::max(std::log1p(options_.least_gain), kBeyondNoise * error));
  }

  // More pairs could not change what is said, or would hardly.
  bool is_decided(const PairedRuns& runs) const {
    const double gain = std::log(runs.speedup()), least = std::log1p(options_.least_gain);
    const std::size_t pairs = runs.before_ms.size();
    if (gain < least - kHopeless * noise() * std::sqrt(2 / static_cast<double>(pairs))) return true;
    return static_cast<int>(pairs) >= options_.fewest_pairs &&
           (gain < least || (runs.speedup() >= least_speedup(pairs) && runs.least_speedup() > 1));
  }

  void judge(TriedChange& tried) {
    const double speedup = tried.runs.speedup();
    tried.gain_ms = median(tried.runs.before_ms) - median(tried.runs.after_ms);
    const std::size_t pairs = tried.runs.before_ms.size();
    const bool sure = tried.runs.least_speedup() > 1 && pairs > 1;
    if (speedup >= least_speedup(pairs) && sure) {
      const bool other_training = tried.candidate.change->effect == Effect::kTraining;
      tried.outcome = other_training ? Outcome::kOffered : Outcome::kKept;
      tried.why =
          fmt::format("{:.2f} times as fast in {} pairs of runs ({:.2f} to {:.2f})", speedup,
                      tried.runs.before_ms.size(), tried.runs.least_speedup(), tried.runs.most_speedup());
      if (other_training)
        tried.why += fmt::format(
            ", a sample: {}. It trains otherwise, so losses cannot be compared, and the learning rate may "
            "have to follow; "
            "yours to decide",
            tried.text);
      return;
    }
    if (speedup > 1 && static_cast<int>(pairs) < options_.fewest_pairs && !has_time_for(2)) {
      tried.why = fmt::format(
          "{:.2f} times as fast in {} pair{} of runs, too few to tell; the budget was spent (--budget)",
          speedup, pairs, pairs == 1 ? "" : "s");
      return;
    }
    tried.outcome = Outcome::kNoGain;
    tried.why = fmt::format("{:.2f} times as fast in {} pair{} of runs; {:.2f} would be worth a line",
                            speedup, pairs, pairs == 1 ? "" : "s", least_speedup(pairs));
  }

  // One change that was measured in runs against the unchanged program has been measured as a whole.
  bool is_measured_already() {
    if (kept_.size() != 1) return false;
    for (const TriedChange& tried : result_.changes)
      if (tried.outcome == Outcome::kKept && !tried.runs.within_one_run) {
        result_.together = tried.runs;
        result_.numbers = tried.numbers;
        result_.changed = tried.computed;
        return true;
      }
    return false;
  }

  Status all_together() {
    if (kept_.empty() || is_measured_already()) return {};
    for (int pair = 0; pair < options_.fewest_pairs && goes_on(); ++pair) {
      if (!has_time_for(0)) break;
      what_ = fmt::format("all that was kept, pair {} of {}", pair + 1, options_.fewest_pairs);
      double before = 0, after = 0;
      for (const bool changed : {pair % 2 == 1, pair % 2 == 0}) {
        HONE_ASSIGN(const Trial done, trial(changed ? kept_ : std::vector<std::string>{}));
        (changed ? after : before) = done.step_ms;
        if (!changed) continue;
        result_.numbers = compare_numbers(result_.unchanged, result_.again, done.computed, effect_of(done));
        result_.changed = done.computed;
      }
      if (before <= 0 || after <= 0) continue;
      result_.together.before_ms.push_back(before);
      result_.together.after_ms.push_back(after);
    }
    return {};
  }

  const std::vector<Candidate>& candidates_;
  const RunTrial& run_trial_;
  const ProgramExperimentOptions& options_;
  const int64_t start_ns_ = now_ns();
  ProgramExperiment result_;
  std::vector<std::string> kept_;
  std::optional<int> unchanged_status_;
  std::string what_;
  std::vector<double> runs_s_;        // that were measured
  double squares_ = 0, freedom_ = 0;  // of the noise
};

}  // namespace

Result<ProgramExperiment> run_program_experiment(const std::vector<Candidate>& candidates,
                                                 const RunTrial& run_trial,
                                                 const ProgramExperimentOptions& options) {
  return ProgramLoop(candidates, run_trial, options).run();
}

}  // namespace hone::lab
