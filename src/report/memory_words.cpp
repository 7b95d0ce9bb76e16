#include "report/memory_words.h"

#include <fmt/format.h>

#include "core/units.h"
#include "report/text.h"

namespace hone::report {
namespace {

constexpr double kFragmented = 0.2;  // of what the allocator holds
constexpr const char* kExpandable =
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True lets it grow its segments instead of taking new ones, "
    "so "
    "that less lies free between tensors";

std::string after(double ms) {
  return ms > 0 ? fmt::format(", {} after the first event", format_ms(ms)) : "";
}

}  // namespace

std::string memory_heading(const analyze::DeviceMemory& device) {
  const std::string name =
      device.device < 0 ? "Memory of the host" : fmt::format("Memory of GPU {}", device.device);
  return device.rank > 0 ? fmt::format("{} of rank {}", name, device.rank) : name;
}

std::vector<std::string> memory_sentences(const analyze::DeviceMemory& device) {
  std::vector<std::string> sentences;
  sentences.push_back(
      fmt::format("{}{} in tensors at once{}{}", device.peak_is_bound ? "at least " : "at most ",
                  format_bytes(device.peak_bytes), after(device.peak_ms),
                  device.peak_is_bound ? "; before the events begin it may have been more" : ""));
  if (device.peak_reserved > 0)
    sentences.push_back(
        fmt::format("the allocator had at most {} of the device", format_bytes(device.peak_reserved)));
  if (device.end_reserved > 0)
    sentences.push_back(fmt::format(
        "at the end tensors use {} of {}: {} ({}) are free in pieces between them, {} in segments of the "
        "allocator without any; the largest free piece has {}",
        format_bytes(device.end_bytes), format_bytes(device.end_reserved),
        format_bytes(device.between_blocks), format_percent(device.fragmentation()),
        format_bytes(device.free_segments), format_bytes(device.largest_free)));
  if (device.failed > 0)
    sentences.push_back(fmt::format("memory could not be had {}, {} at most", counted(device.failed, "time"),
                                    format_bytes(device.failed_bytes)));
  if (device.fragmentation() >= kFragmented ||
      (device.failed > 0 && device.between_blocks >= device.failed_bytes))
    sentences.emplace_back(kExpandable);
  return sentences;
}

std::string holding_blocks(const analyze::MemoryHolding& holding) {
  return counted(holding.blocks, "tensor");
}

}  // namespace hone::report
