// hone profile with programs that do what programs seldom do: they run as they would by themselves.
#include <chrono>
#include <filesystem>
#include <thread>

#include "tests/cli/run_program.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/testing/source_folder.h"

namespace hone::testing_support {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class ProfileOfOddPrograms : public ::testing::Test {
 protected:
  ProgramResult profile(std::vector<std::string> command) const {
    RunOptions run;
    run.folder = folder.path();
    run.environment = {{"LD_LIBRARY_PATH", (build_folder() / "fake_cuda").string()},
                       {"HONE_OBSERVE_CUPTI", (build_folder() / "fake_cuda/libcupti.so.13").string()},
                       {"FAKE_TORCH_DEVICE", "1"},
                       {"PYTHONPATH", (tests / "fake_torch").string()},
                       {"PYTHONDONTWRITEBYTECODE", "1"}};
    command.insert(command.begin(),
                   {"profile", "--out", "run", "--wait", "0.2", "--steps", "6", "--sampling", "off", "--"});
    return run_hone(command, run);
  }
  // After `before`, train_fake.py for so many seconds.
  ProgramResult profile_python(const std::string& before, double seconds) const {
    return profile({"python3", "-c",
                    "import os, sys, runpy\n" + before + "\nsys.argv = ['train', '" +
                        std::to_string(seconds) + "']\nrunpy.run_path('" + train() +
                        "', run_name='__main__')"});
  }
  std::string train() const { return (tests / "train_fake.py").string(); }
  json explained() const {
    const Result<std::string> text = read_file(folder / "run/explain.json");
    return text.ok() ? json::parse(*text) : json();
  }

  TemporaryFolder folder;
  fs::path tests = source_folder() / "tests/observe";
};

// The run folder was named as seen from where hone was started.
TEST_F(ProfileOfOddPrograms, RecordsOneThatClosesAllItsFilesAndGoesElsewhere) {
  const ProgramResult result = profile_python("import torch\nos.chdir('/')\nos.closerange(3, 4096)", 4);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "trained\n");
  EXPECT_FALSE(explained().is_null()) << result.err;
}

// Hone ends with the program that it started; the daemon runs on, unrecorded.
TEST_F(ProfileOfOddPrograms, LetsADaemonRunOn) {
  const ProgramResult result = profile_python(
      "import torch, time\nif os.fork():\n  os._exit(3)\nos.setsid()\nfor i in range(3): os.close(i)\n"
      "torch.operator('aten::relu', 0.3)\nopen('alive', 'w').close()\nos._exit(0)",
      1);
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, HasSubstr("nothing was recorded: 'python3' ended"));
  for (int i = 0; i < 200 && !fs::exists(folder / "alive"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(fs::exists(folder / "alive"));
}

TEST_F(ProfileOfOddPrograms, SaysWhyThereIsNoReportOfOneThatEndsAfterTwoSteps) {
  const ProgramResult result = profile({"python3", "-c",
                                        "import torch\no = torch.optim.SGD()\nfor i in range(2):\n  "
                                        "torch.operator('aten::mm', 0.01)\n  o.step()\n"
                                        "print('two')\nraise SystemExit(4)"});
  EXPECT_EQ(result.exit_code, 4);
  EXPECT_EQ(result.out, "two\n");
  EXPECT_THAT(result.err, HasSubstr("nothing was recorded: 'python3' ended"));
  EXPECT_THAT(result.err, HasSubstr("a step took"));
}

TEST_F(ProfileOfOddPrograms, TellsStepsByTheWaitsThatTheProgramAsksPyTorchFor) {
  const ProgramResult result =
      profile({"python3", "-c",
               "import torch, torch.cuda\nfor i in range(1200):\n  torch.operator('aten::add_', 0.003)\n"
               "  assert torch.cuda.synchronize(device=0) == 'waited'\nprint('done')"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "done\n");
  const json found = explained();
  ASSERT_TRUE(found.contains("step")) << result.err;
  EXPECT_EQ(found["step"]["how_found"], "what waits for the device (torch.cuda.synchronize)");
  EXPECT_EQ(found["step"]["unrecorded_measured"], true);
}

TEST_F(ProfileOfOddPrograms, CapturesGraphsAsWithoutIt) {
  const ProgramResult result =
      profile({"python3", "-c",
               "import torch, torch.cuda.graphs as m\ng = m.CUDAGraph()\ng.capture_begin(pool=7)\n"
               "torch.operator('aten::mm', 0.01)\ng.capture_end()\ng.instantiate()\nprint(g.calls)"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "[('begin', 7), 'end', 'instantiate']\n");
}

// As torchrun and mpirun start them: each knows its rank by the environment, and all are one run.
TEST_F(ProfileOfOddPrograms, JoinsTheRanksOfOneProgram) {
  const std::string rank = "python3 " + train() + " 5";
  const ProgramResult result =
      profile({"sh", "-c",
               "export WORLD_SIZE=2; RANK=0 LOCAL_RANK=0 " + rank + " & RANK=1 LOCAL_RANK=1 " + rank +
                   "; status=$?; wait; exit $status"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::string out = result.out;  // Python may write a line and its end apart, the other rank's in between
  std::erase(out, '\n');
  EXPECT_EQ(out, "trainedtrained");
  const json found = explained();
  ASSERT_TRUE(found.contains("ranks")) << result.err;
  EXPECT_THAT(found["ranks"].get<std::vector<int>>(), ElementsAre(0, 1));
  EXPECT_EQ(found["step"]["unrecorded_measured"], true);
}

}  // namespace
}  // namespace hone::testing_support
