#include "analyze/host_program.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analyze/framework_text.h"
#include "analyze/ledger.h"
#include "analyze/rules.h"
#include "core/units.h"

namespace hone::analyze {
namespace {

constexpr std::size_t kNamedHostOperators = 3;
constexpr double kWorthSayingOfStep = 0.01;  // of the step, without known costs

constexpr FrameworkText kRecordTheDevice = {
    .pytorch =
        "record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA] (or the end of the file "
        "is missing)",
    .native =
        "record the device, too, and let no other profiler hold it (or the end of the file is missing)"};
constexpr FrameworkText kRecordCosts = {
    .pytorch = "; record with record_shapes=True",
    .tensorflow = "; those of what tf.function(jit_compile=True) compiles are known"};

// By `hone profile` or hone.record(), which record shapes and have no such setting: they alone tell what the program had of the host.
bool recorded_by_hone(const trace::Trace& trace) {
  return !trace.meta.blocks.empty() || !trace.host_use.empty();
}

double busy_ms(const Analysis& analysis) {
  double busy = 0;
  for (const LedgerRow& row : analysis.ledger)
    if (is_busy(row.cause)) busy += row.ms;
  return busy;
}

// By kind, whatever their inputs: the tables below have those.
std::string largest_operators(const Analysis& analysis) {
  std::map<std::string, double> shares;
  for (const OperatorTime& row : analysis.operators) {
    const std::size_t colons = row.kind.rfind("::");
    shares[colons == std::string::npos ? row.kind : row.kind.substr(colons + 2)] += row.share;
  }
  std::vector<std::pair<double, std::string>> order;
  for (const auto& [kind, share] : shares) order.push_back({share, kind});
  std::sort(order.rbegin(), order.rend());
  std::string names;
  for (std::size_t i = 0; i < std::min(kNamedHostOperators, order.size()); ++i)
    names += fmt::format("{}{} ({})", i == 0 ? "" : ", ", order[i].second, format_percent(order[i].first));
  return names;
}

}  // namespace

bool device_is_missing(const trace::Trace& trace) {
  return std::find(trace.spans.category.begin(), trace.spans.category.end(), trace::Category::kRuntime) !=
         trace.spans.category.end();
}

bool ends_before_device(const trace::Trace& trace) {
  return trace.meta.cut_off && !trace.meta.devices.empty() && !device_is_missing(trace);
}

Verdict host_program_verdict(const Analysis& analysis, bool device_missing) {
  const double step = analysis.step.ms.median, busy = busy_ms(analysis);
  Verdict verdict = device_missing ? Verdict{} : make_verdict(analysis.ledger, step);
  if (verdict.cause || (analysis.floor_known && !device_missing)) return verdict;
  verdict.judged = false;
  if (device_missing) {
    verdict.given = false;
    verdict.sentence = fmt::format(
        "Host only, as the device's work is not in the trace: operators run for {} of the {} step; whether "
        "the "
        "device was busy, or waited for them, cannot be told.",
        fixed_ms(busy, step), fixed_ms(step, step));
    return verdict;
  }
  verdict.sentence = fmt::format(
      "Not judged: operators run for {} of the {} step ({}), and without the roofs of the machine nothing "
      "says how fast they could be. Nothing else could win back more than {:g} %.",
      fixed_ms(busy, step), fixed_ms(step, step), format_percent(step > 0 ? busy / step : 0),
      kHealthyShare * 100);
  if (!analysis.operators.empty())
    verdict.sentence += fmt::format(" Most time: {}.", largest_operators(analysis));
  return verdict;
}

std::vector<std::string> host_program_warnings(const trace::Trace& trace, const StepProfile& profile) {
  std::vector<std::string> warnings;
  if (device_is_missing(trace))
    warnings.push_back(
        fmt::format("the program calls a device, but nothing that ran there is in the trace: {}",
                    kRecordTheDevice.of(trace.meta.framework)));
  else if (!profile.judged && !ends_before_device(trace))
    warnings.push_back(
        "to judge operators by what the machine can do: `hone ceilings --json roofs.json` on it, then add "
        "--roofs roofs.json");
  double unknown_ms = 0;
  std::vector<std::string> unknown;  // longest first, as the profile has them
  for (const OperatorProfile& entry : profile.operators) {
    const trace::Operator& op = trace.operators[entry.op];
    if (op.flops > 0 || op.bytes() > 0 || op.op_class == trace::OperatorClass::kLayout) continue;
    unknown.push_back(op.name);
    unknown_ms += entry.ms.median;
  }
  if (profile.judged && unknown_ms > kWorthSayingOfStep * profile.step_ms)
    warnings.push_back(
        fmt::format("{} ({}: {}{}) {} no known cost, so their floor counts as 0{}",
                    counted(static_cast<double>(unknown.size()), "operator"), format_ms(unknown_ms),
                    fmt::join(std::span(unknown).first(std::min(kNamedHostOperators, unknown.size())), ", "),
                    unknown.size() > kNamedHostOperators ? ", …" : "", unknown.size() == 1 ? "has" : "have",
                    recorded_by_hone(trace) ? std::string_view() : kRecordCosts.of(trace.meta.framework)));
  return warnings;
}

std::vector<PhaseShare> host_phases(const trace::Trace& trace, const StepProfile& profile) {
  std::array<double, trace::kPhaseCount> ms{};
  for (const OperatorProfile& entry : profile.operators)
    ms[static_cast<std::size_t>(trace.operators[entry.op].phase)] += entry.ms.median;
  std::vector<PhaseShare> phases;
  for (std::size_t i = 0; i < ms.size(); ++i)
    if (ms[i] > 0)
      phases.push_back(
          {static_cast<trace::Phase>(i), ms[i], profile.step_ms > 0 ? ms[i] / profile.step_ms : 0});
  return phases;
}

}  // namespace hone::analyze
