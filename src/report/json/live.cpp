#include "report/live.h"

#include "report/description/live_fields.h"
#include "report/json/parts.h"

namespace hone::report {

std::string live_json(const trace::live::MachineUse& use, bool one_line) {
  const json::Json object = object_json(live_fields(), use);
  if (one_line) return object.dump(-1, ' ', false, json::Json::error_handler_t::replace);
  return json::dump(object);
}

}  // namespace hone::report
