// hone lab with programs that do what programs seldom do: they run as they would by themselves, and one line says why nothing was
// tried.
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
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class LabOfOddPrograms : public ::testing::Test {
 protected:
  RunOptions options() const {
    RunOptions run;
    run.folder = folder.path();
    run.environment = {{"LD_LIBRARY_PATH", (build_folder() / "fake_cuda").string()},
                       {"HONE_OBSERVE_CUPTI", (build_folder() / "fake_cuda/libcupti.so.13").string()},
                       {"FAKE_TORCH_DEVICE", "1"},
                       {"PYTHONPATH", (tests / "fake_torch").string()},
                       {"PYTHONDONTWRITEBYTECODE", "1"}};
    return run;
  }
  ProgramResult lab(std::vector<std::string> command) const {
    command.insert(command.begin(), {"lab", "--out", "lab", "--budget", "30", "--"});
    return run_hone(command, options());
  }
  ProgramResult lab_python(const std::string& program) const { return lab({"python3", "-c", program}); }
  // train_fake.py after `before`.
  std::string training(const std::string& before) const {
    return "import os, sys, runpy, time\n" + before + "\nsys.argv = ['train', '20']\nrunpy.run_path('" +
           (tests / "train_fake.py").string() + "', run_name='__main__')";
  }
  std::string why_nothing() const {
    const Result<std::string> text = read_file(folder / "lab/lab.json");
    return text.ok() ? json::parse(*text).value("why_nothing", "") : "there is no lab.json";
  }
  static long lines_of_why(const ProgramResult& result) {
    const std::string_view why = "nothing was tried";
    long count = 0;
    for (std::size_t at = result.err.find(why); at != std::string::npos; at = result.err.find(why, at + 1))
      ++count;
    return count;
  }

  TemporaryFolder folder;
  fs::path tests = source_folder() / "tests/observe";
};

// After a number of steps and not of seconds: on a fast machine all that the loop looks at may have passed by then.
TEST_F(LabOfOddPrograms, EndsAsOneThatCrashesHalfWay) {
  const ProgramResult result = lab_python(training(R"(
asked, now = [], time.time
def crash_later():
    asked.append(0)
    return os.kill(os.getpid(), 11) if len(asked) == 20 else now()
time.time = crash_later)"));
  EXPECT_EQ(result.exit_code, 139) << result.err;
  EXPECT_EQ(lines_of_why(result), 1);
  EXPECT_THAT(result.err, HasSubstr("exit status 139"));
  EXPECT_THAT(why_nothing(), HasSubstr("exit status 139"));
}

TEST_F(LabOfOddPrograms, EndsWithTheStatusOfOneThatEnds) {
  for (const int status : {3, 0}) {
    const ProgramResult result = lab_python("import sys; sys.exit(" + std::to_string(status) + ")");
    EXPECT_EQ(result.exit_code, status) << result.err;
    EXPECT_EQ(lines_of_why(result), 1) << result.err;
    EXPECT_TRUE(fs::exists(folder / "lab/report.html"));
    EXPECT_THAT(why_nothing(), HasSubstr("exit status " + std::to_string(status)));
    fs::remove_all(folder / "lab");
  }
}

TEST_F(LabOfOddPrograms, ShowsWhatAProgramSaidThatFailed) {
  const ProgramResult result = lab_python(
      "import sys; print('to the one'); print('to the other', file=sys.stderr); raise ValueError(7)");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "to the one\n");
  EXPECT_THAT(result.err, HasSubstr("to the other\n"));
  EXPECT_THAT(result.err, HasSubstr("ValueError: 7"));
}

TEST_F(LabOfOddPrograms, SaysWhyOfOneThatNeverReachesASecondStep) {
  const ProgramResult result =
      lab_python("import torch, time\ntorch.optim.SGD().step()\ntime.sleep(0.5)\nprint('done')");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "done\n");
  EXPECT_EQ(lines_of_why(result), 1);
}

TEST_F(LabOfOddPrograms, SaysThatAnIsolatedPythonReadsNothingOfHones) {
  EXPECT_THAT(lab({"python3", "-I", "-c", "pass"}).err, HasSubstr("python -I does not read"));
  fs::remove_all(folder / "lab");
  EXPECT_THAT(lab({"python3", "-u", "-c", "IES"}).err, ::testing::Not(HasSubstr("does not read")));
}

TEST_F(LabOfOddPrograms, LeavesADaemonAlone) {
  const ProgramResult result = lab_python(
      "import os, time\nif os.fork():\n  os._exit(0)\nos.setsid()\ntime.sleep(0.5)\nopen('lived', "
      "'w').write('on')");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(lines_of_why(result), 1);
  for (int i = 0; i < 100 && !fs::exists(folder / "lived"); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(fs::exists(folder / "lived"));
}

TEST_F(LabOfOddPrograms, EndsWithItsProgramAtCtrlC) {
  RunOptions run = options();
  const ProgramResult result =
      run_program("/usr/bin/env",
                  {"timeout", "--preserve-status", "-s", "INT", "1", hone_program().string(), "lab", "--out",
                   "lab", "--", "python3", "-c", training("open('pid', 'w').write(str(os.getpid()))")},
                  run);
  EXPECT_EQ(result.exit_code, 130) << result.err;
  EXPECT_EQ(lines_of_why(result), 1) << result.err;
  EXPECT_THAT(result.err, HasSubstr("was asked to end, and ended"));
  EXPECT_THAT(result.err, ::testing::Not(HasSubstr("let it run longer")));
  const Result<std::string> pid = read_file(folder / "pid");
  ASSERT_TRUE(pid.ok());
  EXPECT_FALSE(fs::exists("/proc/" + *pid)) << "it was left running";
}

// A former run's baseline would be read as this one's.
TEST_F(LabOfOddPrograms, RefusesAFolderThatHoldsSomething) {
  fs::create_directories(folder / "lab/baseline");
  const ProgramResult result = lab_python("open('ran', 'w')");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("--out lab: is not empty; name a new folder"));
  EXPECT_FALSE(fs::exists(folder / "ran"));
  EXPECT_FALSE(fs::exists(folder / "lab/lab.json"));
}

TEST_F(LabOfOddPrograms, MakesAFolderOfItsOwnWhereNoneIsNamed) {
  for (int i = 0; i < 2; ++i) run_hone({"lab", "--", "python3", "-c", "pass"}, options());
  int folders = 0;
  for (const auto& each : fs::directory_iterator(folder.path()))
    folders +=
        each.path().filename().string().starts_with("hone-lab-2") && fs::exists(each.path() / "lab.json");
  EXPECT_EQ(folders, 2);
}

TEST_F(LabOfOddPrograms, SaysThatThereIsNoSuchProgram) {
  const ProgramResult result = lab({"./no_such_program"});
  EXPECT_EQ(result.exit_code, 127);
  EXPECT_THAT(result.err, HasSubstr("no_such_program"));
}

}  // namespace
}  // namespace hone::testing_support
