// The fake driver (fake_driver.cpp) for a test: its library, faults switched on, and what it knows of itself.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>

#include "cuda/blas_lt.h"
#include "cuda/context.h"
#include "cuda/cudnn.h"
#include "cuda/kernel_cache.h"
#include <dlfcn.h>

#include "core/testing/source_folder.h"

namespace hone::cuda::testing {

inline std::string fake_driver_file() {
  return (build_folder() / "fake_driver" / "libfake_driver.so").string();
}

// FAKE_DRIVER, or FAKE_CUPTI (fake_cupti.cpp), while it lives.
class Faults {
 public:
  explicit Faults(const char* faults, const char* of = "FAKE_DRIVER") : of_(of) { ::setenv(of, faults, 1); }
  ~Faults() { ::unsetenv(of_); }
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;

 private:
  const char* of_;
};
class CuptiFaults : public Faults {
 public:
  explicit CuptiFaults(const char* faults) : Faults(faults, "FAKE_CUPTI") {}
};

inline std::string fake_cupti_file() {
  return (build_folder() / "fake_driver" / "extras" / "CUPTI" / "lib64" / "libcupti.so.13").string();
}

template <typename Number>
Number ask_fake_driver(const char* question, const std::string& file = fake_driver_file()) {
  void* const library = ::dlopen(file.c_str(), RTLD_NOW);
  auto* const ask = library == nullptr ? nullptr : reinterpret_cast<Number (*)()>(::dlsym(library, question));
  if (ask == nullptr) throw std::logic_error(question);
  return ask();
}
inline int live_handles() { return ask_fake_driver<int>("fake_driver_live"); }
inline int live_contexts() { return ask_fake_driver<int>("fake_driver_contexts"); }
// Blocks of memory that were ever taken, the device's and page-locked ones.
inline int64_t blocks_made() { return ask_fake_driver<int64_t>("fake_driver_blocks_made"); }
inline int64_t kernels_run() { return ask_fake_driver<int64_t>("fake_driver_launches"); }
// Of those that were given, in graphs, too: programmatic dependent launches.
inline int64_t early_launches() { return ask_fake_driver<int64_t>("fake_driver_early_launches"); }
inline int64_t graphs_run() { return ask_fake_driver<int64_t>("fake_driver_graph_launches"); }
inline int64_t graphs_given() { return ask_fake_driver<int64_t>("fake_driver_graphs_given"); }
// Of the host for the device, where there was something to wait for.
inline int64_t host_waits() { return ask_fake_driver<int64_t>("fake_driver_waits"); }
inline int64_t graphs_made() { return ask_fake_driver<int64_t>("fake_driver_graphs_made"); }

inline bool profiler_is_on() { return ask_fake_driver<int>("fake_cupti_is_on", fake_cupti_file()) != 0; }
inline int64_t records_made() { return ask_fake_driver<int64_t>("fake_cupti_recorded", fake_cupti_file()); }

inline ContextPointer fake_context() {
  auto driver = Driver::load(fake_driver_file());
  if (!driver.ok()) throw std::logic_error(driver.error().message);
  auto context = Context::of_device(*driver, 0);
  if (!context.ok()) throw std::logic_error(context.error().message);
  return *context;
}

inline LibraryPlaces fake_places() {
  return {.loaded = false,
          .homes = {(build_folder() / "fake_driver").string()},
          .linker = false,
          .toolkits = {},
          .site_packages = {}};
}

// cuBLASLt on that driver (fake_blas_lt.cpp).
inline std::shared_ptr<const BlasLt> fake_products(const ContextPointer& context) {
  auto products = BlasLt::load(context, fake_places());
  if (!products.ok()) throw std::logic_error(products.error().message);
  return *products;
}

// cuDNN on that driver (fake_cudnn.cpp).
inline std::shared_ptr<const Cudnn> fake_cudnn(const ContextPointer& context) {
  auto cudnn = Cudnn::load(context, fake_places());
  if (!cudnn.ok()) throw std::logic_error(cudnn.error().message);
  return *cudnn;
}

// Kernels for that driver, which run on the host (fake_nvrtc.cpp). One for a process: each is compiled once.
inline std::shared_ptr<KernelCache> kernels_of_the_host() {
  static const std::shared_ptr<KernelCache> cache = [] {
    auto nvrtc = Nvrtc::load(fake_places());
    if (!nvrtc.ok()) throw std::logic_error(nvrtc.error().message);
    return std::make_shared<KernelCache>(*nvrtc, Architecture{90}, 13000, "");
  }();
  return cache;
}

}  // namespace hone::cuda::testing
