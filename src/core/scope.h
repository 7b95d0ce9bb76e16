// The profiling hook: code marks spans, a listener records them. With no listener a mark is one plain load
// and a predicted branch. Thread-safe; a listener's calls come on the thread that runs the span.
#pragma once

#include <atomic>
#include <cstdint>

namespace hone {

// Receives spans. `id` is the caller's number for what ran (a plan step's index); `kind` says what it counts.
class ScopeListener {
 public:
  enum class Kind : uint8_t { kStep, kOperator, kRegion };
  virtual ~ScopeListener() = default;
  virtual void on_span(Kind kind, uint32_t id, int64_t start_ns, int64_t end_ns) noexcept = 0;
};

// Installs `listener` (null to remove) for the whole process and returns the one before.
ScopeListener* set_scope_listener(ScopeListener* listener);

namespace internal {
extern std::atomic<ScopeListener*> scope_listener;
int64_t scope_now();
}  // namespace internal

// For code whose spans begin and end elsewhere than in one C++ scope.
inline bool scopes_have_listener() {
  return internal::scope_listener.load(std::memory_order_acquire) != nullptr;
}
inline void tell_scope_listener(ScopeListener::Kind kind, uint32_t id, int64_t start_ns, int64_t end_ns) {
  ScopeListener* const listener = internal::scope_listener.load(std::memory_order_acquire);
  if (listener != nullptr) listener->on_span(kind, id, start_ns, end_ns);
}

// Marks the lifetime of this object as a span.
class Scope {
 public:
  Scope(ScopeListener::Kind kind, uint32_t id)
      : listener_(internal::scope_listener.load(std::memory_order_acquire)), kind_(kind), id_(id) {
    if (listener_ != nullptr) [[unlikely]]
      start_ = internal::scope_now();
  }
  ~Scope() {
    if (listener_ != nullptr) [[unlikely]]
      listener_->on_span(kind_, id_, start_, internal::scope_now());
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  ScopeListener* listener_;
  ScopeListener::Kind kind_;
  uint32_t id_;
  int64_t start_ = 0;
};

}  // namespace hone
