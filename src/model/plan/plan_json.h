// The two JSON sections of plan files.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "graph/plan_choices.h"
#include "model/plan/plan_file.h"

namespace hone::model {

std::string about_to_json(const PlanAbout& about);
Result<PlanAbout> about_from_json(std::string_view text);

std::string choices_to_json(const graph::PlanChoices& choices);
Result<graph::PlanChoices> choices_from_json(std::string_view text);

}  // namespace hone::model
