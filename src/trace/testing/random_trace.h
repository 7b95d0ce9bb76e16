// Traces made up for tests of readers and writers: every table and column filled, spans anywhere. They make
// no sense to analysis. Not part of the product.
#pragma once

#include <array>
#include <random>
#include <span>
#include <string>

#include "trace/trace.h"

namespace hone::trace {

class RandomTrace {
 public:
  RandomTrace(uint32_t seed, int spans) : random_(seed) {
    add_meta();
    add_tracks();
    for (int i = 0; i < 5; ++i) add_operator(i);
    for (int i = 0; i < spans; ++i) add_span();
    add_counters();
    add_samples();
    add_kernel_samples();
    add_stacks();
  }
  Trace take() { return std::move(trace_); }

 private:
  int below(int n) { return static_cast<int>(random_() % static_cast<uint32_t>(n)); }
  uint64_t word() { return random_() | (uint64_t{random_()} << 32); }
  StringId text(const char* stem) { return trace_.strings.intern(stem + std::to_string(below(20))); }

  void add_meta() {
    Meta& meta = trace_.meta;
    meta = {"hone test", "a machine", "cpu", 2, 3, {{"driver", "1.2"}, {"odd \"name\"", "väl\nue"}}};
    meta.devices = {{0, 0, "NVIDIA H200", 141e9, 132, 9, 0}, {1, 1, "NVIDIA H200", 141e9, 132, 9, 0}};
    meta.ranks = {{0, 2, "rank0.json", "nccl", {{"0", "default_pg", {0, 1}}, {"1", "", {}}}},
                  {1, 2, "rank1.json", "nccl", {}}};
    meta.warnings = {"2 events had no duration", ""};
    meta.lost = 2;
    meta.cut_off = true;
    meta.contention = {0.34, true};
    meta.framework = Framework::kJax;
    meta.blocks = {{0, 3, BlockMode::kTimeline, -50, 700, 11, 2'000'000'000'000},
                   {0, 4, BlockMode::kLeftAlone, 700, 900, 0, 0},
                   {1, 3, BlockMode::kOperators, 10, 20, 1, 2}};
    meta.marks = {{0, StepMarkKind::kOptimizer, "AdamW", -20, 43, 12},
                  {0, StepMarkKind::kApiCall, "", 800, 42, 0},
                  {1, StepMarkKind::kData, "the \"loader\"", 15, 42, 1}};
    meta.sampled_steps = {{1, 100, 300}, {1, 300, 400}};
    meta.loaders = {{0, 1, 4, 2, false, true, 8, 64, -70, 8, 90, 40, 5000, 16, 8},
                    {1, 0, 0, 0, true, false, -1, -1, 12, 3, 0, 0, 0, 0, 0}};
    meta.block_steps = {{0, 3, BlockMode::kTimeline, 8, 1.25e6, true},
                        {0, 4, BlockMode::kLeftAlone, 7.5, 1e6}};
  }

  void add_tracks() {
    TrackId process = trace_.add_track({TrackKind::kProcess, "rank 0", {}, 42, 42, 0, -1});
    trace_.add_track({TrackKind::kThread, "main", process, 42, 42, 0, -1});
    trace_.add_track({TrackKind::kThread, "worker", process, 42, 43, 0, -1});
    // The same pid elsewhere.
    TrackId other = trace_.add_track({TrackKind::kProcess, "rank 1", {}, 42, 42, 1, -1});
    trace_.add_track({TrackKind::kStream, "stream 7", other, 42, 7, 1, 0});
  }

  void add_operator(int i) {
    Operator op;
    op.name = "op_" + std::to_string(i);
    op.kind = "Conv";
    op.op_class = static_cast<OperatorClass>(i);
    op.provenance = {"conv", "relu"};
    op.dtype = DType::kF32;
    op.may_use_tf32 = i % 2 == 1;
    op.measured = i % 3 == 1;
    op.flops = 1e9 * i;
    op.bytes_read = 1e6;
    op.bytes_written = 2e6;
    op.constant_bytes = 5e5;
    op.avoidable_bytes = i;
    op.fuses_with = i > 0 ? "op_0" : "";
    op.implementation = "onednn";
    if (i % 2 == 1) op.device_kernels = {"hone_gemv: 3.10 µs", "hone_gemv_join: 1.20 µs"};
    op.least_flops = 1.5e8;
    op.executed_flops = 2e8;
    op.algorithm = "Winograd F(4x4,3x3)";
    op.geometry = "3×3";
    op.device = "cpu";
    op.phase = static_cast<Phase>(i);
    op.module = i % 2 == 0 ? "encoder/layer.3" : "";
    trace_.add_operator(op);
  }

  void add_span() {
    Span span;
    span.start_ns = 1'000'000 + below(300);
    span.duration_ns = below(4) == 0 ? 0 : below(100);
    span.track = {static_cast<uint32_t>(below(5))};
    if (below(10) > 0) span.name = text("name ");
    span.category = static_cast<Category>(below(kCategoryCount));
    span.step = below(4) - 1;
    if (below(3) > 0) span.op = {static_cast<uint32_t>(below(5))};
    if (below(3) == 0) span.correlation = word();
    trace_.spans.add(span);
    add_details(static_cast<uint32_t>(trace_.spans.size() - 1));
  }

  void add_details(uint32_t row) {
    switch (below(6)) {
      case 0:
        trace_.calls.push_back({row, below(2) == 0 ? text("f32[8,") : StringId{}, below(3) - 1, word()});
        break;
      case 1:
        trace_.launches.push_back({row,
                                   word(),
                                   {static_cast<uint32_t>(below(9)), 2, 1},
                                   {128, 1, static_cast<uint32_t>(below(2))},
                                   static_cast<uint32_t>(below(255)),
                                   static_cast<uint32_t>(below(48000)),
                                   below(2) == 0 ? word() : 0});
        break;
      case 2:
        trace_.copies.push_back({row, word(), static_cast<MemoryKind>(below(5)),
                                 static_cast<MemoryKind>(below(5)), 1e3 * below(100)});
        break;
      case 3:
        trace_.collectives.push_back({row, text("allreduce "), text("group "), 2,
                                      below(2) == 0 ? DType::kBF16 : DType::kUndefined,
                                      static_cast<double>(row), 1e6, CollectiveKind::kAllReduce});
        break;
      default:
        break;
    }
  }

  void add_counters() {
    StringTable& strings = trace_.strings;
    KernelCounters row = {1, 0, strings.intern("gemm"), {132, 2, 1}, {256, 1, 1}, 168, 98'304, 3, 12, {}};
    row.values = {{strings.intern("gpu__time_duration.sum"), 1250.5},
                  {strings.intern("dram__bytes_read.sum"), 4'194'304}};
    order_values(row);
    trace_.counters.push_back(row);
    trace_.counters.push_back({0, 1, text("name "), {1, 1, 1}, {32, 1, 1}, 0, 0, 0, 0, {}});
  }

  // With a gap, values that stay, and a series of another device.
  void add_samples() {
    StringTable& strings = trace_.strings;
    DeviceSamples samples = {1,
                             0,
                             100,
                             {strings.intern("sm__cycles_active.avg.pct_of_peak_sustained_elapsed"),
                              strings.intern("dram__bytes_read.sum.per_second")},
                             {},
                             {},
                             {}};
    const auto add = [&](int64_t start, int64_t end, std::array<double, 2> row) {
      samples.add(start, end, row);
    };
    add(100, 200, {50.5, 1e12});
    add(200, 301, {50.5, 1e12});
    add(301, 400, {0, 2.5e11});
    add(1000, 1100, {0, 0});
    add(1100, 1200, {99, 0});
    trace_.samples = {samples, {0, 3, 50, samples.metrics, {}, {}, {}}};
    trace_.samples[1].add(5, 6, std::array<double, 2>{1, 2});
  }

  void add_kernel_samples() {
    StringTable& strings = trace_.strings;
    const StringId gemm = strings.intern("gemm");
    const std::vector<StallSamples> stalls = {{strings.intern("long_scoreboard"), 1u << 20},
                                              {strings.intern("selected"), 3}};
    trace_.kernel_samples = {{1,
                              0,
                              gemm,
                              {132, 2, 1},
                              {256, 1, 1},
                              gemm,
                              0x1f0,
                              LineInfo::kKnown,
                              strings.intern("/src/a \"b\".cu"),
                              88,
                              strings.intern("  sum += in[index[i]];"),
                              stalls},
                             {0,
                              1,
                              gemm,
                              {1, 1, 1},
                              {32, 1, 1},
                              strings.intern("called"),
                              16,
                              LineInfo::kCodeUnseen,
                              {},
                              0,
                              {},
                              {}}};
  }

  void add_stacks() {
    StackTable& stacks = trace_.stacks;
    StringTable& strings = trace_.strings;
    stacks.frames = {{strings.intern("collate"), strings.intern("/home/anna/data.py"), 41, FrameKind::kPython,
                      FrameOwner::kProgram, FrameRole::kInput},
                     {strings.intern("inflate"), strings.intern("/lib/libz.so.1"), 0, FrameKind::kNative,
                      FrameOwner::kLibrary, FrameRole::kNone}};
    const std::array<FrameId, 2> both = {{{0}, {1}}};
    const std::span<const FrameId> frames(both);
    stacks.add({-5, {0}, ThreadState::kRunning}, frames.first(1), frames);
    stacks.add({1'000'100, {1}, ThreadState::kSleep}, frames.first(1), {});
    trace_.host_use = {{1, 3, 0.5, 4, 0.25, 0.01, 1.5, 0.02, 12, 3, 1e6, 2e5, 5e4, 6e4}};
  }

  std::mt19937 random_;
  Trace trace_;
};

inline Trace random_trace(uint32_t seed, int spans) { return RandomTrace(seed, spans).take(); }

}  // namespace hone::trace
