// How far runs of one variant of a program differ in their steps.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hone::lab {

class RunNoise {
 public:
  // What follows is apart in time from what was before: a machine that got slower in between says nothing of the noise.
  void begin_phase() { ++phase_; }
  void add(const std::vector<std::string>& changes, double step_ms);
  // Standard deviation of the step as a share, pooled over all variants and phases; nothing: no variant ran twice.
  std::optional<double> measured() const;
  // What is reckoned with: no less than runs differ by at least.
  double value() const;

 private:
  int phase_ = 0;
  std::map<std::pair<int, std::vector<std::string>>, std::vector<double>> logs_;
};

}  // namespace hone::lab
