// Waits that no profiler recorded, told by where the device's work ends and the host goes on.
#include "trace/import/xplane/device_waits.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "trace/testing/add_span.h"

namespace hone::trace::xplane {
namespace {

// A thread that calls an executable in steps, which launches a kernel. Times in µs.
class Profile {
 public:
  Profile() {
    const TrackId process = add_process(trace_);
    thread_ = add_thread(trace_, process);
    worker_ = add_thread(trace_, process, "pjrt_async_work_runner", 2);
    stream_ = add_stream(trace_, process, 7);
  }

  // A call of 100 µs; its kernel runs from its end for `device_us`, and the host goes on `host_us` after the call.
  void step(double device_us, double host_us, const char* next = "PjitFunction(step)") {
    add(thread_, Category::kRegion, next, now_, 100);
    add(thread_, Category::kRuntime, "cuLaunchKernel", now_ + 50, 5, ++launches_);
    add(stream_, Category::kKernel, "fusion", now_ + 100, device_us, launches_);
    now_ += 100 + host_us;
  }
  // Launched and over so long before now.
  void copy_by_other_thread(double launched_ago_us, double ended_ago_us) {
    add(worker_, Category::kRuntime, "MemcpyH2D", now_ - launched_ago_us, 5, ++launches_);
    add(stream_, Category::kMemcpy, "Memcpy HtoD", now_ - launched_ago_us, launched_ago_us - ended_ago_us,
        launches_);
  }
  // Something that the host marks between two calls.
  void range(double us, Category category) {
    add(thread_, category, "batch", now_, us);
    now_ += us;
  }
  DeviceWaits waits() {
    step(10, 10);  // what ends the last stretch
    return find_device_waits(trace_, spans_, thread_);
  }

 private:
  void add(TrackId track, Category category, const char* name, double from_us, double us, uint64_t id = 0) {
    spans_.push_back({static_cast<int64_t>(from_us * 1e3),
                      static_cast<int64_t>(us * 1e3),
                      track,
                      trace_.strings.intern(name),
                      category,
                      kNoStep,
                      {},
                      id});
  }

  Trace trace_;
  std::vector<Span> spans_;
  TrackId thread_, worker_, stream_;
  double now_ = 0;
  uint64_t launches_ = 0;
};

TEST(DeviceWaits, AreStretchesThatEndWhenTheDeviceDoes) {
  Profile profile;
  for (const double device_us : {5000.0, 9000.0, 7000.0}) profile.step(device_us, device_us + 500);
  const DeviceWaits found = profile.waits();
  ASSERT_EQ(found.waits.size(), 3u);
  EXPECT_EQ(found.waits[0].start_ns, 100'000);
  EXPECT_EQ(found.waits[0].end_ns, 5'600'000);
  EXPECT_EQ(found.unclear, 0);
}

TEST(DeviceWaits, AreNoneWhereTheHostWorksLongerThanTheDevice) {
  Profile profile;
  for (int i = 0; i < 4; ++i) profile.step(600, 3000);
  const DeviceWaits found = profile.waits();
  EXPECT_TRUE(found.waits.empty());
  EXPECT_EQ(found.unclear, 0);
}

TEST(DeviceWaits, AreNoneWhereTheHostRunsAheadOfTheDevice) {
  Profile profile;
  for (int i = 0; i < 4; ++i) profile.step(5000, 300);
  EXPECT_TRUE(profile.waits().waits.empty());
}

// XLA copies in other threads: that the host waits for these is no wait for the device.
TEST(DeviceWaits, AreForWhatWasLaunchedBefore) {
  Profile profile;
  for (int i = 0; i < 4; ++i) {
    profile.step(1, 300);
    profile.copy_by_other_thread(60, 30);
  }
  EXPECT_TRUE(profile.waits().waits.empty());
}

// Once it may be chance that the host goes on just then.
TEST(DeviceWaits, CountWhereMostOfTheirKindWait) {
  Profile once;
  once.step(5000, 5100);
  const DeviceWaits unclear = once.waits();
  EXPECT_TRUE(unclear.waits.empty());
  EXPECT_EQ(unclear.unclear, 1);
  Profile seldom;
  for (const double host_us : {5100.0, 9000.0, 8000.0, 5050.0, 9500.0}) seldom.step(5000, host_us);
  EXPECT_TRUE(seldom.waits().waits.empty());
}

TEST(DeviceWaits, AreNotWhatTheProfilerHasAWordFor) {
  for (const Category category : {Category::kSynchronization, Category::kCompile, Category::kInput}) {
    Profile profile;
    for (int i = 0; i < 3; ++i) {
      profile.step(5000, 0);
      profile.range(5100, category);
    }
    EXPECT_TRUE(profile.waits().waits.empty());
  }
}

}  // namespace
}  // namespace hone::trace::xplane
