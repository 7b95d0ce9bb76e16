// --buckets, and what is said of the bucket that served.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "apps/command_line.h"
#include "core/result.h"
#include "lab/buckets/bucketed_plans.h"

namespace hone::apps {

// "1,2,8" of `option`: numbers above 0, in ascending order, each once.
Result<std::vector<int64_t>> numbers_of(const std::string& option, const std::string& text);

void add_buckets_to(Command command, std::vector<std::string>* buckets);
// "batch=1,8,32", or "batch" for the default buckets; each symbol once.
Result<std::map<std::string, std::vector<int64_t>>> read_buckets(const std::vector<std::string>& given);

// {"symbols": [{"name", "extent", "of_plan", "exact"}], "padding": 0.25, "made_now": true, "made_s": 0.8, "from_file": false, "note": ""}
nlohmann::ordered_json served_json(const lab::Served& served);

}  // namespace hone::apps
