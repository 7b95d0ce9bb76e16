// What analysis must not know: names of a framework's operators, of collectives and of kernels are recognised
// in trace/, once, and reach analysis as enumerations.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "core/testing/source_folder.h"

namespace hone::analyze {
namespace {

namespace fs = std::filesystem;

bool is_of_a_test(const fs::path& path) {
  return path.string().ends_with("_test.cpp") || path.filename().string().starts_with("fabricate") ||
         path.parent_path().filename() == "testing";
}

TEST(Vocabulary, NoNameOfAnOperatorACollectiveOrAKernelStandsInTheSources) {
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(source_folder() / "src" / "analyze")) {
    const fs::path& path = entry.path();
    if ((path.extension() != ".cpp" && path.extension() != ".h") || is_of_a_test(path)) continue;
    ++files;
    std::ifstream file(path);
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    for (const char* name : {"\"aten::", "\"prims::", "\"allreduce", "\"AllReduce", "\"allgather",
                             "\"AllGather", "\"ReduceScatter", "\"nvjet", "\"sgemm", "\"xmma", "\"triton_",
                             "\"FSDP::", "\"nccl:", "torch::autograd"}) {
      for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
        const std::size_t line = text.rfind('\n', at) + 1;
        EXPECT_NE(text.substr(line, at - line).find("//"), std::string::npos) << path << " holds " << name;
      }
    }
  }
  EXPECT_GT(files, 50);
}

}  // namespace
}  // namespace hone::analyze
