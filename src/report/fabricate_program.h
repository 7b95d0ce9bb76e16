// A loop on somebody else's program made up for tests. Not part of the product.
#pragma once

#include <cmath>
#include <string>

#include "analyze/program_report.h"
#include "report/fabricate_device.h"

namespace hone::report::fabricate {

inline analyze::PairedSteps paired_steps(double before_ms, double speedup, int pairs = 3) {
  analyze::PairedSteps steps;
  for (int i = 0; i < pairs; ++i) {
    steps.before_ms.push_back(before_ms + i * 0.1);
    steps.after_ms.push_back((before_ms + i * 0.1) / speedup);
  }
  steps.speedup = {speedup, speedup * 0.98, speedup * 1.02};
  steps.least_speedup = steps.most_speedup = speedup;
  return steps;
}

inline analyze::ProgramReport program_report() {
  analyze::ProgramReport report;
  report.command = {"python", "train.py", "--config", "large.toml"};
  report.baseline = device_analysis();
  report.baseline_page = "baseline/explain.html";
  report.step_ms = {40, 39.5, 40.6};
  report.noise = 0.012;
  analyze::ProgramChange kept;
  kept.name = "autocast_bf16";
  kept.title = "forward pass and loss under autocast in bf16";
  kept.because = "18.0 ms of products in f32 that could run in bf16";
  kept.predicted_gain_ms = 16;
  kept.measured_gain_ms = analyze::Estimate{15, 14.2, 15.8};
  kept.outcome = analyze::ChangeOutcome::kKept;
  kept.why = "1.60 times as fast in 12 pairs of blocks of steps of one run (1.57 to 1.63)";
  kept.did = "the forward pass and the loss compute products in bf16";
  kept.diff =
      "--- a/train.py\n+++ b/train.py\n@@ -12,1 +12,2 @@\n-    out = model(x)\n+    with "
      "torch.autocast(\"cuda\", dtype=torch.bfloat16):\n+        out = model(x)\n";
  kept.steps = paired_steps(40, 1.6, 12);
  kept.steps.within_one_run = true;
  kept.numbers = {true, 0.004, 0.02, 20,
                  "losses of 20 steps differ by 0.4 % at most; two unchanged runs by 0.1 %, 2 % are allowed"};
  analyze::ProgramChange dropped;
  dropped.name = "compile";
  dropped.title = "torch.compile";
  dropped.predicted_gain_ms = 4;
  dropped.outcome = analyze::ChangeOutcome::kFailed;
  dropped.why = "it ended after 1 steps with exit status 1";
  analyze::ProgramChange untried;
  untried.name = "workers";
  untried.title = "batches prepared in other processes";
  untried.why = "12 s of the budget were left for it, and it needs about 32 s (--budget)";
  untried.why_not_predicted = "asked for with --try";
  report.changes = {kept, dropped, untried};
  report.together = paired_steps(40, 1.6);
  report.numbers = kept.numbers;
  for (int i = 0; i < 20; ++i) {
    report.unchanged_losses.push_back(2 * std::exp(-0.05 * i));
    report.unchanged_again_losses.push_back(2.001 * std::exp(-0.05 * i));
    report.changed_losses.push_back(2.003 * std::exp(-0.05 * i));
  }
  report.diff = kept.diff;
  report.runs = 17;
  report.seconds = 240;
  report.budget_s = 900;
  return report;
}

}  // namespace hone::report::fabricate
