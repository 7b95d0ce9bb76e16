#include "lab/training/event_file.h"

#include <chrono>
#include <cstring>

#include <fmt/core.h>
#include <protozero/pbf_writer.hpp>

#include "core/crc32c.h"

namespace hone::lab {
namespace {

// TensorFlow stores checksums rotated, lest the checksum of data that hold checksums be weak.
uint32_t masked_crc(std::string_view bytes) {
  const uint32_t crc = crc32c(std::as_bytes(std::span(bytes)));
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

template <typename T>
std::string little_endian(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

double wall_time_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

enum EventField : uint32_t { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5 };
enum SummaryField : uint32_t { kValue = 1 };
enum ValueField : uint32_t { kTag = 1, kSimpleValue = 2 };

}  // namespace

std::string framed_record(std::string_view data) {
  const std::string length = little_endian(static_cast<uint64_t>(data.size()));
  return length + little_endian(masked_crc(length)) + std::string(data) + little_endian(masked_crc(data));
}

std::string version_event(double wall_time) {
  std::string event;
  protozero::pbf_writer writer(event);
  writer.add_double(kWallTime, wall_time);
  writer.add_string(kFileVersion, "brain.Event:2");
  return event;
}

std::string scalars_event(double wall_time, int64_t step,
                          std::span<const std::pair<std::string, float>> scalars) {
  std::string event;
  protozero::pbf_writer writer(event);
  writer.add_double(kWallTime, wall_time);
  writer.add_int64(kStep, step);
  protozero::pbf_writer summary(writer, kSummary);
  for (const auto& [tag, number] : scalars) {
    protozero::pbf_writer value(summary, kValue);
    value.add_string(kTag, tag);
    value.add_float(kSimpleValue, number);
  }
  return event;
}

Result<EventFile> EventFile::create(const std::filesystem::path& folder) {
  std::filesystem::path path;
  for (auto second = static_cast<int64_t>(wall_time_now());;
       ++second) {  // a run that is resumed at once has its own
    path = folder / fmt::format("events.out.tfevents.{:010}.hone", second);
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) break;
  }
  std::ofstream stream(path, std::ios::binary);
  const std::string first = framed_record(version_event(wall_time_now()));
  stream << first << std::flush;
  if (!stream) return io_error(fmt::format("{}: cannot be written", path.string()));
  return EventFile(std::move(path), std::move(stream));
}

Status EventFile::add(int64_t step, std::span<const std::pair<std::string, float>> scalars) {
  file_ << framed_record(scalars_event(wall_time_now(), step, scalars)) << std::flush;
  if (file_) return {};
  return io_error(fmt::format("{}: cannot be written", path_.string()));
}

}  // namespace hone::lab
