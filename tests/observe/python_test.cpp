// hone profile with Python programs: what they can see of being observed, and what is recorded of those that train.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "tests/cli/run_program.h"
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/file.h"
#include "core/testing/source_folder.h"

namespace hone::testing_support {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

class ProfileOfPython : public ::testing::Test {
 protected:
  ProgramResult profile(std::vector<std::string> python, std::vector<std::string> options = {},
                        RunOptions run = {}) const {
    run.folder = folder.path();
    run.environment["PYTHONPATH"] = (folder / "modules").string() + ":" + (tests / "fake_torch").string();
    run.environment["PYTHONDONTWRITEBYTECODE"] = "1";
    options.insert(options.begin(), {"profile", "--out", "run"});
    options.insert(options.end(), {"--", "python3"});
    options.insert(options.end(), python.begin(), python.end());
    return run_hone(options, run);
  }
  void write_module(const std::string& name, const std::string& text) const {
    fs::create_directories(folder / "modules");
    std::ofstream(folder / "modules" / name) << text;
  }
  json read_json(const std::string& name) const {
    const Result<std::string> text = read_file(folder / "run" / name);
    return text.ok() ? json::parse(*text) : json();
  }

  TemporaryFolder folder;
  fs::path tests = source_folder() / "tests/observe";
};

TEST_F(ProfileOfPython, KeepsOutputAndExitStatus) {
  const ProgramResult result = profile({"-c", "import sys; print('out'); sys.exit(5)"});
  EXPECT_EQ(result.exit_code, 5);
  EXPECT_EQ(result.out, "out\n");
}

TEST_F(ProfileOfPython, RunsTheUsersSitecustomizeOnce) {
  write_module("sitecustomize.py",
               "print('mine', __name__, __file__.endswith('modules/sitecustomize.py'))\n");
  const ProgramResult result = profile({"-c", "import sitecustomize; print(sitecustomize.__name__)"});
  EXPECT_EQ(result.out, "mine sitecustomize True\nsitecustomize\n") << result.err;
}

TEST_F(ProfileOfPython, LeavesErrorsOfTheUsersSitecustomizeToPython) {
  write_module("sitecustomize.py", "raise ValueError('broken here')\n");
  const ProgramResult result = profile({"-c", "print('runs')"});
  EXPECT_EQ(result.out, "runs\n");
  EXPECT_NE(result.err.find("broken here"), std::string::npos) << result.err;
}

TEST_F(ProfileOfPython, KeepsItsOwnModulesOutOfTheProgramsSight) {
  const ProgramResult result = profile(
      {"-c",
       "import sys\nprint([p for p in sys.path if 'hone_observe' in p])\ntry:\n  import marks\nexcept "
       "ImportError as e:\n  print(e)"});
  EXPECT_EQ(result.out, "[]\nNo module named 'marks'\n") << result.err;
}

// Without site, nothing takes the folder on PYTHONPATH away again.
TEST_F(ProfileOfPython, HasNoModuleThatStandsBeforeOneOfTheProgram) {
  for (const char* name : {"library", "marks", "graphs", "hone_torch"})
    write_module(std::string(name) + ".py", "print('mine')\n");
  const ProgramResult result = profile({"-S", "-c", "import library, marks, graphs, hone_torch"});
  EXPECT_EQ(result.out, "mine\nmine\nmine\nmine\n") << result.err;
}

TEST_F(ProfileOfPython, LeavesModulesAsTheyWereOnceTheyAreImported) {
  const ProgramResult result = profile(
      {"-c",
       "import inspect, torch.optim.optimizer as m, pickle, torch\n"
       "print(m.__loader__.exec_module.__qualname__, inspect.getsource(m).startswith('_hooks'))\n"
       "class N(torch.nn.Module):\n  pass\nn = N().eval()\nprint(sorted(vars(n)), type(pickle.loads(pickle."
       "dumps(n))) is N)"});
  EXPECT_EQ(result.out, "_LoaderBasics.exec_module True\n['training'] True\n") << result.err;
}

// Errors that pass through calls that are marked, and warnings that are about the line that called.
TEST_F(ProfileOfPython, StandsInNoTracebackAndBeforeNoWarning) {
  write_module("main.py", R"(import pickle, traceback, warnings
import torch
class Net(torch.nn.Module):
  def forward(self, x):
    warnings.warn('here', stacklevel=3)
    return x / 0
  def train(self, mode=True):
    warnings.warn('there', stacklevel=2)
    return super().train(mode)
net = Net().eval().train()
def broken():
  yield 1
  raise ValueError
with warnings.catch_warnings(record=True) as seen:
  warnings.simplefilter('always')
  try:
    net(1)
  except ZeroDivisionError:
    print([frame.name for frame in traceback.extract_tb(__import__('sys').exc_info()[2])])
  net.train()
  print(*[(w.filename.split('/')[-1], str(w.message)) for w in seen])
try:
  list(torch.utils.data.DataLoader(broken()))
except ValueError:
  print('hone_observe' in traceback.format_exc(), 'marks' in traceback.format_exc())
call = vars(Net)['__call__']
print(type(call).__name__, Net.__call__ is torch.nn.Module.__call__, pickle.loads(pickle.dumps(call)) is torch.nn.Module.__call__)
print(torch.nn.Module.train.__qualname__, call.__code__.co_name)
)");
  const ProgramResult result = profile({(folder / "modules/main.py").string()});
  EXPECT_EQ(result.out,
            "['<module>', '_call_impl', 'forward']\n('main.py', 'here') ('main.py', 'there')\nFalse "
            "False\n_BeforeCall True True\nModule.train _call_impl\n")
      << result.err;
}

TEST_F(ProfileOfPython, LeavesCuptiToAProgramThatProfilesItself) {
  for (const char* cuda : {"False", "True"}) {
    fs::remove_all(folder / "run");
    const ProgramResult result =
        profile({"-c", std::string("import torch.autograd.profiler as p\nwith p.profile(") + cuda +
                           ") as q:\n  print(q.prepared)"});
    EXPECT_EQ(result.out, "True\n") << result.err;
    EXPECT_EQ(result.err.find("profiles itself with torch.profiler") != std::string::npos,
              std::string(cuda) == "True")
        << result.err;
  }
}

TEST_F(ProfileOfPython, ObservesChildrenThatItStarts) {
  write_module("work.py", "def f(x):\n  return 2 * x\n");
  for (const char* method : {"fork", "spawn"}) {
    fs::remove_all(folder / "run");
    write_module("main.py",
                 std::string("import multiprocessing as m, work\nif __name__ == '__main__':\n  with "
                             "m.get_context('") +
                     method + "').Pool(4) as p:\n    print(p.map(work.f, range(8)))\n");
    const ProgramResult result = profile({(folder / "modules/main.py").string()});
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, "[0, 2, 4, 6, 8, 10, 12, 14]\n") << method;
  }
}

TEST_F(ProfileOfPython, RecordsAndLeavesAloneStepsOfATraining) {
  const ProgramResult result =
      profile({(tests / "train_fake.py").string(), "5"}, {"--wait", "0.2", "--steps", "6"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "trained\n");
  const json run = read_json("run.json");
  ASSERT_TRUE(run.contains("observed")) << result.err;
  EXPECT_EQ(run["what"], "profile");
  EXPECT_EQ(run["observed"]["complete"], true);
  EXPECT_EQ(run["observed"]["exit_code"], 0);
  std::vector<std::string> modes;
  for (const json& block : run["observed"]["blocks"]) modes.push_back(block["mode"]);
  EXPECT_EQ(std::count(modes.begin(), modes.end(), "operators"), 6);
  EXPECT_EQ(std::count(modes.begin(), modes.end(), "left alone"), 12);
  const json explained = read_json("explain.json");
  EXPECT_GT(explained["step"]["median_ms"], 3.4);
  EXPECT_FALSE(explained["ledger"].empty());
  EXPECT_FALSE(explained["top"].empty());
  EXPECT_FALSE(fs::exists(folder / "run/segments")) << "all of it is in the trace";
  EXPECT_NE(result.err.find("Where the time goes"), std::string::npos) << result.err;
}

// Training and launching on a CUDA that computes nothing.
class ProfileOfDevices : public ProfileOfPython {
 protected:
  ProgramResult profile_with_devices(std::vector<std::string> python,
                                     std::vector<std::string> options = {}) const {
    RunOptions run;
    run.environment = {{"LD_LIBRARY_PATH", (build_folder() / "fake_cuda").string()},
                       {"HONE_OBSERVE_CUPTI", (build_folder() / "fake_cuda/libcupti.so.13").string()},
                       {"FAKE_TORCH_DEVICE", "1"}};
    options.insert(options.end(), {"--wait", "0.2", "--steps", "6", "--sampling", "off"});
    return profile(std::move(python), std::move(options), run);
  }
  std::map<std::string, int> modes() const {
    std::map<std::string, int> count;
    const json run = read_json("run.json");
    if (!run.contains("observed")) return count;
    for (const json& block : run["observed"]["blocks"]) ++count[block["mode"]];
    return count;
  }
};

TEST_F(ProfileOfDevices, ExplainsKernelsWithTheOperatorsThatLaunchedThem) {
  const ProgramResult result = profile_with_devices({(tests / "train_fake.py").string(), "5"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "trained\n");
  const std::map<std::string, int> expected = {
      {"left alone", 12}, {"timeline", 6}, {"operators", 1}, {"stacks", 1}, {"counters", 1}};
  EXPECT_EQ(modes(), expected) << result.err;
  const json explained = read_json("explain.json");
  ASSERT_TRUE(explained.contains("coverage")) << result.err;
  EXPECT_GT(explained["coverage"]["linked_share"], 0.99);
  EXPECT_EQ(explained["step"]["unrecorded_measured"], true);
  EXPECT_GT(explained["step"]["unrecorded_ms"]["median"], 3.4);
  std::set<std::string> top;
  for (const json& row : explained["top"]) top.insert(row["op"]);
  EXPECT_TRUE(top.contains("aten::linear")) << result.out;
}

TEST_F(ProfileOfDevices, TellsStepsByTheCallThatComesOnceInThem) {
  const ProgramResult result = profile_with_devices({(tests / "launch_fake.py").string(), "7"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "launched\n");
  const std::map<std::string, int> expected = {
      {"left alone", 12}, {"timeline", 6}, {"operators", 1}, {"stacks", 1}, {"counters", 1}};
  EXPECT_EQ(modes(), expected) << result.err;
  const json explained = read_json("explain.json");
  ASSERT_TRUE(explained.contains("step")) << result.err;
  EXPECT_GT(explained["step"]["median_ms"], 3);
  EXPECT_LT(explained["step"]["median_ms"], 6);
  EXPECT_EQ(explained["step"]["unrecorded_measured"], true);
}

// The main thread is held between two of its instructions: what it calls makes the change beside no other call.
TEST_F(ProfileOfDevices, ChangesCuptiWhilePythonStandsStill) {
  const ProgramResult result = profile_with_devices(
      {"-c",
       "import ctypes, time\ncuda = ctypes.CDLL('libcuda.so.1')\ncuda.cuInit(0)\nlistened = "
       "cuda.fake_cuda_is_listened_to()\nend = time.time() + 5\nwhile time.time() < end:\n  "
       "cuda.fake_busy_launches(20)\n  cuda.fake_synchronize()\ncupti = "
       "ctypes.CDLL('libcupti.so.13')\nprint(listened, cupti.fake_cupti_changes_beside_calls())"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "0 0\n");  // nor is CUPTI touched before something is to be noted
  EXPECT_EQ(modes()["timeline"], 6) << result.err;
}

// What Python takes down when it ends may be in calls into CUDA on threads that nobody can hold any more.
TEST_F(ProfileOfDevices, ChangesNothingOfCuptiOncePythonEnds) {
  const ProgramResult result = profile_with_devices(
      {"-c",
       "import ctypes, time\ncuda = ctypes.CDLL('libcuda.so.1')\ncuda.cuInit(0)\nclass Last:\n  def "
       "__del__(self, "
       "time=time.time, sleep=time.sleep, cuda=cuda, cdll=ctypes.CDLL):\n    sleep(0.1)\n    cupti = "
       "cdll('libcupti.so.13')\n    before = cupti.fake_cupti_changes()\n    end = time() + 2\n    while "
       "time() < "
       "end:\n      cuda.fake_busy_launches(20)\n      cuda.fake_synchronize()\n    print(before > 0, "
       "cupti.fake_cupti_changes() - before)\nlast = Last()\nend = time.time() + 1.5\nwhile time.time() < "
       "end:\n  "
       "cuda.fake_busy_launches(20)\n  cuda.fake_synchronize()"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "True 0\n") << result.err;
}

TEST_F(ProfileOfDevices, LetsTheProgramsOwnProfilerHaveTheDevices) {
  const ProgramResult result = profile_with_devices(
      {"-c",
       "import torch, torch.autograd.profiler\ntorch.autograd.profiler.profile(True).__enter__()\nfor i in "
       "range(1500):\n  "
       "torch.operator('aten::relu', 0.001)\nprint('profiled')"});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_EQ(result.out, "profiled\n");
  EXPECT_NE(result.err.find("nothing was recorded: 'python3' ended"), std::string::npos) << result.err;
}

// However the program ends: its status is kept, and what it wrote by then is explained.
TEST_F(ProfileOfDevices, ExplainsWhatAProgramLeftThatDidNotComeToItsEnd) {
  const std::map<std::string, int> ends = {{"os.kill(os.getpid(), signal.SIGKILL)", 137},
                                           {"os.kill(os.getpid(), signal.SIGSEGV)", 139},
                                           {"os._exit(3)", 3},
                                           {"os.kill(os.getppid(), signal.SIGINT)", 130}};
  for (const auto& [how, status] : ends) {
    fs::remove_all(folder / "run");
    const ProgramResult result = profile_with_devices(
        {"-c", "import os, signal, threading, runpy, sys\nthreading.Timer(3, lambda: " + how +
                   ").start()\nsys.argv = ['train', '60']\nrunpy.run_path('" +
                   (tests / "train_fake.py").string() + "', run_name='__main__')"});
    EXPECT_EQ(result.exit_code, status) << how;
    EXPECT_TRUE(fs::exists(folder / "run/explain.html")) << how << "\n" << result.err;
    EXPECT_NE(result.err.find("Where the time goes"), std::string::npos) << how << "\n" << result.err;
    EXPECT_EQ(read_json("run.json")["observed"]["exit_code"], status) << how;
  }
}

// Their segments are of the same run folder, and none of them is in the way of what the program is.
TEST_F(ProfileOfDevices, ObservesAProgramWithSixteenForkedWorkers) {
  const ProgramResult result = profile_with_devices(
      {"-c",
       "import torch, multiprocessing as m, runpy, sys\np = m.get_context('fork').Pool(16)\nwork = "
       "p.map_async(abs, range(64))\nsys.argv = ['train', '5']\nrunpy.run_path('" +
           (tests / "train_fake.py").string() +
           "', run_name='__main__')\nprint(len(work.get()))\np.terminate()"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "trained\n64\n");
  EXPECT_GE(read_json("run.json")["observed"]["processes"], 17) << result.err;
  EXPECT_NE(result.err.find("Where the time goes"), std::string::npos) << result.err;
}

// As on a disk that fills up while the program runs.
TEST_F(ProfileOfPython, LetsTheProgramRunOnWhereWhatIsRecordedCannotBeWritten) {
  RunOptions run;
  run.largest_file = 20'000;
  const ProgramResult result =
      profile({(tests / "train_fake.py").string(), "4"}, {"--wait", "0.2", "--steps", "6"}, run);
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "trained\n");
  EXPECT_NE(result.err.find("hone: not explained: "), std::string::npos) << result.err;
}

TEST_F(ProfileOfDevices, EndsTheProgramIfAskedTo) {
  const ProgramResult result =
      profile_with_devices({(tests / "train_fake.py").string(), "100"}, {"--then", "stop"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_TRUE(fs::exists(folder / "run/explain.html"));
}

}  // namespace
}  // namespace hone::testing_support
