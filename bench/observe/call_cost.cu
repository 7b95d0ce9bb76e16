// What single calls into CUDA cost the program, in each state of CUPTI that a recorder may leave it in: before it was
// touched, subscribed, recording kernels, recording calls as activities, disabled again, finalized in a callback.
//   call_cost [r][d][p][z][t][l]    r: kinds of calls of the runtime as activities, too; d: those of the driver;
//     p: CUPTI keeps the times of kernels in the host's memory; z: activity buffers come with zeros in them;
//     t: CUPTI's clock is the host's monotonic one; l: callbacks at both ends of launches, which read the clock
// Prints a line for each state: nanoseconds a call, the lower third of 15 runs. Needs libcupti where the loader finds it.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

#include <cuda.h>
#include <cuda_runtime.h>
#include <cupti.h>

namespace {

__global__ void empty_kernel() {}

cudaStream_t stream;
cudaEvent_t event;
CUpti_SubscriberHandle subscriber;
std::atomic<bool> finalize{false}, finalized{false};
bool zeroed = false;
thread_local long long last_ns;

long long monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}

void CUPTIAPI buffer_requested(uint8_t** buffer, size_t* bytes, size_t* records) {
  *bytes = 4 << 20;
  *buffer = static_cast<uint8_t*>(zeroed ? std::calloc(*bytes, 1) : std::aligned_alloc(4096, *bytes));
  *records = 0;
}

void CUPTIAPI buffer_completed(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t) { std::free(buffer); }

// As NVIDIA advises: in the exit of a call, on the thread that made it.
void CUPTIAPI callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId, const void* data) {
  if (domain != CUPTI_CB_DOMAIN_RUNTIME_API) return;
  last_ns = monotonic_ns();
  if (!finalize) return;
  if (static_cast<const CUpti_CallbackData*>(data)->callbackSite != CUPTI_API_EXIT) return;
  finalize = false;
  finalized = cuptiFinalize() == CUPTI_SUCCESS;
}

template <typename Call>
double cost_ns(Call call, int times) {
  std::vector<double> runs;
  for (int run = 0; run < 15; ++run) {
    const long long begin = monotonic_ns();
    for (int i = 0; i < times; ++i) call();
    runs.push_back(static_cast<double>(monotonic_ns() - begin) / times);
    cudaStreamSynchronize(stream);
  }
  std::sort(runs.begin(), runs.end());
  return runs[4];
}

void show(const char* state) {
  const double clock = cost_ns([] { last_ns = monotonic_ns(); }, 2000);
  const double device = cost_ns([] { int which; cudaGetDevice(&which); }, 2000);
  const double error = cost_ns([] { cudaGetLastError(); }, 2000);
  const double query = cost_ns([] { cudaEventQuery(event); }, 1000);
  const double context = cost_ns([] { CUcontext which; cuCtxGetCurrent(&which); }, 2000);
  const double launch = cost_ns([] { empty_kernel<<<1, 32, 0, stream>>>(); }, 300);
  std::printf("%-34s clock %3.0f  cudaGetDevice %5.0f  cudaGetLastError %5.0f  cudaEventQuery %5.0f  cuCtxGetCurrent %5.0f  launch %6.0f\n",
              state, clock, device, error, query, context, launch);
  std::fflush(stdout);
}

void leave_out_all_but_launches(CUpti_CallbackDomain domain) {
  for (uint32_t id = 1; id < 1200; ++id) {
    const char* name = nullptr;
    if (cuptiGetCallbackName(domain, id, &name) != CUPTI_SUCCESS || !name || std::strstr(name, "LaunchKernel")) continue;
    domain == CUPTI_CB_DOMAIN_RUNTIME_API ? cuptiActivityEnableRuntimeApi(id, 0) : cuptiActivityEnableDriverApi(id, 0);
  }
}

void set_attribute(CUpti_ActivityAttribute attribute) {
  uint8_t on = 1;
  size_t bytes = sizeof on;
  if (const CUptiResult result = cuptiActivitySetAttribute(attribute, &bytes, &on)) std::printf("attribute %d: %d\n", attribute, result);
}

void choose(const std::string& kinds) {
  if (kinds.find('p') != kinds.npos) set_attribute(CUPTI_ACTIVITY_ATTR_MEM_ALLOCATION_TYPE_HOST_PINNED);
  if (kinds.find('z') != kinds.npos) set_attribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER);
  zeroed = kinds.find('z') != kinds.npos;
  if (kinds.find('t') != kinds.npos) cuptiActivityRegisterTimestampCallback([]() -> uint64_t { return monotonic_ns(); });
}

void subscribe(const char* state, const std::string& kinds) {
  if (cuptiSubscribe(&subscriber, callback, nullptr) != CUPTI_SUCCESS) std::printf("not subscribed\n");
  choose(kinds);
  cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed);
  show(state);
}

void record(const std::string& kinds) {
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  show("kernels");
  if (kinds.find('l') != kinds.npos) {
    cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
    show("kernels, callbacks of launches");
    cuptiEnableCallback(0, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  }
  if (kinds.find('r') != kinds.npos) {
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME);
    show("kernels, calls of the runtime");
    leave_out_all_but_launches(CUPTI_CB_DOMAIN_RUNTIME_API);
    show("kernels, launches of the runtime");
  }
  if (kinds.find('d') != kinds.npos) {
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_DRIVER);
    leave_out_all_but_launches(CUPTI_CB_DOMAIN_DRIVER_API);
    show("kernels, launches of the driver");
  }
  for (CUpti_ActivityKind kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER}) {
    cuptiActivityDisable(kind);
  }
  cuptiActivityFlushAll(1);
  show("disabled again");
}

}  // namespace

int main(int count, char** texts) {
  const std::string kinds = count > 1 ? texts[1] : "";
  cudaStreamCreate(&stream);
  cudaEventCreate(&event);
  cudaEventRecord(event, stream);
  show("untouched");
  subscribe("subscribed", kinds);
  record(kinds);
  record(kinds);
  cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
  finalize = true;
  for (int i = 0; i < 100 && !finalized; ++i) cudaGetLastError();
  show(finalized ? "finalized" : "not finalized");
  subscribe("subscribed again", kinds);
  return 0;
}
