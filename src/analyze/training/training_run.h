// What one run of `hone train` left behind: the input of its page and of comparisons. Plain data; lab/training/run_summary
// reads it from a run folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyze/findings.h"
#include "core/roofs.h"

namespace hone::analyze {

// A line of metrics.jsonl. Numbers that were not finite are NaN.
struct TrainingStep {
  int64_t step = 0;  // from 1
  double loss = 0;
  double rate = 0;
  double gradient_norm = 0;
  double step_ms = 0;  // the wait for its batch included
  double input_wait_ms = 0;
};

struct TrainingEvaluation {
  int64_t step = 0;  // after it
  double loss = 0;
  std::optional<double> metric;
};

// What some part of the run holds in memory.
struct NamedBytes {
  std::string name;
  double bytes = 0;
  std::string note;  // what to know of it; may be empty
};

enum class RunEnd : uint8_t {
  kUnfinished,  // it is still running, or was killed
  kDone,
  kTarget,
  kStopped,  // by a signal: it can go on
  kFailed,
};

struct TrainingRun {
  std::string source;  // its folder
  std::string name;    // the recipe's
  RunEnd end = RunEnd::kUnfinished;
  std::string failure;  // of kFailed
  int64_t steps = 0;    // of the whole recipe
  int64_t batch = 0;    // samples a step
  int64_t batches_per_epoch = 0;
  int64_t tokens_per_sample = 0;  // 0: samples are no tokens
  double parameters = 0;
  double step_flops = 0;  // of the model, forward and backward
  double seconds = 0;     // of all parts of a resumed run
  std::string metric;     // "none": the recipe has no metric
  bool larger_is_better = true;
  std::optional<double> target;
  std::string limiting_stage;  // of reading ahead
  std::vector<TrainingStep> log;
  std::vector<TrainingEvaluation> evaluations;
  std::vector<NamedBytes> memory;
  std::vector<std::string>
      notes;  // what is worth knowing of the run: samples left out, operators by reference
  std::vector<std::pair<std::string, std::string>> recipe;  // "train.batch", "64", as resolved
  std::string recipe_text;                                  // the same as TOML
  Environment environment;
  std::string command;
  Roofs roofs;                       // of the machine; empty: not known
  std::optional<Analysis> recorded;  // some steps; none: the run was too short to record any
};

}  // namespace hone::analyze
