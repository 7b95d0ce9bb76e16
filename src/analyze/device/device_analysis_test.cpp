// What holds for every trace of a device, whatever is in it: unknown devices, missing launches, no steps.
#include "analyze/device/device_analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analyze/device/busy/gpu_roofs.h"
#include "analyze/device/testing/fabricate_ranks.h"
#include "analyze/device/testing/fabricate_works.h"
#include "core/testing/no_threads.h"
#include "trace/testing/add_span.h"

namespace hone::analyze::device {
namespace {

using testing::Contains;
using testing::HasSubstr;

// Three steps of ten kernels on one stream; every second launch is missing if asked for.
trace::Trace program(const char* device, bool with_steps = true, bool lose_launches = false) {
  trace::Trace trace;
  trace.meta.devices = {{0, 0, device, 80e9, 132, 9, 0}};
  const trace::TrackId process = add_process(trace);
  const trace::TrackId thread = add_thread(trace, process), stream = add_stream(trace, process);
  trace::Operator op;
  op.name = op.kind = "aten::mul";
  op.op_class = trace::OperatorClass::kPointwise;
  op.dtype = DType::kF32;
  op.flops = 1e6;
  op.bytes_read = op.bytes_written = 4e6;
  trace.add_operator(op);
  for (int step = 0; step < 3; ++step) {
    const double start = 1000 * (step + 1);
    if (with_steps)
      add_span(trace, {.on = thread,
                       .category = trace::Category::kStep,
                       .name = "step",
                       .from_us = start,
                       .us = 900,
                       .step = step});
    for (int i = 0; i < 10; ++i) {
      const double at = start + i * 80;
      trace::SpanWords kernel{.on = stream,
                              .category = trace::Category::kKernel,
                              .name = "vectorized_elementwise_kernel",
                              .from_us = at + 10,
                              .us = 60,
                              .step = step,
                              .op = {0}};
      if (!lose_launches || i % 2 == 0) {
        add_launch(trace, {.on = thread, .from_us = at, .us = 5}, kernel);
      } else {
        kernel.correlation = trace.spans.size() + 1;
        add_span(trace, kernel);
      }
    }
  }
  return trace;
}

double sum(const Analysis& analysis) {
  double total = 0;
  for (const LedgerRow& row : analysis.ledger) total += row.ms;
  return total;
}

// Parts of it run side by side where they can.
TEST(DeviceAnalysis, IsTheSameWhereTheSystemGrantsNoThreads) {
  fabricate::Ranks made(3);
  for (int step = 0; step < 4; ++step) {
    for (int rank = 0; rank < 3; ++rank) {
      made.begin_step(rank);
      for (int i = 0; i < 10; ++i) made.launch(rank, 100 + 50 * rank);
    }
    made.collective({0, 1, 2}, 50);
    for (int rank = 0; rank < 3; ++rank) {
      made.wait(rank);
      made.end_step(rank);
    }
  }
  const auto with = analyze_device_trace(made.trace(), Roofs{}, {});
  const NoThreads none;
  if (!none.enforced()) GTEST_SKIP() << "threads cannot be refused here";
  const auto without = analyze_device_trace(made.trace(), Roofs{}, {});
  ASSERT_TRUE(with.ok() && without.ok());
  EXPECT_EQ(with->verdict.sentence, without->verdict.sentence);
  ASSERT_EQ(with->ledger.size(), without->ledger.size());
  for (std::size_t i = 0; i < with->ledger.size(); ++i) {
    EXPECT_EQ(with->ledger[i].ms, without->ledger[i].ms);
    EXPECT_EQ(with->ledger[i].predicted_gain_ms, without->ledger[i].predicted_gain_ms);
  }
  EXPECT_EQ(with->critical_path.size(), without->critical_path.size());
  EXPECT_EQ(with->operators.size(), without->operators.size());
}

TEST(DeviceAnalysis, DoesNotCallADeviceOfUnknownRoofsHealthy) {
  const auto analysis = analyze_device_trace(program("Frobnicator 9000"), Roofs{}, {});
  ASSERT_TRUE(analysis.ok());
  EXPECT_FALSE(analysis->floor_known);
  ASSERT_EQ(analysis->ledger.front().cause, Cause::kUnjudged);
  EXPECT_THAT(analysis->ledger.front().title, HasSubstr("not known what they need"));
  for (const std::string& line : analysis->ledger.front().evidence)
    EXPECT_THAT(line, Not(HasSubstr("roofs")));
  EXPECT_FALSE(analysis->verdict.healthy());
  for (const Metric& metric : analysis->targets) EXPECT_NE(metric.name, "mfu");  // unknown, not 0
  for (const TopOperator& row : analysis->top) EXPECT_THAT(row.why, HasSubstr("GB/s"));
}

TEST(DeviceAnalysis, SaysThatKernelsOfUnknownWorkAreNotJudged) {
  trace::Trace trace = program("NVIDIA H200");
  trace.operators[0].flops = trace.operators[0].bytes_read = trace.operators[0].bytes_written = 0;
  int kernels = 0;
  for (std::size_t i = 0; i < trace.spans.size(); ++i)  // busy all the time
    if (trace.spans.category[i] == trace::Category::kKernel)
      trace.spans.duration_ns[i] = ++kernels % 10 == 0 ? 250'000 : 79'000;
  const auto analysis = analyze_device_trace(trace, Roofs{}, {});
  ASSERT_TRUE(analysis.ok());
  EXPECT_FALSE(analysis->verdict.cause.has_value()) << analysis->verdict.sentence;
  EXPECT_THAT(analysis->verdict.sentence, HasSubstr("is not judged"));
  EXPECT_FALSE(analysis->floor_known);
}

// 8 MB in 60 µs are less than DRAM gives; in 1 µs no memory gives them.
TEST(DeviceAnalysis, SaysWhatExceedsItsRoofInsteadOfClampingIt) {
  const auto of_bytes = [](double bytes) {
    trace::Trace trace = program("NVIDIA H200");
    trace.operators[0].bytes_read = trace.operators[0].bytes_written = bytes / 2;
    auto analysis = analyze_device_trace(trace, Roofs{}, {});
    EXPECT_TRUE(analysis.ok());
    return *analysis;
  };
  const TopOperator below = of_bytes(8e6).top[0], cached = of_bytes(500e6).top[0],
                    impossible = of_bytes(50e9).top[0];
  EXPECT_LT(below.fraction_of_roof, 0.1);
  EXPECT_GT(cached.fraction_of_roof, 1.5);
  EXPECT_THAT(cached.why, HasSubstr("served by L2 in part"));
  EXPECT_GT(impossible.fraction_of_roof, 100);
  EXPECT_THAT(impossible.why, HasSubstr("the roof is wrong"));
  const Analysis analysis = of_bytes(50e9);
  const auto bandwidth = std::find_if(analysis.targets.begin(), analysis.targets.end(),
                                      [](const Metric& row) { return row.name == "dram_utilisation"; });
  ASSERT_NE(bandwidth, analysis.targets.end());
  EXPECT_FALSE(bandwidth->doubt.empty());
  EXPECT_FALSE(bandwidth->reached());
}

TEST(DeviceAnalysis, SaysThatLaunchesAreMissing) {
  trace::Trace trace = program("Frobnicator 9000");  // nothing is said about its kernels
  for (trace::Category& category : trace.spans.category)
    if (category == trace::Category::kRuntime) category = trace::Category::kOther;
  const auto without = analyze_device_trace(trace, Roofs{}, {});
  const auto with = analyze_device_trace(program("NVIDIA H200"), Roofs{}, {});
  ASSERT_TRUE(without.ok() && with.ok());
  EXPECT_THAT(without->warnings, Contains(HasSubstr("no launches of the host")));
  EXPECT_THAT(without->verdict.sentence, HasSubstr("does not say why"));
  EXPECT_THAT(with->warnings, testing::Not(Contains(HasSubstr("no launches of the host"))));
}

TEST(DeviceAnalysis, SaysLoudlyThatADeviceIsUnknown) {
  const auto analysis = analyze_device_trace(program("Frobnicator 9000"), Roofs{}, {});
  ASSERT_TRUE(analysis.ok());
  EXPECT_THAT(analysis->warnings, Contains(HasSubstr("Frobnicator 9000")));
  EXPECT_NEAR(sum(*analysis), analysis->step.ms.median, 1e-6);
  for (const LedgerRow& row : analysis->ledger)
    EXPECT_TRUE(row.cause == Cause::kUnjudged || !is_busy(row.cause)) << cause_name(row.cause);
}

TEST(DeviceAnalysis, TakesTheRoofsThatAreGiven) {
  Roofs roofs;
  roofs.machine = "Frobnicator 9000";
  roofs.memory = {{"DRAM", "copy", 1, 0, {8e6 / 60e-6, 0, 0}}};  // what the kernels reach
  roofs.compute = {{DType::kF32, "gemm", 1, {1e12, 1e12, 1e12}}};
  const auto analysis = analyze_device_trace(program("Frobnicator 9000"), roofs, {});
  ASSERT_TRUE(analysis.ok());
  // They are what the kernels reach: nothing stands above the floor.
  EXPECT_GT(analysis->floor_ms, 0.5);
  for (const LedgerRow& row : analysis->ledger)
    if (row.cause != Cause::kFloor && is_busy(row.cause)) {
      EXPECT_LT(row.ms, 0.001) << cause_name(row.cause);
    }
}

TEST(DeviceAnalysis, RefusesTheRoofsOfAnotherDevice) {
  Roofs roofs;
  roofs.machine = "AMD EPYC 9R45, 2 cores";
  roofs.memory = {{"DRAM", "copy", 1, 0, {1e10, 0, 0}}};
  const auto analysis = analyze_device_trace(program("NVIDIA H200"), roofs, {});
  ASSERT_FALSE(analysis.ok());
  EXPECT_NE(analysis.error().message.find("'AMD EPYC 9R45, 2 cores'"), std::string::npos);
  EXPECT_NE(analysis.error().message.find("'NVIDIA H200'"), std::string::npos);
}

TEST(DeviceAnalysis, CountsWorkWhoseLaunchWasNotRecorded) {
  const auto analysis = analyze_device_trace(program("NVIDIA H200", true, true), Roofs{}, {});
  ASSERT_TRUE(analysis.ok());
  EXPECT_NEAR(sum(*analysis), analysis->step.ms.median, 1e-6);
}

TEST(DeviceAnalysis, NamesTheTraceThatHasNoSteps) {
  AnalyzeOptions options;
  options.source = "some.json.gz";
  const auto analysis = analyze_device_trace(program("NVIDIA H200", false), Roofs{}, options);
  ASSERT_FALSE(analysis.ok());
  EXPECT_THAT(analysis.error().message, HasSubstr("some.json.gz"));
}

TEST(GpuRoofs, KnowTheDevicesThatPeopleHave) {
  for (const char* name : {"NVIDIA H200", "NVIDIA H100 80GB HBM3", "NVIDIA H100 PCIe",
                           "NVIDIA A100-SXM4-80GB", "NVIDIA A100-PCIE-40GB", "NVIDIA L4", "NVIDIA L40S",
                           "NVIDIA B200", "NVIDIA GeForce RTX 4090", "Tesla V100-SXM2-32GB", "Tesla T4"}) {
    const GpuRoofs roofs = gpu_roofs(name);
    EXPECT_TRUE(roofs.known()) << name;
    EXPECT_GT(roofs.dram, 100e9) << name;
    EXPECT_GT(roofs.f16, 10e12) << name;
    EXPECT_FALSE(roofs.source.empty()) << name;
  }
  for (const char* measured : {"NVIDIA H200", "NVIDIA H100 80GB HBM3"})
    EXPECT_TRUE(gpu_roofs(measured).source.starts_with("measured")) << measured;
  EXPECT_EQ(gpu_roofs("NVIDIA L40S").device, "NVIDIA L40S");
  EXPECT_EQ(gpu_roofs("NVIDIA H100 PCIe").device, "NVIDIA H100 PCIe");
  EXPECT_FALSE(gpu_roofs("Frobnicator 9000").known());
}

TEST(GpuRoofs, OfATableAreOfOneDevice) {
  const auto of = [](const char* machine) {
    Roofs roofs;
    roofs.machine = machine;
    return roofs;
  };
  EXPECT_TRUE(are_roofs_of(of("NVIDIA H200"), "NVIDIA H200"));
  EXPECT_TRUE(are_roofs_of(of("H100"), "NVIDIA H100 80GB HBM3"));
  EXPECT_TRUE(are_roofs_of(of("Frobnicator 9000, 80 GB"), "Frobnicator 9000"));
  EXPECT_FALSE(are_roofs_of(of("AMD EPYC 9R45, 2 cores"), "NVIDIA H200"));
  EXPECT_FALSE(are_roofs_of(of("NVIDIA H100 80GB HBM3"), "NVIDIA H200"));
  EXPECT_FALSE(are_roofs_of(of("NVIDIA H100 PCIe"), "NVIDIA H100 80GB HBM3"));
  EXPECT_FALSE(are_roofs_of(of("AMD EPYC 9R45, 2 cores"), "Frobnicator 9000"));
}

TEST(GpuRoofs, TakeTheHighestMethodOfAGivenTable) {
  Roofs roofs;
  roofs.compute = {{DType::kBF16, "fma", 1, {1e12, 0, 0}},
                   {DType::kBF16, "tiles", 1, {9e12, 0, 0}},
                   {DType::kBF16, "gemm", 1, {5e12, 0, 0}}};
  const GpuRoofs known = gpu_roofs("NVIDIA H200"), given = gpu_roofs_from(roofs, known);
  EXPECT_EQ(given.bf16, 9e12);
  EXPECT_EQ(given.f16, known.f16) << "not in the table";
}

// A queue of batches that four slow processes fill runs empty every fourth step. The median step waits for nothing.
TEST(DeviceAnalysis, TellsTheMeanStepWhereEveryFewStepsOneWaits) {
  constexpr int kSteps = 24;
  fabricate::Works works;
  for (int step = 0; step < kSteps; ++step) {
    const double waits_us = step % 4 == 3 ? 60'000 : 50;
    works.host(trace::Category::kFunction, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
               waits_us);
    works.pass(waits_us);
    for (int i = 0; i < 10; ++i) works.run({.bytes = 1e9, .written = 1e9, .us = 1000});
    works.read(4);
    works.end_step();
  }
  const auto analysis = analyze_device_trace(works.trace(), Roofs{}, {});
  ASSERT_TRUE(analysis.ok());
  ASSERT_TRUE(analysis->step.stalls.has_value());
  EXPECT_EQ(analysis->step.stalls->count, kSteps / 4);
  EXPECT_NEAR(analysis->step.stalls->cost_ms, 15, 0.2);
  EXPECT_NEAR(analysis->step.ms.median, 10 + 15, 0.5);
  EXPECT_NEAR(sum(*analysis), analysis->step.ms.median, 0.005 * analysis->step.ms.median);
  EXPECT_EQ(analysis->verdict.cause, Cause::kInput) << analysis->verdict.sentence;
  for (const LedgerRow& row : analysis->ledger)
    if (row.cause == Cause::kInput) {
      EXPECT_NEAR(row.ms, 15, 0.3);
      EXPECT_NEAR(row.predicted_gain_ms, 15, 0.5);
    }
  EXPECT_THAT(analysis->step.notes, Contains(HasSubstr("what is told is the mean of the steps")));
}

}  // namespace
}  // namespace hone::analyze::device
