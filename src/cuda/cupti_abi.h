// What hone uses of CUPTI in its own process: activities alone. Its records are declared in core/cupti_records.h, which
// the injection library reads by, too; cupti_abi_check.cpp compares the functions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/cupti_records.h"

namespace hone::cuda {

struct CuptiFunctions {
  cupti::Result (*get_version)(uint32_t*) = nullptr;
  cupti::Result (*get_result_string)(cupti::Result, const char**) = nullptr;
  cupti::Result (*subscribe)(cupti::Subscriber*, cupti::Callback, void*) = nullptr;
  cupti::Result (*unsubscribe)(cupti::Subscriber) = nullptr;
  cupti::Result (*get_timestamp)(uint64_t*) = nullptr;
  cupti::Result (*register_callbacks)(cupti::BufferRequested, cupti::BufferCompleted) = nullptr;
  cupti::Result (*enable)(cupti::ActivityKind) = nullptr;
  cupti::Result (*disable)(cupti::ActivityKind) = nullptr;
  cupti::Result (*flush_all)(uint32_t) = nullptr;
  cupti::Result (*get_next_record)(uint8_t*, size_t, cupti::Activity**) = nullptr;
  cupti::Result (*get_dropped)(void* context, uint32_t stream, size_t*) = nullptr;
};

// The name that each has in the library.
template <typename Visit>
void for_each_function(CuptiFunctions& f, Visit&& visit) {
  visit("cuptiGetVersion", f.get_version);
  visit("cuptiGetResultString", f.get_result_string);
  visit("cuptiSubscribe", f.subscribe);
  visit("cuptiUnsubscribe", f.unsubscribe);
  visit("cuptiGetTimestamp", f.get_timestamp);
  visit("cuptiActivityRegisterCallbacks", f.register_callbacks);
  visit("cuptiActivityEnable", f.enable);
  visit("cuptiActivityDisable", f.disable);
  visit("cuptiActivityFlushAll", f.flush_all);
  visit("cuptiActivityGetNextRecord", f.get_next_record);
  visit("cuptiActivityGetNumDroppedRecords", f.get_dropped);
}

}  // namespace hone::cuda
