// Runs a program as a user would and catches what it says: the harness of tests/cli and tests/errors.
#pragma once

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace hone::testing_support {

struct RunOptions {
  std::chrono::seconds time_limit{60};             // then the program and its children are killed
  std::filesystem::path folder;                    // where it runs; empty: here
  std::map<std::string, std::string> environment;  // set on top of ours
  std::string input;                               // what it finds on stdin (at most 64 KiB)
  std::optional<std::size_t> largest_file;         // writes past it fail (RLIMIT_FSIZE), as on a full disk
};

struct ProgramResult {
  int exit_code = -1;  // 128 + signal where a signal ended it, as shells count
  bool timed_out = false;
  std::string out;
  std::string err;
};

// Throws std::runtime_error only where the operating system cannot start processes at all; a program that is
// missing exits with 127.
ProgramResult run_program(const std::filesystem::path& program, const std::vector<std::string>& arguments,
                          const RunOptions& options = {});

// The program under test: build/hone.
std::filesystem::path hone_program();
ProgramResult run_hone(const std::vector<std::string>& arguments, const RunOptions& options = {});

// Puts this machine's roofs into the cache of `options` ($XDG_CACHE_HOME), for tests that are not about measuring them:
// that takes every core for seconds. The first test that asks measures (in build/test_cache), the others copy.
void give_roofs(const RunOptions& options);

// Whether `result` is a user's error as hone reports one: a plain non-zero exit code (no signal, no time-out)
// and one line on stderr that holds each of `parts`.
::testing::AssertionResult is_one_line_error(const ProgramResult& result,
                                             const std::vector<std::string>& parts = {});

// A folder of its own for a test, removed with all it holds.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  std::vector<std::string> names() const;  // of what lies in it, sorted

 private:
  std::filesystem::path path_;
};

}  // namespace hone::testing_support
