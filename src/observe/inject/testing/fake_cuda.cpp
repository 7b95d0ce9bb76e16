#include "observe/inject/testing/fake_cuda.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <unistd.h>

namespace {

constexpr int kDriver = 1, kRuntime = 2;
constexpr uint64_t kCaptured[] = {70, 71},
                   kExecuted[] = {90, 91};  // nodes of the graph and of its executable copy

std::atomic<const FakeListener*> current_listener{nullptr};
std::atomic<bool> initialised{false};
std::atomic<int> capturing{0};
std::atomic<int> open_calls{0};
thread_local int open_calls_here = 0;

// A call of the program, from its beginning to its end.
class FakeCall {
 public:
  FakeCall(int domain, uint32_t call, const char* kernel = nullptr)
      : listener_(current_listener), domain_(domain), call_(call), kernel_(kernel) {
    if (listener_) correlation_ = listener_->enter(domain, call, kernel);
    ++open_calls, ++open_calls_here;
  }
  ~FakeCall() {
    --open_calls, --open_calls_here;
    if (listener_) listener_->exit(domain_, call_, kernel_, correlation_);
  }
  FakeCall(const FakeCall&) = delete;
  FakeCall& operator=(const FakeCall&) = delete;

  void work(const FakeWork& work) const {
    if (listener_) listener_->work(work, correlation_);
  }

 private:
  const FakeListener* listener_;
  int domain_;
  uint32_t call_;
  const char* kernel_;
  uint32_t correlation_ = 0;
};

}  // namespace

void fake_cuda_listen(const FakeListener* listener) { current_listener = listener; }
bool fake_cuda_is_listened_to() { return current_listener != nullptr; }
int fake_cuda_calls_beside() { return open_calls - open_calls_here; }
const uint32_t* fake_cuda_geometry() {
  static constexpr uint32_t kGeometry[] = {4, 1, 1, 128, 1, 1};
  return kGeometry;
}

int cuInit(unsigned) {
  if (initialised.exchange(true)) return 0;
  if (const char* path = std::getenv("CUDA_INJECTION64_PATH")) {
    if (void* library = dlopen(path, RTLD_NOW)) {
      if (auto* start = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"))) start();
    }
  }
  return 0;
}

int cuDriverGetVersion(int* version) {
  FakeCall call(kDriver, kFakeCuDriverGetVersion);
  return *version = 13000, 0;
}
int cuDeviceGetCount(int* count) { return *count = 2, initialised ? 0 : 3; }
int cuDeviceGet(int* device, int index) { return *device = index, 0; }
int cuDeviceGetName(char* name, int bytes, int) {
  return std::snprintf(name, static_cast<size_t>(bytes), "Fake GPU"), 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = attribute == 16 ? 132 : attribute == 75 ? 9 : 0;
  return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int) { return *bytes = 80ull << 30, 0; }
int cuDeviceGetUuid_v2(void* uuid, int device) { return std::memset(uuid, 1 + device, 16), 0; }
int cuCtxGetDevice(int* device) { return *device = 0, 0; }
int cuCtxSynchronize() {
  FakeCall call(kDriver, kFakeCuCtxSynchronize);
  return 0;
}
int cuMemGetInfo_v2(size_t* free, size_t* total) {
  const char* behave = std::getenv("FAKE_CUDA");
  *total = 80ull << 30;
  *free = behave && std::strcmp(behave, "full") == 0 ? 20ull << 30 : 70ull << 30;
  return 0;
}
int cuStreamIsCapturing(void*, int* status) { return *status = capturing, 0; }

void fake_busy_launches(int count) {
  for (int i = 0; i < count; ++i) {
    FakeCall call(kRuntime, kFakeLaunchKernel, "busy");
    usleep(100);
    call.work({FakeWork::kKernel, "busy", 0, 0});
  }
}

void fake_runtime_launch(const char* kernel) {
  FakeCall call(kRuntime, kFakeLaunchKernel, kernel);
  FakeCall inside(kDriver, kFakeCuLaunchKernel, kernel);
  inside.work({FakeWork::kKernel, kernel, 0, 0});
}

void fake_driver_launch(const char* kernel) {
  FakeCall call(kDriver, kFakeCuLaunchKernel, kernel);
  call.work({FakeWork::kKernel, kernel, 0, 0});
}

void fake_copy(uint64_t bytes) {
  FakeCall call(kRuntime, kFakeMemcpyAsync);
  call.work({FakeWork::kCopy, nullptr, 0, bytes});
}

void fake_peer_copy(uint64_t bytes) {
  FakeCall call(kRuntime, kFakeMemcpyPeerAsync);
  call.work({FakeWork::kPeerCopy, nullptr, 0, bytes});
}

void fake_set(uint64_t bytes) {
  FakeCall call(kRuntime, kFakeMemsetAsync);
  call.work({FakeWork::kSet, nullptr, 0, bytes});
}

void fake_allocate(uint64_t bytes) {
  FakeCall call(kRuntime, kFakeMalloc);
  call.work({FakeWork::kAllocation, nullptr, 0, bytes});
}

void fake_synchronize() {
  FakeCall call(kRuntime, kFakeDeviceSynchronize);
  call.work({FakeWork::kSynchronization, nullptr, 0, 0});
}

void fake_get_device() { FakeCall call(kRuntime, kFakeGetDevice); }

void fake_capture_graph(const char* kernel) {
  const FakeListener* listener = current_listener;
  if (!listener) return;
  { FakeCall begin(kDriver, kFakeCuStreamBeginCapture); }
  capturing = 1;
  { FakeCall launch(kDriver, kFakeCuLaunchKernel, kernel); }
  capturing = 0;
  { FakeCall end(kDriver, kFakeCuStreamEndCapture); }
  for (uint64_t node : kCaptured) listener->node_created(node, 0);
  for (int i = 0; i < 2; ++i) listener->node_created(kExecuted[i], kCaptured[i]);
}

void fake_launch_graph() {
  FakeCall call(kRuntime, kFakeGraphLaunch);
  for (uint64_t node : kExecuted) call.work({FakeWork::kKernel, "in_graph", node, 0});
}

void fake_load_module(const void* cubin, size_t bytes) {
  if (const FakeListener* listener = current_listener) listener->module_loaded(cubin, bytes);
}
