#include "observe/session/program.h"

#include <csignal>
#include <fstream>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/stat.h>

#include "core/testing/scratch_path.h"

namespace hone::observe {
namespace {

namespace fs = std::filesystem;

int status_of(const ProgramStart& start) {
  Result<Program> program = Program::start(start);
  if (!program.ok()) return -1;
  while (!program->exit_status()) program->wait(1);
  return *program->exit_status();
}

int status_of_shell(const std::string& script, const ProgramStart& more = {}) {
  ProgramStart start = more;
  start.command = {"sh", "-c", script};
  return status_of(start);
}

TEST(ObservedProgram, HasItsOwnExitStatus) {
  EXPECT_EQ(status_of_shell("exit 0"), 0);
  EXPECT_EQ(status_of_shell("exit 41"), 41);
  EXPECT_EQ(status_of_shell("kill -SEGV $$"), 128 + SIGSEGV);
}

TEST(ObservedProgram, HasItsEnvironment) {
  ::setenv("HONE_TEST_REPLACED", "old", 1);
  const ProgramStart start{.environment = {{"HONE_TEST_REPLACED", "new"}, {"HONE_TEST_ADDED", "a=b"}}};
  EXPECT_EQ(status_of_shell("test \"$HONE_TEST_REPLACED:$HONE_TEST_ADDED\" = new:a=b", start), 0);
}

TEST(ObservedProgram, HearsSignalsThatAreBlockedHere) {
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGINT);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const int status = status_of_shell("kill -INT $$; exit 3", {.blocked_signals = {SIGINT}});
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(status, 128 + SIGINT);
}

TEST(ObservedProgram, CanBeAskedToEnd) {
  Result<Program> program = Program::start({.command = {"sleep", "60"}});
  ASSERT_TRUE(program.ok());
  program->send(SIGTERM);
  while (!program->exit_status()) program->wait(1);
  EXPECT_EQ(*program->exit_status(), 128 + SIGTERM);
  program->send(SIGTERM);  // nobody is there any more
}

TEST(ObservedProgram, SaysWhyItCannotBeStarted) {
  const Result<Program> missing = Program::start({.command = {"no-such-program-anywhere"}});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_NE(missing.error().message.find("no-such-program-anywhere"), std::string::npos);
  const Result<Program> folder = Program::start({.command = {"/"}});
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().code, ErrorCode::kInvalidArgument);
}

TEST(ObservedProgram, RunsScriptsWithoutAFirstLineAsShellsDo) {
  const fs::path script = scratch_path("script");
  std::ofstream(script) << "exit 5\n";
  ::chmod(script.c_str(), 0755);
  EXPECT_EQ(status_of({.command = {script.string()}}), 5);
  fs::remove(script);
}

// Supervisors leave it so, and the system would then throw statuses away.
TEST(ObservedProgram, KeepsItsStatusWhereEndsOfChildrenWereIgnored) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  Result<Program> program = Program::start({.command = {"sh", "-c", "exit 3"}});
  ASSERT_TRUE(program.ok());
  for (int i = 0; i < 500 && !program->exit_status(); ++i) program->wait(0.01);
  EXPECT_EQ(program->exit_status(), 3);
  std::signal(SIGCHLD, before);
}

}  // namespace
}  // namespace hone::observe
