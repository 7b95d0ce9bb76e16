#include "lab/training/recorded_steps.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "data/loader.h"
#include "lab/machine.h"

namespace hone::lab {
namespace {

constexpr int64_t kFirstRecorded = 3;    // steps before it warm caches up
constexpr int64_t kLongestWarmUp = 500;  // steps that are waited for until samples come from a cache
constexpr int kRecordedSteps = 7;

// That a thread which reads ahead makes while steps are recorded: for each sample a few a stage, as many as it has chunks.
std::size_t stage_marks(int64_t batch) {
  constexpr int64_t kChunks = 4;
  const int64_t batches = kRecordedSteps + data::LoaderOptions{}.read_ahead;
  return data::kStages * static_cast<std::size_t>(batches * batch * kChunks);
}

// What the marks of the loader (data/stages.h) and kWriteRegion stand for. A wait says which stage it was for.
std::vector<trace::Region> step_regions(data::Stage limiting, bool on_host) {
  std::vector<trace::Region> regions;
  for (const std::string_view name : data::kInputRegions) regions.push_back({std::string(name)});
  regions[0] = {fmt::format("input: {}", data::stage_name(limiting)),
                limiting == data::Stage::kRead ? trace::Category::kIo : trace::Category::kInput};
  regions.push_back({"write batch", on_host ? trace::Category::kRegion : trace::Category::kMemcpy});
  return regions;
}

// Of so many: samples that are kept are decoded in the first epoch alone, and while batches are read ahead, which is no
// step like most. In runs of hardly more than an epoch all are like that.
int64_t first_typical_step(int64_t steps, int64_t batches_per_epoch) {
  const int64_t decoded = batches_per_epoch + data::LoaderOptions{}.read_ahead + kFirstRecorded;
  const bool is_worth_it = decoded <= kLongestWarmUp && steps >= decoded + kRecordedSteps;
  return is_worth_it ? decoded : kFirstRecorded;
}

}  // namespace

RecordedSteps::RecordedSteps(Session& session, const runtime::Provider& provider, const model::Recipe& recipe,
                             const Roofs& roofs, const RunSpan& run)
    : session_(session),
      provider_(provider),
      recipe_(recipe),
      roofs_(roofs),
      run_(run),
      typical_step_(run.begun_at + first_typical_step(run.steps - run.begun_at, run.batches_per_epoch)) {
  start();
}

void RecordedSteps::start() {
  ProfileOptions profile;
  profile.device = provider_.name();
  profile.source = recipe_.name;
  profile.machine = machine_title(describe_machine());
  profile.threads = provider_.threads();
  profile.min_steps = 1;
  profile.max_steps = kRecordedSteps;
  profile.top = static_cast<int>(session_.plan().steps().size());
  profile.marks_beside = stage_marks(recipe_.train.batch);
  recorder_.emplace(session_.plan(), profile);
}

bool RecordedSteps::records(int64_t step) const {
  return step == typical_step_ ||
         (step >= run_.begun_at + kFirstRecorded && recorder_->steps() < kRecordedSteps);
}

StepRecorder& RecordedSteps::recorder_of(int64_t step) {
  if (step == typical_step_) start();  // anew: those so far were of a run that begins
  return *recorder_;
}

Result<Profile> RecordedSteps::profile(data::Stage limiting) const {
  return recorder_->profile(roofs_, step_regions(limiting, provider_.name() == "cpu"));
}

std::vector<std::pair<std::string, double>> RecordedSteps::reference_ms(const Profile& profile) const {
  std::map<std::string, double> by_op;
  for (const analyze::TopOperator& op : profile.analysis.top) {
    for (const runtime::PlanStep& each : session_.plan().steps())
      if (each.name == op.name && (each.reference || each.on_host)) by_op[each.op] += op.ms;
  }
  std::vector<std::pair<std::string, double>> list(by_op.begin(), by_op.end());
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return list;
}

}  // namespace hone::lab
