#include "cuda/testing/fake_driver_calls.h"

#include <atomic>
#include <cstdlib>

#include <dlfcn.h>

namespace {

constexpr int kDriverDomain = 1;
// As the records of fake_cupti.cpp have it.
constexpr uint32_t kGeometry[] = {2, 3, 4, 128, 1, 1};

std::atomic<const FakeListener*> heard_by{nullptr};
std::atomic<int> launches_under_way{0};
thread_local int launches_here = 0;

}  // namespace

extern "C" {
void fake_cuda_listen(const FakeListener* listener) { heard_by = listener; }
bool fake_cuda_is_listened_to() { return heard_by != nullptr; }
int fake_cuda_calls_beside() { return launches_under_way - launches_here; }
const uint32_t* fake_cuda_geometry() { return kGeometry; }
}

void load_injected_library() {
  static std::atomic<bool> is_loaded{false};
  const char* const path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr || is_loaded.exchange(true)) return;
  void* const library = ::dlopen(path, RTLD_NOW);
  if (library == nullptr) return;
  if (auto* const start = reinterpret_cast<int (*)()>(::dlsym(library, "InitializeInjection"))) start();
}

ToldLaunch::ToldLaunch(const char* kernel) : listener_(heard_by), kernel_(kernel) {
  if (listener_ != nullptr) correlation_ = listener_->enter(kDriverDomain, kFakeCuLaunchKernel, kernel);
  ++launches_under_way, ++launches_here;
}

ToldLaunch::~ToldLaunch() {
  --launches_under_way, --launches_here;
  if (listener_ != nullptr) listener_->exit(kDriverDomain, kFakeCuLaunchKernel, kernel_, correlation_);
}

void ToldLaunch::is_work() const {
  if (listener_ != nullptr) listener_->work({FakeWork::kKernel, kernel_, 0, 0}, correlation_);
}
