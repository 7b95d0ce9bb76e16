// CUPTI's callback ids of calls into CUDA that may come once a step: by name, as records have it.
#pragma once

#include <cstdint>
#include <string_view>

namespace hone::observe {

struct CallId {
  uint32_t runtime = 0;  // 0: not of the runtime
  uint32_t driver = 0;
};

// cupti_runtime_cbid.h and cupti_driver_cbid.h of CUDA 13.0; ids keep their meaning from version to version. Both 0: a
// call that is not worth watching, or not known.
CallId call_id(std::string_view name);

}  // namespace hone::observe
