// Samples the program counters around single launches of any CUDA program, in callbacks as `hone profile --kernel … --hot-lines on` does,
// and says how many samples CUPTI takes for those of the program: to find out what of CUPTI's state spoils them.
//   g++ -std=c++20 -O1 -shared -fPIC -I/usr/local/cuda/include -o build/observe/libpc_sampling.so bench/observe/pc_sampling.cpp -ldl
//   CUDA_INJECTION64_PATH=build/observe/libpc_sampling.so PCS_CUPTI=…/libcupti.so.13 [KNOB=1 …] build/observe/hot_lines 40
// Knobs, all 0 unless set: PCS_GLOBAL (CUPTI's symbols are global), PCS_SUBSCRIBE2 (cuptiSubscribe_v2), PCS_MODULES, PCS_RUNTIME (more callbacks),
// PCS_CLOCK, PCS_THREADS (settings of activities), PCS_EARLY (activities from the start on), PCS_LATE (from the tenth launch on), PCS_OFF (until the twentieth;
// 2: a forced flush), PCS_PROFILER (cuptiProfilerInitialize; 2: and …DeInitialize), PCS_REASONS (names of the reasons are asked for).
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include <cuda.h>
#include <cupti.h>
#include <cupti_pcsampling.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>
#include <dlfcn.h>

namespace {

constexpr int kSkipped = 30, kSampled = 6;
constexpr size_t kRecords = 4096;
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                         CUPTI_ACTIVITY_KIND_MEMCPY2,           CUPTI_ACTIVITY_KIND_MEMSET,
                                         CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,   CUPTI_ACTIVITY_KIND_MEMORY2};

int knob(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::atoi(value) : 0;
}

void* library = nullptr;
template <typename Function>
Function* find(Function*, const char* name) {
  auto* found = reinterpret_cast<Function*>(dlsym(library, name));
  if (!found) std::fprintf(stderr, "pc_sampling: no %s\n", name);
  return found;
}
void check(CUptiResult result, const char* what) {
  if (result != CUPTI_SUCCESS) std::fprintf(stderr, "pc_sampling: %s: %d\n", what, static_cast<int>(result));
}
// Calls CUPTI's function of that name, which is found once, and says what fails.
#define CUPTI_CALL(function, ...)                           \
  do {                                                      \
    static auto* const called = find(&function, #function); \
    if (called) check(called(__VA_ARGS__), #function);      \
  } while (false)

CUpti_SubscriberHandle subscriber;
int launches = 0, sampled = 0;
bool is_sampling = false, is_ours = false;  // the latter: a call that this library makes
CUcontext prepared = nullptr;
size_t reasons = 0;
CUpti_PCSamplingData kept, taken;

CUpti_PCSamplingData make_data() {
  CUpti_PCSamplingData data{};
  data.size = sizeof(data);
  data.collectNumPcs = kRecords;
  data.pPcData = static_cast<CUpti_PCSamplingPCData*>(std::calloc(kRecords, sizeof(CUpti_PCSamplingPCData)));
  for (size_t i = 0; i < kRecords; ++i) {
    data.pPcData[i].size = sizeof(CUpti_PCSamplingPCData);
    data.pPcData[i].stallReason =
        static_cast<CUpti_PCSamplingStallReason*>(std::calloc(reasons, sizeof(CUpti_PCSamplingStallReason)));
  }
  return data;
}

void name_reasons(CUcontext context) {
  std::vector<uint32_t> numbers(reasons);
  std::vector<char> text(reasons * CUPTI_STALL_REASON_STRING_SIZE);
  std::vector<char*> names;
  for (size_t i = 0; i < reasons; ++i) names.push_back(text.data() + i * CUPTI_STALL_REASON_STRING_SIZE);
  CUpti_PCSamplingGetStallReasonsParams asking{};
  asking.size = CUpti_PCSamplingGetStallReasonsParamsSize;
  asking.ctx = context;
  asking.numStallReasons = reasons;
  asking.stallReasonIndex = numbers.data();
  asking.stallReasons = names.data();
  CUPTI_CALL(cuptiPCSamplingGetStallReasons, &asking);
}

void prepare(CUcontext context) {
  prepared = context;
  CUpti_PCSamplingEnableParams enabling{};
  enabling.size = CUpti_PCSamplingEnableParamsSize;
  enabling.ctx = context;
  CUPTI_CALL(cuptiPCSamplingEnable, &enabling);
  CUpti_PCSamplingGetNumStallReasonsParams counting{};
  counting.size = CUpti_PCSamplingGetNumStallReasonsParamsSize;
  counting.ctx = context;
  counting.numStallReasons = &reasons;
  CUPTI_CALL(cuptiPCSamplingGetNumStallReasons, &counting);
  if (knob("PCS_REASONS")) name_reasons(context);
  kept = make_data();
  taken = make_data();
  std::vector<CUpti_PCSamplingConfigurationInfo> settings;
  const auto add =
      [&](CUpti_PCSamplingConfigurationAttributeType what) -> CUpti_PCSamplingConfigurationInfo& {
    settings.emplace_back().attributeType = what;
    return settings.back();
  };
  add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_PERIOD)
      .attributeData.samplingPeriodData.samplingPeriod = 12;
  add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE)
      .attributeData.collectionModeData.collectionMode = CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS;
  add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL)
      .attributeData.enableStartStopControlData.enableStartStopControl = 1;
  add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE)
      .attributeData.scratchBufferSizeData.scratchBufferSize = 8 << 20;
  add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE)
      .attributeData.hardwareBufferSizeData.hardwareBufferSize = 64 << 20;
  add(CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER)
      .attributeData.samplingDataBufferData.samplingDataBuffer = &kept;
  CUpti_PCSamplingConfigurationInfoParams setting{};
  setting.size = CUpti_PCSamplingConfigurationInfoParamsSize;
  setting.ctx = context;
  setting.numAttributes = settings.size();
  setting.pPCSamplingConfigurationInfo = settings.data();
  CUPTI_CALL(cuptiPCSamplingSetConfigurationAttribute, &setting);
}

void wait_for_device() {
  static auto* const wait = reinterpret_cast<CUresult (*)()>(
      dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD), "cuCtxSynchronize"));
  wait();
}

void use_profiler() {
  CUpti_Profiler_Initialize_Params starting{};
  starting.structSize = CUpti_Profiler_Initialize_Params_STRUCT_SIZE;
  CUPTI_CALL(cuptiProfilerInitialize, &starting);
  CUpti_Profiler_DeInitialize_Params ending{};
  ending.structSize = CUpti_Profiler_DeInitialize_Params_STRUCT_SIZE;
  if (knob("PCS_PROFILER") > 1) CUPTI_CALL(cuptiProfilerDeInitialize, &ending);
}

void start(CUcontext context) {
  if (!prepared && knob("PCS_PROFILER")) use_profiler();
  if (!prepared) prepare(context);
  wait_for_device();
  CUpti_PCSamplingStartParams starting{};
  starting.size = CUpti_PCSamplingStartParamsSize;
  starting.ctx = context;
  CUPTI_CALL(cuptiPCSamplingStart, &starting);
}

void stop(CUcontext context) {
  wait_for_device();
  CUpti_PCSamplingStopParams stopping{};
  stopping.size = CUpti_PCSamplingStopParamsSize;
  stopping.ctx = context;
  CUPTI_CALL(cuptiPCSamplingStop, &stopping);
  CUpti_PCSamplingGetDataParams fetching{};
  fetching.size = CUpti_PCSamplingGetDataParamsSize;
  fetching.ctx = context;
  fetching.pcSamplingData = &taken;
  taken.totalNumPcs = taken.remainingNumPcs = 0;
  CUPTI_CALL(cuptiPCSamplingGetData, &fetching);
  std::fprintf(stderr,
               "pc_sampling: launch %d: %zu places, %llu samples, %llu of them not of the program; %s\n",
               launches, taken.totalNumPcs, static_cast<unsigned long long>(taken.totalSamples),
               static_cast<unsigned long long>(taken.nonUsrKernelsTotalSamples),
               taken.totalNumPcs > 0 ? taken.pPcData[0].functionName : "no function");
}

void want_buffer(uint8_t** buffer, size_t* bytes, size_t* records) {
  *bytes = 1 << 20;
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, *bytes));
  *records = 0;
}
void take_buffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t) { std::free(buffer); }

void enable_activities() {
  CUPTI_CALL(cuptiActivityRegisterCallbacks, want_buffer, take_buffer);
  for (const CUpti_ActivityKind kind : kKinds) CUPTI_CALL(cuptiActivityEnable, kind);
}
void disable_activities() {
  for (const CUpti_ActivityKind kind : kKinds) CUPTI_CALL(cuptiActivityDisable, kind);
  CUPTI_CALL(cuptiActivityFlushAll, knob("PCS_OFF") > 1 ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
}

void launch_begins(CUcontext context) {
  ++launches;
  if (launches == 10 && knob("PCS_LATE")) enable_activities();
  if (launches == 20 && knob("PCS_OFF")) disable_activities();
  if (launches <= kSkipped || sampled == kSampled) return;
  is_sampling = true;
  start(context);
}

void CUPTIAPI on_callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (domain != CUPTI_CB_DOMAIN_DRIVER_API || is_ours) return;
  if (id != CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel && id != CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx) return;
  const auto& call = *static_cast<const CUpti_CallbackData*>(data);
  is_ours = true;
  if (call.callbackSite == CUPTI_API_ENTER) {
    launch_begins(call.context);
  } else if (is_sampling) {
    is_sampling = false;
    ++sampled;
    stop(call.context);
  }
  is_ours = false;
}

uint64_t clock_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

void subscribe() {
  if (!knob("PCS_SUBSCRIBE2")) {
    CUPTI_CALL(cuptiSubscribe, &subscriber, on_callback, nullptr);
    return;
  }
  static char other[128];
  CUpti_SubscriberParams parameters{};
  parameters.structSize = sizeof(parameters);
  parameters.subscriberName = "pc_sampling";
  parameters.oldSubscriberName = other;
  parameters.oldSubscriberSize = sizeof(other);
  CUPTI_CALL(cuptiSubscribe_v2, &subscriber, on_callback, nullptr, &parameters);
}

void enable(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  CUPTI_CALL(cuptiEnableCallback, 1, subscriber, domain, id);
}

}  // namespace

extern "C" int InitializeInjection() {
  const char* path = std::getenv("PCS_CUPTI");
  library =
      dlopen(path ? path : "libcupti.so.13", RTLD_NOW | (knob("PCS_GLOBAL") ? RTLD_GLOBAL : RTLD_LOCAL));
  if (!library) {
    std::fprintf(stderr, "pc_sampling: %s\n", dlerror());
    return 1;
  }
  subscribe();
  enable(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel);
  enable(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx);
  if (knob("PCS_MODULES")) enable(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_MODULE_LOADED);
  if (knob("PCS_RUNTIME"))
    enable(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  if (knob("PCS_CLOCK")) CUPTI_CALL(cuptiActivityRegisterTimestampCallback, clock_ns);
  if (knob("PCS_THREADS")) {
    CUPTI_CALL(cuptiSetThreadIdType, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
    CUPTI_CALL(cuptiActivityEnableAllSyncRecords, 0);
  }
  if (knob("PCS_EARLY")) enable_activities();
  return 1;
}
