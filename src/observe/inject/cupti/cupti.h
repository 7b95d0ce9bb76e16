// CUPTI as this process has it: found, loaded and asked for its functions here and nowhere else.
#pragma once

#include <cstdint>
#include <string>

#include "observe/inject/cupti/cupti_abi.h"
#include "observe/inject/environment.h"

namespace hone::observe::inject {

// A function is null where that version of CUPTI lacks it; those that nothing works without are always there.
struct Cupti {
  using Result = cupti::Result;
  Result (*GetVersion)(uint32_t*) = nullptr;
  Result (*GetResultString)(Result, const char**) = nullptr;
  Result (*Subscribe)(cupti::Subscriber*, cupti::Callback, void*) = nullptr;
  Result (*Subscribe_v2)(cupti::Subscriber*, cupti::Callback, void*, cupti::SubscriberParameters*) = nullptr;
  Result (*Unsubscribe)(cupti::Subscriber) = nullptr;
  Result (*EnableCallback)(uint32_t enable, cupti::Subscriber, cupti::Domain, uint32_t id) = nullptr;
  Result (*GetCallbackName)(cupti::Domain, uint32_t id, const char**) = nullptr;
  Result (*GetTimestamp)(uint64_t*) = nullptr;
  Result (*SetThreadIdType)(uint32_t) = nullptr;
  Result (*GetGraphNodeId)(void* node, uint64_t*) = nullptr;
  Result (*GetGraphId)(void* graph, uint32_t*) = nullptr;
  Result (*ActivityRegisterCallbacks)(cupti::BufferRequested, cupti::BufferCompleted) = nullptr;
  Result (*ActivityRegisterTimestampCallback)(cupti::Clock) = nullptr;
  Result (*ActivityEnable)(cupti::ActivityKind) = nullptr;
  Result (*ActivityDisable)(cupti::ActivityKind) = nullptr;
  Result (*ActivityEnableAllSyncRecords)(uint8_t enable) = nullptr;
  Result (*ActivityFlushAll)(uint32_t) = nullptr;
  Result (*ActivityGetNextRecord)(uint8_t*, size_t, cupti::Activity**) = nullptr;
  Result (*ActivityGetNumDroppedRecords)(void* context, uint32_t stream, size_t*) = nullptr;

  void* library = nullptr;
  uint32_t version = 0;  // CUPTI_API_VERSION: 18 is CUDA 12.0, 130001 is CUDA 13.0 update 1
  char path[4096] = {};

  // A function that is not among those above; null: this version lacks it.
  template <typename Function>
  Function find(const char* name) const {
    return reinterpret_cast<Function>(symbol(name));
  }

  // CUPTI's words for a result.
  const char* text(Result result) const;
  // Why the profiler refuses something, for the user.
  std::string reason(Result result) const;

 private:
  void* symbol(const char* name) const;
};

// Whether the process has CUPTI loaded: it may be the program's own.
bool cupti_is_loaded();

// Looks for CUPTI where the process has it loaded; beside the CUDA libraries and Python packages that it has loaded;
// where the dynamic linker looks; in the toolkit's folders. HONE_OBSERVE_CUPTI names a file that is tried first where none is loaded.
// False with `why` filled in (a sentence for the user) if there is none, or only one that is too old.
bool load_cupti(const Environment& environment, Cupti& cupti, char* why, size_t why_bytes);

}  // namespace hone::observe::inject
