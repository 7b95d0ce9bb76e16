// hone explain: where the time of a recorded step goes, and what to change.
#include <algorithm>
#include <cmath>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "apps/command.h"
#include "apps/trace_source.h"
#include "core/file.h"
#include "report/fields_page.h"
#include "report/json.h"
#include "report/sql.h"
#include "report/terminal.h"
#include "report/write.h"
#include "trace/run_folder.h"
#include "trace/sql/writer.h"

namespace hone::apps {
namespace {

namespace fs = std::filesystem;

struct ExplainOptions {
  std::vector<std::string> paths;
  std::string out, json, roofs, sql;
  int top = 5;
  bool fields = false;
};

// What can be known to fail before the work. A folder that another command filled, or that is explained right
// now, is not written over.
Status check_outputs(const ExplainOptions& options) {
  if (options.out.empty()) return {};
  std::error_code ignored;
  const fs::path trace_there = fs::path(options.out) / trace::kTraceFile;
  for (const std::string& path : options.paths)
    if (fs::equivalent(path, trace_there, ignored) ||
        (fs::equivalent(path, options.out, ignored) && fs::exists(trace_there, ignored)))
      return usage_error(
          fmt::format("--out {}: is what is to be explained; name another folder", options.out));
  if (!trace::is_run_folder(options.out)) return check_out(options.out);
  HONE_ASSIGN(const trace::RunInfo there, trace::read_run_info(options.out));
  if (there.what == "explain") return {};
  return invalid(
      fmt::format("--out {}: holds a run of hone {}; name another folder", options.out, there.what));
}

// The page, which is what a user opens.
Result<fs::path> write_folder(const ExplainOptions& options, const Recording& recording,
                              const analyze::Analysis& analysis, const std::string& command) {
  const trace::RunInfo info = run_info("explain", command, recording, analysis);
  HONE_CHECK(trace::write_run_folder(options.out, info, recording.trace));
  return report::write_explanation(options.out, analysis, recording.roofs);
}

Status write_sql(const ExplainOptions& options, const Recording& recording, const analyze::Analysis& analysis,
                 const Progress& progress) {
  trace::Findings findings;
  findings.tables = report::analysis_tables(analysis);
  for (const analyze::StepSpan& row : analysis.step_spans)
    findings.steps.push_back({row.rank, row.step, row.start_ns, row.end_ns});
  for (const analyze::RankSummary& row : analysis.rank_summaries)
    findings.clock_shift_ns[row.rank] = std::llround(row.clock_shift_us * 1e3);
  return trace::write_sqlite(recording.trace, findings, options.sql,
                             [&](double share) { (void)progress(share, "writing " + options.sql); });
}

constexpr int kWrongCommandLine = 2;

Status run_explain(const ExplainOptions& options, const std::string& command, int& exit_code) {
  if (options.fields) {
    fmt::print("{}", report::fields_page());
    return {};
  }
  if (options.paths.empty()) {
    say("hone: PATH is required; see hone explain --help\n");
    exit_code = kWrongCommandLine;
    return {};
  }
  HONE_CHECK(check_outputs(options));
  Roofs given;
  if (!options.roofs.empty()) {
    HONE_ASSIGN(given, read_roofs(options.roofs));
  }
  ProgressBar bar("hone explain");
  const Progress progress = [&bar](double share, const std::string& what) {
    bar.update(share, what);
    return !interrupted();
  };
  HONE_ASSIGN(Recording recording, read_recording(options.paths, progress));
  HONE_ASSIGN(const analyze::Analysis analysis, analyse_recording(recording, given, options.top));
  HONE_CHECK(check_may_write());
  if (!options.roofs.empty()) recording.roofs = std::move(given);
  if (!options.sql.empty()) HONE_CHECK(write_sql(options, recording, analysis, progress));
  fs::path page;
  if (!options.out.empty()) {
    (void)progress(1, "writing " + options.out);
    HONE_ASSIGN(page, write_folder(options, recording, analysis, command));
  }
  if (!options.json.empty()) HONE_CHECK(write_file(options.json, report::explain_json(analysis)));
  bar.finish();
  if (!analysis.verdict.given) exit_code = Program::kNoVerdict;
  fmt::print("{}", report::explain_terminal(analysis, report::terminal_style(STDOUT_FILENO)));
  if (options.out.empty())
    fmt::print("\nThe same as a page, with the step as a timeline: add --out DIR\n");
  else
    fmt::print("\nreport    {}\ntrace     {} (opens in ui.perfetto.dev)\n", page.string(),
               (fs::path(options.out) / trace::kTraceFile).string());
  return {};
}

}  // namespace

void add_explain_command(Program& program) {
  auto options = std::make_shared<ExplainOptions>();
  Command command = program.add(
      "explain", "where the time of a recorded step goes, and what to change",
      [options, &program] { return run_explain(*options, program.command_line, program.exit_code); });
  command
      .positional(
          "PATH", &options->paths,
          "recordings of one program: of PyTorch's profiler (JSON, .gz, .zst; a file for each rank, "
          "or a folder of them), of JAX and TensorFlow (.xplane.pb, or TensorBoard's folder of them), Nsight "
          "Systems (.sqlite), Nsight Compute (CSV), or a run folder of hone")
      .required(false);
  command.option("--out DIR", &options->out,
                 "a folder for the report (HTML, Markdown, JSON) and the trace for ui.perfetto.dev");
  command.option("--top N", &options->top, "operators and kernels to name").positive().with_default();
  command.option(
      "--roofs FILE", &options->roofs,
      "judge by these roofs (as hone ceilings --json writes them), not by what hone knows of the device");
  command.option("--sql FILE", &options->sql, "also write the trace and what was found as an SQLite database")
      .written();
  command.option("--json FILE", &options->json, "write explain.json here, too").written();
  command.flag("--fields", &options->fields,
               "instead of a recording: what explain.json and the tables of --sql hold, as Markdown");
  command.footer(
      "Exit status: 0 explained; 1 not explained, standard error says why; 2 the command line is wrong; 3 "
      "the recording lacks too much for a verdict, or was taken while the machine was busy (what it does "
      "hold "
      "was printed and written).");
}

}  // namespace hone::apps
