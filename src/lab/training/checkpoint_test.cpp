#include "lab/training/checkpoint.h"

#include <fstream>

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "core/file.h"
#include "core/testing/scratch_path.h"

namespace hone::lab {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

class CheckpointFolder : public ::testing::Test {
 protected:
  CheckpointFolder() : run_(scratch_path("hone-checkpoint-test")) { fs::remove_all(run_); }
  ~CheckpointFolder() override { fs::remove_all(run_); }

  static Checkpoint of_step(int64_t step) {
    Checkpoint checkpoint;
    checkpoint.step = step;
    checkpoint.place = {step / 10, step % 10};
    checkpoint.seconds = 1.25;
    if (step > 1) checkpoint.metric = 0.5;
    checkpoint.states = {{"w", Tensor::f32({2}, std::vector<float>{static_cast<float>(step), -1})},
                         {"train.updates", Tensor::scalar_i64(step)}};
    return checkpoint;
  }

  fs::path run_;
};

TEST_F(CheckpointFolder, ComesBackAsItWas) {
  ASSERT_TRUE(write_checkpoint(run_, of_step(23), 2).ok());
  std::vector<std::string> damaged;
  const auto read = read_newest_checkpoint(run_, damaged);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->step, 23);
  EXPECT_EQ(read->place, (data::Place{2, 3}));
  EXPECT_EQ(read->seconds, 1.25);
  EXPECT_EQ(read->metric, 0.5);
  ASSERT_EQ(read->states.size(), 2u);
  EXPECT_TRUE(same_tensor(read->states[0].second, of_step(23).states[0].second));
}

TEST_F(CheckpointFolder, KeepsTheLastAndRemovesWhatKillsLeft) {
  fs::create_directories(run_ / "checkpoints" / ".unfinished-step-0000000009");
  std::ofstream(run_ / "checkpoints" / ".unfinished-step-0000000009" / "state.safetensors") << "half";
  for (const int64_t step : {1, 9, 10, 100}) ASSERT_TRUE(write_checkpoint(run_, of_step(step), 2).ok());
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(run_ / "checkpoints"))
    names.push_back(entry.path().filename());
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("step-0000000010", "step-0000000100"));
}

TEST_F(CheckpointFolder, IsWrittenAgainOverADamagedOne) {
  ASSERT_TRUE(write_checkpoint(run_, of_step(7), 2).ok());
  ASSERT_TRUE(write_file(list_checkpoints(run_)[0] / "state.safetensors", "damage").ok());
  EXPECT_THAT(read_checkpoint(list_checkpoints(run_)[0]).error().message, HasSubstr("state.safetensors"));
  ASSERT_TRUE(write_checkpoint(run_, of_step(7), 2).ok());
  EXPECT_TRUE(read_checkpoint(list_checkpoints(run_)[0]).ok());
}

TEST_F(CheckpointFolder, NamesWhateverIsWrongWithAnIndex) {
  ASSERT_TRUE(write_checkpoint(run_, of_step(7), 2).ok());
  const fs::path index = list_checkpoints(run_)[0] / "checkpoint.json";
  const std::string good = *read_file(index);
  for (const std::string& bad :
       {std::string(), std::string("{}"), std::string("[1]"), good.substr(0, good.size() / 2),
        std::string(good).replace(good.find("\"step\": 7"), 9, "\"step\": 8")}) {
    ASSERT_TRUE(write_file(index, bad).ok());
    const auto read = read_checkpoint(index.parent_path());
    ASSERT_FALSE(read.ok()) << bad;
    EXPECT_THAT(read.error().message, HasSubstr("checkpoint.json"));
  }
  fs::remove(index);
  ASSERT_EQ(::mkfifo(index.c_str(), 0600), 0);  // reading it would wait for a writer
  EXPECT_THAT(read_checkpoint(index.parent_path()).error().message, HasSubstr("checkpoint.json: is no file"));
}

TEST_F(CheckpointFolder, WriterTellsHowTheLastOneWent) {
  CheckpointWriter writer(run_, 2);
  EXPECT_TRUE(writer.write(of_step(1)).ok());
  EXPECT_TRUE(writer.write(of_step(2)).ok());
  EXPECT_TRUE(writer.wait().ok());
  EXPECT_EQ(list_checkpoints(run_).size(), 2u);
  Checkpoint bad = of_step(3);
  bad.states.push_back(bad.states[0]);  // a name twice: safetensors has no such thing
  EXPECT_TRUE(writer.write(bad).ok());
  EXPECT_THAT(writer.wait().error().message, HasSubstr("the checkpoint of step 3 was not written"));
  EXPECT_TRUE(writer.wait().ok()) << "said once";
  EXPECT_EQ(list_checkpoints(run_).size(), 2u);
}

}  // namespace
}  // namespace hone::lab
