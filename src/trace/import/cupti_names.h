// What CUPTI's numbers for kinds of copies and waits mean, which Nsight Systems writes down as they are.
#pragma once

#include <cstdint>
#include <string_view>

namespace hone::trace {

// CUpti_ActivityMemcpyKind: "Memcpy HtoD"; "Memcpy" for kinds that the analysis does not tell apart.
std::string_view copy_name(int64_t kind);
// CUpti_ActivitySynchronizationType: "Stream Sync"; "Synchronization" for unknown ones.
std::string_view synchronization_name(int64_t type);

}  // namespace hone::trace
