#include "analyze/device/operators.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "analyze/device/accounts.h"
#include "analyze/device/rules/tables.h"
#include "analyze/estimate.h"
#include "core/units.h"
#include "trace/kernel_family.h"
#include "trace/link/counted_operators.h"
#include "trace/source_line.h"

namespace hone::analyze::device {
namespace {

constexpr std::size_t kKernelsShown = 20;
constexpr std::size_t kUnknownShown = 5;
constexpr double kNearRoofOfDevice = 0.6;  // what libraries reach on real shapes
// A roof of memory is that of a copy: kernels that read more than they write, or the reverse, stand a little
// above it.
constexpr double kAboveRoof = 1.10;
constexpr double kFasterCache = 4;  // than DRAM, at most

// All places where an operator runs with the same inputs, or with sizes that vary.
struct Group {
  uint32_t op = kNothing;  // of the first place
  std::vector<double> window_ms;
  double ms = 0;
  double works = 0;       // a step
  double executions = 0;  // a step
  double floor_ms = 0;    // a step
  double roof_ms = 0;
  double flops = 0, bytes = 0;          // a step
  WorkKind copies = WorkKind::kKernel;  // between host and device, or not at all
  double copying_ms = 0;                // a step: of such copies, also where the device computes meanwhile
  std::array<double, kBusyCauses> causes{};
  std::array<double, kRuleCount> rules{};
  std::map<uint32_t, double> kernels;  // by string id, ms
  std::map<std::string, double> modules;
  std::map<std::string_view, double> lines;  // of the program's source, ms
};

struct KernelGroup {
  double ms = 0;
  double launches = 0;
  double total_us = 0;
  std::array<double, kBusyCauses> causes{};
  std::unordered_map<uint32_t, double> operators;  // ms
};

bool crosses_host_link(WorkKind kind) {
  return kind == WorkKind::kCopyToDevice || kind == WorkKind::kCopyToHost;
}

template <std::size_t count>
std::size_t largest(const std::array<double, count>& values) {
  return static_cast<std::size_t>(std::max_element(values.begin(), values.end()) - values.begin());
}

// A roof of DRAM holds for what leaves the caches only; one of arithmetic for all.
std::string_view above_roof_words(double fraction, bool memory, double most_of_roof) {
  if (!memory && fraction < most_of_roof) return "above its roof: at a higher clock than products sustain";
  if (memory && fraction < kFasterCache) return "more than DRAM can give: served by L2 in part";
  return memory ? "more than caches give: the roof is wrong, or fewer bytes moved than its shapes say"
                : "more than the roof: the roof is wrong, or fewer FLOPs ran than its shapes say";
}

// Why works of a rule are slow, and what else is; empty: nothing more is known than their cause.
std::string_view rule_words(Rule rule, bool is_product) {
  const DeviceRule& row = row_of(rule);
  return is_product || row.word_of_others.empty() ? row.word : row.word_of_others;
}

// Which slot of a table by rule a work counts in: of what is not known more closely than its cause, one.
std::size_t slot_of(Rule rule) {
  const bool general = rule == general_rule(row_of(rule).cause);
  return static_cast<std::size_t>(general ? Rule::kFloor : rule);
}

class Tables {
 public:
  Tables(const Study& study, std::size_t rank, int top)
      : study_(study),
        trace_(*study.trace),
        timeline_(study.timelines[rank]),
        own_(study.ranks[rank]),
        rank_(rank),
        top_(top) {}

  OperatorTables run() {
    find_host_copies();
    gather();
    std::vector<Group*> order;
    for (auto& [key, group] : groups_) {
      add_up(group);
      order.push_back(&group);
    }
    std::stable_sort(order.begin(), order.end(),
                     [](const Group* a, const Group* b) { return a->ms > b->ms; });
    for (const Group* group : order) operator_row(*group);
    kernels();
    phases();
    coverage(order);
    return std::move(result_);
  }

 private:
  // A call that copies between host and device does little else; of the same operator on the same shapes
  // others stay on the device.
  void find_host_copies() {
    copies_.assign(timeline_.executions, WorkKind::kKernel);
    for (const Work& work : timeline_.works)
      if (work.execution != kNothing && crosses_host_link(work.kind)) copies_[work.execution] = work.kind;
  }

  void gather() {
    executed_.assign(timeline_.executions, 0);
    for (std::vector<Group*>& groups : group_of_) groups.assign(trace_.operators.size(), nullptr);
    std::vector<char> counted(timeline_.works.size(), 0);
    for (const BusyInterval& interval : own_.occupancy.busy) {
      const Work& work = timeline_.works[interval.work];
      const bool first = counted[interval.work] == 0;
      counted[interval.work] = 1;
      if (work.kind != WorkKind::kCollective) {
        by_kernel(interval, work, first);
        if (work.op != kNothing) by_operator(interval, work, first);
      }
      const trace::Phase phase = work.kind == WorkKind::kCollective ? trace::Phase::kCommunication
                                 : work.op == kNothing              ? trace::Phase::kUnknown
                                                                    : trace_.operators[work.op].phase;
      if (!own_.typical.counts(interval.window)) continue;
      const double ms = own_.typical.part_ms(interval.window, interval.ns());
      phase_ms_[static_cast<std::size_t>(phase)] += ms;
      busy_ms_ += ms;
      const bool has_operator =
          work.op != kNothing && !trace::link::is_a_kernels_own(trace_.operators[work.op]);
      if (has_operator || work.kind == WorkKind::kCollective)
        linked_ms_ += ms;
      else if (first)
        unlinked_ += own_.typical.weight[interval.window];
    }
  }

  void by_operator(const BusyInterval& interval, const Work& work, bool first) {
    const trace::Operator& op = trace_.operators[work.op];
    const WorkKind copies = copies_[work.execution];
    Group*& known = group_of_[static_cast<std::size_t>(copies)][work.op];
    if (known == nullptr) known = &groups_[{op.kind, own_.shapes.geometry[work.op], op.phase, copies}];
    Group& group = *known;
    if (group.op == kNothing) {
      group.op = work.op;
      group.copies = copies;
      group.window_ms.resize(timeline_.steps.size());
    }
    group.window_ms[interval.window] += interval.ns() * 1e-6;
    if (!own_.typical.counts(interval.window)) return;
    const double ms = own_.typical.part_ms(interval.window, interval.ns());
    const WorkSplit& split = own_.split.works[interval.work];
    cost(group, work, first, own_.typical.weight[interval.window]);
    group.ms += ms;
    for (std::size_t i = 0; i < kBusyCauses; ++i) group.causes[i] += ms * split.share[i];
    group.rules[slot_of(split.rule)] += ms;
    group.kernels[trace_.spans.name[work.span].index] += ms;
    if (!op.module.empty()) group.modules[op.module] += ms;
    if (const std::string_view line = trace::source_line(op.provenance); !line.empty())
      group.lines[line] += ms;
  }

  void by_kernel(const BusyInterval& interval, const Work& work, bool first) {
    if (!own_.typical.counts(interval.window)) return;
    KernelGroup& group = kernels_[trace_.spans.name[work.span].index];
    const double ms = own_.typical.part_ms(interval.window, interval.ns());
    group.ms += ms;
    if (first) {
      const double weight = own_.typical.weight[interval.window];
      group.launches += weight;
      group.total_us += static_cast<double>(work.ns()) * 1e-3 * weight;
    }
    const WorkSplit& split = own_.split.works[interval.work];
    for (std::size_t i = 0; i < kBusyCauses; ++i) group.causes[i] += ms * split.share[i];
    if (work.op != kNothing) group.operators[work.op] += ms;
  }

  // What executions cost, counted by the same steps as their time. `first`: the first of the work's intervals.
  void cost(Group& group, const Work& work, bool first, double weight) {
    if (first) group.works += weight;
    if (first && crosses_host_link(work.kind)) {
      const trace::Copy* copy = trace::find_detail(trace_.copies, work.span);
      group.bytes += (copy == nullptr ? 0 : copy->bytes) * weight;
      group.copying_ms += static_cast<double>(work.ns()) * weight * 1e-6;
    }
    char& executed = executed_[work.execution];
    if (executed != 0) return;
    executed = 1;
    group.executions += weight;
    // A byte crosses the link once, and neither waits for DRAM nor computes.
    if (crosses_host_link(group.copies)) return;
    const trace::Operator& op = trace_.operators[work.op];
    const OperatorUse& use = own_.split.uses.rows[work.op];
    group.floor_ms += use.floor_ns * weight * 1e-6;
    group.roof_ms += use.roof_ns * weight * 1e-6;
    group.flops += op.flops * weight;
    group.bytes += op.bytes() * weight;
  }

  void add_up(Group& group) {
    if (crosses_host_link(group.copies)) {
      if (study_.roofs.host_link > 0) group.roof_ms = group.bytes / study_.roofs.host_link * 1e3;
      return;
    }
    result_.floor_ms += std::min(group.ms, group.floor_ms);
    result_.flops += group.flops;
    if (own_.split.uses.rows[group.op].is_product) result_.product_flops += group.flops;
    result_.bytes += group.bytes;
  }

  // In which it does what its rates are of.
  static double working_ms(const Group& group) {
    return crosses_host_link(group.copies) ? group.copying_ms : group.ms;
  }

  enum class Bound : uint8_t { kUnknown, kHostLink, kDram, kCompute };

  Bound bound_of(const Group& group) const {
    if (crosses_host_link(group.copies))
      return study_.roofs.host_link > 0 ? Bound::kHostLink : Bound::kUnknown;
    const OperatorUse& use = own_.split.uses.rows[group.op];
    if (use.roof_ns <= 0) return Bound::kUnknown;
    const double traffic =
        study_.roofs.dram > 0 ? trace_.operators[group.op].bytes() / study_.roofs.dram * 1e9 : 0;
    return traffic >= use.roof_ns * 0.999 ? Bound::kDram : Bound::kCompute;
  }

  std::string roof_of(const Group& group) const {
    switch (bound_of(group)) {
      case Bound::kUnknown:
        return "unknown";
      case Bound::kHostLink:
        return "host link";
      case Bound::kDram:
        return "DRAM";
      case Bound::kCompute:
        break;
    }
    const OperatorUse& use = own_.split.uses.rows[group.op];
    return use.is_product ? fmt::format("{} compute", trace::kernel_math_type(use.math)) : "f32 compute";
  }

  std::string main_kernel(const Group& group) const {
    const auto at = std::max_element(group.kernels.begin(), group.kernels.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
    return at == group.kernels.end()
               ? std::string()
               : trace::kernel_short_name(trace_.strings.text(trace::StringId{at->first}));
  }

  // What it achieved, where no roof says what that is worth.
  static std::string rates(const Group& group) {
    std::string words;
    const double seconds = working_ms(group) * 1e-3;
    if (group.flops > 0) words += "; " + format_flop_rate(group.flops / seconds);
    if (group.bytes > 0) words += "; " + format_byte_rate(group.bytes / seconds);
    return words.empty() ? "; its FLOPs and bytes are not known" : words;
  }

  std::string why(const Group& group, double fraction) const {
    const auto rule = static_cast<Rule>(largest(group.rules));
    std::string words = fmt::format("{} × {} on {}", fmt::format("{:.3g}", group.executions),
                                    format_ms(group.executions > 0 ? group.ms / group.executions : group.ms),
                                    main_kernel(group));
    const Bound bound = bound_of(group);
    if (bound == Bound::kUnknown) return words + rates(group);
    const bool memory = bound != Bound::kCompute;
    const double seconds = working_ms(group) * 1e-3;
    words += fmt::format(
        "; {} of the {} roof ({})", fraction > 9.99 ? ">999 %" : format_percent(fraction), roof_of(group),
        memory ? format_byte_rate(group.bytes / seconds) : format_flop_rate(group.flops / seconds));
    if (bound == Bound::kHostLink) return words + host_copy_words(group);
    // Convolutions have algorithms of fewer FLOPs.
    const double most_of_roof = trace_.operators[group.op].op_class == trace::OperatorClass::kConvolution
                                    ? 0
                                    : study_.roofs.most_of_roof();
    if (fraction > kAboveRoof)
      return words + "; " + std::string(above_roof_words(fraction, memory, most_of_roof));
    if (const std::string_view why = rule_words(rule, own_.split.uses.rows[group.op].is_product);
        !why.empty())
      return words + fmt::format("; {}", why);
    if (fraction >= kNearRoofOfDevice) return words + "; as close as libraries come";
    if (group.works > 0 && group.ms / group.works < 0.008)
      return words + "; too short to reach it: latency dominates";
    return words;
  }

  // The line of source that most of its time comes from.
  static std::string line_words(const Group& group) {
    if (group.lines.empty()) return {};
    const auto most = std::max_element(group.lines.begin(), group.lines.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    const std::size_t others = group.lines.size() - 1;
    return fmt::format("; {}{}", most->first, others == 0 ? "" : fmt::format(" and {} more", others));
  }

  static std::string host_copy_words(const Group& group) {
    constexpr double kHidden = 0.9;
    return group.ms < kHidden * group.copying_ms ? "; the device computes during a part of it" : "";
  }

  void operator_row(const Group& group) {
    if (group.ms <= 0) return;
    const trace::Operator& op = trace_.operators[group.op];
    const double fraction = group.roof_ms / working_ms(group);
    OperatorTime row;
    row.op = group.op;
    row.name = operator_row_name(study_, rank_, group.op);
    row.kind = op.kind;
    row.op_class = op.op_class;
    row.implementation = main_kernel(group);
    for (const auto& [module, ms] : group.modules) row.provenance.push_back(module);
    row.samples_ms = group.window_ms;
    row.ms = median_estimate(row.samples_ms);
    row.ms.median = group.ms;
    row.ms.low = std::min(row.ms.low, group.ms);
    row.ms.high = std::max(row.ms.high, group.ms);
    row.share = own_.typical.ms > 0 ? group.ms / own_.typical.ms : 0;
    row.flops = group.flops;
    row.bytes = group.bytes;
    row.floor_ms = group.floor_ms;
    row.roof = roof_of(group);
    row.bound_by_dram = bound_of(group) == Bound::kDram;
    row.fraction_of_roof = fraction;
    row.main_cause = static_cast<Cause>(largest(group.causes));
    row.calls = whole_count(group.executions);
    if (static_cast<int>(result_.top.size()) < top_) result_.top.push_back(top_row(group, row));
    if (group.flops > 0 && group.bytes > 0 && !crosses_host_link(group.copies))
      result_.roofline.push_back({row.name, row.kind, row.op_class, group.flops / group.bytes,
                                  group.flops / (group.ms * 1e-3), group.ms, fraction, row.roof});
    result_.operators.push_back(std::move(row));
  }

  TopOperator top_row(const Group& group, const OperatorTime& row) const {
    TopOperator top;
    top.rank = static_cast<int>(result_.top.size()) + 1;
    top.op = row.op;
    top.name = row.name;
    top.kind = row.kind;
    top.ms = group.ms;
    top.share = row.share;
    top.flops = top.least_flops = top.executed_flops = group.flops;
    top.bytes = group.bytes;
    top.intensity = group.bytes > 0 ? group.flops / group.bytes : 0;
    top.roof = row.roof;
    top.floor_ms = group.floor_ms;
    top.fraction_of_roof = row.fraction_of_roof;
    top.why = why(group, row.fraction_of_roof) + line_words(group);
    return top;
  }

  void kernels() {
    std::vector<std::pair<uint32_t, const KernelGroup*>> order;
    for (const auto& [name, group] : kernels_) order.push_back({name, &group});
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.second->ms > b.second->ms; });
    if (order.size() > kKernelsShown) order.resize(kKernelsShown);
    for (const auto& [name, group] : order) {
      KernelTime row;
      row.full_name = trace_.strings.text(trace::StringId{name});
      const trace::KernelFamily& family = trace_.kernel(trace::StringId{name});
      row.name = trace::kernel_short_name(row.full_name);
      row.family = family.text();
      row.precision = trace::kernel_math_name(family.math);
      row.launches = whole_count(group->launches);
      row.ms = group->ms;
      row.share = own_.typical.ms > 0 ? group->ms / own_.typical.ms : 0;
      row.mean_us = group->launches > 0 ? group->total_us / group->launches : 0;
      row.main_cause = static_cast<Cause>(largest(group->causes));
      std::map<std::string, double> by_title;  // an operator stands at several places
      for (const auto& [op, ms] : group->operators) by_title[operator_title(study_, rank_, op)] += ms;
      std::vector<std::pair<double, std::string>> callers;
      for (const auto& [op, ms] : by_title) callers.push_back({ms, op});
      std::sort(callers.rbegin(), callers.rend());
      for (const auto& [ms, op] : callers)
        if (row.operators.size() < 3) row.operators.push_back(op);
      result_.kernels.push_back(std::move(row));
    }
  }

  void phases() {
    for (std::size_t i = 0; i < phase_ms_.size(); ++i)
      if (phase_ms_[i] > 0)
        result_.phases.push_back({static_cast<trace::Phase>(i), phase_ms_[i],
                                  own_.typical.ms > 0 ? phase_ms_[i] / own_.typical.ms : 0});
  }

  void coverage(const std::vector<Group*>& order) {
    Coverage& coverage = result_.coverage;
    double costed = phase_ms_[static_cast<std::size_t>(trace::Phase::kCommunication)];
    for (const Group* group : order) {
      if (group->flops > 0 || group->bytes > 0)
        costed += group->ms;
      else if (coverage.unknown.size() < kUnknownShown && group->ms > 0)
        coverage.unknown.push_back(fmt::format("{}: {}", operator_title(study_, rank_, group->op),
                                               fixed_ms(group->ms, own_.typical.ms)));
    }
    coverage.linked_share = busy_ms_ > 0 ? linked_ms_ / busy_ms_ : 0;
    coverage.costed_share = busy_ms_ > 0 ? std::min(1.0, costed / busy_ms_) : 0;
    coverage.unlinked_kernels = unlinked_;
  }

  const Study& study_;
  const trace::Trace& trace_;
  const RankTimeline& timeline_;
  const RankStudy& own_;
  std::size_t rank_;
  int top_;
  std::map<std::tuple<std::string, std::string, trace::Phase, WorkKind>, Group> groups_;
  std::array<std::vector<Group*>, kWorkKinds>
      group_of_;                  // by what it copies, then by operator; null: none yet
  std::vector<WorkKind> copies_;  // by execution: a copy between host and device, or a kernel
  std::vector<char> executed_;    // by execution: counted already
  std::map<uint32_t, KernelGroup> kernels_;
  std::array<double, trace::kPhaseCount> phase_ms_{};
  double busy_ms_ = 0, linked_ms_ = 0, unlinked_ = 0;
  OperatorTables result_;
};

}  // namespace

OperatorTables make_operator_tables(const Study& study, std::size_t rank, int top) {
  return Tables(study, rank, top).run();
}

std::string operator_row_name(const Study& study, std::size_t rank, uint32_t row) {
  const trace::Operator& op = study.trace->operators[row];
  const bool says_so = op.kind.find("ackward") != std::string::npos;
  return operator_title(study, rank, row) +
         (op.phase == trace::Phase::kBackward && !says_so ? " (backward)" : "");
}

}  // namespace hone::analyze::device
