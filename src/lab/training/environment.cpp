#include "lab/training/environment.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/crc32c.h"
#include "core/file.h"
#include "graph/text.h"
#include "lab/machine.h"
#include "trace/run_folder.h"

namespace hone::lab {
namespace {

constexpr const char* kEnvironmentFile = "environment.json";

// Samples between two whose names count: synthetic data may have more of them than can be walked through.
int64_t stride_of(const data::Dataset& part) {
  constexpr int64_t kMostNamed = int64_t{1} << 20;
  return part.size() / kMostNamed + 1;
}

class Fingerprint {
 public:
  void add(const std::string& text) { add(text.data(), text.size() + 1); }  // its end, too
  void add(const void* data, std::size_t bytes) {
    crc_ = crc32c({static_cast<const std::byte*>(data), bytes}, crc_);
  }
  std::string text() const { return fmt::format("{:08x}", crc_); }

 private:
  uint32_t crc_ = 0;
};

// How much all names of samples begin with: the folder of the data, which may be called otherwise from elsewhere.
std::size_t common_start(const std::vector<const data::Dataset*>& parts) {
  std::string start;
  bool any = false;
  for (const data::Dataset* part : parts) {
    for (int64_t i = 0; i < part->size(); i += stride_of(*part)) {
      const std::string name = part->name_of(i);
      if (!any) start = name;
      any = true;
      const auto end = std::mismatch(start.begin(), start.end(), name.begin(), name.end()).first;
      start.erase(end, start.end());
    }
  }
  return start.size();
}

}  // namespace

std::string fingerprint_of(const TrainingData& data) {
  std::vector<const data::Dataset*> parts;
  for (const auto& part : {data.training, data.validation})
    if (part != nullptr) parts.push_back(part.get());
  const std::size_t start = common_start(parts);
  Fingerprint fingerprint;
  for (const data::Dataset* part : parts) {
    for (const data::Field& field : part->fields())
      fingerprint.add(fmt::format("{} {}{}", field.name, dtype_name(field.dtype), shape_text(field.shape)));
    fingerprint.add(fmt::format("{} samples", part->size()));
    for (int64_t i = 0; i < part->size(); i += stride_of(*part))
      fingerprint.add(part->name_of(i).substr(start));
  }
  return fingerprint.text();
}

std::string fingerprint_of(const graph::Graph& model) {
  std::vector<Tensor> beside;
  Fingerprint fingerprint;
  fingerprint.add(graph::print(model, beside));
  for (const Tensor& tensor : beside) fingerprint.add(tensor.data(), tensor.bytes());
  return fingerprint.text();
}

Status write_environment(const std::filesystem::path& run, const RunEnvironment& environment) {
  const nlohmann::ordered_json json = {{"schema", 1},
                                       {"command", environment.command},
                                       {"when", trace::timestamp_now()},
                                       {"device", environment.device},
                                       {"threads", environment.threads},
                                       {"memory", memory_json(environment.memory)},
                                       {"data_fingerprint", environment.data},
                                       {"model_fingerprint", environment.model},
                                       {"machine", machine_json(describe_machine())}};
  return write_file(run / kEnvironmentFile, json.dump(2) + "\n");
}

Result<std::string> compare_with_environment(const std::filesystem::path& run, const RunEnvironment& now) {
  const auto text = read_file(run / kEnvironmentFile);
  const auto json = nlohmann::json::parse(text.ok() ? *text : "", nullptr, false);
  const auto differs = [&](const char* key, const auto& value) {
    return json.is_object() && json.contains(key) && json[key] != value;
  };
  constexpr const char* kRemedy = "bring that back, or begin a run of its own";
  if (differs("data_fingerprint", now.data))
    return invalid(
        fmt::format("{}: the data are no longer those that the run began with (samples, names or "
                    "fields are others); {}",
                    run.string(), kRemedy));
  if (differs("model_fingerprint", now.model))
    return invalid(
        fmt::format("{}: the model is no longer the one that the run began with; {}", run.string(), kRemedy));
  if (!differs("device", now.device) && !differs("threads", now.threads)) return std::string();
  return fmt::format(
      "the run was on {} with {} threads and is now on {} with {}: numbers are no longer equal bit by bit",
      json.value("device", "another device"), json.value("threads", 0), now.device, now.threads);
}

}  // namespace hone::lab
