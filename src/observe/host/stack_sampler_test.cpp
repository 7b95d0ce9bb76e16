#include "observe/host/stack_sampler.h"

#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/file.h"
#include "core/testing/scratch_path.h"
#include "observe/host/host_watch.h"
#include "observe/host/process_tree.h"
#include "trace/import/segments/records.h"

// What children of the test do, under names that the linker keeps.
extern "C" [[gnu::noinline]] void sampled_waiter() {
  const timespec long_time{20, 0};
  nanosleep(&long_time, nullptr);
}
extern "C" [[gnu::noinline]] void sampled_spinner() {
  volatile uint64_t turns = 0;
  while (turns < uint64_t{1} << 40) {
    const uint64_t next = turns + 1;
    turns = next;
  }
}

namespace hone::observe {
namespace {

namespace segments = trace::segments;

// How often each function was on a stack, and each state seen, while a child did that.
struct SeenSamples {
  std::map<std::string, int> functions;
  std::map<segments::ThreadState, int> states;
  int uses = 0;
  std::vector<std::string> notes;
};

SeenSamples samples_of(void (*what)()) {
  const std::filesystem::path folder = scratch_path("stack_sampler");
  std::filesystem::create_directories(folder);
  const pid_t child = ::fork();
  if (child == 0) {
    what();
    ::_exit(0);
  }
  SeenSamples seen;
  {
    auto watch = HostWatch::create(folder);
    EXPECT_TRUE(watch.ok());
    watch->watch(child);
    watch->begin_block(1);
    watch->start_sampling();
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    watch->stop_sampling();
    watch->end_block(1);
    seen.notes = watch->notes();
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const auto bytes = read_file(folder / segments::kHostFile);
  EXPECT_TRUE(bytes.ok());
  auto records = segments::Records::open(*bytes);
  EXPECT_TRUE(records.ok());
  std::map<uint32_t, std::string> names, frames;
  while (records->next()) {
    if (const auto name = records->as<segments::Name>(); records->kind() == segments::Kind::kName)
      names[name->id] = records->following<segments::Name>().substr(0, name->length);
    if (const auto frame = records->as<segments::HostFrame>(); records->kind() == segments::Kind::kHostFrame)
      frames[frame->id] = names[frame->function];
    if (records->kind() == segments::Kind::kHostUse) ++seen.uses;
    if (records->kind() != segments::Kind::kHostSample) continue;
    const auto sample = records->as<segments::HostSample>();
    ++seen.states[sample->state];
    const std::string_view ids = records->following<segments::HostSample>();
    for (uint32_t i = 0; i < sample->python + sample->native; ++i) {
      uint32_t id = 0;
      ids.copy(reinterpret_cast<char*>(&id), sizeof(id), 4 * i);
      ++seen.functions[frames[id]];
    }
  }
  std::filesystem::remove_all(folder);
  return seen;
}

bool can_unwind() { return NativeStacks::open(::getpid()) != nullptr; }

TEST(StackSampler, SeesWhereAThreadWaitsWithoutAskingIt) {
  const SeenSamples seen = samples_of(sampled_waiter);
  EXPECT_GT(seen.states.at(segments::ThreadState::kSleep), 10);
  EXPECT_EQ(seen.uses, 4);  // of the child and of the machine, at both ends
  if (can_unwind()) {
    EXPECT_GT(seen.functions.contains("sampled_waiter") ? seen.functions.at("sampled_waiter") : 0, 10);
  }
}

TEST(StackSampler, SeesWhereAThreadRunsOrSaysWhyNot) {
  const SeenSamples seen = samples_of(sampled_spinner);
  EXPECT_GT(seen.states.at(segments::ThreadState::kRunning), 10);
  if (can_unwind() && seen.notes.empty()) {
    EXPECT_GT(seen.functions.contains("sampled_spinner") ? seen.functions.at("sampled_spinner") : 0, 10);
  }
  for (const std::string& note : seen.notes) EXPECT_THAT(note, ::testing::HasSubstr("perf_event_open"));
}

TEST(ProcessTree, KnowsWhatHoneHadAProcessWrite) {
  const std::filesystem::path folder = scratch_path("recorded_bytes");
  std::filesystem::create_directories(folder);
  for (const auto& [name, bytes] :
       {std::pair{"12-1.seg", 100}, {"12-2.seg", 20}, {"123-1.seg", 7}, {"12-1.txt", 5}})
    std::ofstream(folder / name) << std::string(static_cast<std::size_t>(bytes), 'x');
  EXPECT_EQ(bytes_recorded_by(folder, 12), 120u);
  EXPECT_EQ(bytes_recorded_by(folder, 1), 0u);
  EXPECT_EQ(bytes_recorded_by(folder / "none", 12), 0u);
}

}  // namespace
}  // namespace hone::observe
