#include "lab/program/trial.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <sstream>

#include <nlohmann/json.hpp>

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
constexpr std::size_t kStretch = 10;  // steps

std::optional<Edit> edit_of(const Json& entry) {
  const auto found = entry.find("edit");
  if (found == entry.end() || !found->is_object()) return std::nullopt;
  Edit edit{found->value("file", ""), {}};
  for (const Json& each : found->value("insertions", Json::array()))
    edit.insertions.push_back({each.value("line", 0), each.value("column", 0), each.value("text", "")});
  return edit;
}

AppliedChange::Status status_of(const std::string& text) {
  if (text == "applied") return AppliedChange::Status::kApplied;
  return text == "refused" ? AppliedChange::Status::kRefused : AppliedChange::Status::kFailed;
}

// Of each pair the second comes when the first is there.
void read_block(const Json& entry, SwitchedBlocks& blocks) {
  if (entry["block"].is_null())
    blocks = {};
  else
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
  if (entry.contains("block")) read_block(entry, trial.blocks);
  if (!entry.contains("change")) return;
  trial.changes.push_back({entry.value("change", ""), status_of(entry.value("status", "")),
                           entry.value("text", ""), rank == 0 ? edit_of(entry) : std::nullopt, rank,
                           entry.value("draws", false)});
}

Status write_request(const TrialOptions& options) {
  Json request = {{"changes", options.changes},
                  {"seed", options.seed},
                  {"losses", options.compared_steps},
                  {"log", std::filesystem::absolute(options.folder / kLogFile).string()}};
  if (!options.switched.empty())
    request["switch"] = {
        {"change", options.switched}, {"after", options.compared_steps + 1}, {"seed", options.seed}};
  return write_file((options.folder / kRequestFile).string(), request.dump());
}

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

double typical_step(const std::vector<double>& steps_ms) {
  if (steps_ms.empty()) return 0;
  std::vector<double> means;
  for (std::size_t at = 0; at + kStretch <= steps_ms.size() || means.empty(); at += kStretch) {
    const auto begin = steps_ms.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t count = std::min(kStretch, steps_ms.size() - at);
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
  drop_half_pair(trial.blocks);
}

Result<Trial> run_trial(const TrialOptions& options) {
  HONE_CHECK(make_folder(options.folder));
  HONE_CHECK(write_request(options));
  observe::TimedRunOptions timed;
  timed.folder = options.folder;
  timed.command = options.command;
  timed.recorder = options.recorder;
  timed.environment = {{kRequestVariable, std::filesystem::absolute(options.folder / kRequestFile).string()}};
  timed.blocked_signals = options.blocked_signals;
  timed.first_steps = options.compared_steps + 1;
  timed.warm_up_s = options.warm_up_s;
  timed.measured_s = options.measured_s;
  timed.patience_s = options.patience_s;
  timed.keep_going = options.keep_going;
  const auto so_far = [&] {
    Trial trial;
    if (const auto log = read_file(options.folder / kLogFile); log.ok()) read_applied(*log, trial);
    return trial;
  };
  const auto is_worthwhile = [&](const Trial& trial) {
    return !options.worth_measuring || options.worth_measuring(trial);
  };
  timed.worth_measuring = [&] { return is_worthwhile(so_far()); };
  if (!options.switched.empty())
    timed.enough = [&, start_ns = now_ns()] {
      const Trial trial = so_far();
      return (!trial.computed.empty() && !is_worthwhile(trial)) ||
             options.enough(trial.blocks, static_cast<double>(now_ns() - start_ns) * 1e-9);
    };
  HONE_ASSIGN(observe::TimedRun run, observe::time_steps(timed));
  Trial trial;
  trial.steps_ms = std::move(run.steps_ms);
  trial.step_ms = typical_step(trial.steps_ms);
  trial.why_none = std::move(run.why_none);
  trial.exit_status = run.exit_status;
  trial.seconds = run.seconds;
  trial.first_step_s = run.first_step_s;
  if (const auto log = read_file(options.folder / kLogFile); log.ok()) read_applied(*log, trial);
  return trial;
}

}  // namespace hone::lab
