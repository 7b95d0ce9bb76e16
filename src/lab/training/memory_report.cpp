#include "lab/training/memory_report.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/memory_budget.h"
#include "core/units.h"
#include "lab/process_memory.h"

namespace hone::lab {
namespace {

std::string reported_bytes(std::size_t bytes) { return format_bytes(static_cast<double>(bytes)); }

std::size_t above(std::size_t bytes, std::size_t before) { return bytes - std::min(bytes, before); }

std::string device_memory_text(const TrainingMemoryReport& report) {
  const DeviceMemoryReport& device = *report.device;
  std::string text =
      fmt::format("{} of {} taken at most, {} predicted", reported_bytes(device.measured_bytes), device.name,
                  reported_bytes(report.predicted.on_device()));
  if (device.preparing_bytes > device.measured_bytes)
    text += fmt::format(" ({} while kernels were chosen)", reported_bytes(device.preparing_bytes));
  if (device.taken_by_all)
    text += fmt::format("; {} of its {} with libraries, workspaces and other programs",
                        reported_bytes(*device.taken_by_all), reported_bytes(device.capacity));
  return text;
}

}  // namespace

std::string measured_memory_text(const TrainingMemoryReport& report) {
  const std::string process = fmt::format("the whole process took {}", reported_bytes(report.resident_bytes));
  if (!report.device)
    return fmt::format("{} taken at most, {} predicted; {}", reported_bytes(report.measured_bytes),
                       reported_bytes(report.predicted.total()), process);
  return fmt::format("{}; of the host's {}, {} predicted; {}", device_memory_text(report),
                     reported_bytes(report.measured_bytes), reported_bytes(report.predicted.on_host()),
                     process);
}

nlohmann::ordered_json memory_report_json(const TrainingMemoryReport& report) {
  nlohmann::ordered_json json = {{"predicted", memory_json(report.predicted)},
                                 {"measured_bytes", report.measured_bytes},
                                 {"process_bytes", report.resident_bytes},
                                 {"limit_bytes", report.limit.bytes},
                                 {"limit", report.limit.why},
                                 {"without_recomputation_bytes", report.kept_bytes},
                                 {"recomputed_operators", report.recomputed},
                                 {"recomputed_flops_share", report.more_flops},
                                 {"device", nullptr}};
  if (const auto& device = report.device) {
    json["device"] = {{"name", device->name},
                      {"predicted_bytes", report.predicted.on_device()},
                      {"measured_bytes", device->measured_bytes},
                      {"preparing_bytes", device->preparing_bytes},
                      {"taken_by_all_bytes", nullptr},
                      {"capacity_bytes", device->capacity}};
    if (device->taken_by_all) json["device"]["taken_by_all_bytes"] = *device->taken_by_all;
  }
  return json;
}

MemoryWatch::MemoryWatch(std::shared_ptr<runtime::Device> device)
    : device_(std::move(device)), host_before_(memory_in_use()), device_before_(device_->use().now) {
  restart_memory_peak();
  device_->restart_peak();
}

void MemoryWatch::look_at_all() {
  if (const auto taken = device_->taken_by_all()) taken_by_all_ = std::max(taken_by_all_.value_or(0), *taken);
}

void MemoryWatch::prepared() {
  preparing_ = above(device_->use().peak, device_before_);
  look_at_all();
  device_->restart_peak();
}

std::size_t MemoryWatch::on_device() const { return above(device_->use().now, device_before_); }

void MemoryWatch::count(TrainingMemoryReport& report) {
  report.measured_bytes = above(memory_peak(), host_before_);
  report.resident_bytes = resident_peak();
  if (device_->host_visible()) return;
  look_at_all();
  report.device = DeviceMemoryReport{.name = std::string(device_->name()),
                                     .measured_bytes = above(device_->use().peak, device_before_),
                                     .preparing_bytes = preparing_,
                                     .taken_by_all = taken_by_all_,
                                     .capacity = device_->capacity()};
}

}  // namespace hone::lab
