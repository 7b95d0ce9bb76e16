// hone explain: where the time of a recorded step goes, and what to change.
#include <charconv>
#include <cmath>
#include <memory>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "apps/command.h"
#include "apps/explanation.h"
#include "core/file.h"
#include "report/csv.h"
#include "report/fields_page.h"
#include "report/json.h"
#include "report/sql.h"
#include "report/terminal.h"
#include "trace/run_folder.h"
#include "trace/sql/writer.h"

namespace hone::apps {
namespace {

namespace fs = std::filesystem;

struct ExplainOptions {
  ExplanationRequest request;
  std::string json, sql, csv;
  std::string step;  // "12" or "12-15"
  double from_ms = -1, to_ms = -1;
  bool fields = false;
};

std::optional<int32_t> step_number(std::string_view text) {
  int32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

Result<trace::StepSelection> selection_of(const ExplainOptions& options) {
  trace::StepSelection selection;
  if (options.from_ms >= 0) selection.from_ms = options.from_ms;
  if (options.to_ms >= 0) selection.to_ms = options.to_ms;
  if (options.step.empty()) return selection;
  const std::size_t dash = options.step.find('-');
  selection.first = step_number(std::string_view(options.step).substr(0, dash));
  selection.last = dash == std::string::npos ? selection.first
                                             : step_number(std::string_view(options.step).substr(dash + 1));
  if (!selection.first || !selection.last || *selection.first > *selection.last)
    return usage_error(fmt::format("--step {}: no number of a step, nor two as in 12-15", options.step));
  return selection;
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
  ExplanationRequest request = options.request;
  if (request.paths.empty()) {
    say("hone: PATH is required; see hone explain --help\n");
    exit_code = kWrongCommandLine;
    return {};
  }
  HONE_CHECK(check_out_of(request));
  HONE_ASSIGN(request.steps, selection_of(options));
  ProgressBar bar("hone explain");
  const Progress progress = [&bar](double share, const std::string& what) {
    bar.update(share, what);
    return !interrupted();
  };
  HONE_ASSIGN(const Explanation explanation, explain_recordings(request, progress));
  const analyze::Analysis& analysis = explanation.analysis;
  HONE_CHECK(check_may_write());
  if (!options.sql.empty()) HONE_CHECK(write_sql(options, explanation.recording, analysis, progress));
  fs::path page;
  if (!request.out.empty()) {
    (void)progress(1, "writing " + request.out);
    HONE_ASSIGN(page, write_explained_run(request, explanation, command));
  }
  if (!options.json.empty()) HONE_CHECK(write_file(options.json, report::explain_json(analysis)));
  if (!options.csv.empty()) HONE_CHECK(write_file(options.csv, report::kernels_csv(analysis)));
  bar.finish();
  if (!analysis.verdict.given) exit_code = Program::kNoVerdict;
  fmt::print("{}", report::explain_terminal(analysis, report::terminal_style(STDOUT_FILENO)));
  if (request.out.empty())
    fmt::print("\nThe same as a page, with the step as a timeline: add --out DIR\n");
  else
    fmt::print("\nreport    {}\ntrace     {} (opens in ui.perfetto.dev)\n", page.string(),
               (fs::path(request.out) / trace::kTraceFile).string());
  return {};
}

}  // namespace

void add_explain_command(Program& program) {
  auto options = std::make_shared<ExplainOptions>();
  Command command = program.add(
      "explain", "where the time of a recorded step goes, and what to change",
      [options, &program] { return run_explain(*options, program.command_line, program.exit_code); });
  command
      .positional("PATH", &options->request.paths,
                  "recordings of one program: of PyTorch's profiler (JSON, .gz, .zst; a file for each rank, "
                  "or a folder of them), a snapshot of PyTorch's memory (.pickle), of JAX and TensorFlow "
                  "(.xplane.pb, or TensorBoard's folder of them), Nsight "
                  "Systems (.sqlite), Nsight Compute (CSV), or a run folder of hone")
      .required(false);
  command.option("--out DIR", &options->request.out,
                 "a folder for the report (HTML, Markdown, JSON) and the trace for ui.perfetto.dev");
  command.option("--top N", &options->request.top, "operators and kernels to name").positive().with_default();
  command.option("--step N", &options->step, "explain this step alone, or these: N-M");
  command.option("--from MS", &options->from_ms,
                 "explain steps that begin no earlier than that in the recording");
  command.option("--to MS", &options->to_ms, "explain steps that end no later than that");
  command.option(
      "--roofs FILE", &options->request.roofs,
      "judge by these roofs (as hone ceilings --json writes them), not by what hone knows of the device");
  command.option("--sql FILE", &options->sql, "also write the trace and what was found as an SQLite database")
      .written();
  command.option("--json FILE", &options->json, "write explain.json here, too").written();
  command.option("--csv FILE", &options->csv, "also write all kernels of the step as CSV, a line each")
      .written();
  command.flag("--fields", &options->fields,
               "instead of a recording: what explain.json and the tables of --sql hold, as Markdown");
  command.footer(
      "Exit status: 0 explained; 1 not explained, standard error says why; 2 the command line is wrong; 3 "
      "the recording lacks too much for a verdict, or was taken while the machine was busy (what it does "
      "hold "
      "was printed and written).");
}

}  // namespace hone::apps
