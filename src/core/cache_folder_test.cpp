#include "core/cache_folder.h"

#include <chrono>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "core/file.h"
#include "core/testing/scratch_path.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

TEST(CacheFolder, MakesRoomByWhatWasUsedLongestAgo) {
  const fs::path folder = scratch_path("cache-folder");
  ASSERT_TRUE(make_folder(folder).ok());
  const auto now = fs::file_time_type::clock::now();
  const auto put = [&](const std::string& name, int minutes_ago) {
    ASSERT_TRUE(write_file(folder / name, std::string(100, 'x')).ok());
    fs::last_write_time(folder / name, now - std::chrono::minutes(minutes_ago));
  };
  const auto names = [&] {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder)) found.insert(entry.path().filename().string());
    return found;
  };
  put("a.plan", 4);
  put("b.plan", 3);
  put("c.plan", 2);
  put("d.plan", 1);
  put("old.txt", 9);
  make_room(folder, ".plan", 401);
  EXPECT_EQ(names().size(), 5U) << "there is room";
  mark_used(folder / "a.plan");
  make_room(folder, ".plan", 400);
  EXPECT_EQ(names(), (std::set<std::string>{"a.plan", "old.txt"})) << "less than half of it";
  make_room(folder / "none", ".plan", 1);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace hone
