// What can be changed in somebody else's PyTorch program without touching its files (python/hone_apply), and which findings
// advise it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyze/findings.h"
#include "core/result.h"

namespace hone::lab {

// What a change may do to the numbers that the program computes.
enum class Effect {
  kNone,      // other orders of the same additions at most
  kRounding,  // narrower types
  kOrder,     // batches and random numbers come in another order
  kTraining,  // it trains otherwise: numbers cannot be compared, so it is offered and not kept
};

struct Change {
  std::string_view name;  // of the class in python/hone_apply/changes.py
  std::string_view title;
  std::string_view group;  // at most one of a group is in force; empty: any
  Effect effect = Effect::kNone;
  bool of_devices = false;  // means nothing to a program on the CPU
  bool switches = false;    // can be switched off and on between steps of one run
  // Shorter for the same reason: tried only if this is dropped. Empty: none.
  std::string_view instead = {};
  double samples = 1;  // in a step with it, of those without it
  // It often wins what no finding can tell: worth some blocks of a run that is there anyway.
  enum class Unasked { kNo, kOnDevices, kAnywhere } unasked = Unasked::kNo;
  bool of_convolutions = false;  // means nothing to a program without
};

// The change whose processes are as many as is foretold to be best (TrialOptions::processes).
inline constexpr std::string_view kWorkers = "workers";

std::span<const Change> known_changes();
const Change* find_change(std::string_view name);

// A change that a finding of the baseline advises.
struct Candidate {
  const Change* change = nullptr;
  double predicted_gain_ms = 0;  // of the step, by the finding; 0: none was predicted
  std::string because;           // the finding's title; empty: none advises it
  bool unasked = false;          // no finding advises it
  // Of `workers`: how the program's data loader is known to work.
  std::optional<analyze::Loading> loading = {};
};

// How many processes the change `workers` gives a data loader on this machine where nothing is known of how that works
// (MOST_WORKERS of python/hone_apply/loaders.py).
int loader_processes();

// Those to try, the largest prediction first, and after them what is offered only: it is measured on top of what is kept. A change that several findings advise is predicted to win what they do
// together, but no more than the step; where nothing is known of the loader, batches of so many
// `processes` still take its own time ÷ processes each.
std::vector<Candidate> candidates(const analyze::Analysis& baseline, int processes = loader_processes());

// Of `kept`, which is `workers` and made the program that much faster: with more processes, where batches are still waited for by what that
// measured, and more would win `least_gain` of the step. Nothing: they would not, or not enough is known.
std::optional<Candidate> more_processes(const Candidate& kept, double speedup, double least_gain);

// Those of no finding that are worth a look, where changes are switched anyway.
std::vector<Candidate> unasked_candidates(const std::vector<Candidate>& found, bool on_device,
                                          bool convolves);

// False: the baseline knows all operators of a step that is one for sure, and none is a convolution.
bool may_convolve(const analyze::Analysis& baseline);

// Those of `found` and, after them, others that are to be tried all the same; of these nothing is predicted. Errors: there is no such
// change.
Result<std::vector<Candidate>> with_asked_for(std::vector<Candidate> found,
                                              const std::vector<std::string>& names);

}  // namespace hone::lab
