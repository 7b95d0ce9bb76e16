// The numbers by which gains are predicted and verdicts given, as data; those by which busy time is divided
// are in busy/busy_rules.h, the rules themselves in rules/.
#pragma once

namespace hone::analyze::device {

// What a profiler that records every operator costs the host, taken away again before gains are predicted. It
// works where operators are entered and left, so the distance between one and the next tells how long it
// takes on this host and in this recording (hosts differ by a factor of four): so many of these distances for
// each operator, and a part of the time in operators themselves, in which it writes down their inputs. Of 173
// steps that were recorded and timed the step without the recorder is so predicted within 11 % (root mean
// square), 9 of 10 within 18 % (bench/results/unrecorded-steps-2026-11-22.json).
inline constexpr double kOperatorGaps = 1.75;
inline constexpr double kOperatorShare = 0.60;
// By these, and by what two runs of one program are apart, the step is told as a range; recordings_test.cpp
// counts how many steps lie in it.
inline constexpr double kFewestOperatorGaps = 0.875;
inline constexpr double kMostOperatorGaps = 2.8;
inline constexpr double kRunsApart = 0.04;     // of the step
inline constexpr double kMostRecorded = 0.80;  // of any time of the host
// Where the step without the recorder was measured, what writing down a call into the device's runtime cost is found by
// replaying: so much at most.
inline constexpr double kMostCallNs = 20'000;
// An operator that computes on the host is long for its own sake.
inline constexpr double kRecordNs = 10'000;

// `launch` is what is left when nothing more specific explains a slow host, and its fixes (graphs, compiled
// steps) work only once the step has no waits, allocations or compilations in it. So the verdict goes to
// another cause where that would win back this share of the step: a cause that keeps a step from being
// captured, or any.
inline constexpr double kBlocksCaptureShare = 0.04;
inline constexpr double kSpecificShare = 0.10;

// For each product of the forward pass autocast converts weight, bias and input, and the backward pass converts the gradients back:
// small kernels, which cost the host together as much as this many of the program's own launches do on average. Of four programs of
// libraries whose host holds them up (DistilBERT, EfficientNet, Faster R-CNN, BERT on an H100) 1.5 to 2.9
// (bench/results/library-steps-2026-11-23.json).
inline constexpr double kLaunchesOfCasts = 2, kLaunchesOfCastsInference = 1;

// A fix that wins less of the step is not spoken of.
inline constexpr double kWorthSaying = 0.005;

// What hiding communication behind computing wins of its exposed time, and what joining small collectives
// does.
inline constexpr double kOverlapGain = 0.45;
inline constexpr double kSmallCollectiveBytes = 1048576;
inline constexpr double kSmallCollectiveGain = 0.9;

// Micro-batches that a pipeline is promised to run better with, at most.
inline constexpr int kMostMicroBatches = 4;

// A replay that misses the recorded step by more than this share is not trusted without a word.
inline constexpr double kTrustedReplay = 0.02;
// One that misses it by this much predicts nothing: gains are what they are at most.
inline constexpr double kUsableReplay = 0.3;

}  // namespace hone::analyze::device
