#include "observe/inject/device/call_gate.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace hone::observe::inject {
namespace {

constexpr int64_t kShort = 20'000'000, kLong = 5'000'000'000;  // ns

struct Changed {
  std::atomic<int> times{0}, begun{0}, begun_meanwhile{0};
  std::atomic<std::thread::id> by{};

  static void change(void* of) {
    auto& self = *static_cast<Changed*>(of);
    ++self.times;
    const int before = self.begun;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    self.begun_meanwhile += self.begun - before;
    self.by = std::this_thread::get_id();
  }
};

void end_call(OpenCalls& calls, CallGate& gate) {
  if (calls.on_call(false) == OpenCalls::Edge::kOuterEnds) gate.call_ended();
}

TEST(CallGate, HasTheFirstOutermostCallThatReturnsMakeTheChange) {
  OpenCalls calls;
  CallGate gate{calls};
  Changed changed;
  gate.want(Changed::change, &changed);
  end_call(calls, gate);  // it had begun before
  EXPECT_EQ(changed.times, 0);
  calls.on_call(true);
  calls.on_call(true);
  end_call(calls, gate);
  EXPECT_EQ(changed.times, 0);
  end_call(calls, gate);
  EXPECT_EQ(changed.times, 1);
  EXPECT_TRUE(gate.wait(kShort));
  calls.on_call(true);
  end_call(calls, gate);
  EXPECT_EQ(changed.times, 1);
}

TEST(CallGate, MakesNoChangeAfterItWasWaitedForInVain) {
  OpenCalls calls;
  CallGate gate{calls};
  Changed changed;
  gate.want(Changed::change, &changed);
  calls.on_call(true);
  EXPECT_FALSE(gate.wait(kShort));
  end_call(calls, gate);
  EXPECT_EQ(changed.times, 0);
  gate.want(Changed::change, &changed);
  calls.on_call(true);
  calls.begin_anew();  // attached anew: the end of that call is not told
  end_call(calls, gate);
  EXPECT_EQ(changed.times, 0);
  calls.on_call(true);
  end_call(calls, gate);
  EXPECT_EQ(changed.times, 1);
}

TEST(CallGate, HoldsThreadsWhoseCallsReturnMeanwhile) {
  OpenCalls calls;
  CallGate gate{calls};
  std::atomic<bool> goes_on{true};
  Changed changed;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (goes_on) {
        calls.on_call(true);
        ++changed.begun;
        std::this_thread::yield();
        end_call(calls, gate);
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    gate.want(Changed::change, &changed);
    ASSERT_TRUE(gate.wait(kLong));
    ASSERT_EQ(changed.times, i + 1);
    // A thread between its calls begins one more.
    ASSERT_LE(changed.begun_meanwhile.exchange(0), 3);
    ASSERT_NE(changed.by.load(), std::this_thread::get_id());
  }
  goes_on = false;
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace hone::observe::inject
