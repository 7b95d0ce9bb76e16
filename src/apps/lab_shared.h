// What `hone lab` does alike for a model and for a recipe.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "analyze/findings.h"
#include "apps/command.h"
#include "core/result.h"
#include "lab/ceilings/ceilings.h"
#include "lab/experiment/experiment.h"
#include "lab/machine.h"
#include "trace/trace.h"

namespace hone::apps {

// Measured now, where they are not known.
Result<lab::Ceilings> find_ceilings(const std::string& device, const lab::Machine& machine, ProgressBar& bar);

// What of finding them belongs in the report; `seconds` is what it took.
void describe_ceilings(const lab::Ceilings& ceilings, double seconds, analyze::LabReport& report);

// How the experiment counts the kernels of its plans: on a GPU, beside the files of `out`.
std::optional<lab::CountPlanOptions> counting_of(const std::string& device, const std::filesystem::path& out);

// report.html, report.json and the run folders in `out`, `json` where it is not empty, and the report on the terminal.
// The report first: an interrupted program has little time.
Status write_experiment(const std::filesystem::path& out, const std::string& json,
                        const lab::Experiment& experiment);

// What --budget promised and was not kept; empty where it was, roughly.
std::string over_budget(const analyze::LabReport& report, double budget_s);

// Removes a folder that was not there before and that nothing was written to, also where a signal ends the program. One at
// a time.
class EmptyFolderRemover {
 public:
  explicit EmptyFolderRemover(std::filesystem::path folder);
  ~EmptyFolderRemover();
  EmptyFolderRemover(const EmptyFolderRemover&) = delete;
  EmptyFolderRemover& operator=(const EmptyFolderRemover&) = delete;

 private:
  std::filesystem::path folder_;
  bool was_there_;
};

}  // namespace hone::apps
