// hone train as a user runs it: signals, kills, a full disk, and what is said where the command line is wrong.
#include <csignal>
#include <fstream>
#include <random>
#include <thread>

#include "tests/cli/run_program.h"
#include "tests/training/tiny_recipe.h"
#include <fcntl.h>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>
#include <unistd.h>

#include "core/file.h"
#include "lab/training/checkpoint.h"

namespace hone::training {
namespace {

using ::testing::HasSubstr;
using testing_support::is_one_line_error;
using testing_support::ProgramResult;
using testing_support::run_hone;
using testing_support::TemporaryFolder;
namespace fs = std::filesystem;

fs::path write_recipe(const TemporaryFolder& folder) {
  const fs::path path = folder / "tiny.toml";
  std::ofstream(path) << tiny_digits_text();
  return path;
}

// hone train, started and left running.
class Started {
 public:
  Started(const std::vector<std::string>& arguments, const fs::path& output) {
    process_ = fork();
    if (process_ != 0) return;
    const int file = open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    std::vector<std::string> words = {testing_support::hone_program().string()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& word : words) pointers.push_back(word.data());
    pointers.push_back(nullptr);
    execv(pointers[0], pointers.data());
    _exit(127);
  }
  void send(int signal) const { kill(process_, signal); }
  // The exit code, 128 + signal where one ended it.
  int wait() const {
    int status = 0;
    waitpid(process_, &status, 0);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  pid_t process_ = -1;
};

// Until the run in `folder` has done `steps`.
void wait_for_steps(const fs::path& folder, std::size_t steps) {
  for (int i = 0; i < 6000; ++i) {
    std::ifstream file(folder / "metrics.jsonl");
    std::size_t lines = 0;
    for (std::string line; std::getline(file, line);) ++lines;
    if (lines >= steps) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  FAIL() << "the run does not get on";
}

std::string losses_of(const fs::path& run) {
  std::ifstream file(run / "metrics.jsonl");
  std::string text;
  for (std::string line; std::getline(file, line);) {
    const auto json = nlohmann::json::parse(line);
    text += json["step"].dump() + " " + json["kind"].get<std::string>() + " " + json["loss"].dump() + "\n";
  }
  return text;
}

void expect_same_end(const fs::path& a, const fs::path& b) {
  EXPECT_EQ(losses_of(a), losses_of(b));
  std::vector<std::string> damaged;
  const auto first = lab::read_newest_checkpoint(a, damaged);
  const auto second = lab::read_newest_checkpoint(b, damaged);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->step, second->step);
  for (std::size_t i = 0; i < first->states.size(); ++i)
    EXPECT_TRUE(same_tensor(first->states[i].second, second->states[i].second)) << first->states[i].first;
  EXPECT_EQ(*read_file(a / "model.onnx"), *read_file(b / "model.onnx"));
}

TEST(TrainProgram, TrainsAndTellsInJson) {
  const TemporaryFolder folder;
  const ProgramResult result = run_hone({"train", "--threads", "1", write_recipe(folder), "--out",
                                         folder / "run", "--json", folder / "train.json"});
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("done after 30 steps"));
  const auto json = nlohmann::json::parse(*read_file(folder / "train.json"));
  EXPECT_EQ(json["step"], 30);
  EXPECT_EQ(json["end"], "done");
  EXPECT_EQ(json["evaluation"]["metric"], "accuracy");
  const ProgramResult explained = run_hone({"explain", folder / "run"});
  // 3: the machine is too busy for a verdict.
  EXPECT_THAT(explained.exit_code, ::testing::AnyOf(0, 3)) << explained.err;
  EXPECT_THAT(explained.out, HasSubstr("Where the time goes"));
}

TEST(TrainProgram, KilledAtAnyMomentGoesOnAsIfNothingHadBeen) {
  const TemporaryFolder folder;
  const fs::path recipe = write_recipe(folder);
  const std::vector<std::string> longer = {"--set", "train.steps=120", "--set", "checkpoint.every=1"};
  std::vector<std::string> arguments = {"train", recipe, "--out", folder / "whole", "--threads", "1"};
  arguments.insert(arguments.end(), longer.begin(), longer.end());
  ASSERT_EQ(run_hone(arguments).exit_code, 0);
  arguments[3] = (folder / "killed").string();
  const std::vector<std::string> resume = {"train", "--threads", "1", "--resume", folder / "killed"};
  std::mt19937 random(7);
  int kills = 0;
  for (int attempt = 0; attempt < 10; ++attempt) {
    const bool begun = fs::exists(folder / "killed" / "recipe.toml");
    const Started program(begun ? resume : arguments, folder / "output");
    wait_for_steps(folder / "killed", std::size_t{8} * static_cast<std::size_t>(attempt) + 1 + random() % 8);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
    program.send(SIGKILL);
    if (program.wait() == 128 + SIGKILL) ++kills;
  }
  EXPECT_GT(kills, 0);
  const ProgramResult rest = run_hone(resume);
  ASSERT_EQ(rest.exit_code, 0) << rest.err;
  expect_same_end(folder / "killed", folder / "whole");
}

TEST(TrainProgram, FinishesTheStepAndSavesWhenItIsToEnd) {
  const TemporaryFolder folder;
  const fs::path recipe = write_recipe(folder);
  ASSERT_EQ(
      run_hone({"train", "--threads", "1", recipe, "--out", folder / "whole", "--set", "train.steps=400"})
          .exit_code,
      0);
  // More steps than are done before the signal arrives, on any machine.
  for (const auto& [signal, status] : {std::pair{SIGTERM, 0}, {SIGINT, 130}, {SIGHUP, 129}}) {
    const fs::path out = folder / ("stopped" + std::to_string(signal));
    const Started program({"train", "--threads", "1", recipe, "--out", out, "--set", "train.steps=400"},
                          folder / "output");
    wait_for_steps(out, 7);
    program.send(signal);
    EXPECT_EQ(program.wait(), status);
    EXPECT_THAT(*read_file(folder / "output"), HasSubstr("saved: hone train --resume " + out.string()));
    ASSERT_EQ(run_hone({"train", "--threads", "1", "--resume", out}).exit_code, 0);
    expect_same_end(out, folder / "whole");
  }
}

TEST(TrainProgram, GoesOnWhenNobodyReadsItsOutput) {
  const TemporaryFolder folder;
  const fs::path recipe = write_recipe(folder);
  const std::string out = (folder / "run").string();
  const std::string line = testing_support::hone_program().string() + " train " + recipe.string() +
                           " --out " + out + " 2>/dev/null | true";
  (void)std::system(line.c_str());
  for (const char* name : {"model.onnx", "report.html", "training.json"})
    EXPECT_TRUE(fs::exists(folder / "run" / name)) << name;
}

// Ten steps, with a checkpoint behind them, and then twenty more on a disk that holds none.
TEST(TrainProgram, AFullDiskCostsACheckpointAndNotTheOneBefore) {
  const TemporaryFolder folder;
  const fs::path recipe = write_recipe(folder);
  const fs::path run = folder / "run", whole = folder / "whole";
  ASSERT_EQ(run_hone({"train", "--threads", "1", recipe, "--out", run, "--set", "train.steps=10"}).exit_code,
            0);
  fs::copy(run, whole, fs::copy_options::recursive);
  const fs::path before = lab::list_checkpoints(run).at(0);
  ASSERT_EQ(before.filename(), "step-0000000010");
  const std::string states = *read_file(before / "state.safetensors");
  const std::vector<std::string> rest = {"train", "--threads", "1", "--set", "train.steps=30", "--resume"};
  const auto go_on = [&](const fs::path& in, const testing_support::RunOptions& options = {}) {
    std::vector<std::string> arguments = rest;
    arguments.push_back(in);
    return run_hone(arguments, options);
  };
  testing_support::RunOptions small;
  small.largest_file = 12'000;  // the states take 17 KB
  const ProgramResult full = go_on(run, small);
  EXPECT_EQ(full.exit_code, 1);
  for (const char* lost : {"15", "20", "25", "30"})
    EXPECT_THAT(full.out + full.err,
                HasSubstr(std::string("the checkpoint of step ") + lost + " was not written"));
  ASSERT_FALSE(lab::list_checkpoints(run).empty());
  EXPECT_EQ(lab::list_checkpoints(run).front(), before);
  EXPECT_EQ(*read_file(before / "state.safetensors"), states);
  const ProgramResult resumed = go_on(run);
  EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_THAT(resumed.out, HasSubstr("goes on behind step 10 of 30"));
  ASSERT_EQ(go_on(whole).exit_code, 0);
  expect_same_end(run, whole);
}

TEST(TrainProgram, LeavesNothingWhenItIsToEndWhileItPrepares) {
  const TemporaryFolder folder;
  const fs::path recipe = write_recipe(folder);
  std::vector<std::string> arguments = {"train", recipe, "--out", folder / "run"};
  // Kernels that take seconds to choose.
  for (const char* set : {"train.deterministic=false", "model.sizes.base=512", "train.batch=61"})
    arguments.insert(arguments.end(), {"--set", set});
  for (const auto& [signal, status] : {std::pair{SIGTERM, 143}, {SIGINT, 130}}) {
    const fs::path output = folder / ("output" + std::to_string(signal));
    const Started program(arguments, output);
    for (int i = 0; i < 6000; ++i) {
      const auto text = read_file(output);
      if (text.ok() && text->find("preparing") != std::string::npos) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    program.send(signal);
    EXPECT_EQ(program.wait(), status);
    EXPECT_THAT(*read_file(output), HasSubstr("nothing was written"));
    EXPECT_FALSE(fs::exists(folder / "run"));
  }
}

// The model takes less than the states do.
TEST(TrainProgram, ADiskThatIsFullAtTheEndStillGetsTheModel) {
  const TemporaryFolder folder;
  const fs::path recipe = write_recipe(folder);
  ASSERT_EQ(run_hone({"train", recipe, "--out", folder / "whole"}).exit_code, 0);
  const auto model = fs::file_size(folder / "whole" / "model.onnx");
  testing_support::RunOptions small;
  small.largest_file = model + 4'000;
  const ProgramResult result = run_hone({"train", recipe, "--out", folder / "run"}, small);
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("the checkpoint of step 30 was not written"));
  EXPECT_TRUE(lab::list_checkpoints(folder / "run").empty());
  EXPECT_EQ(fs::file_size(folder / "run" / "model.onnx"), model);
}

TEST(TrainProgram, SaysInOneLineWhatIsWrong) {
  const TemporaryFolder folder;
  const fs::path recipe = write_recipe(folder);
  EXPECT_TRUE(is_one_line_error(run_hone({"train"}), {"which recipe?"}));
  EXPECT_TRUE(is_one_line_error(run_hone({"train", folder / "none.toml"}), {"none.toml"}));
  EXPECT_TRUE(is_one_line_error(run_hone({"train", "/dev/zero"}), {"is a device, no recipe"}));
  EXPECT_TRUE(
      is_one_line_error(run_hone({"train", recipe, "--set", "train.bacth=3", "--out", folder / "run"}),
                        {"[train] has no key 'bacth'; did you mean 'batch'?"}));
  EXPECT_TRUE(
      is_one_line_error(run_hone({"train", "--resume", folder.path()}), {"is no folder of a training run"}));
  fs::create_directory(folder / "full");
  std::ofstream(folder / "full" / "file") << "x";
  EXPECT_TRUE(is_one_line_error(run_hone({"train", recipe, "--out", folder / "full"}), {"is not empty"}));
  EXPECT_FALSE(fs::exists(folder / "run"));
}

}  // namespace
}  // namespace hone::training
