// What changed between two runs in the counters of their kernels: the edit–measure loop of a kernel's author.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyze/findings.h"

namespace hone::analyze {

// A number of a kernel in both runs, as CounterFigure.
struct FigureChange {
  std::string section, name, label, unit;
  std::optional<double> a, b;  // nothing: that run does not have it
};

// A kernel that was counted in both runs.
struct KernelChange {
  std::string name;                   // as in the second run
  CountedKernel a, b;                 // without their figures
  std::vector<FigureChange> figures;  // in the order of the sections
  std::vector<std::string> mended;    // rules that only the first run's kernel has
  std::vector<std::string> appeared;  // only the second's
};

// Kernels are matched by their full names and, of several geometries, by geometry, else in order of their time; what is left by
// their short names, because an edit may change types and arguments. In the order of the second run.
std::vector<KernelChange> compare_counters(const Analysis& a, const Analysis& b);

}  // namespace hone::analyze
