// environment.json of a run folder: where the run ran, and by what a run that goes on notices that it would go on with
// other data or another model.
#pragma once

#include <filesystem>
#include <string>

#include "core/result.h"
#include "graph/graph.h"
#include "lab/training/datasets.h"
#include "lab/training/memory.h"

namespace hone::lab {

struct RunEnvironment {
  std::string command, device;
  int threads = 0;
  std::string data, model;  // fingerprints
  TrainingMemory memory;    // foretold
};

// Of fields, sizes and the names of samples (of all up to a million, else of as many), wherever the data lie; not of their
// content, which nobody reads at once.
std::string fingerprint_of(const TrainingData& data);
// Of everything: structure, names, constants.
std::string fingerprint_of(const graph::Graph& model);

Status write_environment(const std::filesystem::path& run, const RunEnvironment& environment);

// An error where data or model are others than those of the run in `run`; else a line for people where device or threads
// are, which makes other numbers. Empty: neither.
Result<std::string> compare_with_environment(const std::filesystem::path& run, const RunEnvironment& now);

}  // namespace hone::lab
