#include "apps/explanation.h"

#include <utility>

#include <fmt/format.h>

#include "apps/command_line.h"
#include "report/write.h"
#include "trace/run_folder.h"

namespace hone::apps {

namespace fs = std::filesystem;

Status check_out_of(const ExplanationRequest& request) {
  if (request.out.empty()) return {};
  std::error_code ignored;
  const fs::path trace_there = fs::path(request.out) / trace::kTraceFile;
  for (const std::string& path : request.paths)
    if (fs::equivalent(path, trace_there, ignored) ||
        (fs::equivalent(path, request.out, ignored) && fs::exists(trace_there, ignored)))
      return usage_error(
          fmt::format("--out {}: is what is to be explained; name another folder", request.out));
  if (!trace::is_run_folder(request.out)) return check_out(request.out);
  HONE_ASSIGN(const trace::RunInfo there, trace::read_run_info(request.out));
  if (there.what == "explain") return {};
  return invalid(
      fmt::format("--out {}: holds a run of hone {}; name another folder", request.out, there.what));
}

Result<Explanation> explain_recordings(const ExplanationRequest& request, const Progress& progress) {
  Roofs given;
  if (!request.roofs.empty()) {
    HONE_ASSIGN(given, read_roofs(request.roofs));
  }
  HONE_ASSIGN(Recording recording, read_recording(request.paths, progress));
  const Status selected = trace::select_steps(recording.trace, request.steps);
  if (!selected.ok()) return selected.error().within(recording.source);
  HONE_ASSIGN(analyze::Analysis analysis, analyse_recording(recording, given, request.top));
  if (!request.roofs.empty()) recording.roofs = std::move(given);
  return Explanation{std::move(recording), std::move(analysis)};
}

Result<fs::path> write_explained_run(const ExplanationRequest& request, const Explanation& explanation,
                                     const std::string& command) {
  const trace::RunInfo info = run_info("explain", command, explanation.recording, explanation.analysis);
  HONE_CHECK(trace::write_run_folder(request.out, info, explanation.recording.trace));
  return report::write_explanation(request.out, explanation.analysis, explanation.recording.roofs);
}

}  // namespace hone::apps
