#include "report/json/parts.h"

namespace hone::report::json {

std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace hone::report::json
