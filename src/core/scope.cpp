// The process-wide listener behind Scope marks.
#include "core/scope.h"

#include "core/clock.h"

namespace hone {
namespace internal {

std::atomic<ScopeListener*> scope_listener{nullptr};

int64_t scope_now() { return now_ns(); }

}  // namespace internal

ScopeListener* set_scope_listener(ScopeListener* listener) {
  return internal::scope_listener.exchange(listener, std::memory_order_acq_rel);
}

}  // namespace hone
