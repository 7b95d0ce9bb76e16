#include "lab/counters/count_sides.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/clock.h"

namespace hone::lab {
namespace {

constexpr double kBudgetWithCounting = 1.25;  // of the budget: no kernel is counted after that
constexpr double kCountingAnyway = 0.2;       // of the budget, but where all of that has been used up before
constexpr double kLeastCounting_s = 4;        // a process starts, runs some steps and counts one kernel

// Whatever goes wrong is said in a line, and the experiment stands as it was without counters.
class SideCounter {
 public:
  explicit SideCounter(const CountSidesOptions& options)
      : options_(options),
        most_s_(std::min(options.plans.most_s,
                         std::max(kBudgetWithCounting * options.budget_s - options.seconds_spent(),
                                  kCountingAnyway * options.budget_s))),
        end_ns_(now_ns() + static_cast<int64_t>(most_s_ * 1e9)) {}

  std::vector<std::string> count(std::vector<CountedSide> sides) {
    count_all(sides);
    return std::move(warnings_);
  }

 private:
  struct SavedSide {
    CountedSide& side;
    SavedForCounting saved;
  };

  void count_all(std::vector<CountedSide>& sides) {
    if (!options_.plans.why_not.empty()) return say_uncounted("plans", options_.plans.why_not);
    if (most_s_ < kLeastCounting_s) return say_uncounted("plans", "--budget leaves no time for them");
    std::vector<SavedSide> saved;
    for (CountedSide& side : sides) save(side, saved);
    for (CountedSide& side : sides) side.plan.reset();
    for (SavedSide& each : saved) count_side(each.side, each.saved);
    std::error_code stays;
    std::filesystem::remove_all(options_.plans.folder, stays);
  }

  double seconds_left() const { return static_cast<double>(end_ns_ - now_ns()) * 1e-9; }

  void say_uncounted(const std::string& side, const std::string& why) {
    warnings_.push_back(fmt::format("no hardware counters of the {}: {}", side, why));
  }

  void say_of_counters(const std::string& side, const std::string& what) {
    warnings_.push_back(fmt::format("hardware counters of the {}: {}", side, what));
  }

  void save(CountedSide& side, std::vector<SavedSide>& saved) {
    auto files = save_for_counting(*side.plan, options_.provider, options_.inputs, side.name, options_.plans);
    if (files.ok())
      saved.push_back({side, *std::move(files)});
    else
      say_uncounted(side.name, files.error().message);
  }

  void count_side(CountedSide& side, SavedForCounting& saved) {
    const double seconds = seconds_left();
    if (seconds < kLeastCounting_s) return say_uncounted(side.name, "the time for them was used up before");
    const auto keep_going = [&, what = fmt::format("hardware counters of the {}'s kernels", side.name)] {
      return options_.keep_going(what);
    };
    const auto counted =
        count_plan(saved, seconds, options_.plans, [&] { return now_ns() < end_ns_ && keep_going(); });
    if (!counted.ok()) {
      const bool is_ended = counted.error().code == ErrorCode::kCancelled;
      return say_uncounted(side.name, !is_ended      ? counted.error().message
                                      : keep_going() ? fmt::format("none within {:.0f} s", seconds)
                                                     : "interrupted");
    }
    for (const std::string& line : counted->missing) say_of_counters(side.name, line);
    take(counted->recording, std::move(saved.operators), side);
  }

  void take(const trace::Trace& recording, std::vector<analyze::PlanKernel> kernels, CountedSide& side) {
    trace::Trace trace = side.trace;
    take_counters(recording, trace);
    auto analysis = options_.analyse(trace, side.analysis.source, std::move(kernels));
    if (!analysis.ok()) return say_uncounted(side.name, analysis.error().message);
    side.trace = std::move(trace);
    side.analysis = *std::move(analysis);
    const auto& counted = side.analysis.counted_kernels;
    const auto elsewhere =
        std::ranges::count_if(counted, [](const auto& kernel) { return kernel.step_ms <= 0; });
    if (elsewhere > 0)
      say_of_counters(side.name, fmt::format("{} of {} counted kernels ran in another geometry than within "
                                             "the replayed graph: they are not matched with its operators",
                                             elsewhere, counted.size()));
  }

  const CountSidesOptions& options_;
  const double most_s_;   // for all sides together
  const int64_t end_ns_;  // of it
  std::vector<std::string> warnings_;
};

}  // namespace

std::vector<std::string> count_sides(std::vector<CountedSide> sides, const CountSidesOptions& options) {
  return SideCounter(options).count(std::move(sides));
}

}  // namespace hone::lab
