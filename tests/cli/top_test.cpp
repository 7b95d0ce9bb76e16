// hone top as a user meets it: pictures as text and JSON, the full screen on a terminal of its own, and the terminal
// as it was before, however it ends.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/cli/run_program.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <utmp.h>

#include "core/testing/source_folder.h"

namespace hone::testing_support {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

RunOptions without_gpus() {
  RunOptions options;
  options.environment["HONE_FAKE_NVML"] = "broken";
  options.environment["LD_LIBRARY_PATH"] = (build_folder() / "fake_nvml").string();
  return options;
}

RunOptions with_gpus(const char* scenario) {
  RunOptions options = without_gpus();
  options.environment["HONE_FAKE_NVML"] = scenario;
  options.environment["HONE_FAKE_NVML_PID"] = std::to_string(getpid());
  return options;
}

ProgramResult top(std::vector<std::string> arguments, const RunOptions& options) {
  arguments.insert(arguments.begin(), "top");
  return run_hone(arguments, options);
}

int pictures_in(const std::string& text) {
  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line);) count += line.starts_with("hone top  ") ? 1 : 0;
  return count;
}

TEST(Top, OnceShowsThisMachineAsText) {
  const ProgramResult result = top({"--once", "--interval", "0.3"}, without_gpus());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  for (const char* part : {"hone top", "CPU", "cores", "Memory", "pid", "command",
                           "note: GPUs: the NVIDIA driver's library does not start: Driver Not Loaded"})
    EXPECT_THAT(result.out, HasSubstr(part));
  EXPECT_THAT(result.out, Not(HasSubstr("\x1b")));
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 400u);
}

TEST(Top, WhereThereIsNoTerminalOnePictureIsTheDefault) {
  const ProgramResult result = top({}, without_gpus());
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(pictures_in(result.out), 1);
}

TEST(Top, ShowsGpusAgainstTheirTargets) {
  const ProgramResult result = top({"--once", "--interval", "0.3"}, with_gpus("two"));
  for (const char* part : {"GPU 0  NVIDIA H100 80GB HBM3", "≥ 95 %", "54.0 of 80.0 GiB", "1755 of 1980 MHz",
                           "at the power limit", "GPU 1", "driver 580.159.04", "50.0 GiB"})
    EXPECT_THAT(result.out, HasSubstr(part));
}

TEST(Top, JsonIsOneObject) {
  const ProgramResult result = top({"--json", "-", "--interval", "0.3", "--once"}, with_gpus("two"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json picture = json::parse(result.out);
  EXPECT_EQ(picture["schema"], 1);
  EXPECT_NEAR(picture["interval_s"].get<double>(), 0.3, 0.3);
  EXPECT_EQ(picture["gpus"].size(), 2u);
  EXPECT_EQ(picture["gpus"][0]["tensor_share"], 0.425);
  EXPECT_FALSE(picture["host"]["busy_share"].is_null());
  bool found = false;
  for (const json& row : picture["processes"])
    found = found || (row["pid"] == getpid() && row["gpus"] == json({0}));
  EXPECT_TRUE(found);
}

TEST(Top, JsonOfSeveralPicturesIsALineEach) {
  const TemporaryFolder folder;
  const std::string file = (folder / "top.jsonl").string();
  ASSERT_EQ(top({"--json", file, "--interval", "0.2", "--count", "3"}, without_gpus()).exit_code, 0);
  std::ifstream lines(file);
  double last = 0;
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const double now = json::parse(line)["unix_s"].get<double>();
    EXPECT_GT(now, last);
    last = now;
  }
  EXPECT_EQ(count, 3);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"top.jsonl"});
}

TEST(Top, WhatIsInterruptedKeepsItsLines) {
  const TemporaryFolder folder;
  const std::string file = (folder / "top.jsonl").string();
  const ProgramResult result = run_program("/usr/bin/timeout",
                                           {"--preserve-status", "-s", "INT", "2", hone_program().string(),
                                            "top", "--json", file, "--interval", "0.2"},
                                           without_gpus());
  EXPECT_EQ(result.exit_code, 130);
  EXPECT_EQ(result.err, "hone: interrupted\n");
  std::ifstream lines(file);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_TRUE(json::accept(line));
  EXPECT_GT(count, 0);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"top.jsonl"});
}

TEST(Top, CountShowsSoManyPictures) {
  const ProgramResult result = top({"--count", "2", "--interval", "0.2"}, without_gpus());
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(pictures_in(result.out), 2);
}

TEST(Top, OfOneProcessShowsItAndWhatItStarted) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  const ProgramResult result =
      top({"--json", "-", "--interval", "0.2", "--once", "--pid", std::to_string(getpid())}, without_gpus());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const json picture = json::parse(result.out);
  std::vector<int64_t> pids;
  for (const json& row : picture["processes"]) pids.push_back(row["pid"].get<int64_t>());
  EXPECT_THAT(pids, ::testing::Contains(getpid()));
  EXPECT_THAT(pids, ::testing::Contains(child));
  EXPECT_THAT(pids, Not(::testing::Contains(getppid())));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(is_one_line_error(top({"--once", "--pid", std::to_string(child)}, without_gpus()),
                                {"process " + std::to_string(child)}));
}

TEST(Top, WhatIsWrongWithTheLineExitsWith2) {
  for (const std::vector<std::string>& line :
       std::vector<std::vector<std::string>>{{"--interval", "0"},
                                             {"--interval", "0.001"},
                                             {"--interval", "nan"},
                                             {"--interval", "1e9"},
                                             {"--count", "0"},
                                             {"--count", "2", "--once"},
                                             {"--pid", "-3"},
                                             {"--pid", "x"},
                                             {"surplus"},
                                             {"--colour"}}) {
    const ProgramResult result = top(line, without_gpus());
    EXPECT_EQ(result.exit_code, 2) << line.front();
    EXPECT_TRUE(is_one_line_error(result)) << line.front();
  }
  EXPECT_TRUE(is_one_line_error(top({"--json", "/nowhere/top.json"}, without_gpus()), {"'/nowhere'"}));
}

// hone top on a terminal of its own.
class TopOnTerminal {
 public:
  explicit TopOnTerminal(unsigned short columns = 80, unsigned short lines = 24,
                         const std::vector<std::string>& arguments = {"--interval", "0.2"},
                         const char* no_color = nullptr, const char* scenario = "two") {
    const winsize size{lines, columns, 0, 0};
    openpty(&terminal_, &program_side_, nullptr, nullptr, &size);
    tcgetattr(program_side_, &before_);
    pid_ = fork();
    if (pid_ != 0) return;
    login_tty(program_side_);
    close(terminal_);
    setenv("TERM", "xterm-256color", 1);
    if (no_color != nullptr) setenv("NO_COLOR", no_color, 1);
    for (const auto& [name, value] : with_gpus(scenario).environment) setenv(name.c_str(), value.c_str(), 1);
    std::vector<std::string> words = {hone_program().string(), "top"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    execv(pointers[0], pointers.data());
    _exit(127);
  }
  ~TopOnTerminal() {
    if (pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    close(program_side_);
    close(terminal_);
  }
  void press(const std::string& keys) const { EXPECT_GT(write(terminal_, keys.data(), keys.size()), 0); }
  void resize(unsigned short columns, unsigned short lines) const {
    const winsize size{lines, columns, 0, 0};
    ioctl(terminal_, TIOCSWINSZ, &size);
  }
  void send(int signal) const { kill(pid_, signal); }

  // What was shown until `part` appeared, with it; fails after ten seconds. The next call goes on behind it.
  std::string shown_until(const std::string& part) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (text_.find(part) == std::string::npos && std::chrono::steady_clock::now() < deadline) take(100);
    EXPECT_THAT(text_, HasSubstr(part));
    const std::size_t end = std::min(text_.size(), text_.find(part)) + part.size();
    const std::string shown = text_.substr(0, end);
    text_.erase(0, end);
    return shown;
  }
  // Waits for its end; as shells count it. Where `reads` is false the terminal takes nothing meanwhile.
  int end(bool reads = true) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    int status = 0;
    while (waitpid(pid_, &status, WNOHANG) == 0) {
      if (std::chrono::steady_clock::now() > deadline) {
        ADD_FAILURE() << "it goes on";
        return -1;
      }
      if (reads)
        take(50);
      else
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    pid_ = -1;
    take(100);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  // Waits until it is stopped, as a shell does.
  bool stops() const {
    int status = 0;
    return waitpid(pid_, &status, WUNTRACED) == pid_ && WIFSTOPPED(status);
  }
  std::string rest() const { return text_; }
  // Whether the terminal's modes are those from before.
  bool modes_restored() const {
    termios now{};
    tcgetattr(program_side_, &now);
    return now.c_lflag == before_.c_lflag && now.c_iflag == before_.c_iflag;
  }

 private:
  void take(int milliseconds) {
    pollfd stream{terminal_, POLLIN, 0};
    if (poll(&stream, 1, milliseconds) <= 0) return;
    std::array<char, 4096> bytes{};
    const ssize_t count = read(terminal_, bytes.data(), bytes.size());
    if (count > 0) text_.append(bytes.data(), static_cast<std::size_t>(count));
  }

  int terminal_ = -1, program_side_ = -1;
  pid_t pid_ = -1;
  termios before_{};
  std::string text_;
};

constexpr const char* kAlternate = "\x1b[?1049h";
constexpr const char* kBack = "\x1b[?1049l";

TEST(TopScreen, IsAScreenOfItsOwnAndGivesTheTerminalBack) {
  TopOnTerminal screen;
  screen.shown_until(kAlternate);
  const std::string first = screen.shown_until("command");
  EXPECT_THAT(first, HasSubstr("GPU 0"));
  EXPECT_THAT(first, HasSubstr("\x1b[3"));  // colours
  EXPECT_FALSE(screen.modes_restored());
  screen.press("q");
  EXPECT_EQ(screen.end(), 0);
  EXPECT_THAT(screen.rest(), HasSubstr(kBack));
  EXPECT_THAT(screen.rest(), HasSubstr("\x1b[?25h"));
  EXPECT_TRUE(screen.modes_restored());
}

TEST(TopScreen, GivesTheTerminalBackWhateverEndsIt) {
  for (const auto& [signal, status] :
       {std::pair{SIGTERM, 143}, {SIGINT, 130}, {SIGHUP, 129}, {SIGQUIT, 131}, {SIGABRT, 134}}) {
    TopOnTerminal screen;
    screen.shown_until("command");
    screen.send(signal);
    EXPECT_EQ(screen.end(), status);
    EXPECT_THAT(screen.rest(), HasSubstr(kBack)) << signal;
    EXPECT_TRUE(screen.modes_restored()) << signal;
  }
}

TEST(TopScreen, ObeysItsKeys) {
  TopOnTerminal screen(100, 30);
  screen.shown_until("command");
  screen.press("h");
  screen.shown_until("Keys:");
  screen.press("h");
  screen.shown_until("command");
  screen.press("p");
  screen.shown_until("paused");
  screen.press("c\x1b[A\x1bOP?");  // an order, keys that send sequences, and help again
  screen.shown_until("Keys:");
  screen.press("\x03");  // Ctrl-C
  EXPECT_EQ(screen.end(), 130);
  EXPECT_TRUE(screen.modes_restored());
}

TEST(TopScreen, FollowsTheTerminalsSize) {
  TopOnTerminal screen(120, 40);
  screen.shown_until("command");
  screen.resize(60, 12);
  screen.shown_until("\x1b[2J");
  screen.shown_until("h help  q quit");
  screen.shown_until("\x1b[12;1H");
  screen.press("q");
  EXPECT_EQ(screen.end(), 0);
  EXPECT_THAT(screen.rest(), Not(HasSubstr("\x1b[13;1H")));  // no line beyond the last
}

TEST(TopScreen, StopsAndComesBackAsShellsExpect) {
  TopOnTerminal screen;
  screen.shown_until("command");
  screen.press("\x1a");  // Ctrl-Z
  screen.shown_until(kBack);
  ASSERT_TRUE(screen.stops());
  EXPECT_TRUE(screen.modes_restored());
  screen.send(SIGCONT);
  screen.shown_until(kAlternate);
  screen.shown_until("command");
  screen.press("q");
  EXPECT_EQ(screen.end(), 0);
  EXPECT_TRUE(screen.modes_restored());
}

TEST(TopScreen, WithoutColourWhereNobodyWantsIt) {
  TopOnTerminal screen(80, 24, {"--interval", "0.2"}, "1");
  const std::string first = screen.shown_until("command");
  for (const char* colour : {"\x1b[1m", "\x1b[2m", "\x1b[32m", "\x1b[33m", "\x1b[34m"})
    EXPECT_THAT(first, Not(HasSubstr(colour)));
  screen.press("q");
  EXPECT_EQ(screen.end(), 0);
}

TEST(TopScreen, ATerminalThatTakesNothingDoesNotHoldIt) {
  TopOnTerminal screen(200, 60, {"--interval", "0.1"});
  std::this_thread::sleep_for(std::chrono::seconds(2));  // nobody reads: the terminal's buffer is full
  screen.press("q");
  EXPECT_EQ(screen.end(false), 0);
  EXPECT_TRUE(screen.modes_restored());
}

TEST(TopScreen, ADriverThatHangsDoesNotHoldTheTerminal) {
  TopOnTerminal screen(80, 24, {"--interval", "0.2"}, nullptr, "hangs");
  screen.shown_until("command");
  std::this_thread::sleep_for(std::chrono::seconds(1));
  screen.press("\x03");
  EXPECT_EQ(screen.end(), 130);
  EXPECT_THAT(screen.rest(), HasSubstr(kBack));
  EXPECT_TRUE(screen.modes_restored());
}

TEST(TopScreen, EndsWithTheProcessThatItFollows) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  TopOnTerminal screen(80, 24, {"--interval", "0.2", "--pid", std::to_string(child)});
  screen.shown_until("(of 1)");
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(screen.end(), 0);
  EXPECT_THAT(screen.rest(), HasSubstr("process " + std::to_string(child) + " has ended"));
  EXPECT_TRUE(screen.modes_restored());
}

}  // namespace
}  // namespace hone::testing_support
