#include "core/folder_lock.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace hone {
namespace {

namespace fs = std::filesystem;

TEST(FolderLock, IsHeldByOneAtATime) {
  const fs::path folder = fs::temp_directory_path() / ("hone_folder_lock_" + std::to_string(::getpid()));
  fs::create_directories(folder);
  auto first = lock_folder(folder);
  ASSERT_TRUE(first.ok());
  const auto second = lock_folder(folder);
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find(folder.string() + ": another process"), std::string::npos);
  first->reset();
  EXPECT_TRUE(lock_folder(folder).ok());
  EXPECT_TRUE(fs::is_empty(folder));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace hone
