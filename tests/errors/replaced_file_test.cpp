// A model file that somebody writes over while hone uses it: one line that says so, never old and new weights
// in one result.
#include <filesystem>

#include "tests/cli/run_program.h"
#include "tests/cli/test_models.h"
#include <gtest/gtest.h>

namespace hone::testing_support {
namespace {

class ReplacedFile : public ::testing::Test {
 protected:
  void SetUp() override {
    options.environment["XDG_CACHE_HOME"] = (folder / "cache").string();
    write_lookup_network(folder / "model.onnx", 1);
    write_lookup_network(folder / "other.onnx", 2);
  }
  // hone bench --on-request, which waits with the model mapped while `change` happens to model.onnx.
  ProgramResult while_it_waits(const std::string& change) const {
    const std::string script =
        "mkfifo requests && { " + hone_program().string() +
        " bench model.onnx --on-request --no-cache < requests > answers & } && exec 3> requests "
        "&& until grep -q ready answers; do sleep 0.05; done && " +
        change + " && echo 1 >&3 && exec 3>&- && wait $!";
    RunOptions here = options;
    here.folder = folder.path();
    return run_program("/bin/bash", {"-c", script}, here);
  }

  TemporaryFolder folder;
  RunOptions options;
};

TEST_F(ReplacedFile, WrittenOverInPlaceIsSaid) {
  // cp writes into the file that is there.
  EXPECT_TRUE(is_one_line_error(while_it_waits("cp other.onnx model.onnx"),
                                {"model.onnx", "written to", "run again"}));
}

TEST_F(ReplacedFile, CutShortIsSaid) {
  EXPECT_TRUE(is_one_line_error(while_it_waits("truncate -s 100 model.onnx"), {"model.onnx", "run again"}));
}

TEST_F(ReplacedFile, RenamedOverGoesOnWithTheOldOne) {
  const ProgramResult result = while_it_waits("mv other.onnx model.onnx");
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

}  // namespace
}  // namespace hone::testing_support
