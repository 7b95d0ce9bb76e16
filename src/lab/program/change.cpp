#include "lab/program/change.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace hone::lab {
namespace {

using analyze::Cause;

constexpr Change kChanges[] = {
    {"tf32", "f32 products in tf32", "precision", Effect::kRounding, true, true},
    {"autocast_bf16", "forward pass and loss under autocast in bf16", "precision", Effect::kRounding, false,
     true, "tf32"},
    // What cuDNN has chosen for a shape once stays, tried or not: it cannot be switched.
    {"cudnn_benchmark", "cuDNN tries its convolutions", "", Effect::kRounding, true},
    {"channels_last", "convolutions in channels_last", "", Effect::kRounding, false},
    {"fused_optimizer", "fused optimizer", "", Effect::kNone, false},
    {"set_to_none", "gradients dropped instead of zeroed", "", Effect::kNone, false, true},
    // What is joined is rounded less often: in half precision that is more than another order of additions.
    {"compile", "torch.compile", "compile", Effect::kRounding, false},
    {"compile_reduce_overhead", "torch.compile with CUDA graphs", "compile", Effect::kRounding, true, false,
     "compile"},
    {"compile_max_autotune", "torch.compile that tries kernels", "compile", Effect::kRounding, true, false,
     "compile"},
    {"sdpa_cudnn", "attention by cuDNN", "", Effect::kRounding, true, true},
    {"workers", "batches prepared in other processes", "", Effect::kOrder, false},
    {"pin_memory", "batches in pinned memory", "", Effect::kNone, true},
    {"non_blocking", "copies that the host does not wait for", "", Effect::kNone, true, true},
    {"larger_batch", "batches of twice as many samples", "", Effect::kTraining, false, false, {}, 2},
    {"ddp_buckets", "gradients reduced in place, in larger buckets", "", Effect::kNone, true},
    {"expandable_segments", "allocator with expandable segments", "", Effect::kNone, true},
    {"threads_physical", "a thread a core", "", Effect::kNone, false, true},
};

// What a finding advises, by the name of its rule.
struct Remedy {
  std::string_view rule;
  std::vector<std::string_view> changes;
};

const std::vector<Remedy>& remedies() {
  static const std::vector<Remedy> table = {
      {"f32_without_matrix_units", {"autocast_bf16"}},
      {"tf32_products", {"autocast_bf16"}},
      {"f32_among_16_bits", {"autocast_bf16"}},
      {"wide_arithmetic", {"autocast_bf16"}},
      {"channels_first_images", {"channels_last"}},
      {"channels_first_batch_norm", {"channels_last"}},
      {"mixed_orders", {"channels_last"}},
      {"layout_changes", {"channels_last"}},
      {"unfused_optimizer", {"fused_optimizer"}},
      {"unfused_chain", {"compile"}},
      {"unfused_traffic", {"compile"}},
      {"lone_casts", {"compile"}},
      {"written_broadcasts", {"compile"}},
      {"kernels_below_roof", {"compile_max_autotune", "cudnn_benchmark", "larger_batch"}},
      {"slow_kernels", {"compile_max_autotune", "cudnn_benchmark"}},
      {"slow_launches", {"compile_reduce_overhead", "fused_optimizer", "larger_batch"}},
      {"launches_in_loops", {"compile_reduce_overhead"}},
      {"input_waits", {"workers", "pin_memory"}},
      {"file_waits", {"workers"}},
      {"host_work", {"workers"}},
      {"exposed_copies", {"pin_memory", "non_blocking"}},
      {"host_waits", {"non_blocking", "pin_memory"}},
      {"exposed_communication", {"ddp_buckets"}},
      {"allocator_waits", {"expandable_segments"}},
  };
  return table;
}

// What a finding of a program on the CPU advises: its rules are one a cause.
const std::vector<std::string_view>& remedies_of(Cause cause) {
  static const std::map<Cause, std::vector<std::string_view>> table = {
      {Cause::kPrecision, {"autocast_bf16"}},
      {Cause::kLayout, {"channels_last"}},
      {Cause::kAvoidableTraffic, {"compile"}},
      {Cause::kKernelInefficiency, {"channels_last", "threads_physical", "compile"}},
      {Cause::kLaunch, {"compile", "fused_optimizer", "larger_batch"}},
      {Cause::kInput, {"workers"}},
      {Cause::kIo, {"workers"}},
  };
  static const std::vector<std::string_view> none;
  const auto found = table.find(cause);
  return found == table.end() ? none : found->second;
}

std::vector<std::string_view> advised_by(const analyze::Finding& finding, bool on_cpu) {
  for (const Remedy& remedy : remedies())
    if (remedy.rule == finding.rule) return remedy.changes;
  if (on_cpu) return remedies_of(finding.cause);
  return {};
}

}  // namespace

std::span<const Change> known_changes() { return kChanges; }

const Change* find_change(std::string_view name) {
  const auto* found = std::find_if(std::begin(kChanges), std::end(kChanges),
                                   [&](const Change& change) { return change.name == name; });
  return found == std::end(kChanges) ? nullptr : found;
}

std::vector<std::string_view> rules_with_changes() {
  std::vector<std::string_view> rules;
  for (const Remedy& remedy : remedies()) rules.push_back(remedy.rule);
  return rules;
}

std::vector<Candidate> candidates(const analyze::Analysis& baseline) {
  const bool on_cpu = baseline.device == "cpu";
  std::vector<Candidate> found;
  for (const analyze::Finding& finding : baseline.findings) {
    // The first of several remedies is the one that the prediction is about.
    bool first = true;
    for (const std::string_view name : advised_by(finding, on_cpu)) {
      const Change* change = find_change(name);
      if (change->of_devices && on_cpu) continue;
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
  std::stable_sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
    const bool a_is_last = a.change->effect == Effect::kTraining,
               b_is_last = b.change->effect == Effect::kTraining;
    return a_is_last != b_is_last ? b_is_last : a.predicted_gain_ms > b.predicted_gain_ms;
  });
  return found;
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
      found.push_back({change, 0, "asked for"});
  }
  return found;
}

}  // namespace hone::lab
