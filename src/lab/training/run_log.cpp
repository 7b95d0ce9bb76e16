#include "lab/training/run_log.h"

#include <cmath>
#include <sstream>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "core/file.h"

namespace hone::lab {
namespace {

// The lines up to step `from`; a last one that was cut short is none.
std::string lines_until(const std::string& text, int64_t from) {
  std::istringstream stream(text);
  std::string kept;
  for (std::string line; std::getline(stream, line);) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object() && json.contains("step") && json["step"].is_number_integer() &&
        json["step"].get<int64_t>() <= from)
      kept += line + "\n";
  }
  return kept;
}

}  // namespace

Result<RunLog> RunLog::open(const std::filesystem::path& run, int64_t from) {
  const std::filesystem::path path = run / kMetricsFile;
  std::string kept;
  if (std::error_code none; from > 0 && std::filesystem::exists(path, none)) {
    HONE_ASSIGN(const auto file, MappedFile::open(path));
    kept = lines_until(std::string(file->text()), from);
  }
  HONE_CHECK(write_file(path, kept));
  std::ofstream lines(path, std::ios::app);
  if (!lines) return io_error(fmt::format("{}: cannot be written", path.string()));
  HONE_ASSIGN(EventFile events, EventFile::create(run));
  return RunLog(path, std::move(lines), std::move(events));
}

Status RunLog::add(const std::string& kind, int64_t step,
                   const std::vector<std::pair<std::string, double>>& numbers) {
  nlohmann::ordered_json line = {{"step", step}, {"kind", kind}};
  std::vector<std::pair<std::string, float>> scalars;
  for (const auto& [name, value] : numbers) {
    line[name] = std::isfinite(value) ? nlohmann::ordered_json(value) : nlohmann::ordered_json(nullptr);
    scalars.emplace_back(kind + "/" + name, static_cast<float>(value));
  }
  lines_ << line.dump() << '\n' << std::flush;
  if (!lines_) return io_error(fmt::format("{}: cannot be written", path_.string()));
  return events_.add(step, scalars);
}

}  // namespace hone::lab
