// Rows of the report about what was tried: what a group of passes did, what became of it, in words.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyze/findings.h"
#include "lab/gate/gate.h"
#include "lab/gate/paired.h"
#include "passes/pipeline.h"

namespace hone::lab {

// What `group` did to the graph, before it is measured. Its numerics are those of the passes that changed
// something; where none did, those of the group.
analyze::PassRow make_row(const std::string& group, const passes::PipelineResult& tried);

bool changed(const passes::PipelineResult& tried);
std::size_t changes_in(const passes::PipelineResult& tried);

// What is gained of a step of `step_ms`: what it took before the change. Never more than the step.
analyze::Estimate gain_of(const PairedResult& speed, double step_ms);

// "fold", "fold and layout", "fold, layout and fuse".
std::string listed(std::span<const std::string> names);

// Rows that were measured as one, the last of them together with all before it. Marks each as kept or dropped
// and says with which others; what the measurement found stands in the combination that is returned.
analyze::PassCombination combine(std::span<analyze::PassRow* const> rows, const PairedResult& speed,
                                 double step_ms, const GateDecision& decision);

}  // namespace hone::lab
