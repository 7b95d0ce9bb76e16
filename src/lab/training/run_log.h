// What a training run writes while it goes on: metrics.jsonl, a line of JSON for each step that was logged and for each
// evaluation, and the same as TensorBoard events.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "lab/training/event_file.h"

namespace hone::lab {

inline constexpr const char* kMetricsFile = "metrics.jsonl";

class RunLog {
 public:
  // Of a new run, or of one that goes on behind step `from`: lines of later steps are taken out.
  static Result<RunLog> open(const std::filesystem::path& run, int64_t from);
  // `kind`: "train" or "evaluate", the prefix of TensorBoard's tags.
  Status add(const std::string& kind, int64_t step,
             const std::vector<std::pair<std::string, double>>& numbers);

 private:
  RunLog(std::filesystem::path path, std::ofstream lines, EventFile events)
      : path_(std::move(path)), lines_(std::move(lines)), events_(std::move(events)) {}
  std::filesystem::path path_;
  std::ofstream lines_;
  EventFile events_;
};

}  // namespace hone::lab
