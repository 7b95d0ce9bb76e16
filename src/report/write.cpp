#include "report/write.h"

#include "core/file.h"
#include "report/html.h"
#include "report/json.h"
#include "report/markdown.h"

namespace hone::report {

Result<std::filesystem::path> write_lab_report(const std::filesystem::path& folder,
                                               const analyze::LabReport& report) {
  HONE_CHECK(make_folder(folder));
  HONE_CHECK(write_file(folder / "report.json", lab_json(report)));
  HONE_CHECK(write_file(folder / "report.md", lab_markdown(report)));
  HONE_CHECK(write_file(folder / "report.html", lab_html(report)));
  return folder / "report.html";
}

Result<std::filesystem::path> write_explanation(const std::filesystem::path& folder,
                                                const analyze::Analysis& analysis, const Roofs& roofs) {
  HONE_CHECK(make_folder(folder));
  HONE_CHECK(write_file(folder / "explain.json", explain_json(analysis)));
  HONE_CHECK(write_file(folder / "explain.md", explain_markdown(analysis)));
  HONE_CHECK(write_file(folder / "explain.html", explain_html(analysis, roofs)));
  return folder / "explain.html";
}

Result<std::filesystem::path> write_program_report(const std::filesystem::path& folder,
                                                   const analyze::ProgramReport& report) {
  HONE_CHECK(make_folder(folder));
  HONE_CHECK(write_file(folder / "lab.json", program_json(report)));
  HONE_CHECK(write_file(folder / "report.html", program_html(report)));
  if (!report.diff.empty()) HONE_CHECK(write_file(folder / kPatchFile, report.diff));
  return folder / "report.html";
}

Result<std::filesystem::path> write_training_report(const std::filesystem::path& folder,
                                                    const analyze::TrainingRun& run) {
  HONE_CHECK(make_folder(folder));
  HONE_CHECK(write_file(folder / "report.html", training_html(run)));
  return folder / "report.html";
}

Result<std::filesystem::path> write_comparison(const std::filesystem::path& folder,
                                               const analyze::Comparison& comparison) {
  HONE_CHECK(make_folder(folder));
  HONE_CHECK(write_file(folder / "compare.json", compare_json(comparison)));
  HONE_CHECK(write_file(folder / "compare.md", compare_markdown(comparison)));
  HONE_CHECK(write_file(folder / "compare.html", compare_html(comparison)));
  return folder / "compare.html";
}

Result<std::filesystem::path> write_training_comparison(const std::filesystem::path& folder,
                                                        const analyze::TrainingComparison& comparison,
                                                        std::span<const analyze::TrainingRun> a,
                                                        std::span<const analyze::TrainingRun> b) {
  HONE_CHECK(make_folder(folder));
  HONE_CHECK(write_file(folder / "compare.json", compare_training_json(comparison)));
  HONE_CHECK(write_file(folder / "compare.html", compare_training_html(comparison, a, b)));
  return folder / "compare.html";
}

}  // namespace hone::report
