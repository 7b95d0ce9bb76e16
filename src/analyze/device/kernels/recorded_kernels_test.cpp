// Kernels with planted faults that ran (tests/traces/ncu/kernel_faults): the planted fault is named first, healthy kernels are left
// alone, and what is promised is what the repaired kernel took.
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "analyze/device/kernels/kernel_study.h"
#include "analyze/device/rules/tables.h"
#include "core/testing/source_folder.h"
#include "trace/import/byte_source.h"
#include "trace/import/ncu/reader.h"
#include "trace/kernel_family.h"

namespace hone::analyze::device {
namespace {

struct Expected {
  std::string kernel, rule, repaired;
};

std::vector<Expected> expectations() {
  std::ifstream file(source_folder() / "tests/traces/ncu/kernel_faults/expected.csv");
  std::string line;
  std::getline(file, line);
  std::vector<Expected> rows;
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    Expected row;
    std::getline(cells, row.kernel, ',');
    std::getline(cells, row.rule, ',');
    std::getline(cells, row.repaired, ',');
    rows.push_back(row);
  }
  return rows;
}

class RecordedKernels : public testing::Test {
 protected:
  void SetUp() override {
    const auto source = trace::open_bytes(source_folder() / "tests/traces/ncu/kernel_faults/raw.csv.gz");
    ASSERT_TRUE(source.ok());
    auto file = trace::ncu::read_ncu(**source);
    ASSERT_TRUE(file.ok()) << file.error().message;
    trace_ = std::move(file->trace);
    groups_ = std::make_unique<CounterGroups>(trace_);
    for (const CounterGroup& group : groups_->rows())
      studies_.emplace(trace::kernel_short_name(trace_.strings.text(group.kernel)),
                       study_kernel(group, &trace_.meta.devices.at(0)));
  }

  const KernelStudy& study(const std::string& kernel) const { return studies_.at(kernel); }

  trace::Trace trace_;
  std::unique_ptr<CounterGroups> groups_;
  std::map<std::string, KernelStudy> studies_;
};

TEST_F(RecordedKernels, ThePlantedFaultIsTheFirstNamed) {
  const std::vector<Expected> rows = expectations();
  ASSERT_GE(rows.size(), 20u);
  for (const Expected& row : rows) {
    const std::vector<KernelFault>& faults = study(row.kernel).faults;
    const std::string_view first = faults.empty() ? "" : row_of(faults.front().rule).id;
    EXPECT_EQ(first, row.rule) << row.kernel;
    for (const KernelFault& fault : faults) EXPECT_FALSE(fault.evidence.empty()) << row.kernel;
  }
}

TEST_F(RecordedKernels, ThePromisedGainIsWhatTheRepairWon) {
  int judged = 0;
  for (const Expected& row : expectations()) {
    if (row.repaired.empty()) continue;
    const double before = study(row.kernel).group->ns(), after = study(row.repaired).group->ns();
    EXPECT_NEAR(study(row.kernel).faults.front().gain() * before, before - after, 0.25 * (before - after))
        << row.kernel;
    ++judged;
  }
  EXPECT_GE(judged, 8);
}

// FLOPs follow from the programs: counters must agree with them.
TEST_F(RecordedKernels, CountWhatTheProgramsDo) {
  // 264 blocks of 1024 threads, 20 000 turns of 8 fused operations, and little besides.
  EXPECT_NEAR(study("chains").group->flops().vector_f32, 264.0 * 1024 * 20'000 * 8 * 2, 1e-3 * 86.5e9);
  // 2^25 floats are read and written once.
  EXPECT_NEAR(study("scale_coalesced").group->dram_bytes(), 2.0 * 4 * (1 << 25), 0.07 * 268e6);
  EXPECT_GT(study("gelu_double_literals").group->flops().vector_f64, 0);
  EXPECT_EQ(study("gelu_float_literals").group->flops().vector_f64, 0);
}

}  // namespace
}  // namespace hone::analyze::device
