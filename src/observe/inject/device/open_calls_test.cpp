#include "observe/inject/device/open_calls.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace hone::observe::inject {
namespace {

using Edge = OpenCalls::Edge;

TEST(OpenCalls, TellsOutermostCallsFromThoseWithin) {
  OpenCalls calls;
  EXPECT_EQ(calls.on_call(true), Edge::kOuterBegins);
  EXPECT_EQ(calls.on_call(true), Edge::kInnerBegins);
  EXPECT_EQ(calls.threads(), 1u);
  EXPECT_EQ(calls.on_call(false), Edge::kInnerEnds);
  EXPECT_EQ(calls.on_call(false), Edge::kOuterEnds);
  EXPECT_EQ(calls.threads(), 0u);
  EXPECT_EQ(calls.on_call(false), Edge::kUnseenEnds);
  EXPECT_EQ(calls.threads(), 0u);
}

TEST(OpenCalls, CountsNoCallThatWasOpenWhenCountingBeganAnew) {
  OpenCalls calls;
  calls.on_call(true);
  calls.on_call(true);
  calls.begin_anew();
  EXPECT_EQ(calls.threads(), 0u);
  EXPECT_EQ(calls.on_call(false), Edge::kUnseenEnds);
  EXPECT_EQ(calls.on_call(true), Edge::kOuterBegins);
  EXPECT_EQ(calls.threads(), 1u);
  EXPECT_EQ(calls.on_call(false), Edge::kOuterEnds);
  EXPECT_EQ(calls.threads(), 0u);
}

TEST(OpenCalls, LeavesOutWhatACallbackCallsItself) {
  OpenCalls calls;
  calls.on_call(true);
  {
    const OpenCalls::Ours ours;
    EXPECT_EQ(calls.on_call(true), Edge::kOurs);
    EXPECT_EQ(calls.on_call(false), Edge::kOurs);
  }
  EXPECT_EQ(calls.on_call(false), Edge::kOuterEnds);
}

TEST(OpenCalls, CountsThreadsWhileCountingBeginsAnew) {
  OpenCalls calls;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 20'000; ++k) {
        calls.on_call(true);
        calls.on_call(false);
      }
    });
  }
  for (int i = 0; i < 1000; ++i) {
    calls.begin_anew();
    ASSERT_LE(calls.threads(), 4u);
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(calls.threads(), 0u);
}

}  // namespace
}  // namespace hone::observe::inject
