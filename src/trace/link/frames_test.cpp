#include "trace/link/frames.h"

#include <gtest/gtest.h>

namespace hone::trace::link {
namespace {

TEST(Frames, AreTheProgramsOwnWhereTheyLieInNobodysLibrary) {
  EXPECT_EQ(frame_owner(FrameKind::kPython, "/home/anna/train.py"), FrameOwner::kProgram);
  EXPECT_EQ(frame_owner(FrameKind::kPython, "/venv/lib/python3.12/site-packages/torch/nn/functional.py"),
            FrameOwner::kLibrary);
  EXPECT_EQ(frame_owner(FrameKind::kPython, "/usr/lib/python3.11/json/decoder.py"), FrameOwner::kLibrary);
  EXPECT_EQ(frame_owner(FrameKind::kPython, "<frozen runpy>"), FrameOwner::kLibrary);
  EXPECT_EQ(frame_owner(FrameKind::kPython, "/opt/hone/share/hone_observe/hone_torch.py"),
            FrameOwner::kRecorder);
  EXPECT_EQ(frame_owner(FrameKind::kNative, "/home/anna/simulation.cpp"), FrameOwner::kProgram);
  EXPECT_EQ(frame_owner(FrameKind::kNative, "/lib/x86_64-linux-gnu/libc.so.6"), FrameOwner::kLibrary);
  EXPECT_EQ(frame_owner(FrameKind::kNative, ""), FrameOwner::kLibrary);
}

TEST(Frames, SayWhatTheyAndAllThatTheyCallAreFor) {
  const auto python = [](std::string_view file, std::string_view function) {
    return frame_role(FrameKind::kPython, function, file);
  };
  const std::string packages = "/venv/lib/python3.12/site-packages/";
  EXPECT_EQ(python(packages + "torch/utils/data/dataloader.py", "__next__"), FrameRole::kInput);
  EXPECT_EQ(python(packages + "torch/utils/data/dataloader.py", "__init__"), FrameRole::kNone);
  EXPECT_EQ(python(packages + "torch/serialization.py", "save"), FrameRole::kIo);
  EXPECT_EQ(python("/home/anna/train.py", "step"), FrameRole::kNone);
  EXPECT_EQ(frame_role(FrameKind::kNative, "__GI___libc_read", ""), FrameRole::kIo);
  EXPECT_EQ(frame_role(FrameKind::kNative, "read_header", ""), FrameRole::kNone);
  EXPECT_EQ(frame_role(FrameKind::kNative, "___pthread_mutex_lock", ""), FrameRole::kLock);
  EXPECT_EQ(frame_role(FrameKind::kNative, "clock_nanosleep", ""), FrameRole::kSleep);
}

TEST(Frames, HaveTablesWithoutRowsThatNothingReaches) {
  EXPECT_TRUE(unreachable_rows(frame_owner_table()).empty());
  EXPECT_TRUE(unreachable_rows(python_frame_roles()).empty());
  EXPECT_TRUE(unreachable_rows(native_frame_roles()).empty());
}

}  // namespace
}  // namespace hone::trace::link
