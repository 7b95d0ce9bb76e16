// Steps of a program that a recorder recorded and left alone in turn (Meta::blocks): no step reaches from one block into
// another, and what is shown are steps in which nothing but the timeline was recorded, as that slows them least.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "trace/trace.h"

namespace hone::trace::link {

// A step on the host of one rank.
struct StepInterval {
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int32_t number = kNoStep;
  BlockMode mode = BlockMode::kTimeline;  // of its block; of a recorder that takes no turns: kTimeline

  bool contains(int64_t time_ns) const { return start_ns <= time_ns && time_ns < end_ns; }
};

// Those of `steps` that lie within one recorded block each, with its mode; all, where the recorder took no turns.
std::vector<StepInterval> within_blocks(const Meta& meta, int rank, std::span<const StepInterval> steps);
// Leaves out steps at the ends of blocks that lack device work: the device was behind the host, and ran it when nobody
// recorded any more. `launches` are the starts of the rank's launches whose work is there, in order.
void drop_torn_steps(const Meta& meta, int rank, std::span<const int64_t> launches,
                     std::vector<StepInterval>& steps);
// Of these the ones to explain: of a program that drives a device of the timeline alone, where there are any, as that slows
// it least; else of operators, without which nothing is known of the host. Never of counters, if there are others.
std::vector<StepInterval> shown_steps(std::span<const StepInterval> steps, bool drives_device);

// Steps from mark to mark.
struct MarkedSteps {
  std::vector<StepInterval>
      steps;  // in recorded blocks, by time; numbered as marks came since the program began
  std::vector<BlockSteps> blocks;    // of all blocks
  std::vector<SampledStep> sampled;  // in which devices were sampled
  StepMarkKind kind = StepMarkKind::kUser;
  std::string name;  // of the marks
  int marks_a_step = 1;

  bool found() const { return !steps.empty(); }
  std::string what() const;  // "marks of the optimizer (AdamW)"
  double confidence() const;
};

// By the marks that say most surely where a step ends: the program's own, then the optimizer's, then batches', then
// modules'. Where several marks come in a step (two optimizers of one class), the launches between them tell how many; and
// what they launched, where a call that comes again and again is taken for a mark (it may come after every launch).
// `launches` are the starts of the rank's launches, in order, `names` what each launched: any numbers, or none are known.
// Not found: no marks, or not two in any recorded block.
MarkedSteps find_marked_steps(const Trace& trace, int rank, std::span<const int64_t> launches,
                              std::span<const uint32_t> names = {});

// A launch, and how many the process had launched before: CUPTI numbers them.
struct NumberedLaunch {
  int64_t time_ns = 0;
  uint64_t number = 0;
  uint32_t name = 0;  // of what it launched, as a number
};

// How long the steps of all blocks took, where nothing is marked: of recorded ones by `steps`, of those left alone by how
// much was launched in them. `launches` by time.
std::vector<BlockSteps> block_steps_by_launches(const Meta& meta, int rank,
                                                std::span<const StepInterval> steps,
                                                std::span<const NumberedLaunch> launches);

}  // namespace hone::trace::link
