// What hone explain does between its command line and its output: recordings in, an analysis and a run folder out.
// Shared by the command and the Python package.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "analyze/findings.h"
#include "apps/trace_source.h"
#include "core/result.h"
#include "trace/select_steps.h"

namespace hone::apps {

struct Explanation {
  Recording recording;
  analyze::Analysis analysis;
};

struct ExplanationRequest {
  std::vector<std::string> paths;  // of one program
  std::string out;                 // the run folder to write; empty: none
  std::string roofs;               // a table of roofs to judge by; empty: what hone knows of the device
  int top = 5;
  trace::StepSelection steps = {};  // to be explained; all, unless said
};

// What can be known to fail before the work. A folder that another command filled, or that is explained right
// now, is not written over.
Status check_out_of(const ExplanationRequest& request);

// Errors name the file, or say that `progress` stopped it.
Result<Explanation> explain_recordings(const ExplanationRequest& request, const Progress& progress);

// Writes request.out; returns the page, which is what a user opens. `command` is what run.json says of who did it.
Result<std::filesystem::path> write_explained_run(const ExplanationRequest& request,
                                                  const Explanation& explanation, const std::string& command);

}  // namespace hone::apps
