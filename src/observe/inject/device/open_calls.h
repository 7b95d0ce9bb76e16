// Which calls of the program into CUDA are open, as CUPTI's callbacks tell of them. Calls nest: the runtime calls the driver.
#pragma once

#include <atomic>
#include <cstdint>

namespace hone::observe::inject {

class OpenCalls {
 public:
  enum class Edge : uint8_t {
    kOuterBegins,
    kInnerBegins,
    kInnerEnds,
    kOuterEnds,
    kUnseenEnds,  // of a call whose beginning was not told
    kOurs,        // of a call that we make in a callback: nobody else's business
  };

  OpenCalls() { begin_anew(); }

  // Other callbacks than before are enabled: calls that are open at this moment do not count.
  void begin_anew();

  // In each callback of a call, on its thread.
  Edge on_call(bool begins);

  // Threads that are in a call whose beginning was told.
  uint32_t threads() const { return static_cast<uint32_t>(inside_.load()); }

  // While one lives, calls of this thread are ours. They do not nest.
  class Ours {
   public:
    Ours();
    ~Ours();
    Ours(const Ours&) = delete;
    Ours& operator=(const Ours&) = delete;
  };

 private:
  void leave(uint32_t period);

  // Threads in calls, and above them the period in which they are counted: a thread that was counted in another is not
  // taken off.
  std::atomic<uint64_t> inside_{0};
};

constexpr bool begins(OpenCalls::Edge edge) {
  return edge == OpenCalls::Edge::kOuterBegins || edge == OpenCalls::Edge::kInnerBegins;
}

}  // namespace hone::observe::inject
