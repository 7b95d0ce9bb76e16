#include "trace/link/python_functions.h"

#include <gtest/gtest.h>

namespace hone::trace::link {
namespace {

CodeOwner owner_of(std::string_view name) {
  const auto function = python_function(name);
  EXPECT_TRUE(function) << name;
  return function ? function->owner : CodeOwner::kFramework;
}

TEST(PythonFunctions, AreToldByTheirFileAndLine) {
  const auto function = python_function("mypkg/net.py(6): forward");
  ASSERT_TRUE(function);
  EXPECT_EQ(function->file, "mypkg/net.py");
  EXPECT_EQ(function->line, 6);
  EXPECT_EQ(function->function, "forward");
  for (const char* other :
       {"nn.Module: Linear_0", "<built-in function linear>", "<built-in method a of b object (x): y>",
        "(3): step", "train.py(99999999999): step", ""})
    EXPECT_FALSE(python_function(other)) << other;
}

TEST(PythonFunctions, AreTheProgramsWhereNoPackageIsKnown) {
  EXPECT_EQ(owner_of("train.py(31): step"), CodeOwner::kProgram);
  EXPECT_EQ(owner_of("/home/u/models/torch/net.py(31): forward"), CodeOwner::kProgram);
  EXPECT_EQ(owner_of("torch/nn/functional.py(2901): linear"), CodeOwner::kFramework);
  EXPECT_EQ(owner_of("/v/lib/python3.12/site-packages/torch/_tensor.py(5): __iter__"), CodeOwner::kFramework);
  EXPECT_EQ(owner_of("/usr/lib/python3.12/contextlib.py(5): inner"), CodeOwner::kFramework);
  EXPECT_EQ(owner_of("contextlib.py(79): inner"), CodeOwner::kFramework);
  EXPECT_EQ(owner_of("torchvision/models/detection/rpn.py(242): filter_proposals"), CodeOwner::kPackage);
  EXPECT_EQ(owner_of("/v/lib/python3.12/site-packages/mymodels/net.py(5): forward"), CodeOwner::kPackage);
}

TEST(PythonFunctions, HaveATableWithoutRowsThatNothingReaches) {
  EXPECT_TRUE(unreachable_rows(code_owner_table()).empty());
}

}  // namespace
}  // namespace hone::trace::link
