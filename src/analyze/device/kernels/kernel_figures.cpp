#include "analyze/device/kernels/kernel_figures.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace hone::analyze::device {
namespace {

using trace::Counter;
using Value = std::optional<double>;

constexpr std::string_view kSpeed = "speed of light", kMemory = "memory", kCompute = "compute",
                           kOccupancy = "occupancy", kStallTimes = "stalls";

Value ratio_of(Value part, Value whole, double scale = 1) {
  return part && whole && *whole > 0 ? Value(*part / *whole * scale) : std::nullopt;
}

class FigureSource {
 public:
  explicit FigureSource(const KernelStudy& study) : study_(study), group_(*study.group) {}

  const KernelStudy& study() const { return study_; }
  Value of(Counter counter, double scale = 1) const {
    return group_.has(counter) ? Value(group_.value(counter) * scale) : std::nullopt;
  }
  Value sum(Counter a, Counter b, double scale = 1) const {
    return group_.has(a) || group_.has(b) ? Value((group_.value(a) + group_.value(b)) * scale) : std::nullopt;
  }
  Value positive(double value) const { return value > 0 ? Value(value) : std::nullopt; }
  CountedFlops flops() const { return group_.flops(); }
  Value active_share() const { return group_.active_share(); }
  bool has_flops() const { return group_.has_flops(); }
  double seconds() const { return group_.ns() * 1e-9; }

 private:
  const KernelStudy& study_;
  const CounterGroup& group_;
};

struct FigureRow {
  std::string_view section, name, label, unit;
  Value (*value)(const FigureSource& from);
  std::string_view note = {};
};

constexpr double kToGiga = 1e-9;

const FigureRow kFigures[] = {
    {kSpeed, "duration", "time of a launch", "us",
     [](const FigureSource& f) { return f.of(Counter::kDuration, 1e-3); }},
    {kSpeed, "sm_throughput", "compute busy", "%",
     [](const FigureSource& f) {
       return f.study().knows_units ? Value(f.study().demand.compute * 100) : f.of(Counter::kSmThroughput);
     },
     "the busiest pipe of the multiprocessors, of its peak"},
    {kSpeed, "l1_throughput", "L1 and shared memory busy", "%",
     [](const FigureSource& f) {
       return f.study().knows_units ? Value(f.study().demand.l1 * 100) : std::nullopt;
     }},
    {kSpeed, "l2_throughput", "L2 busy", "%",
     [](const FigureSource& f) { return f.of(Counter::kL2Throughput); }},
    {kSpeed, "dram_throughput", "DRAM busy", "%",
     [](const FigureSource& f) { return f.of(Counter::kDramThroughput); }},
    {kSpeed, "sm_clock", "clock of the multiprocessors", "GHz",
     [](const FigureSource& f) { return f.of(Counter::kSmClock, kToGiga); }},
    {kSpeed, "active_multiprocessors", "multiprocessors with work", "%",
     [](const FigureSource& f) {
       const Value share = f.active_share();
       return share ? Value(*share * 100) : std::nullopt;
     },
     "mean over the kernel's time"},

    {kMemory, "dram_read", "read from DRAM", "bytes",
     [](const FigureSource& f) { return f.of(Counter::kDramRead); }},
    {kMemory, "dram_written", "written to DRAM", "bytes",
     [](const FigureSource& f) { return f.of(Counter::kDramWritten); }},
    {kMemory, "dram_rate", "DRAM rate", "GB/s",
     [](const FigureSource& f) {
       return ratio_of(f.sum(Counter::kDramRead, Counter::kDramWritten), f.seconds(), kToGiga);
     }},
    {kMemory, "l2_bytes", "through L2", "bytes",
     [](const FigureSource& f) { return f.sum(Counter::kL2SectorsRead, Counter::kL2SectorsWritten, 32); }},
    {kMemory, "l2_hit_rate", "hits in L2", "%",
     [](const FigureSource& f) { return f.of(Counter::kL2HitRate); }},
    {kMemory, "l1_hit_rate", "hits in L1", "%",
     [](const FigureSource& f) { return f.of(Counter::kL1HitRate); }},
    {kMemory, "load_sectors", "sectors a load", "",
     [](const FigureSource& f) {
       return ratio_of(f.of(Counter::kGlobalLoadSectors), f.of(Counter::kGlobalLoads));
     },
     "32 bytes each; 4 where neighbouring threads load 4 bytes each, 16 where 16"},
    {kMemory, "store_sectors", "sectors a store", "",
     [](const FigureSource& f) {
       return ratio_of(f.of(Counter::kGlobalStoreSectors), f.of(Counter::kGlobalStores));
     }},
    {kMemory, "used_bytes", "fetched bytes that are used", "%",
     [](const FigureSource& f) {
       return ratio_of(f.sum(Counter::kGlobalLoadBytes, Counter::kGlobalStoreBytes),
                       f.sum(Counter::kGlobalLoadSectors, Counter::kGlobalStoreSectors, 32), 100);
     },
     "of global memory; above 100: threads share what is fetched"},
    {kMemory, "local_bytes", "local memory", "bytes",
     [](const FigureSource& f) { return f.sum(Counter::kLocalLoadSectors, Counter::kLocalStoreSectors, 32); },
     "spilled registers and arrays indexed at run time"},
    {kMemory, "bank_conflicts", "passes through shared memory that repeat", "%",
     [](const FigureSource& f) {
       return ratio_of(f.of(Counter::kSharedConflicts), f.of(Counter::kSharedWavefronts), 100);
     },
     "conflicts between banks"},

    {kCompute, "f32_flops", "f32, vector units", "FLOP",
     [](const FigureSource& f) { return f.positive(f.flops().vector_f32); }},
    {kCompute, "f64_flops", "f64, vector units", "FLOP",
     [](const FigureSource& f) { return f.positive(f.flops().vector_f64); }},
    {kCompute, "f16_flops", "f16, vector units", "FLOP",
     [](const FigureSource& f) { return f.positive(f.flops().vector_f16); }},
    {kCompute, "tensor_bf16_flops", "bf16, matrix units", "FLOP",
     [](const FigureSource& f) { return f.positive(f.flops().tensor_bf16); }},
    {kCompute, "tensor_f16_flops", "f16, matrix units", "FLOP",
     [](const FigureSource& f) { return f.positive(f.flops().tensor_f16); }},
    {kCompute, "tensor_tf32_flops", "tf32, matrix units", "FLOP",
     [](const FigureSource& f) { return f.positive(f.flops().tensor_tf32); }},
    {kCompute, "tensor_f64_flops", "f64, matrix units", "FLOP",
     [](const FigureSource& f) { return f.positive(f.flops().tensor_f64); }},
    {kCompute, "tensor_f8_flops", "f8, matrix units", "FLOP",
     [](const FigureSource& f) { return f.positive(f.flops().tensor_f8); }},
    {kCompute, "tensor_i8_flops", "i8, matrix units", "FLOP",
     [](const FigureSource& f) { return f.positive(f.flops().tensor_i8); }},
    {kCompute, "flop_rate", "rate", "TFLOP/s",
     [](const FigureSource& f) {
       return f.has_flops() ? ratio_of(f.positive(f.flops().all()), f.seconds(), 1e-12) : std::nullopt;
     }},
    {kCompute, "pipe_tensor", "matrix units busy", "%",
     [](const FigureSource& f) { return f.of(Counter::kPipeTensor); }},
    {kCompute, "pipe_fma", "f32 pipe busy", "%",
     [](const FigureSource& f) { return f.of(Counter::kPipeFma); }},
    {kCompute, "pipe_alu", "integer and logic pipe busy", "%",
     [](const FigureSource& f) { return f.of(Counter::kPipeAlu); }},
    {kCompute, "pipe_f64", "f64 pipe busy", "%",
     [](const FigureSource& f) { return f.of(Counter::kPipeF64); }},
    {kCompute, "pipe_xu", "special functions busy", "%",
     [](const FigureSource& f) { return f.of(Counter::kPipeXu); }, "exp, log, sin, rsqrt, conversions"},
    {kCompute, "threads_per_instruction", "threads an instruction works for", "",
     [](const FigureSource& f) { return f.of(Counter::kThreadsPerInstruction); },
     "of the 32 of a warp; fewer where branches divide it"},
    {kCompute, "divergent_branches", "branches that divide a warp", "%",
     [](const FigureSource& f) {
       return ratio_of(f.of(Counter::kDivergentTargets), f.of(Counter::kBranchTargets), 100);
     }},

    {kOccupancy, "warps_active", "warps that are there", "%",
     [](const FigureSource& f) { return f.of(Counter::kWarpsActive); },
     "of those that a multiprocessor has room for, while it is active"},
    {kOccupancy, "warps_possible", "warps that can be there", "%",
     [](const FigureSource& f) { return f.positive(f.study().occupancy.share() * 100); }},
    {kOccupancy, "blocks_by_registers", "blocks a multiprocessor, by registers", "",
     [](const FigureSource& f) {
       return f.positive(std::min(f.study().occupancy.by_registers, f.study().occupancy.by_blocks));
     }},
    {kOccupancy, "blocks_by_shared_memory", "by shared memory", "",
     [](const FigureSource& f) {
       return f.positive(std::min(f.study().occupancy.by_shared_memory, f.study().occupancy.by_blocks));
     }},
    {kOccupancy, "blocks_by_warps", "by warps", "",
     [](const FigureSource& f) { return f.positive(f.study().occupancy.by_warps); }},
    {kOccupancy, "blocks_by_slots", "by number of blocks", "",
     [](const FigureSource& f) { return f.positive(f.study().occupancy.by_blocks); }},
    {kOccupancy, "waves", "waves of blocks", "",
     [](const FigureSource& f) { return f.positive(f.study().waves); },
     "how often the grid fills the device"},
    {kOccupancy, "issue_rate", "instructions a cycle and scheduler", "",
     [](const FigureSource& f) { return f.of(Counter::kIssueActive); }, "1 at most"},
    {kOccupancy, "warps_eligible", "warps ready a cycle and scheduler", "",
     [](const FigureSource& f) { return f.of(Counter::kWarpsEligible); }},
};

}  // namespace

std::vector<CounterFigure> kernel_figures(const KernelStudy& study) {
  constexpr double kWorthALine = 0.02;
  const FigureSource source(study);
  std::vector<CounterFigure> figures;
  for (const FigureRow& row : kFigures)
    if (const Value value = row.value(source))
      figures.push_back({std::string(row.section), std::string(row.name), std::string(row.label), *value,
                         std::string(row.unit), std::string(row.note)});
  for (const Stall& stall : study.stalls)
    if (stall.share >= kWorthALine)
      figures.push_back({std::string(kStallTimes), fmt::format("stall_{}", stall.reason),
                         fmt::format("waiting for {}", stall.waits_for), stall.share * 100, "%", ""});
  return figures;
}

}  // namespace hone::analyze::device
