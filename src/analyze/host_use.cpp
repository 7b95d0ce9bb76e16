#include "analyze/host_use.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "analyze/withhold.h"
#include "core/units.h"

namespace hone::analyze {
namespace {

struct UseRow {
  const char* name;
  const char* label;
  const char* unit;
  double trace::HostUse::*what;
  double scale;          // to the unit, of what comes in a second or in a step
  bool a_step;           // otherwise a second
  double worth_telling;  // from here on, in the unit
  const char* formula;
  const char* note;
};

constexpr UseRow kUseRows[] = {
    {"cpu_wait_ms", "the main thread waited for a CPU", "ms", &trace::HostUse::main_in_line_s, 1e3, true,
     0.05, "time in which it could have run and had no CPU, a step",
     "more threads and processes want to run than there are CPUs, or the container's limit holds them back"},
    {"host_cpus", "CPUs kept busy", "", &trace::HostUse::cpu_s, 1, false, 0.005,
     "CPU time of the process and of all that it started ÷ time", ""},
    {"disk_read_gb_per_s", "read from disks", "GB/s", &trace::HostUse::bytes_read, 1e-9, false, 0.001,
     "bytes that the process and all that it started had to fetch from disks ÷ time", ""},
    {"disk_write_gb_per_s", "written to disks", "GB/s", &trace::HostUse::bytes_written, 1e-9, false, 0.001,
     "bytes that they gave to be written ÷ time", ""},
    {"disk_wait_ms", "waited for disks", "ms", &trace::HostUse::disk_wait_s, 1e3, true, 0.05,
     "time of the processes' main threads in which the kernel waited for a disk for them, a step", ""},
    {"network_received_gb_per_s", "received from networks", "GB/s", &trace::HostUse::bytes_received, 1e-9,
     false, 0.01, "bytes that the machine received ÷ time", "of all programs on the machine"},
    {"major_faults", "pages fetched from disks", "1/step", &trace::HostUse::major_faults, 1, true, 0.5,
     "page faults that had to wait for a disk, a step",
     "memory that is mapped from files, or has been swapped out"},
    {"minor_faults", "pages mapped anew", "1/step", &trace::HostUse::minor_faults, 1, true, 1000,
     "page faults without a disk, a step", "memory that is given back and taken again, 4 KiB a page"},
};

// Of what waited for a CPU beside its work, a verdict can tell nothing. What was found stays, of which nothing is promised: what to
// try once the program has its CPUs.
void withhold_without_cpu(double share, Analysis& analysis) {
  std::vector<Finding> findings = std::exchange(analysis.findings, {});
  withhold_verdict(
      fmt::format("No verdict: the program did not get a CPU. Its main thread could have run for {} of the "
                  "time and had none, as more threads want to run than there are CPUs, of this program or of "
                  "others; what operators and host lose by that cannot be told from what they lose by "
                  "themselves. Give it the machine alone, or fewer threads and worker processes, and profile "
                  "again.",
                  format_percent(share)),
      analysis);
  for (Finding& finding : findings) finding.predicted_gain_ms = 0;
  std::ranges::stable_sort(findings, std::ranges::greater(), &Finding::ms);
  analysis.findings = std::move(findings);
}

}  // namespace

trace::HostUse total_host_use(const trace::Trace& trace, int rank) {
  trace::HostUse all;
  all.rank = rank;
  for (const trace::HostUse& use : trace.host_use) {
    if (use.rank != rank) continue;
    all.seconds += use.seconds;
    all.main_in_line_s += use.main_in_line_s;
    for (const UseRow& row : kUseRows)
      if (row.what != &trace::HostUse::main_in_line_s) all.*row.what += use.*row.what;
  }
  return all;
}

std::vector<Metric> host_use_metrics(const trace::HostUse& use, double step_ms) {
  std::vector<Metric> metrics;
  if (use.seconds <= 0) return metrics;
  for (const UseRow& row : kUseRows) {
    const double value = use.*row.what / use.seconds * (row.a_step ? step_ms * 1e-3 : 1) * row.scale;
    if (value < row.worth_telling) continue;
    Metric metric;
    metric.name = row.name;
    metric.label = row.label;
    metric.value = value;
    metric.unit = row.unit;
    metric.higher_is_better = false;
    metric.formula = row.formula;
    metric.note = row.note;
    metrics.push_back(std::move(metric));
  }
  return metrics;
}

void tell_without_cpu(const trace::HostUse& use, Analysis& analysis) {
  constexpr double kMatters = 0.1;    // of the step, in which the device waits
  constexpr double kNoVerdict = 0.2;  // of the time
  if (use.seconds <= 0) return;
  const double share = std::min(1.0, use.main_in_line_s / use.seconds);
  double idle = 0;
  for (const LedgerRow& row : analysis.ledger)
    if (!is_busy(row.cause)) idle += row.share;
  if (analysis.subject == Subject::kDeviceProgram && idle < kMatters) return;
  analysis.without_cpu = share;
  if (!analysis.lacked_cpu()) return;
  if (share > kNoVerdict) {
    withhold_without_cpu(share, analysis);
    return;
  }
  analysis.warnings.insert(
      analysis.warnings.begin(),
      fmt::format("the main thread could have run for {} of the time and had no CPU: more threads want to "
                  "run than there are CPUs, of this program or of others. What its operators and its host "
                  "lose by that is in all their times; give it the machine alone, or fewer threads and "
                  "worker processes, and profile again",
                  format_percent(share)));
}

}  // namespace hone::analyze
