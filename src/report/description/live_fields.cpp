#include "report/description/live_fields.h"

#include <cmath>

#include "analyze/live/targets.h"
#include "report/description/analysis.h"

namespace hone::report {
namespace {

using trace::live::ClockReason;
using trace::live::DiskUse;
using trace::live::GpuUse;
using trace::live::GroupUse;
using trace::live::HostUse;
using trace::live::MachineUse;
using trace::live::NetworkUse;
using trace::live::Pressure;
using trace::live::ProcessUse;

OrderedJson reasons_json(const GpuUse& gpu) {
  if (!gpu.clock_reasons) return {};
  OrderedJson list = OrderedJson::array();
  for (const ClockReason reason : *gpu.clock_reasons) list.push_back(trace::live::row_of(reason).name);
  return list;
}

OrderedJson cores_json(const HostUse& host) {
  OrderedJson list = OrderedJson::array();
  for (const auto& [cpu, share] : host.cpu_busy)
    list.push_back({{"cpu", cpu}, {"busy_share", json_of(share)}});
  return list;
}

// A field whose value is an object, described by `fields`.
template <typename Row, typename Inner>
Field<Row> inner_field(std::string_view name, std::string_view meaning, const Fields<Inner>& fields,
                       Inner Row::*member) {
  Field<Row> field(name, Unit::kObject, meaning,
                   [&fields, member](const Row& row) { return object_json(fields, row.*member); });
  field.info.inner = field_infos(fields);
  return field;
}

// The figures of `row` that have targets.
template <typename Row>
Field<Row> targets_field(std::vector<analyze::Metric> (*targets)(const Row&)) {
  return {"targets", Unit::kRows, "figures against what they should be, as in explain.json",
          [targets](const Row& row) { return rows_json(metric_fields(), targets(row)); }};
}

const Fields<GpuUse>& gpu_fields() {
  using Row = GpuUse;
  static const Fields<Row> fields = {
      {"index", Unit::kInteger, "as the driver counts", &Row::index},
      {"instance", Unit::kInteger, "the GPU instance of a divided GPU (MIG); -1: the whole GPU",
       &Row::instance},
      {"divided", Unit::kFlag, "its instances follow as rows of their own", &Row::divided},
      {"name", Unit::kText, "`NVIDIA H100 80GB HBM3`", &Row::name},
      {"uuid", Unit::kText, "the driver's name for it", &Row::uuid},
      {"pci_bus_id", Unit::kText, "its place", &Row::pci_bus_id},
      {"busy_share", Unit::kShare, "of time with any kernel running", &Row::busy_share},
      {"sm_share", Unit::kShare, "of multiprocessors with work", &Row::sm_share},
      {"warps_share", Unit::kShare, "of the warps that could be resident (occupancy)", &Row::warps_share},
      {"tensor_share", Unit::kShare, "of time with tensor pipes active, over all multiprocessors",
       &Row::tensor_share},
      {"fp64_share", Unit::kShare, "the same of FP64 pipes", &Row::fp64_share},
      {"fp32_share", Unit::kShare, "of FP32 pipes", &Row::fp32_share},
      {"fp16_share", Unit::kShare, "of FP16 pipes", &Row::fp16_share},
      {"integer_share", Unit::kShare, "of integer pipes", &Row::integer_share},
      {"dram_share", Unit::kShare, "of the memory's bandwidth", &Row::dram_share},
      {"memory_used_bytes", Unit::kBytes, "without what the driver keeps for itself, where it tells",
       &Row::memory_used_bytes},
      {"memory_total_bytes", Unit::kBytes, "all of it", &Row::memory_total_bytes},
      {"power_w", Unit::kNumber, "W, the mean of the interval where the driver counts energy", &Row::power_w},
      {"power_limit_w", Unit::kNumber, "W", &Row::power_limit_w},
      {"sm_clock_mhz", Unit::kNumber, "MHz, now", &Row::sm_clock_mhz},
      {"sm_clock_max_mhz", Unit::kNumber, "MHz", &Row::sm_clock_max_mhz},
      {"memory_clock_mhz", Unit::kNumber, "MHz, now", &Row::memory_clock_mhz},
      {"memory_clock_max_mhz", Unit::kNumber, "MHz", &Row::memory_clock_max_mhz},
      {"temperature_c", Unit::kNumber, "°C", &Row::temperature_c},
      {"slowdown_temperature_c", Unit::kNumber, "°C at which the hardware slows down",
       &Row::slowdown_temperature_c},
      {"clock_reasons", Unit::kList,
       "why clocks are below their maximum now: `idle`, `application_clocks`, `power_cap`, "
       "`hardware_slowdown`, "
       "`sync_boost`, `software_thermal`, `hardware_thermal`, `power_brake`, `display_clocks`",
       reasons_json},
      {"held_by_power_share", Unit::kShare, "of time in which the power limit held the clocks back",
       &Row::held_by_power_share},
      {"held_by_heat_share", Unit::kShare, "of time in which the temperature did", &Row::held_by_heat_share},
      {"pcie_sent_bytes_per_s", Unit::kBytesPerSecond, "from the GPU",
       [](const Row& row) { return row.pcie.sent; }},
      {"pcie_received_bytes_per_s", Unit::kBytesPerSecond, "to the GPU",
       [](const Row& row) { return row.pcie.received; }},
      {"nvlink_sent_bytes_per_s", Unit::kBytesPerSecond, "over all its links",
       [](const Row& row) { return row.nvlink.sent; }},
      {"nvlink_received_bytes_per_s", Unit::kBytesPerSecond, "over all its links",
       [](const Row& row) { return row.nvlink.received; }},
      targets_field<Row>(analyze::live::gpu_targets),
  };
  return fields;
}

const Fields<Pressure>& pressure_fields() {
  static const Fields<Pressure> fields = {
      {"some_share", Unit::kShare, "of time in which a task stood still for want of it",
       &Pressure::some_share},
      {"full_share", Unit::kShare, "of time in which all did", &Pressure::full_share},
  };
  return fields;
}

const Fields<DiskUse>& disk_fields() {
  using Row = DiskUse;
  static const Fields<Row> fields = {
      {"name", Unit::kText, "`nvme0n1`", &Row::name},
      {"busy_share", Unit::kShare, "of time with a read or write under way", &Row::busy_share},
      {"read_bytes_per_s", Unit::kBytesPerSecond, "", [](const Row& row) { return row.bytes.received; }},
      {"written_bytes_per_s", Unit::kBytesPerSecond, "", [](const Row& row) { return row.bytes.sent; }},
      {"operation_ms", Unit::kMs, "mean of a read or write; null where there was none", &Row::operation_ms},
  };
  return fields;
}

const Fields<NetworkUse>& network_fields() {
  using Row = NetworkUse;
  static const Fields<Row> fields = {
      {"name", Unit::kText, "`eth0`", &Row::name},
      {"received_bytes_per_s", Unit::kBytesPerSecond, "", [](const Row& row) { return row.bytes.received; }},
      {"sent_bytes_per_s", Unit::kBytesPerSecond, "", [](const Row& row) { return row.bytes.sent; }},
      {"limit_bytes_per_s", Unit::kBytesPerSecond, "its speed", &Row::bytes_per_s_limit},
      {"errors_per_s", Unit::kNumber, "errors and drops", &Row::errors_per_s},
  };
  return fields;
}

const Fields<GroupUse>& group_fields() {
  using Row = GroupUse;
  static const Fields<Row> fields = {
      {"cpu_limit", Unit::kNumber, "CPUs; null: none is set", &Row::cpu_limit},
      {"held_back_share", Unit::kShare, "of the periods in which the limit stopped it",
       &Row::held_back_share},
      {"memory_limit_bytes", Unit::kBytes, "null: none is set", &Row::memory_limit_bytes},
      {"memory_used_bytes", Unit::kBytes, "without files that can be dropped", &Row::memory_used_bytes},
  };
  return fields;
}

const Fields<HostUse>& host_fields() {
  using Row = HostUse;
  static const Fields<Row> fields = {
      {"name", Unit::kText, "of the machine", &Row::name},
      {"cpus", Unit::kInteger, "that are online", &Row::cpus},
      {"busy_share", Unit::kShare, "of all CPUs' time", &Row::busy_share},
      {"user_share", Unit::kShare, "in programs", &Row::user_share},
      {"system_share", Unit::kShare, "in the kernel", &Row::system_share},
      {"wait_share", Unit::kShare, "idle while a task of it waited for a disk", &Row::wait_share},
      {"stolen_share", Unit::kShare, "taken by other virtual machines", &Row::stolen_share},
      {"cores", Unit::kList, "`cpu` and `busy_share` of each", cores_json},
      {"runnable", Unit::kNumber, "tasks that run or stand in line now", &Row::runnable},
      {"in_line", Unit::kNumber, "tasks that stood in line for a CPU, on average", &Row::in_line},
      {"load", Unit::kNumber, "load average of the last minute", &Row::load},
      inner_field("cpu_pressure", "tasks that wait for CPUs", pressure_fields(), &Row::cpu_pressure),
      inner_field("memory_pressure", "for memory", pressure_fields(), &Row::memory_pressure),
      inner_field("io_pressure", "for disks", pressure_fields(), &Row::io_pressure),
      {"memory_total_bytes", Unit::kBytes, "", &Row::memory_total_bytes},
      {"memory_available_bytes", Unit::kBytes, "that programs can still get", &Row::memory_available_bytes},
      {"swap_total_bytes", Unit::kBytes, "", &Row::swap_total_bytes},
      {"swap_used_bytes", Unit::kBytes, "", &Row::swap_used_bytes},
      {"swapped_in_bytes_per_s", Unit::kBytesPerSecond, "", &Row::swapped_in_per_s},
      {"swapped_out_bytes_per_s", Unit::kBytesPerSecond, "", &Row::swapped_out_per_s},
      inner_field("group", "what the control group (container) may take", group_fields(), &Row::group),
      table_field("disks", "", "whole disks, not partitions or what is stacked on them", disk_fields(),
                  &Row::disks),
      table_field("networks", "", "interfaces that have carried anything, without the loopback",
                  network_fields(), &Row::networks),
      targets_field<Row>(analyze::live::host_targets),
  };
  return fields;
}

const Fields<ProcessUse>& process_fields() {
  using Row = ProcessUse;
  static const Fields<Row> fields = {
      {"pid", Unit::kInteger, "", &Row::pid},
      {"parent", Unit::kInteger, "pid of the process that started it", &Row::parent},
      {"command", Unit::kText, "the command line; empty of a process that is not visible here",
       &Row::command},
      {"state", Unit::kText, "as ps has it: `R` runs, `S` sleeps, `D` waits for a disk, …",
       [](const Row& row) { return std::string(1, row.state); }},
      {"threads", Unit::kInteger, "0: not known", &Row::threads},
      {"cpus", Unit::kNumber, "CPUs' worth of time that it took: 1 is one CPU all the time", &Row::cpus},
      {"memory_bytes", Unit::kBytes, "resident, shared pages included", &Row::memory_bytes},
      {"read_bytes_per_s", Unit::kBytesPerSecond, "from disks",
       [](const Row& row) { return row.disk.received; }},
      {"written_bytes_per_s", Unit::kBytesPerSecond, "to disks",
       [](const Row& row) { return row.disk.sent; }},
      {"gpus", Unit::kList, "indexes of the GPUs that it uses", &Row::gpus},
      {"gpu_memory_bytes", Unit::kBytes, "over all of them", &Row::gpu_memory_bytes},
      {"gpu_share", Unit::kNumber,
       "of a GPU's multiprocessors, added over its GPUs; null where the driver does "
       "not say",
       &Row::gpu_share},
  };
  return fields;
}

}  // namespace

const Fields<MachineUse>& live_fields() {
  using Row = MachineUse;
  static const Fields<Row> fields = {
      {"schema", Unit::kInteger, "1", [](const Row&) { return 1; }},
      {"unix_s", Unit::kNumber, "when the interval ended, in seconds since 1970",
       [](const Row& row) { return std::round(static_cast<double>(row.unix_ns) * 1e-6) * 1e-3; }},
      {"interval_s", Unit::kNumber, "its length", &Row::interval_s},
      inner_field("host", "CPUs, memory, disks and networks", host_fields(), &Row::host),
      {"driver", Unit::kText, "version of the GPUs' driver; empty: there is none", &Row::driver},
      table_field("gpus", "", "GPUs, and the instances of divided ones", gpu_fields(), &Row::gpus),
      table_field("processes", "", "all that can be seen; of the whole machine, or of `--pid`",
                  process_fields(), &Row::processes),
      {"notes", Unit::kList, "what cannot be had here, and why", &Row::notes},
  };
  return fields;
}

}  // namespace hone::report
