// The run folder: what one execution leaves. run.json says what ran, where and when; trace.pftrace holds the
// events; reports stand beside them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/roofs.h"
#include "trace/trace.h"

namespace hone::trace {

inline constexpr int kRunSchema = 1;
inline constexpr const char* kRunFile = "run.json";
inline constexpr const char* kTraceFile = "trace.pftrace";

// How a program was observed.
struct ObservedRun {
  struct Block {
    uint32_t number = 0;
    std::string mode;                 // "timeline", "left alone", …
    double start_s = 0, seconds = 0;  // from the program's start
  };
  std::vector<Block> blocks;     // in order of time
  uint64_t seed = 0;             // of their order
  bool complete = false;         // all that was planned; otherwise the program ended first
  std::optional<int> exit_code;  // the program's, 128 + signal where one ended it; none: it went on
  int processes = 0;             // that were observed
};

struct RunInfo {
  std::string what;     // "lab", "profile", …
  std::string command;  // as typed
  std::string when;     // ISO 8601 with offset
  std::string machine;
  std::string device;
  std::string model;  // file or recipe; empty for a foreign program
  int threads = 1;
  std::vector<std::pair<std::string, std::string>> versions;  // "hone", "oneDNN", "os", …
  std::optional<Roofs>
      roofs;  // of the machine that ran it: another machine's reader needs these, not its own
  std::optional<ObservedRun> observed;  // written, not read back
};

struct RunFolder {
  RunInfo info;
  Trace trace;
};

// Creates the folder if need be; each file appears whole or not at all, run.json last.
Status write_run_folder(const std::filesystem::path& folder, const RunInfo& info, const Trace& trace);

// run.json alone: of a run that goes on, or whose trace is there already.
Status write_run_info(const std::filesystem::path& folder, const RunInfo& info);

Result<RunInfo> read_run_info(const std::filesystem::path& folder);
Result<RunFolder> read_run_folder(const std::filesystem::path& folder);
// Whether `path` is a folder that has a run.json and a trace.
bool is_run_folder(const std::filesystem::path& path);

// "2026-03-14T09:26:53+01:00": local time now, as RunInfo::when has it.
std::string timestamp_now();

}  // namespace hone::trace
