// Step times of all recorded programs against those of PyTorch's own reader of profiles and against the pace
// of the device, both made from the same files by a program that shares nothing with hone
// (tests/traces/record/profiler_steps.py).
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "analyze/analyze.h"
#include "core/statistics.h"
#include "core/testing/source_folder.h"
#include "trace/import/import.h"
#include "trace/link/link.h"

namespace hone::analyze {
namespace {

namespace fs = std::filesystem;

constexpr double kOfProfiler = 0.001;  // the same definition: only rounding is left
constexpr double kOfPeriod = 0.01;
constexpr double kEven = 1.1;

fs::path traces() { return source_folder() / "tests" / "traces"; }

// What the table says of one recording; of each step but for `period_ms`, which the first lacks.
struct Reference {
  std::vector<double> profiler_ms, host_ms, period_ms;
};

std::map<std::string, Reference> references() {
  std::map<std::string, Reference> all;
  std::ifstream table(traces() / "profiler_steps.csv");
  std::string line, file, step, profiler, host, period;
  std::getline(table, line);
  while (std::getline(table, line)) {
    std::istringstream cells(line);
    for (std::string* cell : {&file, &step, &profiler, &host, &period}) {
      cell->clear();
      std::getline(cells, *cell, ',');
    }
    Reference& reference = all[file];
    reference.profiler_ms.push_back(std::stod(profiler));
    reference.host_ms.push_back(std::stod(host));
    if (!period.empty()) reference.period_ms.push_back(std::stod(period));
  }
  return all;
}

StepTime steps_of(const std::string& file) {
  const std::vector<fs::path> files = {traces() / file};
  auto trace = trace::import_trace(files);
  EXPECT_TRUE(trace.ok() && trace::link_trace(*trace).ok()) << file;
  auto analysis = analyze_trace(*trace, Roofs{}, {});
  EXPECT_TRUE(analysis.ok()) << file;
  return analysis.ok() ? analysis->step : StepTime{};
}

TEST(ProfilerSteps, AreKnownOfEveryRecording) {
  const auto known = references();
  for (const char* folder : {"recorded", "real"})
    for (const fs::directory_entry& entry : fs::directory_iterator(traces() / folder)) {
      const std::string name = entry.path().filename().string();
      if (!name.ends_with(".json.gz")) continue;
      EXPECT_TRUE(known.contains(std::string(folder) + "/" + name))
          << name << ": make the table anew with tests/traces/record/profiler_steps.py";
    }
}

TEST(ProfilerSteps, HonesTakeAsLongEachOfThem) {
  for (const auto& [file, reference] : references()) {
    const std::vector<double> ours = steps_of(file).samples_ms;
    ASSERT_EQ(ours.size(), reference.profiler_ms.size()) << file;
    for (std::size_t k = 0; k < ours.size(); ++k)
      EXPECT_NEAR(ours[k], reference.profiler_ms[k], kOfProfiler * reference.profiler_ms[k])
          << file << " " << k;
  }
}

// The host is through with a step sooner than the device, steps are even, and the device keeps one pace.
bool device_sets_the_pace(const Reference& reference) {
  const auto [least, most] = std::minmax_element(reference.period_ms.begin(), reference.period_ms.end());
  const auto [shortest, longest] =
      std::minmax_element(reference.profiler_ms.begin(), reference.profiler_ms.end());
  return least != reference.period_ms.end() && *most <= (1 + kOfPeriod) * *least &&
         median(reference.host_ms) < 0.97 * *least && *longest <= kEven * *shortest;
}

TEST(ProfilerSteps, HonesTakeAsLongAsTheDeviceFromOneStepToTheNextWhereItSetsThePace) {
  int paced = 0;
  for (const auto& [file, reference] : references()) {
    if (!device_sets_the_pace(reference)) continue;
    ++paced;
    const double period = median(reference.period_ms);
    EXPECT_NEAR(steps_of(file).ms.median, period, kOfPeriod * period) << file;
  }
  EXPECT_GE(paced, 70);
}

}  // namespace
}  // namespace hone::analyze
