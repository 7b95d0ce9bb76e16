// What a path on the command line holds, where it may be a recording: run folders, traces of other programs,
// folders of ranks. Reads it, joins it (trace/link) and analyses it. Shared by explain and compare.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "analyze/findings.h"
#include "core/result.h"
#include "core/roofs.h"
#include "trace/run_folder.h"
#include "trace/trace.h"

namespace hone::apps {

// Called with the share that is done, 0 to 1, and what is being done; false: stop.
using Progress = std::function<bool(double, const std::string&)>;

struct Recording {
  trace::Trace trace;
  Roofs roofs;         // of the machine that ran it, where the run folder has them
  std::string source;  // for people: "rank0.json.gz, rank1.json.gz"
};

// Whether `path` is to be read as a recording rather than as an ONNX model. Errors: nothing is there, or what
// is there is neither.
Result<bool> is_recording(const std::filesystem::path& path);

// The ranks of one program, linked. Errors name the file, or say that `progress` stopped it.
Result<Recording> read_recording(const std::vector<std::string>& paths, const Progress& progress);

// `given` replaces the recording's own roofs where it has any.
Result<analyze::Analysis> analyse_recording(const Recording& recording, const Roofs& given, int top);

// What run.json says of a recording that was explained. `what` is the command of hone, `command` its line.
trace::RunInfo run_info(const std::string& what, const std::string& command, const Recording& recording,
                        const analyze::Analysis& analysis);

// A table of roofs, which --roofs names: as `hone ceilings --json` writes it, or as run.json and report.json
// carry it.
Result<Roofs> read_roofs(const std::filesystem::path& path);

// Whether the folder that --out names can be made and written into; makes nothing.
Status check_out(const std::filesystem::path& folder);

}  // namespace hone::apps
