#include "analyze/compare_counters.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace hone::analyze {
namespace {

bool same_launch(const CountedKernel& a, const CountedKernel& b) {
  return a.full_name == b.full_name && a.grid == b.grid && a.block == b.block;
}
bool same_name(const CountedKernel& a, const CountedKernel& b) { return a.full_name == b.full_name; }
bool same_short_name(const CountedKernel& a, const CountedKernel& b) { return a.name == b.name; }

constexpr std::size_t kNoPartner = static_cast<std::size_t>(-1);

// Of each kernel of `b` its partner among those of `a`: the surest matches first.
std::vector<std::size_t> partners(const std::vector<CountedKernel>& a, const std::vector<CountedKernel>& b) {
  std::vector<std::size_t> partner(b.size(), kNoPartner);
  std::vector<char> taken(a.size(), 0);
  for (const auto match : {same_launch, same_name, same_short_name})
    for (std::size_t k = 0; k < b.size(); ++k) {
      if (partner[k] != kNoPartner) continue;
      for (std::size_t i = 0; i < a.size() && partner[k] == kNoPartner; ++i)
        if (taken[i] == 0 && match(a[i], b[k])) partner[k] = i;
      if (partner[k] != kNoPartner) taken[partner[k]] = 1;
    }
  return partner;
}

FigureChange* find_figure(std::vector<FigureChange>& rows, const CounterFigure& figure) {
  const auto at = std::find_if(rows.begin(), rows.end(), [&](const FigureChange& row) {
    return row.section == figure.section && row.name == figure.name;
  });
  return at == rows.end() ? nullptr : &*at;
}

std::vector<FigureChange> figure_changes(const CountedKernel& a, const CountedKernel& b) {
  std::vector<FigureChange> rows;
  for (const CounterFigure& figure : a.figures)
    rows.push_back({figure.section, figure.name, figure.label, figure.unit, figure.value, std::nullopt});
  for (const CounterFigure& figure : b.figures) {
    if (FigureChange* row = find_figure(rows, figure); row != nullptr) {
      row->b = figure.value;
      continue;
    }
    // after the others of its section
    const auto last = std::find_if(rows.rbegin(), rows.rend(),
                                   [&](const FigureChange& row) { return row.section == figure.section; });
    rows.insert(last == rows.rend() ? rows.end() : last.base(),
                {figure.section, figure.name, figure.label, figure.unit, std::nullopt, figure.value});
  }
  return rows;
}

std::vector<std::string> rules_only_of(const CountedKernel& kernel, const CountedKernel& other) {
  std::vector<std::string> rules;
  for (const KernelFinding& finding : kernel.findings)
    if (std::none_of(other.findings.begin(), other.findings.end(),
                     [&](const KernelFinding& each) { return each.rule == finding.rule; }))
      rules.push_back(finding.rule);
  return rules;
}

}  // namespace

std::vector<KernelChange> compare_counters(const Analysis& a, const Analysis& b) {
  const std::vector<std::size_t> partner = partners(a.counted_kernels, b.counted_kernels);
  std::vector<KernelChange> rows;
  for (std::size_t k = 0; k < b.counted_kernels.size(); ++k) {
    if (partner[k] == kNoPartner) continue;
    const CountedKernel &first = a.counted_kernels[partner[k]], &second = b.counted_kernels[k];
    KernelChange row;
    row.name = second.name;
    row.figures = figure_changes(first, second);
    row.mended = rules_only_of(first, second);
    row.appeared = rules_only_of(second, first);
    row.a = first;
    row.b = second;
    row.a.figures.clear();
    row.b.figures.clear();
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace hone::analyze
