#include "observe/host/python_stacks.h"

#include <chrono>
#include <filesystem>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "core/testing/scratch_path.h"
#include "observe/host/python_lines.h"
#include "observe/session/program.h"

namespace hone::observe {
namespace {

// What each line of a program is doing when it sleeps there.
constexpr const char* kProgram = R"(import threading, time

def deep(n):
    if n:
        return deep(n - 1)
    x = [1,
         2]
    time.sleep(20)  # line 8

class Loader:
    def work(self):
        for i in range(3):
            pass
        time.sleep(20)  # line 14

threading.Thread(target=Loader().work, daemon=True).start()
print("ready", flush=True)
deep(2)  # line 18
)";

std::string frame_text(const PythonFrame& frame) {
  return std::string(frame.function) + ":" + std::to_string(frame.line);
}

// The interpreters that this machine has; the system's at least.
std::vector<std::string> interpreters() {
  std::vector<std::string> found = {"python3"};
  std::error_code failed;
  const char* home = std::getenv("HOME");
  const std::filesystem::path versions =
      std::filesystem::path(home == nullptr ? "/" : home) / ".pyenv/versions";
  for (const char* minor : {"9", "10", "11", "12", "13"})
    for (const auto& entry : std::filesystem::directory_iterator(versions, failed))
      if (const auto python = entry.path() / "bin" / (std::string("python3.") + minor);
          std::filesystem::exists(python, failed))
        found.push_back(python.string());
  return found;
}

TEST(PythonStacks, AreThoseOfEveryThreadWhateverItWaitsFor) {
  const std::filesystem::path folder = scratch_path("python_stacks");
  std::filesystem::create_directories(folder);
  ASSERT_TRUE(write_file(folder / "program.py", kProgram).ok());
  for (const std::string& python : interpreters()) {
    auto program = Program::start({{python, "-S", (folder / "program.py").string()}, {}, {}, -1});
    ASSERT_TRUE(program.ok());
    std::vector<std::string> main, loader;
    std::string why;
    for (int i = 0; i < 200 && (main.empty() || main.front() != "deep:8" || loader.empty()); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      auto stacks = PythonStacks::open(program->pid());
      if (!stacks.ok()) why = stacks.error().message;
      if (!stacks.ok() || !*stacks) continue;
      for (const PythonThread& thread : (*stacks)->threads()) {
        const auto frames = (*stacks)->stack(thread);
        if (!frames) continue;
        std::vector<std::string>& into = thread.tid == program->pid() ? main : loader;
        into.clear();
        for (const PythonFrame& frame : *frames) into.push_back(frame_text(frame));
      }
    }
    program->send(9);
    program->wait(10);
    program->exit_status();
    EXPECT_THAT(main, ::testing::ElementsAre("deep:8", "deep:5", "deep:5", "<module>:18")) << python << why;
    ASSERT_FALSE(loader.empty()) << python << why;
    EXPECT_THAT(loader.front(), ::testing::HasSubstr("work:14")) << python;
  }
  std::filesystem::remove_all(folder);
}

TEST(PythonStacks, SayThatNoPythonIsThere) {
  auto program = Program::start({{"sleep", "20"}, {}, {}, -1});
  ASSERT_TRUE(program.ok());
  const auto stacks = PythonStacks::open(program->pid());
  program->send(9);
  program->wait(10);
  program->exit_status();
  ASSERT_TRUE(stacks.ok());
  EXPECT_FALSE(stacks->has_value());
}

TEST(PythonLines, FollowTablesOfAllForms) {
  using namespace std::string_view_literals;
  // 3.9: line 1 for 4 bytes, then line 3, for 2 bytes, then line 2.
  EXPECT_EQ(python_line(LineTable::kPairs39, "\x04\x02\x02\xff"sv, 1, 2), 1);
  EXPECT_EQ(python_line(LineTable::kPairs39, "\x04\x02\x02\xff"sv, 1, 4), 3);
  EXPECT_EQ(python_line(LineTable::kPairs39, "\x04\x02\x02\xff"sv, 1, 6), 2);
  // 3.10: 4 bytes on line 1, 2 on none, 2 on line 3.
  EXPECT_EQ(python_line(LineTable::kPairs310, "\x04\x00\x02\x80\x02\x02"sv, 1, 2), 1);
  EXPECT_EQ(python_line(LineTable::kPairs310, "\x04\x00\x02\x80\x02\x02"sv, 1, 6), 3);
  // 3.11: two units on the first line (short form), one a line below (one-line form), one four lines up (long form).
  const auto table = "\x81\x00\xd8\x01\x02\xf0\x09\x00\x01\x01"sv;
  EXPECT_EQ(python_line(LineTable::kLocations, table, 10, 2), 10);
  EXPECT_EQ(python_line(LineTable::kLocations, table, 10, 4), 11);
  EXPECT_EQ(python_line(LineTable::kLocations, table, 10, 6), 7);
  EXPECT_EQ(python_line(LineTable::kLocations, "\xf0"sv, 10, 0), 10);
}

}  // namespace
}  // namespace hone::observe
