#include "analyze/device/metrics.h"

#include <algorithm>
#include <map>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "analyze/device/sampled_devices.h"
#include "core/statistics.h"
#include "core/units.h"
#include "trace/kernel_family.h"

namespace hone::analyze::device {
namespace {

// What the formulas are made of, of the typical step.
struct Quantities {
  double step_ms = 0, busy_ms = 0, compute_ms = 0, tensor_ms = 0;
  double works = 0, work_us = 0;
  double flops = 0, product_flops = 0, product_roof = 0;
  double bytes = 0, dram = 0;
  double collective_ms = 0, hidden_comm_ms = 0, bus_bytes_per_s = 0, link = 0;
  double copy_ms = 0, hidden_copy_ms = 0;
  double input_ms = 0, run_ahead_ms = 0;
  bool has_launches = false;
  KernelMath math = KernelMath::kBf16;         // that most FLOPs of products have
  KernelMath judged_math = KernelMath::kBf16;  // that of `product_roof`
  // Sampled, over the whole step.
  double sampled_step_ms = 0, sampled_dram = 0;
  std::optional<double> sm_active = {}, tensor_active = {};
};

using Formula = std::optional<double>(const Quantities&);

std::optional<double> ratio(double part, double whole, double scale = 100) {
  return whole > 0 ? std::optional(part / whole * scale) : std::nullopt;
}

// For costs, which are 0 only where they are not known.
std::optional<double> known(double part, double whole, double scale = 100) {
  return part > 0 ? ratio(part, whole, scale) : std::nullopt;
}

struct MetricRow {
  const char* name;
  const char* label;
  const char* unit;
  std::optional<double> target;
  bool higher_is_better;
  Formula* formula;
  const char* words;
  const char* note;
  Formula* measured = nullptr;  // of what was sampled, in the place of the other
  const char* measured_words = "";
};

std::optional<double> not_estimated(const Quantities&) { return std::nullopt; }

const MetricRow kMetricRows[] = {
    {"gpu_busy_share", "GPU busy", "%", 95, true,
     [](const Quantities& q) { return ratio(q.busy_ms, q.step_ms); },
     "time in which the device ran anything ÷ step", "busy is not the same as useful: see the ledger"},
    {"gpu_compute_share", "GPU computing", "%", 85, true,
     [](const Quantities& q) { return ratio(q.compute_ms, q.step_ms); },
     "time in which the device ran anything but collectives and host copies ÷ step", ""},
    {"tensor_core_share", "tensor-core time", "%", 50, true,
     [](const Quantities& q) { return ratio(q.tensor_ms, q.compute_ms); },
     "time of kernels that multiply on tensor cores ÷ computing time", "by the kernels' names"},
    {"sm_active_share", "multiprocessors active", "%", 80, true, not_estimated, "",
     "less than the GPU is busy: kernels that leave multiprocessors without work, or end unevenly",
     [](const Quantities& q) { return q.sm_active; },
     "time in which a multiprocessor had work ÷ step, mean over all of them"},
    {"tensor_pipe_share", "tensor pipes active", "%", 40, true, not_estimated, "",
     "of cycles at the clock that there was, where the MFU, by whose target it is judged, is of a rate",
     [](const Quantities& q) { return q.tensor_active; },
     "cycles in which tensor pipes worked ÷ those of the step, mean over all multiprocessors"},
    {"mfu", "MFU", "%", 40, true,
     [](const Quantities& q) { return known(q.product_flops, q.product_roof * q.step_ms * 1e-3); },
     "FLOPs of matrix products, convolutions and attention by their definition ÷ (step × roof of the type "
     "that most of them run in; of types wider than 16 bits, of the one that hone advises instead)",
     "by operators that were recorded with shapes; what is computed again counts"},
    {"achieved_tflops", "achieved arithmetic", "TFLOP/s", std::nullopt, true,
     [](const Quantities& q) { return known(q.flops, q.step_ms * 1e-3, 1e-12); },
     "FLOPs of all operators by their definition ÷ step", ""},
    {"dram_utilisation", "memory bandwidth", "%", 60, true,
     [](const Quantities& q) { return known(q.bytes, q.dram * q.compute_ms * 1e-3); },
     "compulsory bytes of all operators ÷ (computing time × DRAM copy roof)",
     "traffic that operators need, not what counters saw",
     [](const Quantities& q) { return known(q.sampled_dram * q.sampled_step_ms, q.dram * q.compute_ms); },
     "bytes that DRAM read and wrote in a step ÷ (computing time × DRAM copy roof)"},
    {"dram_rate", "DRAM traffic", "GB/s", std::nullopt, true, not_estimated, "", "",
     [](const Quantities& q) { return known(q.sampled_dram, 1, 1e-9); },
     "bytes that DRAM read and wrote in a step ÷ step"},
    {"comm_overlap", "communication hidden", "%", 80, true,
     [](const Quantities& q) { return ratio(q.hidden_comm_ms, q.collective_ms); },
     "time of collectives, from the last arrival on, during which the device worked on something else ÷ all "
     "their time from the last arrival on",
     ""},
    {"comm_efficiency", "communication efficiency", "%", 60, true,
     [](const Quantities& q) {
       return q.bus_bytes_per_s > 0 ? ratio(q.bus_bytes_per_s, q.link) : std::nullopt;
     },
     "bytes on the busiest link ÷ (time from the last arrival to the end × roof of the link)",
     "small collectives are ruled by latency"},
    {"copy_overlap", "host copies hidden", "%", 90, true,
     [](const Quantities& q) { return ratio(q.hidden_copy_ms, q.copy_ms); },
     "time of copies between host and device during which the device computed ÷ time of copies", ""},
    {"input_wait_share", "input wait", "%", 1, false,
     [](const Quantities& q) { return q.has_launches ? ratio(q.input_ms, q.step_ms) : std::nullopt; },
     "idle time of the device while the host loaded or prepared data ÷ step", ""},
    {"host_run_ahead", "host runs ahead", "ms", 1, true,
     [](const Quantities& q) { return q.has_launches ? std::optional(q.run_ahead_ms) : std::nullopt; },
     "median time from a launch to the start of its kernel", "near 0: the device waits for the host"},
    {"works_per_step", "kernels and copies per step", "1/step", std::nullopt, false,
     [](const Quantities& q) { return std::optional(q.works); }, "kernels, copies and fills of a step", ""},
    {"mean_work_us", "mean duration of each", "us", 20, true,
     [](const Quantities& q) { return ratio(q.work_us, q.works, 1); }, "their time added up ÷ their number",
     "shorter ones cost more to launch than to run"},
    {"launch_rate", "kernels and copies started", "1/ms", std::nullopt, true,
     [](const Quantities& q) { return ratio(q.works, q.step_ms, 1); }, "kernels and copies ÷ step",
     "an eager host launches 50 to 150 in a ms"},
};

class Measuring {
 public:
  Measuring(const Study& study, const Accounts& accounts, const OperatorTables& tables,
            const std::vector<CollectiveSummary>& collectives, const SampledDevice* sampled)
      : study_(study),
        sampled_(sampled),
        accounts_(accounts),
        tables_(tables),
        collectives_(collectives),
        timeline_(study.timelines[study.headline]),
        own_(study.ranks[study.headline]) {}

  Quantities run() {
    q_.step_ms = own_.typical.ms;
    overlaps();
    works();
    q_.flops = tables_.flops;
    q_.product_flops = tables_.product_flops;
    q_.bytes = tables_.bytes;
    q_.dram = study_.roofs.dram;
    product_roof();
    for (Cause cause : {Cause::kInput, Cause::kIo})
      q_.input_ms += accounts_[static_cast<std::size_t>(cause)].ms;
    q_.run_ahead_ms = run_ahead_ms(timeline_);
    q_.has_launches = std::any_of(timeline_.works.begin(), timeline_.works.end(),
                                  [&](const Work& work) { return timeline_.launch_of(work) != nullptr; });
    double time = 0;
    for (const CollectiveSummary& row : collectives_) {
      q_.bus_bytes_per_s += row.bus_bytes_per_s * row.ms;
      time += row.ms;
      q_.collective_ms += row.ms;
      q_.hidden_comm_ms += std::max(0.0, row.ms - row.exposed_ms);
    }
    q_.bus_bytes_per_s = time > 0 ? q_.bus_bytes_per_s / time : 0;
    q_.link = study_.roofs.link;
    if (sampled_ != nullptr) take_samples(*sampled_);
    return q_;
  }

 private:
  void overlaps() {
    for (std::size_t window = 0; window < own_.occupancy.overlaps.size(); ++window) {
      const auto ms = [&](double ns) { return own_.typical.part_ms(window, ns); };
      const Overlap& overlap = own_.occupancy.overlaps[window];
      q_.busy_ms += ms(overlap.busy);
      q_.compute_ms += ms(overlap.compute);
      q_.copy_ms += ms(overlap.copies);
      q_.hidden_copy_ms += ms(overlap.hidden_copies);
    }
  }

  void works() {
    for (const BusyInterval& interval : own_.occupancy.busy) {
      if (!own_.typical.counts(interval.window)) continue;
      if (trace::on_tensor_cores(study_.trace->kernel(timeline_.works[interval.work].span).math))
        q_.tensor_ms += own_.typical.part_ms(interval.window, interval.ns());
    }
    const auto steps = static_cast<double>(std::max<std::size_t>(1, timeline_.steps.size()));
    for (const Work& work : timeline_.works) {
      if (work.step == trace::kNoStep || !timeline_.in_ledger(work)) continue;
      q_.works += 1 / steps;
      q_.work_us += static_cast<double>(work.ns()) * 1e-3 / steps;
    }
  }

  void take_samples(const SampledDevice& sampled) {
    q_.sampled_step_ms = sampled.steps > 0 ? sampled.step_ms : q_.step_ms;
    q_.sm_active = sampled_mean(sampled, trace::Sampled::kSmActive);
    q_.tensor_active = sampled_mean(sampled, trace::Sampled::kTensorActive);
    q_.sampled_dram = sampled_mean(sampled, trace::Sampled::kDramRead).value_or(0) +
                      sampled_mean(sampled, trace::Sampled::kDramWritten).value_or(0);
  }

  // The roof of the type that most FLOPs of products have, or of the one to which advice on precision leads: judged by a wide
  // type, a program that follows the advice would seem to do worse.
  void product_roof() {
    std::map<KernelMath, double> flops;
    for (std::size_t op = 0; op < own_.split.uses.rows.size(); ++op) {
      const OperatorUse& use = own_.split.uses.rows[op];
      if (use.is_product && use.works > 0)
        flops[use.math] += study_.trace->operators[op].flops * use.executions;
    }
    const auto most = std::max_element(flops.begin(), flops.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == flops.end()) return;
    q_.math = most->first;
    q_.judged_math = narrowest_math(most->first, study_.roofs);
    q_.product_roof = study_.roofs.matrix_roof(q_.judged_math);
  }

  const Study& study_;
  const SampledDevice* sampled_;
  const Accounts& accounts_;
  const OperatorTables& tables_;
  const std::vector<CollectiveSummary>& collectives_;
  const RankTimeline& timeline_;
  const RankStudy& own_;
  Quantities q_;
};

// Label, unit and target; how it was measured is left to the caller.
Metric metric_of(const MetricRow& row, double value) {
  Metric metric;
  metric.name = row.name;
  metric.label = row.label;
  metric.value = value;
  metric.unit = row.unit;
  metric.target = row.target;
  metric.higher_is_better = row.higher_is_better;
  return metric;
}

// A share of a whole that is more than the whole: what must be wrong then.
std::string doubt_of(const Metric& metric) {
  constexpr double kWhole = 101;
  if (metric.unit != "%" || metric.value <= kWhole) return {};
  if (metric.name == "dram_utilisation")
    return "above 100 %: caches serve a part of these bytes, or more bytes were counted than moved";
  if (metric.name == "comm_efficiency")
    return "above 100 %: the links of this machine are faster than the roof, or switches add up on the way";
  if (metric.name == "mfu") return "above 100 %: the roof is too low, or more FLOPs were counted than ran";
  return "above 100 %: the trace contradicts itself";
}

std::string mfu_note(const Quantities& q, const GpuRoofs& roofs, const MetricRow& row) {
  const std::string other = q.math == q.judged_math ? ""
                                                    : fmt::format(", in which products in {} could run",
                                                                  trace::kernel_math_type(q.math));
  return fmt::format("roof: {} in {}{} ({}); {}", format_flop_rate(q.product_roof),
                     trace::kernel_math_type(q.judged_math), other, roofs.source, row.note);
}

std::string sampled_note(const SampledDevice& sampled, const MetricRow& row) {
  std::string note = fmt::format("sampled every {:g} µs", sampled.interval_us);
  if (sampled.steps > 0) note += fmt::format(" over {}", counted(sampled.steps, "step"));
  // Of a number that is estimated otherwise, the note is about the estimate.
  if (row.formula == not_estimated && *row.note != '\0') note += fmt::format("; {}", row.note);
  return note;
}

}  // namespace

double run_ahead_ms(const RankTimeline& timeline) {
  std::vector<double> ahead;
  for (const Work& work : timeline.works)
    if (const HostCall* call = timeline.launch_of(work);
        call != nullptr && work.step != trace::kNoStep && timeline.in_ledger(work))
      ahead.push_back(static_cast<double>(work.start_ns - call->end_ns) * 1e-6);
  return ahead.empty() ? 0 : std::max(0.0, median(ahead));
}

Metric judged_metric(std::string_view name, double value) {
  for (const MetricRow& row : kMetricRows)
    if (row.name == name) return metric_of(row, value);
  throw std::out_of_range(fmt::format("no metric is named {}", name));
}

std::vector<Metric> device_metrics(const Study& study, const Accounts& accounts, const OperatorTables& tables,
                                   const std::vector<CollectiveSummary>& collectives,
                                   const SampledDevice* sampled) {
  const Quantities quantities = Measuring(study, accounts, tables, collectives, sampled).run();
  std::vector<Metric> metrics;
  for (const MetricRow& row : kMetricRows) {
    const std::optional<double> measured =
        sampled != nullptr && row.measured != nullptr ? row.measured(quantities) : std::nullopt;
    const std::optional<double> value = measured ? measured : row.formula(quantities);
    if (!value) continue;
    Metric metric = metric_of(row, *value);
    metric.measured = measured.has_value();
    metric.formula = metric.measured ? row.measured_words : row.words;
    metric.note = metric.measured ? sampled_note(*sampled, row) : row.note;
    if (metric.name == "mfu" && quantities.product_roof > 0)
      metric.note = mfu_note(quantities, study.roofs, row);
    metric.doubt = doubt_of(metric);
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

}  // namespace hone::analyze::device
