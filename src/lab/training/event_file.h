// TensorBoard's event files: scalars by step. Records of TensorFlow's TFRecord framing around its Event messages, of which
// here are only the fields that scalars need (tensorflow/core/util/event.proto, lib/io/record_writer.cc).
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/result.h"

namespace hone::lab {

// The bytes of one record, and of the messages in it.
std::string framed_record(std::string_view data);
std::string version_event(double wall_time);
std::string scalars_event(double wall_time, int64_t step,
                          std::span<const std::pair<std::string, float>> scalars);

// Appends; what has been added is in the file when add() returns, so a killed run leaves whole records, or one cut short,
// which TensorBoard leaves out.
class EventFile {
 public:
  // A new file "events.out.tfevents.<time>.hone" in `folder`.
  static Result<EventFile> create(const std::filesystem::path& folder);
  Status add(int64_t step, std::span<const std::pair<std::string, float>> scalars);

 private:
  EventFile(std::filesystem::path path, std::ofstream file)
      : path_(std::move(path)), file_(std::move(file)) {}
  std::filesystem::path path_;
  std::ofstream file_;
};

}  // namespace hone::lab
