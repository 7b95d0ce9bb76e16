// hone ceilings: the measured roofs of this machine.
#include "lab/ceilings/ceilings.h"

#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "apps/command.h"
#include "apps/model_options.h"
#include "core/file.h"
#include "core/units.h"
#include "lab/ceilings/ceilings_json.h"
#include "lab/ceilings/device_ceilings.h"
#include "lab/ceilings/gpu/gpu_ceilings_json.h"
#include "report/words.h"

namespace hone::apps {
namespace {

struct CeilingsOptions {
  lab::CeilingsOptions measure;
  std::string device = kAnyDevice;
  std::string json;
};

void print_compute(const Roofs& roofs) {
  fmt::print("\n{:<8}{:<8}{:>8}  {:>16}  {}\n", "dtype", "method", "threads", "median", "low … high");
  for (const ComputeRoof& row : roofs.compute)
    fmt::print("{:<8}{:<8}{:>8}  {:>16}  {} … {}\n", dtype_name(row.dtype), row.method, row.threads,
               format_flop_rate(row.flops.median), format_flop_rate(row.flops.low),
               format_flop_rate(row.flops.high));
}

void print_memory(const Roofs& roofs) {
  fmt::print("\n{:<8}{:<12}{:>4}  {:>16}  {}\n", "level", "operation", "thr.", "median", "low … high");
  for (const MemoryRoof& row : roofs.memory)
    fmt::print("{:<8}{:<12}{:>4}  {:>16}  {} … {}\n", row.level, row.operation, row.threads,
               format_byte_rate(row.bytes.median), format_byte_rate(row.bytes.low),
               format_byte_rate(row.bytes.high));
}

void print_duration(const char* name, const Duration& duration) {
  fmt::print("{:<14}{} ({} … {})\n", name, format_ms(1e3 * duration.median), format_ms(1e3 * duration.low),
             format_ms(1e3 * duration.high));
}

// "1755 MHz, 692 W"; empty where NVML said nothing.
std::string state_text(const lab::GpuState& state) {
  std::string text;
  if (state.sm_mhz) text = fmt::format("{:.0f} MHz", *state.sm_mhz);
  if (state.watts) text += fmt::format("{}{:.0f} W", text.empty() ? "" : ", ", *state.watts);
  return text;
}

void print_gpu_rates(const lab::GpuCeilings& ceilings) {
  fmt::print("\n{:<10}{:>8}  {:>16}  {:<18}{:>16}  {}\n", "products", "size", "burst", "", "sustained", "");
  for (const lab::MatrixRoof& row : ceilings.matrix)
    fmt::print("{:<10}{:>8}  {:>16}  {:<18}{:>16}  {}\n", row.type, row.size,
               format_flop_rate(row.burst.median), state_text(row.burst_state),
               format_flop_rate(row.sustained.median), state_text(row.sustained_state));
  fmt::print("{:<10}{:>8}  {:>16}  {}\n", "f32", "vector", format_flop_rate(ceilings.vector_f32.median),
             state_text(ceilings.vector_state));
  fmt::print("\n{:<10}{:<12}{:>16}  {}\n", "level", "operation", "median", "low … high");
  for (const MemoryRoof& row : ceilings.memory)
    fmt::print("{:<10}{:<12}{:>16}  {} … {}\n", row.level, row.operation, format_byte_rate(row.bytes.median),
               format_byte_rate(row.bytes.low), format_byte_rate(row.bytes.high));
  for (const lab::LinkRoof& row : ceilings.links)
    fmt::print("{:<10}{:<12}{:>16}  {} … {}\n", row.pinned ? "pinned" : "pageable",
               row.to_device ? "to device" : "to host", format_byte_rate(row.bytes.median),
               format_byte_rate(row.bytes.low), format_byte_rate(row.bytes.high));
  fmt::print("\nkernel launch {:.2f} µs ({:.2f} … {:.2f}); graph node {:.2f} µs ({:.2f} … {:.2f})\n",
             1e6 * ceilings.launch.median, 1e6 * ceilings.launch.low, 1e6 * ceilings.launch.high,
             1e6 * ceilings.graph_node.median, 1e6 * ceilings.graph_node.low, 1e6 * ceilings.graph_node.high);
}

Result<lab::GpuCeilings> measure_gpu(const lab::GpuTools& tools, const lab::CeilingsOptions& options) {
  ProgressBar bar("measuring roofs");
  lab::GpuCeilingsOptions measure;
  measure.quick = options.quick;
  measure.refresh = options.refresh;
  measure.progress = [&bar](double done, const std::string& what) {
    bar.update(done, what);
    return !interrupted();
  };
  return lab::load_or_measure_gpu_ceilings(tools, measure);
}

Status run_gpu_ceilings(const CeilingsOptions& options) {
  if (options.measure.threads > 0) return usage_error("--threads: a GPU's roofs have none");
  HONE_ASSIGN(const lab::GpuTools tools, lab::gpu_tools_of(options.device));
  HONE_ASSIGN(const lab::GpuCeilings ceilings, measure_gpu(tools, options.measure));
  fmt::print("{}, sm_{}, {} multiprocessors; driver {}\n", ceilings.device, ceilings.architecture,
             ceilings.multiprocessors, ceilings.driver);
  fmt::print("measured {} in {:.1f} s{}\n", ceilings.measured_at, ceilings.seconds,
             ceilings.from_cache ? " (kept from then; --refresh measures again)" : "");
  print_gpu_rates(ceilings);
  for (const auto& [what, why] : ceilings.not_measured) fmt::print("note: {} not measured: {}\n", what, why);
  for (const std::string& note : ceilings.notes) fmt::print("note: {}\n", note);
  if (options.json.empty()) return {};
  nlohmann::ordered_json json = lab::gpu_ceilings_json(ceilings);
  json["environment"] = lab::machine_json(lab::describe_machine());
  return write_file(options.json, json.dump(1) + "\n");
}

Status run_ceilings(CeilingsOptions options) {
  HONE_CHECK(settle_device(&options.device));
  if (lab::has_gpu_roofs(options.device)) return run_gpu_ceilings(options);
  if (options.device != "cpu")
    return usage_error(
        fmt::format("--device: '{}' has no roofs; what it runs means nothing for time", options.device));
  lab::CeilingsOptions measure = options.measure;
  const lab::Machine machine = lab::describe_machine();
  HONE_CHECK(check_threads(measure.threads));
  Result<lab::Ceilings> measured = Error{};
  {
    ProgressBar bar("measuring roofs");
    measure.progress = [&bar](double done) {
      bar.update(done);
      return !interrupted();
    };
    measured = lab::load_or_measure_ceilings(machine, measure);
  }
  HONE_ASSIGN(const lab::Ceilings ceilings, std::move(measured));
  fmt::print("{}; {}\n", ceilings.roofs.machine, machine.vector_features);
  fmt::print("measured {} in {:.1f} s{}; {} of {} repetitions were disturbed\n", ceilings.measured_at,
             ceilings.seconds, ceilings.from_cache ? " (kept from then; --refresh measures again)" : "",
             ceilings.disturbed, ceilings.repetitions);
  print_compute(ceilings.roofs);
  print_memory(ceilings.roofs);
  fmt::print("\n");
  print_duration("thread start", ceilings.roofs.thread_start);
  print_duration("barrier", ceilings.roofs.barrier);
  if (const std::string doubt = report::roofs_doubt(lab::origin_of(ceilings)); !doubt.empty())
    fmt::print("note: {}\n", doubt);
  for (const std::string& note : ceilings.notes) fmt::print("note: {}\n", note);
  if (options.json.empty()) return {};
  nlohmann::ordered_json json = lab::ceilings_json(ceilings);
  json["environment"] = lab::machine_json(machine);
  return write_file(options.json, json.dump(1) + "\n");
}

}  // namespace

void add_ceilings_command(Program& program) {
  auto options = std::make_shared<CeilingsOptions>();
  Command command = program.add("ceilings", "measure the roofs of this machine",
                                [options] { return run_ceilings(*options); });
  command
      .option("--threads N", &options->measure.threads, "threads of the all-cores rows (default: all cores)")
      .positive();
  command
      .option(
          "--device DEVICE", &options->device,
          "whose roofs: this machine's CPUs (cpu) or its GPU's (cuda); auto: the GPU's where there is one")
      .offers(device_names())
      .with_default();
  command.flag("--quick", &options->measure.quick,
               "two seconds instead of eight; of a GPU ten instead of 20");
  command.flag("--refresh", &options->measure.refresh, "measure even if this machine's roofs are known");
  command.option("--json FILE", &options->json, "also write them to this file").written();
}

}  // namespace hone::apps
