// Sentences about a loop on somebody else's program that every form of its report shares.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyze/program_report.h"
#include "report/words.h"

namespace hone::report {

// "1.84× faster with autocast in bf16 and 2 more." and what was compared.
LabHeadline program_headline(const analyze::ProgramReport& report);

// "kept", "no gain", "other numbers", "not made", "failed", "undecided", "not tried", "offered".
// Why it was kept or not, and why nothing was predicted of it, where that is so.
std::string change_words(const analyze::ProgramChange& change);
std::string_view outcome_words(analyze::ChangeOutcome outcome);

// The step of the unchanged program and of all that was kept, as the paired runs of the two measured them; of an experiment that
// kept nothing, the first alone.
analyze::Estimate step_before(const analyze::ProgramReport& report);
analyze::Estimate step_after(const analyze::ProgramReport& report);

// What was predicted for all that was kept, and what all of it together won.
double predicted_gain_ms(const analyze::ProgramReport& report);
analyze::Estimate measured_gain_ms(const analyze::ProgramReport& report);

// Why nothing was tried, kept or found; what is left untried; notes of the experiment.
std::vector<std::string> program_notes(const analyze::ProgramReport& report);

// How steps were compared: "3 pairs of runs", "12 pairs of blocks of steps of one run".
std::string pairs_text(const analyze::PairedSteps& steps);

// "python train.py --config large.toml"
std::string command_text(const analyze::ProgramReport& report);

// What makes the kept lines in the user's files, from any folder: "patch -d /home/me/net -p1 < /home/me/net/hone-lab/changes.diff".
std::string patch_command(const analyze::ProgramReport& report);

// Several lines of text, each clean_utf8, without their ends.
std::vector<std::string> lines_of_text(std::string_view text);

}  // namespace hone::report
