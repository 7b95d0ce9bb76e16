// explain.json: everything that analysis found, but for the bars of the timeline, which the trace has. What
// it holds is in description/analysis.cpp.
#include "report/description/analysis.h"
#include "report/json.h"
#include "report/json/parts.h"

namespace hone::report {

std::string explain_json(const analyze::Analysis& analysis) {
  return json::dump(object_json(analysis_fields(), analysis));
}

}  // namespace hone::report
