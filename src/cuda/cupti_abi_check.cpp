// Compares cupti_abi.h with NVIDIA's cupti.h, where that is installed: compiled, never linked. Its records are compared
// where most of them are used (observe/inject/cupti/cupti_abi_check.cpp).
#if __has_include(<cupti.h>)

#include "cuda/abi_check.h"
#include "cuda/cupti_abi.h"
#include <cupti.h>

namespace hone::cuda {

HONE_SAME_CALL(CuptiFunctions, get_version, ::cuptiGetVersion);
HONE_SAME_CALL(CuptiFunctions, get_result_string, ::cuptiGetResultString);
HONE_SAME_CALL(CuptiFunctions, subscribe, ::cuptiSubscribe);
HONE_SAME_CALL(CuptiFunctions, unsubscribe, ::cuptiUnsubscribe);
HONE_SAME_CALL(CuptiFunctions, get_timestamp, ::cuptiGetTimestamp);
HONE_SAME_CALL(CuptiFunctions, register_callbacks, ::cuptiActivityRegisterCallbacks);
HONE_SAME_CALL(CuptiFunctions, enable, ::cuptiActivityEnable);
HONE_SAME_CALL(CuptiFunctions, disable, ::cuptiActivityDisable);
HONE_SAME_CALL(CuptiFunctions, flush_all, ::cuptiActivityFlushAll);
HONE_SAME_CALL(CuptiFunctions, get_next_record, ::cuptiActivityGetNextRecord);
HONE_SAME_CALL(CuptiFunctions, get_dropped, ::cuptiActivityGetNumDroppedRecords);
static_assert(sizeof(cupti::BufferRequested) == sizeof(CUpti_BuffersCallbackRequestFunc));

}  // namespace hone::cuda

#endif
