#include "lab/program/trial.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <sstream>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "core/clock.h"
#include "core/file.h"
#include "core/statistics.h"
#include "observe/session/timed_run.h"

namespace hone::lab {
namespace {

using Json = nlohmann::json;

constexpr const char* kRequestVariable = "HONE_APPLY";  // of python/hone_apply
constexpr const char* kRequestFile = "apply.json";
constexpr const char* kLogFile = "apply.jsonl";
constexpr const char* kOrdersFile = "orders.json";
constexpr std::size_t kStretch = 10;  // steps
constexpr int kEpochsTimed = 3;       // where they are short

std::optional<Edit> edit_of(const Json& entry) {
  const auto found = entry.find("edit");
  if (found == entry.end() || !found->is_object()) return std::nullopt;
  Edit edit{found->value("file", ""), {}};
  for (const Json& each : found->value("insertions", Json::array()))
    edit.insertions.push_back(
        {each.value("line", 0), each.value("column", 0), each.value("text", ""), each.value("removed", 0)});
  return edit;
}

AppliedChange::Status status_of(const std::string& text) {
  if (text == "applied") return AppliedChange::Status::kApplied;
  return text == "refused" ? AppliedChange::Status::kRefused : AppliedChange::Status::kFailed;
}

// Of each pair the second comes when the first is there.
void read_block(const Json& entry, Trial& trial) {
  if (entry["block"].is_null()) return trial.blocks.clear();
  SwitchedBlocks& blocks = trial.blocks[entry.value("order", 0)];
  (entry.value("on", false) ? blocks.with_ms : blocks.without_ms).push_back(entry.value("ms", 0.0));
}

void drop_half_pair(SwitchedBlocks& blocks) {
  const std::size_t pairs = std::min(blocks.with_ms.size(), blocks.without_ms.size());
  blocks.with_ms.resize(pairs);
  blocks.without_ms.resize(pairs);
}

void read_computed(const Json& entry, Computed& computed) {
  if (const auto losses = entry.find("losses"); losses != entry.end() && computed.losses.empty())
    computed.losses = losses->get<std::vector<double>>();
  if (const auto outputs = entry.find("outputs"); outputs != entry.end() && computed.outputs.empty())
    computed.outputs = outputs->get<std::vector<std::vector<double>>>();
}

void read_entry(const Json& entry, Trial& trial) {
  // Of several ranks the first: each has a batch, and so a loss, of its own.
  const int rank = entry.value("rank", 0);
  trial.ranks = std::max(trial.ranks, entry.value("ranks", 1));
  if (rank == 0) read_computed(entry, trial.computed);
  if (entry.contains("block")) read_block(entry, trial);
  if (entry.value("ready", false)) trial.carries_out_orders = true;
  if (!entry.contains("change")) return;
  trial.changes.push_back({entry.value("change", ""), status_of(entry.value("status", "")),
                           entry.value("text", ""), rank == 0 ? edit_of(entry) : std::nullopt, rank,
                           entry.value("draws", false)});
}

Status write_request(const TrialOptions& options, const StepCounts& counts) {
  Json request = {{"changes", options.changes},
                  {"parent", ::getpid()},
                  {"seed", options.seed},
                  {"losses", counts.compared},
                  {"log", std::filesystem::absolute(options.folder / kLogFile).string()}};
  if (options.processes > 0) request["processes"] = options.processes;
  if (!options.switched.empty())
    request["switch"] = {{"changes", options.switched},
                         {"orders", std::filesystem::absolute(options.folder / kOrdersFile).string()},
                         {"after", counts.compared + 1},
                         {"fewest_steps", counts.block},
                         {"settle_steps", counts.settle},
                         {"seed", options.seed}};
  return write_file((options.folder / kRequestFile).string(), request.dump());
}

std::vector<std::pair<std::string, std::string>> request_environment(const std::filesystem::path& folder) {
  return {{kRequestVariable, std::filesystem::absolute(folder / kRequestFile).string()}};
}

Status write_order(const TrialOptions& options, const SwitchOrder& order) {
  const Json text = {{"number", order.number}, {"try", order.tried}, {"in_force", order.in_force}};
  return write_file((options.folder / kOrdersFile).string(), text.dump());
}

// Where epochs are short, whole ones: so each block has as many beginnings, and what is timed has some.
StepCounts counts_of(const TrialOptions& options) {
  constexpr double kLongestBlock_ms = 1500, kLongestTimed_ms = 6000;
  constexpr double kBlock_ms = 300;  // as python/hone_apply/switching.py has it
  StepCounts counts = step_counts(options.expected_step_ms);
  const double epoch_ms = options.epoch_steps * options.expected_step_ms;
  if (epoch_ms <= 0) return counts;
  if (epoch_ms <= kLongestBlock_ms) {
    const double steps = std::max<double>(counts.block, kBlock_ms / options.expected_step_ms);
    counts.block = options.epoch_steps * static_cast<int>(std::ceil(steps / options.epoch_steps));
  }
  if (kEpochsTimed * epoch_ms <= kLongestTimed_ms)
    counts.timed = std::max(counts.timed, kEpochsTimed * options.epoch_steps);
  return counts;
}

// Asks for orders and hands them on. True: the run has done its work.
class Director {
 public:
  explicit Director(const TrialOptions& options) : options_(options) {}

  bool is_done(const Trial& so_far) {
    const auto order = options_.direct(so_far, static_cast<double>(now_ns() - start_ns_) * 1e-9);
    if (!order) return true;
    if (order->number == given_) return false;
    given_ = order->number;
    return !write_order(options_, *order).ok();
  }

 private:
  const TrialOptions& options_;
  const int64_t start_ns_ = now_ns();
  int given_ = 0;
};

}  // namespace

const AppliedChange* Trial::said(const std::string& change) const {
  std::map<int, const AppliedChange*> last;  // by rank
  for (const AppliedChange& each : changes) {
    if (each.name != change) continue;
    const AppliedChange*& of_rank = last[each.rank];
    if (of_rank == nullptr || of_rank->status != AppliedChange::Status::kApplied) of_rank = &each;
  }
  for (const auto& [rank, each] : last)
    if (each->status != AppliedChange::Status::kApplied) return each;
  return last.empty() ? nullptr : last.begin()->second;
}

StepCounts step_counts(double expected_step_ms) {
  constexpr double kLong_ms = 150, kVeryLong_ms = 400;
  if (expected_step_ms > kVeryLong_ms) return {5, 5, 1, 1};
  if (expected_step_ms > kLong_ms) return {10, 8, 2, 1};
  return {};
}

double typical_step(const std::vector<double>& steps_ms, int epoch_steps) {
  if (steps_ms.empty()) return 0;
  const auto epoch = static_cast<std::size_t>(std::max(0, epoch_steps));
  std::size_t stretch = kStretch;
  if (epoch > 1 && static_cast<std::size_t>(kEpochsTimed) * epoch <= steps_ms.size()) stretch = epoch;
  std::vector<double> means;
  for (std::size_t at = 0; at + stretch <= steps_ms.size() || means.empty(); at += stretch) {
    const auto begin = steps_ms.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t count = std::min(stretch, steps_ms.size() - at);
    means.push_back(std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(count), 0.0) /
                    static_cast<double>(count));
  }
  return median(means);
}

void read_applied(const std::string& log, Trial& trial) {
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    const Json entry = Json::parse(line, nullptr, false);
    if (!entry.is_object()) continue;
    try {
      read_entry(entry, trial);
    } catch (const Json::exception&) {
    }
  }
  for (auto& [order, blocks] : trial.blocks) drop_half_pair(blocks);
}

Result<std::vector<std::pair<std::string, std::string>>> watch_what_is_computed(
    const std::filesystem::path& folder, uint64_t seed) {
  TrialOptions options;
  options.folder = folder;
  options.seed = seed;
  HONE_CHECK(make_folder(folder));
  std::error_code none;
  std::filesystem::remove(folder / kLogFile, none);  // of a run before
  HONE_CHECK(write_request(options, StepCounts()));
  return request_environment(folder);
}

Trial what_was_computed(const std::filesystem::path& folder) {
  Trial trial;
  if (const auto log = read_file(folder / kLogFile); log.ok()) read_applied(*log, trial);
  return trial;
}

Result<Trial> run_trial(const TrialOptions& options) {
  HONE_CHECK(make_folder(options.folder));
  const StepCounts counts = counts_of(options);
  HONE_CHECK(write_request(options, counts));
  observe::TimedRunOptions timed;
  timed.folder = options.folder;
  timed.command = options.command;
  timed.recorder = options.recorder;
  timed.environment = request_environment(options.folder);
  timed.blocked_signals = options.blocked_signals;
  timed.first_steps = counts.compared + 1;
  timed.fewest_steps = counts.timed;
  timed.warm_up_s = options.warm_up_s;
  timed.measured_s = options.measured_s;
  timed.patience_s = options.patience_s;
  timed.marks_within_s = options.marks_within_s;
  timed.keep_going = options.keep_going;
  const auto so_far = [&] { return what_was_computed(options.folder); };
  timed.worth_measuring = [&] { return !options.worth_measuring || options.worth_measuring(so_far()); };
  Director director(options);
  if (!options.switched.empty()) timed.enough = [&] { return director.is_done(so_far()); };
  HONE_ASSIGN(observe::TimedRun run, observe::time_steps(timed));
  Trial trial;
  trial.steps_ms = std::move(run.steps_ms);
  trial.step_ms = typical_step(trial.steps_ms, options.epoch_steps);
  trial.why_none = std::move(run.why_none);
  trial.exit_status = run.exit_status;
  trial.seconds = run.seconds;
  trial.first_step_s = run.first_step_s;
  trial.ended_s = run.ended_s;
  if (const auto log = read_file(options.folder / kLogFile); log.ok()) read_applied(*log, trial);
  return trial;
}

}  // namespace hone::lab
