#include "lab/program/experiment.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "core/clock.h"
#include "lab/program/acceptance.h"
#include "lab/program/run_noise.h"
#include "lab/program/switching_session.h"

namespace hone::lab {
namespace {

// A speed-up must exceed so many standard errors. With all pairs on its side, that is taken for a gain without being one in
// some 3 of 100 changes that change nothing (experiment_test.cpp).
constexpr double kBeyondNoise = 2.5;
// Two pairs are enough where both win so many standard errors, and so much of the step.
constexpr double kFarBeyondNoise = 6, kLargeGain = 0.08;
constexpr int kPairsOfLargeGain = 2;
// A change whose first pair is so far below the least gain has had its chance.
constexpr double kHopeless = 1;  // standard deviations of a pair
// The whole has been measured well enough once two standard errors are this share of its gain, or of the step.
constexpr int kRunsOfPair = 2;
constexpr double kPreciseGain = 0.2, kPreciseStep = 0.01;
constexpr double kLeastPatience_s = 20, kMostPatience_s = 300;
// With a change the first steps may be compiled, and the data loader starts processes.
constexpr double kSlowerStart_s = 90;
// Orders are carried out where a run of the program would long have ended.
constexpr double kFirstOrder = 2;
// Runs that are kept back for all that was kept together: what it computes, which is timed, too, and the unchanged program beside it.
constexpr int kFinalRuns = 2;
// What the first change needs, however little is left: what it computes.
constexpr int kNeededRuns = 1;

class ProgramLoop {
 public:
  ProgramLoop(const std::vector<Candidate>& candidates, const RunTrial& run_trial,
              const ProgramExperimentOptions& options)
      : candidates_(candidates), run_trial_(run_trial), options_(options) {}

  Result<ProgramExperiment> run() {
    if (candidates_.empty()) return std::move(result_);
    for (const Candidate& each : candidates_)
      if (each.loading) processes_ = each.loading->advised.workers;
    HONE_CHECK(baseline());
    if (result_.why_nothing.empty()) {
      HONE_CHECK(try_what_wins_most());
      HONE_CHECK(switch_within_runs());
      for (const Candidate& candidate : candidates_) HONE_CHECK(consider(candidate));
      HONE_CHECK(all_together());
    }
    goes_on();  // an interrupted run is none that could not be measured
    result_.unchanged = acceptance_.unchanged;
    result_.again = acceptance_.again;
    result_.noise = noise_.value();
    result_.spread = noise_.measured();
    result_.seconds = spent();
    return std::move(result_);
  }

 private:
  double spent() const { return static_cast<double>(now_ns() - start_ns_) * 1e-9; }
  double left_s() const { return options_.budget_s - spent(); }
  bool goes_on() { return !(result_.interrupted = result_.interrupted || !tell()); }
  bool tell() const {
    return !options_.progress || options_.progress(std::min(1.0, spent() / options_.budget_s), what_);
  }
  double run_s() const { return runs_s_.empty() ? 0 : median(runs_s_); }
  // What is left must hold so many runs, and of what was kept a pair of all together.
  double needed_s(int runs) const { return run_s() * (runs + (kept_.empty() ? 0 : 2)); }
  bool has_time_for(int runs) const { return needed_s(runs) <= left_s(); }

  Result<Trial> run_once(TrialRequest request) {
    request.patience_s = patience();
    request.marks_within_s = marks_within_s(request);
    if (request.processes == 0) request.processes = processes_;
    const int processes = request.processes;
    const std::vector<std::string> changes = request.changes, switched = request.switched;
    HONE_ASSIGN(Trial done, run_trial_(request));
    result_.runs.push_back({changes, switched, done.seconds, done.first_step_s, done.ended_s, done.step_ms});
    result_.ranks = std::max(result_.ranks, done.ranks);
    if (!switched.empty()) last_.reset();
    if (!done.measured()) return done;  // ended early: what was before is near in time all the same
    runs_s_.push_back(done.seconds);
    first_step_s_ = std::max(first_step_s_, done.first_step_s);
    noise_.add(variant(changes, processes), done.step_ms);
    if (changes.empty()) result_.unchanged_ms.push_back(done.step_ms);
    last_ = LastRun{variant(changes, processes), done.step_ms};
    return done;
  }

  // With a change that `tried` is about, which is ended early where it is dropped for what it did or computed.
  Result<Trial> trial(const std::vector<std::string>& changes, TriedChange* tried = nullptr,
                      int processes = 0) {
    TrialRequest request{changes};
    request.processes = processes;
    if (tried != nullptr)
      request.worth_measuring = [this, changes, tried](const Trial& so_far) {
        return acceptance_.is_sound(so_far, changes, *tried);
      };
    return run_once(std::move(request));
  }

  // Runs of equal variants are runs of the same.
  static std::vector<std::string> variant(std::vector<std::string> changes, int processes) {
    if (std::find(changes.begin(), changes.end(), kWorkers) != changes.end())
      changes.push_back(fmt::format("{} processes", processes));
    return changes;
  }

  // The step of the run before, where that had just these changes: half of a pair.
  std::optional<double> last_step(const std::vector<std::string>& changes) {
    if (!last_ || last_->variant != variant(changes, processes_)) return std::nullopt;
    return last_->step_ms;
  }

  double patience() const { return std::clamp(left_s(), kLeastPatience_s, kMostPatience_s); }

  // A run that marks no steps can never be measured: it need not wait for what is left of the budget.
  double marks_within_s(const TrialRequest& request) const {
    const double as_it_is = kLeastPatience_s + (runs_s_.empty() ? options_.baseline_s : 2 * first_step_s_);
    return request.changes.empty() && request.switched.empty() ? as_it_is : as_it_is + kSlowerStart_s;
  }

  // Runs of the unchanged program: what it computes, and how far it differs from itself. The baseline is one of them.
  Status baseline() {
    acceptance_.again = options_.observed.computed;
    result_.ranks = std::max(result_.ranks, options_.observed.ranks);
    const int runs = acceptance_.again.empty() ? 2 : 1;
    for (int i = 0; i < runs; ++i) {
      what_ = fmt::format("the program as it is, run {} of {}", i + 1, runs);
      HONE_ASSIGN(Trial done, trial({}));
      if (!done.measured()) {
        result_.failed_with = done.exit_status.value_or(0);
        result_.why_nothing =
            fmt::format("the steps of the unchanged program could not be measured: {}", done.why_none);
        return {};
      }
      acceptance_.status = done.exit_status;
      (i == 0 ? acceptance_.unchanged : acceptance_.again) = std::move(done.computed);
    }
    if (acceptance_.unchanged.empty())
      result_.why_nothing =
          "it goes backward from no loss, and its model returns nothing that could be compared: whether a "
          "change keeps its numbers cannot be told";
    return {};
  }

  std::vector<std::string> kept_with(std::string_view added) const {
    std::vector<std::string> names = kept_;
    if (!added.empty()) names.emplace_back(added);
    return names;
  }

  // Runs of its own are dear: a change that needs them waits until all that can be switched has been, unless it is predicted to win
  // more than each of these, and more for each second that it takes than they do together.
  Status try_what_wins_most() {
    double largest_ms = 0, all_ms = 0, seconds = kFinalRuns * run_s();
    for (const Candidate& each : candidates_) {
      if (!can_be_switched(*each.change, kept_)) continue;
      largest_ms = std::max(largest_ms, each.predicted_gain_ms);
      all_ms += each.predicted_gain_ms;
      seconds += expected_switching_s(*each.change);
    }
    for (const Candidate& each : candidates_) {
      if (each.change->effect == Effect::kTraining || can_be_switched(*each.change, kept_)) continue;
      const double own_s = 2 * kPairsOfLargeGain * run_s();
      if (each.predicted_gain_ms > largest_ms && each.predicted_gain_ms * seconds > all_ms * own_s)
        HONE_CHECK(consider(each));
    }
    return {};
  }

  // Changes that can be switched, one after the other in one run, or in another where that has ended.
  Status switch_within_runs() {
    if (result_.ranks > 1) return {};  // which would have to switch together
    std::vector<Candidate> queue = candidates_;
    if (options_.unasked) {
      const auto unasked = unasked_candidates(candidates_, options_.on_device, options_.convolves);
      queue.insert(queue.end(), unasked.begin(), unasked.end());
    }
    while (true) {
      std::erase_if(queue, [this](const Candidate& each) {
        return !can_be_switched(*each.change, kept_) || was_tried(*each.change);
      });
      const bool asked =
          std::any_of(queue.begin(), queue.end(), [](const auto& each) { return !each.unasked; });
      if (!asked || !goes_on() || left_s() < (1 + kNeededRuns) * run_s()) break;
      HONE_ASSIGN(const bool any, switch_within_run(queue));
      if (!any) break;
    }
    return compare_all_kept();
  }

  // False: nothing came of it.
  Result<bool> switch_within_run(std::vector<Candidate>& queue) {
    SwitchingOptions switching;
    switching.least_gain = options_.least_gain;
    switching.on_device = options_.on_device;
    switching.patience_s = kFirstOrder * run_s() + kLeastPatience_s;
    switching.left_s = [this](bool any_kept) {
      return left_s() - (any_kept ? kFinalRuns : kNeededRuns) * run_s();
    };
    switching.goes_on = [this](const std::string& what) {
      what_ = what;
      return goes_on();
    };
    SwitchingSession session(queue, kept_, acceptance_, switching);
    TrialRequest request{kept_, session.switched()};
    request.direct = [&](const Trial& so_far, double seconds) { return session.direct(so_far, seconds); };
    HONE_ASSIGN(const Trial done, run_once(std::move(request)));
    session.finish(done);
    result_.changes.insert(result_.changes.end(), session.tried().begin(), session.tried().end());
    kept_ = session.kept();
    queue = session.left();
    return !session.tried().empty();
  }

  // What all that is kept computes from the start: in the run that switched, training had gone on for long.
  Status compare_all_kept() {
    if (kept_.empty()) return {};
    what_ = "what all that is kept computes";
    HONE_ASSIGN(
        const Trial done,
        run_once({kept_, {}, {}, [this](const Trial& so_far) { return !why_other_numbers(so_far, kept_); }}));
    const auto why = why_other_numbers(done, kept_);
    if (!why && (done.measured() || result_.interrupted)) return note_numbers(done);
    return drop_by_numbers(kept_.size() == 1 ? why.value_or(std::pair(Outcome::kCrashed, done.why_none))
                                             : std::pair(Outcome::kCrashed, std::string()));
  }

  // Nothing: its numbers are those of the unchanged program as far as they go.
  std::optional<std::pair<Outcome, std::string>> why_other_numbers(
      const Trial& done, const std::vector<std::string>& in_force) const {
    if (acceptance_.has_failed(done))
      return std::pair(Outcome::kCrashed, fmt::format("it ended with exit status {}", *done.exit_status));
    if (done.computed.empty()) {
      if (!done.exit_status && !done.measured()) return std::nullopt;  // not yet
      return std::pair(Outcome::kOtherNumbers, std::string("neither losses nor outputs were seen with it"));
    }
    const SameNumbers numbers = acceptance_.compare(done, in_force);
    if (numbers.same) return std::nullopt;
    return std::pair(Outcome::kOtherNumbers, numbers.sentence);
  }

  Status note_numbers(const Trial& done) {
    result_.numbers = acceptance_.compare(done, kept_);
    result_.changed = done.computed;
    for (TriedChange& tried : result_.changes) {
      if (!is_kept(tried)) continue;
      tried.numbers = result_.numbers;
      tried.computed = done.computed;
    }
    return {};
  }

  // All of it together is not what it should be: one is put to another until one spoils it. `of_the_only`: why, where there is one.
  Status drop_by_numbers(const std::pair<Outcome, std::string>& of_the_only) {
    const std::vector<std::string> all = std::exchange(kept_, {});
    std::vector<Candidate> dropped;
    for (const std::string& name : all) {
      std::optional<std::pair<Outcome, std::string>> why = of_the_only;
      if (all.size() > 1) {
        what_ = fmt::format("what it computes with {}", find_change(name)->title);
        if (!goes_on() || left_s() < 0) {
          why = std::pair(Outcome::kOtherNumbers,
                          std::string("together with others it computes something else, and time was up "
                                      "before it was known which of them does"));
        } else {
          const std::vector<std::string> with = kept_with(name);
          HONE_ASSIGN(const Trial done, run_once({with, {}, {}, [](const Trial&) { return false; }}));
          why = why_other_numbers(done, with);
          if (!why && done.computed.empty()) why = std::pair(Outcome::kCrashed, done.why_none);
          if (!why) note_numbers_of(name, done, with);
        }
      }
      if (!why)
        kept_.push_back(name);
      else
        dropped.push_back(drop(name, *why));
    }
    for (Candidate& each : dropped) {
      each.change = find_change(each.change->instead);
      if (each.change != nullptr && (options_.on_device || !each.change->of_devices))
        HONE_CHECK(consider(each));
    }
    return {};
  }

  void note_numbers_of(const std::string& name, const Trial& done, const std::vector<std::string>& with) {
    for (TriedChange& tried : result_.changes) {
      if (tried.candidate.change->name != name) continue;
      tried.numbers = acceptance_.compare(done, with);
      tried.computed = done.computed;
    }
  }

  Candidate drop(const std::string& name, const std::pair<Outcome, std::string>& why) {
    Candidate dropped;
    for (TriedChange& tried : result_.changes) {
      if (tried.candidate.change->name != name) continue;
      tried.outcome = why.first;
      tried.why = why.second;
      dropped = tried.candidate;
    }
    return dropped;
  }

  bool is_kept(const TriedChange& tried) const {
    return std::find(kept_.begin(), kept_.end(), tried.candidate.change->name) != kept_.end();
  }

  Status consider(Candidate candidate) {
    // What is to be tried instead takes the prediction along.
    while (candidate.change != nullptr) {
      if (group_is_taken(*candidate.change, kept_) || was_tried(*candidate.change)) return {};
      HONE_ASSIGN(const TriedChange tried, try_change(candidate));
      result_.changes.push_back(tried);
      if (tried.outcome == Outcome::kKept) {
        kept_.emplace_back(tried.candidate.change->name);
        return tried.candidate.change->name == kWorkers ? try_more_processes(tried) : Status();
      }
      const bool decided = tried.outcome != Outcome::kNotTried && tried.outcome != Outcome::kUndecided;
      if (!decided || candidate.change->instead.empty()) return {};
      candidate.change = find_change(candidate.change->instead);
      if (candidate.change->of_devices && !options_.on_device) return {};
    }
    return {};
  }

  bool was_tried(const Change& change) const {
    return std::any_of(result_.changes.begin(), result_.changes.end(),
                       [&](const TriedChange& tried) { return tried.candidate.change == &change; });
  }

  // Once: where batches are still waited for, and by that wait more processes would win.
  Status try_more_processes(const TriedChange& kept) {
    const auto more = more_processes(kept.candidate, kept.runs.speedup(), options_.least_gain);
    if (!more) return {};
    HONE_ASSIGN(TriedChange tried, try_change(*more, more->loading->advised.workers));
    if (tried.outcome == Outcome::kKept) {
      processes_ = more->loading->advised.workers;
      // These lines take the place of those.
      for (TriedChange& each : result_.changes)
        if (each.candidate.change == tried.candidate.change) each.edits.clear();
    }
    result_.changes.push_back(std::move(tried));
    return {};
  }

  // `more`: processes of the change `workers`, which is kept already with fewer; 0: a change that is not in force yet.
  Result<TriedChange> try_change(const Candidate& candidate, int more = 0) {
    TriedChange tried;
    tried.candidate = candidate;
    // Pairs that could not be finished are not begun; what is clearly slower needs one.
    const int runs = 2 * kPairsOfLargeGain - (last_step(kept_) ? 1 : 0);
    if (!goes_on() || !has_time_for(runs)) {
      tried.why = result_.interrupted ? "interrupted" : why_not_tried(left_s(), needed_s(runs));
      return tried;
    }
    const std::string name(candidate.change->name);
    noise_.begin_phase();
    for (int pair = 0; pair < options_.most_pairs; ++pair) {
      what_ = fmt::format("{}, pair {} of runs", candidate.change->title, pair + 1);
      HONE_ASSIGN(const bool go_on, one_pair(name, pair, tried, more));
      if (!go_on) return tried;
      if (is_decided(tried.runs) || !has_time_for(2)) break;
    }
    judge(tried);
    return tried;
  }

  // A pair of runs, in an order that alternates; the run before the first is half of it where it can be. False: the change is decided.
  Result<bool> one_pair(const std::string& name, int pair, TriedChange& tried, int more) {
    const double reused_ms = pair == 0 ? last_step(kept_).value_or(0) : 0;  // 0: not measured yet
    double before_ms = reused_ms, after_ms = 0;
    const auto is_clearly_slower = [&] {
      return before_ms > 0 && after_ms > 0 && is_hopeless({{before_ms}, {after_ms}, false});
    };
    for (const bool changed : {pair % 2 == 0, pair % 2 == 1}) {
      // Of a machine that has got slower since no change is to blame: that takes another run.
      if (!changed && before_ms > 0 && !is_clearly_slower()) continue;
      const std::vector<std::string> in_force = changed && more == 0 ? kept_with(name) : kept_;
      HONE_ASSIGN(const Trial done, changed ? trial(in_force, &tried, more) : trial(in_force));
      if (changed && !acceptance_.accept(done, in_force, tried)) return false;
      if (!goes_on()) {
        tried.why = "interrupted";
        return false;
      }
      if (!done.measured()) {
        tried.outcome = Outcome::kCrashed;
        tried.why = "the program without it could not be measured this time: " + done.why_none;
        return false;
      }
      (changed ? after_ms : before_ms) = done.step_ms;
    }
    if (before_ms == reused_ms) noise_.add(variant(kept_, processes_), reused_ms);
    tried.runs.before_ms.push_back(before_ms);
    tried.runs.after_ms.push_back(after_ms / tried.candidate.change->samples);
    return true;
  }

  double standard_error(std::size_t pairs) const {
    return noise_.value() * std::sqrt(2 / static_cast<double>(pairs));
  }
  double least_speedup(std::size_t pairs) const {
    const bool few = static_cast<int>(pairs) < options_.fewest_pairs;
    const double least = std::log1p(few ? kLargeGain : options_.least_gain);
    return std::exp(std::max(least, (few ? kFarBeyondNoise : kBeyondNoise) * standard_error(pairs)));
  }

  bool is_hopeless(const PairedRuns& runs) const {
    return std::log(runs.speedup()) <
           std::log1p(options_.least_gain) - kHopeless * standard_error(runs.before_ms.size());
  }
  bool is_sure(const PairedRuns& runs) const {
    const std::size_t pairs = runs.before_ms.size();
    return static_cast<int>(pairs) >= kPairsOfLargeGain && runs.least_speedup() > 1 &&
           runs.speedup() >= least_speedup(pairs);
  }
  // More pairs could not change what is said, or would hardly.
  bool is_decided(const PairedRuns& runs) const {
    return is_hopeless(runs) || is_sure(runs) ||
           (static_cast<int>(runs.before_ms.size()) >= options_.fewest_pairs &&
            runs.speedup() < 1 + options_.least_gain);
  }

  void judge(TriedChange& tried) {
    const double speedup = tried.runs.speedup();
    tried.gain_ms = median(tried.runs.before_ms) - median(tried.runs.after_ms);
    const std::size_t pairs = tried.runs.before_ms.size();
    if (is_sure(tried.runs)) {
      const bool other_training = tried.candidate.change->effect == Effect::kTraining;
      tried.outcome = other_training ? Outcome::kOffered : Outcome::kKept;
      tried.why =
          fmt::format("{:.2f} times as fast in {} pairs of runs ({:.2f} to {:.2f})", speedup,
                      tried.runs.before_ms.size(), tried.runs.least_speedup(), tried.runs.most_speedup());
      if (other_training)
        tried.why += fmt::format(
            ", a sample: {}. It trains otherwise, so losses cannot be compared, and the learning rate may "
            "have to follow; yours to decide",
            tried.text);
      return;
    }
    if (speedup > 1 && static_cast<int>(pairs) < options_.fewest_pairs && !has_time_for(2)) {
      tried.outcome = Outcome::kUndecided;
      tried.why = fmt::format(
          "{:.2f} times as fast in {} pair{} of runs, too few to tell; the budget held no more (--budget)",
          speedup, pairs, pairs == 1 ? "" : "s");
      return;
    }
    tried.outcome = Outcome::kNoGain;
    tried.why = fmt::format("{:.2f} times as fast in {} pair{} of runs; {:.2f} would be worth a line",
                            speedup, pairs, pairs == 1 ? "" : "s", least_speedup(pairs));
  }

  // One change that was measured in runs against the unchanged program has been measured as a whole.
  bool is_measured_already() {
    if (kept_.size() != 1 ||
        std::count_if(result_.changes.begin(), result_.changes.end(),
                      [](const auto& each) { return each.outcome == Outcome::kKept; }) != 1)
      return false;
    for (const TriedChange& tried : result_.changes)
      if (tried.outcome == Outcome::kKept && !tried.runs.within_one_run) {
        result_.together = tried.runs;
        result_.numbers = tried.numbers;
        result_.changed = tried.computed;
        return true;
      }
    return false;
  }

  bool is_precise(const PairedRuns& runs) const {
    const std::size_t pairs = runs.before_ms.size();
    return static_cast<int>(pairs) >= kPairsOfLargeGain &&
           2 * standard_error(pairs) < std::max(kPreciseStep, kPreciseGain * std::log(runs.speedup()));
  }

  Status all_together() {
    if (kept_.empty() || is_measured_already()) return {};
    noise_.begin_phase();
    for (int pair = 0; pair < options_.fewest_pairs && goes_on(); ++pair) {
      if (is_precise(result_.together)) break;
      // The first is worth a run too many: without it nothing is known of the whole.
      if (pair > 0 && left_s() < kRunsOfPair * run_s()) break;
      what_ = fmt::format("all that was kept, pair {} of {}", pair + 1, options_.fewest_pairs);
      HONE_CHECK(one_pair_of_all(pair));
    }
    // Of one change the blocks of the run in which it was switched say what the whole wins.
    if (result_.together.before_ms.empty() && kept_.size() == 1)
      for (const TriedChange& tried : result_.changes)
        if (is_kept(tried)) result_.together = tried.runs;
    return {};
  }

  Status one_pair_of_all(int pair) {
    const std::vector<std::string> nothing;
    std::optional<double> before, after;
    if (pair == 0) {
      before = last_step(nothing);
      after = last_step(kept_);
      if (before) noise_.add(nothing, *before);
      if (after) noise_.add(variant(kept_, processes_), *after);
    }
    for (const bool changed : {pair % 2 == 1, pair % 2 == 0}) {
      std::optional<double>& step_ms = changed ? after : before;
      if (step_ms) continue;
      HONE_ASSIGN(const Trial done, trial(changed ? kept_ : nothing));
      if (done.measured()) step_ms = done.step_ms;
      if (!changed) continue;
      result_.numbers = acceptance_.compare(done, kept_);
      result_.changed = done.computed;
    }
    if (!before || !after) return {};
    result_.together.before_ms.push_back(*before);
    result_.together.after_ms.push_back(*after);
    return {};
  }

  struct LastRun {
    std::vector<std::string> variant;
    double step_ms = 0;
  };

  const std::vector<Candidate>& candidates_;
  const RunTrial& run_trial_;
  const ProgramExperimentOptions& options_;
  const int64_t start_ns_ = now_ns();
  ProgramExperiment result_;
  Acceptance acceptance_;
  RunNoise noise_;
  std::vector<std::string> kept_;
  int processes_ = 0;  // of the change `workers`, wherever it is in force
  std::string what_;
  std::vector<double> runs_s_;  // that were measured
  double first_step_s_ = 0;     // of these, the longest
  std::optional<LastRun> last_;
};

}  // namespace

std::string why_not_tried(double left_s, double needed_s) {
  return fmt::format("{:.0f} s of the budget were left for it, and it needs about {:.0f} s (--budget)",
                     std::max(0.0, left_s), needed_s);
}

Result<ProgramExperiment> run_program_experiment(const std::vector<Candidate>& candidates,
                                                 const RunTrial& run_trial,
                                                 const ProgramExperimentOptions& options) {
  return ProgramLoop(candidates, run_trial, options).run();
}

}  // namespace hone::lab
