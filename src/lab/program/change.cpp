#include "lab/program/change.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "analyze/advised_changes.h"
#include "kernels/cpu/cores.h"

namespace hone::lab {
namespace {

constexpr auto kNo = Change::Unasked::kNo;
constexpr auto kOnDevices = Change::Unasked::kOnDevices;
constexpr auto kAnywhere = Change::Unasked::kAnywhere;

constexpr Change kChanges[] = {
    {"tf32", "f32 products in tf32", "precision", Effect::kRounding, true, true},
    {"autocast_bf16", "forward pass and loss under autocast in bf16", "precision", Effect::kRounding, false,
     true, "tf32", 1, kOnDevices},
    // What cuDNN has chosen for a shape once stays, tried or not: it cannot be switched.
    {"cudnn_benchmark", "cuDNN tries its convolutions", "", Effect::kRounding, true, false, {}, 1, kNo, true},
    {"channels_last",
     "convolutions in channels_last",
     "",
     Effect::kRounding,
     false,
     true,
     {},
     1,
     kAnywhere,
     true},
    {"fused_optimizer", "fused optimizer", "", Effect::kNone, false, true, {}, 1, kAnywhere},
    {"set_to_none", "gradients dropped instead of zeroed", "", Effect::kNone, false, true},
    // What is joined is rounded less often: in half precision that is more than another order of additions.
    {"compile", "torch.compile", "compile", Effect::kRounding, false, true},
    {"compile_reduce_overhead", "torch.compile with CUDA graphs", "compile", Effect::kRounding, true, true,
     "compile"},
    {"compile_max_autotune", "torch.compile that tries kernels", "compile", Effect::kRounding, true, true,
     "compile"},
    {"sdpa_cudnn", "attention by cuDNN", "", Effect::kRounding, true, true},
    {kWorkers, "batches prepared in other processes", "", Effect::kOrder, false},
    {"pin_memory", "batches in pinned memory", "", Effect::kNone, true},
    {"non_blocking", "copies that the host does not wait for", "", Effect::kNone, true, true},
    {"larger_batch", "batches of twice as many samples", "", Effect::kTraining, false, false, {}, 2},
    {"ddp_buckets", "gradients reduced in place, in larger buckets", "", Effect::kNone, true},
    {"expandable_segments", "allocator with expandable segments", "", Effect::kNone, true},
    {"threads_physical", "a thread a core", "", Effect::kNone, false, true},
};

// A step of what waits `loader_ms` for its batch is at best as long as the rest of it, or as processes need for a batch.
double gain_of_processes(double loader_ms, double step_ms, int processes) {
  return std::clamp(step_ms - std::max(step_ms - loader_ms, loader_ms / processes), 0.0, loader_ms);
}

}  // namespace

std::span<const Change> known_changes() { return kChanges; }

const Change* find_change(std::string_view name) {
  const auto* found = std::find_if(std::begin(kChanges), std::end(kChanges),
                                   [&](const Change& change) { return change.name == name; });
  return found == std::end(kChanges) ? nullptr : found;
}

int loader_processes() {
  constexpr int kMost = 8;
  return std::clamp(static_cast<int>(kernels::usable_cpus().size()) - 1, 1, kMost);
}

std::vector<Candidate> candidates(const analyze::Analysis& baseline, int processes) {
  const bool on_cpu = baseline.device == "cpu", convolves = may_convolve(baseline);
  std::vector<Candidate> found;
  for (const analyze::Finding& finding : baseline.findings) {
    // The first of several remedies is the one that the prediction is about.
    bool first = true;
    for (const std::string_view name : analyze::advised_changes(finding, !on_cpu)) {
      const Change* change = find_change(name);
      if ((change->of_devices && on_cpu) || (change->of_convolutions && !convolves)) continue;
      const double gain = first ? finding.predicted_gain_ms : 0;
      first = false;
      const auto same = std::find_if(found.begin(), found.end(),
                                     [&](const Candidate& each) { return each.change == change; });
      if (same == found.end())
        found.push_back({change, gain, finding.title});
      else
        same->predicted_gain_ms = std::min(same->predicted_gain_ms + gain, baseline.step.ms.median);
    }
  }
  // What a change does over all causes is more than what the findings know, each of its own.
  for (Candidate& each : found)
    for (const analyze::ChangeGain& gain : baseline.changes)
      if (gain.change == each.change->name) each.predicted_gain_ms = gain.predicted_gain_ms;
  for (Candidate& each : found) {
    if (each.change->name != kWorkers) continue;
    each.loading = baseline.loading;
    if (!each.loading)
      each.predicted_gain_ms = gain_of_processes(each.predicted_gain_ms, baseline.step.ms.median, processes);
  }
  std::stable_sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
    const bool a_is_last = a.change->effect == Effect::kTraining,
               b_is_last = b.change->effect == Effect::kTraining;
    return a_is_last != b_is_last ? b_is_last : a.predicted_gain_ms > b.predicted_gain_ms;
  });
  return found;
}

std::optional<Candidate> more_processes(const Candidate& kept, double speedup, double least_gain) {
  constexpr double kStillWaits = 0.1;  // of the step
  constexpr int kFactor = 2;
  if (!kept.loading || speedup <= 0) return std::nullopt;
  Candidate more = kept;
  analyze::Loading& loading = *more.loading;
  const double rest_ms = loading.step_ms - loading.wait_ms;
  loading.now = loading.advised;
  loading.step_ms /= speedup;
  loading.wait_ms = loading.step_ms - rest_ms;
  if (loading.wait_ms < kStillWaits * loading.step_ms) return std::nullopt;
  loading.times = analyze::fitted(loading.now, loading.times, loading.wait_ms / loading.batches_a_step,
                                  analyze::first_share(loading.now));
  loading.advised.workers = std::min(kFactor * loading.now.workers,
                                     analyze::most_workers(loading.now, loading.times, loading.cpus));
  more.predicted_gain_ms = loading.gain_ms();
  if (more.predicted_gain_ms < least_gain * loading.step_ms) return std::nullopt;
  more.because = "batches are still waited for";
  return more;
}

bool may_convolve(const analyze::Analysis& baseline) {
  // What is hardly sure to be a step may be a part of one, or of the program's start.
  constexpr double kSure = 0.5;
  return baseline.operators.empty() || baseline.step.confidence < kSure ||
         std::any_of(baseline.operators.begin(), baseline.operators.end(),
                     [](const auto& each) { return each.op_class == trace::OperatorClass::kConvolution; });
}

std::vector<Candidate> unasked_candidates(const std::vector<Candidate>& found, bool on_device,
                                          bool convolves) {
  std::vector<Candidate> others;
  for (const Change& change : kChanges)
    if ((convolves || !change.of_convolutions) &&
        (change.unasked == kAnywhere || (change.unasked == kOnDevices && on_device)) &&
        std::none_of(found.begin(), found.end(),
                     [&](const Candidate& each) { return each.change == &change; }))
      others.push_back({&change, 0, "", true});
  return others;
}

Result<std::vector<Candidate>> with_asked_for(std::vector<Candidate> found,
                                              const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const Change* change = find_change(name);
    if (change == nullptr)
      return invalid(
          fmt::format("--try {}: there is no such change; docs/lab-on-your-program.md lists them", name));
    if (std::none_of(found.begin(), found.end(),
                     [&](const Candidate& each) { return each.change == change; }))
      found.push_back({change, 0, ""});
  }
  return found;
}

}  // namespace hone::lab
