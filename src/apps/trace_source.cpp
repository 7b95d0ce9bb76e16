#include "apps/trace_source.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analyze/analyze.h"
#include "core/file.h"
#include "core/version.h"
#include "trace/import/byte_source.h"
#include "trace/import/import.h"
#include "trace/import/segments/reader.h"
#include "trace/import/sniff.h"
#include "trace/link/link.h"
#include "trace/roofs_json.h"

namespace hone::apps {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNamedSources = 4;

// As shares of the time that explaining takes.
constexpr double kReadShare = 0.7, kLinkShare = 0.15;

Status check_there(const fs::path& path) {
  std::error_code failed;
  if (!fs::exists(path, failed))
    return not_found(fmt::format("{}: there is no such file or folder", path.string()));
  // A folder of hone lab holds two runs, which are not ranks of one program.
  if (!trace::is_run_folder(path) && trace::is_run_folder(path / "optimised"))
    return invalid(fmt::format("{0}: holds two runs of hone lab; name one: {0}/baseline or {0}/optimised",
                               path.string()));
  return {};
}

// The run folder that a path names, by itself or by its trace; empty for other traces. A session that was killed may
// have left its run.json beside the segments.
fs::path run_folder_of(const fs::path& path) {
  std::error_code failed;
  if (trace::is_run_folder(path)) return path;
  if (trace::segments::holds_segments(path) && fs::is_regular_file(path / trace::kRunFile, failed))
    return path;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  return path.filename() == trace::kTraceFile && trace::is_run_folder(folder) ? folder : fs::path();
}

Error interruption() { return {ErrorCode::kCancelled, "interrupted; nothing was written"}; }

std::string source_of(const std::vector<std::string>& paths) {
  if (paths.size() == 1) return paths.front();
  std::string text;
  for (std::size_t i = 0; i < std::min(kNamedSources, paths.size()); ++i)
    text += (i > 0 ? ", " : "") + fs::path(paths[i]).filename().string();
  if (paths.size() > kNamedSources) text += fmt::format(" and {} more", paths.size() - kNamedSources);
  return text;
}

}  // namespace

Result<bool> is_recording(const fs::path& path) {
  HONE_CHECK(check_there(path));
  std::error_code failed;
  // What a pipe holds can be looked at once only; models are read from files alone.
  if (!fs::is_regular_file(path, failed) || !run_folder_of(path).empty()) return true;
  HONE_ASSIGN(const std::unique_ptr<trace::ByteSource> bytes, trace::open_bytes(path));
  std::string first(trace::kSniffBytes, '\0');
  HONE_ASSIGN(const std::size_t got, bytes->read(first));
  first.resize(got);
  const trace::Sniffed found = trace::sniff(first);
  if (found.format != trace::TraceFormat::kUnknown) return true;
  // What is called a model is left to the reader of models, which can say what is wrong with it.
  if (found.is_onnx || path.extension() == ".onnx") return false;
  return invalid(fmt::format("{}: {} Two recordings can be compared, or two ONNX models; as recordings, {}",
                             path.string(), trace::what_instead(found, path), trace::readable_formats()));
}

Result<Recording> read_recording(const std::vector<std::string>& paths, const Progress& progress) {
  Recording recording;
  recording.source = source_of(paths);
  std::vector<fs::path> files;
  for (const std::string& path : paths) {
    HONE_CHECK(check_there(path));
    files.emplace_back(path);
    const fs::path folder = run_folder_of(files.back());
    if (folder.empty()) continue;
    HONE_ASSIGN(const trace::RunInfo info, trace::read_run_info(folder));
    if (info.roofs) recording.roofs = *info.roofs;
  }
  trace::ImportOptions options;
  options.progress = [&](std::string_view file, double share) {
    return progress(share * kReadShare, fmt::format("reading {}", file));
  };
  Result<trace::Trace> imported = trace::import_trace(files, options);
  if (!imported.ok())
    return imported.error().code == ErrorCode::kCancelled ? interruption() : imported.error();
  recording.trace = std::move(*imported);
  if (!progress(kReadShare, "joining kernels and operators")) return interruption();
  const Status linked = trace::link_trace(recording.trace);
  if (!linked.ok()) return linked.error().within(recording.source);
  if (!progress(kReadShare + kLinkShare, "analysing")) return interruption();
  return recording;
}

Result<analyze::Analysis> analyse_recording(const Recording& recording, const Roofs& given, int top) {
  analyze::AnalyzeOptions options;
  options.top = top;
  options.source = recording.source;
  const bool has_given = !given.compute.empty() || !given.memory.empty();
  auto analysis = analyze::analyze_trace(recording.trace, has_given ? given : recording.roofs, options);
  if (!analysis.ok() && analysis.error().message.find(recording.source) == std::string::npos)
    return analysis.error().within(recording.source);
  return analysis;
}

trace::RunInfo run_info(const std::string& what, const std::string& command, const Recording& recording,
                        const analyze::Analysis& analysis) {
  trace::RunInfo info;
  info.what = what;
  info.command = command;
  info.when = trace::timestamp_now();
  info.machine = recording.trace.meta.machine;
  info.device = analysis.device;
  info.threads = recording.trace.meta.threads;
  info.versions = {{"hone", std::string(kVersion)}};
  if (!recording.roofs.compute.empty() || !recording.roofs.memory.empty()) info.roofs = recording.roofs;
  return info;
}

Result<Roofs> read_roofs(const fs::path& path) {
  const auto failure = [](Error error) {
    error.message += "; a table of roofs is what `hone ceilings --json FILE` writes";
    return error.within("--roofs");
  };
  std::error_code unknown;
  if (fs::exists(path, unknown) && !fs::is_regular_file(path, unknown) && !fs::is_directory(path, unknown))
    return failure(invalid(fmt::format("{} is no regular file", path.string())));
  const Result<std::string> text = read_file(path);
  if (!text.ok()) return failure(text.error());
  const auto json = nlohmann::ordered_json::parse(*text, nullptr, false);
  if (json.is_discarded() || !json.is_object())
    return failure(corrupt(fmt::format("{} is no JSON object", path.string())));
  Result<Roofs> roofs = trace::roofs_from_json(json.contains("roofs") ? json["roofs"] : json);
  if (!roofs.ok()) return failure(roofs.error().within(path.string()));
  return roofs;
}

Status check_out(const fs::path& folder) {
  const Status status = check_folder(folder);
  return status.ok() ? status : status.error().within("--out");
}

}  // namespace hone::apps
