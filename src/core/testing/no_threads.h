// A system that grants no further threads, for tests: new ones are to have a stack that no address space
// holds. Not part of the product.
#pragma once

#include <cstddef>
#include <system_error>
#include <thread>

#include <pthread.h>

namespace hone {

class NoThreads {
 public:
  NoThreads() {
#ifdef __GLIBC__
    if (pthread_getattr_default_np(&before_) != 0) return;
    known_ = true;
    pthread_attr_t endless;
    pthread_attr_init(&endless);
    pthread_attr_setstacksize(&endless, std::size_t{1} << (8 * sizeof(std::size_t) - 2));
    pthread_setattr_default_np(&endless);
    pthread_attr_destroy(&endless);
#endif
  }
  ~NoThreads() {
#ifdef __GLIBC__
    if (!known_) return;
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
#endif
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

  // Whether threads are indeed refused.
  bool enforced() const {
    try {
      std::thread([] {}).join();
    } catch (const std::system_error&) {
      return true;
    }
    return false;
  }

 private:
#ifdef __GLIBC__
  pthread_attr_t before_{};
  bool known_ = false;
#endif
};

}  // namespace hone
