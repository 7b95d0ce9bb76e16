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
#include "report/words.h"

namespace hone::apps {
namespace {

struct CeilingsOptions {
  lab::CeilingsOptions measure;
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

Status run_ceilings(const CeilingsOptions& options) {
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
  command.flag("--quick", &options->measure.quick, "two seconds instead of eight");
  command.flag("--refresh", &options->measure.refresh, "measure even if this machine's roofs are known");
  command.option("--json FILE", &options->json, "also write them to this file").written();
}

}  // namespace hone::apps
