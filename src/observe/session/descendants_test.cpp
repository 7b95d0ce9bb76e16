#include "observe/session/descendants.h"

#include <chrono>
#include <csignal>
#include <thread>

#include <gtest/gtest.h>

#include "observe/session/program.h"

namespace hone::observe {
namespace {

// A shell that is asked to end leaves behind what it has started.
TEST(Descendants, EndWhatOutlivesTheProgram) {
  for (const char* child : {"sleep 60", "trap '' TERM; sleep 60; sleep 60"}) {
    auto program = Program::start({{"/bin/bash", "-c", std::string("bash -c \"") + child + "\"; true"}});
    ASSERT_TRUE(program.ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    const Descendants descendants(program->pid());
    program->send(SIGTERM);
    program->wait(2);
    EXPECT_TRUE(program->exit_status());
    descendants.end(0.2);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(descendants.living(), 0);
  }
}

}  // namespace
}  // namespace hone::observe
