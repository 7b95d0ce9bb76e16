// Files: maps of what is and is not there, and writes that replace a file whole or not at all.
#include "core/file.h"

#include <csignal>
#include <cstdlib>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hone {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class File : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "hone-file-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

// Writes past `bytes` fail with EFBIG for as long as this lives: what a full disk looks like to a program.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_F(File, WritesAndReadsBack) {
  const fs::path path = folder_ / "a.txt";
  ASSERT_TRUE(write_file(path, "some text").ok());
  EXPECT_EQ(*read_file(path), "some text");
  const auto mapped = MappedFile::open(path);
  ASSERT_TRUE(mapped.ok());
  EXPECT_EQ((*mapped)->text(), "some text");
  EXPECT_EQ((*mapped)->bytes().size(), 9u);
  EXPECT_EQ(entries(), 1u);
}

TEST_F(File, AMapOutlivesTheName) {
  const fs::path path = folder_ / "a.txt";
  ASSERT_TRUE(write_file(path, "still here").ok());
  const auto mapped = MappedFile::open(path);
  fs::remove(path);
  EXPECT_EQ((*mapped)->text(), "still here");
}

TEST_F(File, AnEmptyFileMapsToNoBytes) {
  const fs::path path = folder_ / "empty";
  ASSERT_TRUE(write_file(path, "").ok());
  const auto mapped = MappedFile::open(path);
  ASSERT_TRUE(mapped.ok());
  EXPECT_TRUE((*mapped)->bytes().empty());
  EXPECT_EQ((*mapped)->text(), "");
  EXPECT_EQ(*read_file(path), "");
}

TEST_F(File, WhatCannotBeReadIsNamed) {
  const fs::path missing = folder_ / "missing.onnx";
  for (const Error& error : {MappedFile::open(missing).error(), read_file(missing).error()}) {
    EXPECT_EQ(error.code, ErrorCode::kNotFound);
    EXPECT_THAT(error.message, HasSubstr("missing.onnx': No such file or directory"));
  }
  for (const Error& error : {MappedFile::open(folder_).error(), read_file(folder_).error()})
    EXPECT_THAT(error.message, HasSubstr("it is a folder"));
  EXPECT_THAT(MappedFile::open("/dev/null").error().message, HasSubstr("a pipe or a device"));
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(MappedFile::open(pipe).error().message, HasSubstr("a pipe or a device"));
}

TEST_F(File, LargeAndSmallWritesKeepTheirOrder) {
  const fs::path path = folder_ / "mixed";
  auto file = AtomicFile::create(path);
  ASSERT_TRUE(file.ok());
  std::string expected;
  for (const std::size_t size : {1u, 70'000u, 65'536u, 3u, 65'535u, 2u, 200'000u}) {
    const std::string piece(size, static_cast<char>('a' + size % 26));
    ASSERT_TRUE(file->write(piece).ok());
    expected += piece;
    EXPECT_EQ(file->position(), expected.size());
  }
  ASSERT_TRUE(file->commit().ok());
  EXPECT_EQ(*read_file(path), expected);
}

TEST_F(File, NothingAppearsBeforeCommit) {
  const fs::path path = folder_ / "model.onnx";
  ASSERT_TRUE(write_file(path, "old").ok());
  {
    auto file = AtomicFile::create(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->write("half of the new").ok());
    EXPECT_EQ(*read_file(path), "old");
  }
  EXPECT_EQ(*read_file(path), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(File, AFullDiskLeavesTheOldFile) {
  const fs::path path = folder_ / "model.onnx";
  ASSERT_TRUE(write_file(path, "old").ok());
  {
    const FileSizeLimit limit(100'000);
    auto file = AtomicFile::create(path);
    ASSERT_TRUE(file.ok());
    const std::string chunk(30'000, 'x');
    Status status;
    for (int i = 0; i < 10 && status.ok(); ++i) status = file->write(chunk);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kIo);
    EXPECT_THAT(status.error().message, HasSubstr("cannot write '" + path.string() + "': File too large"));
    EXPECT_FALSE(file->write("more").ok());
    EXPECT_FALSE(file->commit().ok());
    EXPECT_EQ(entries(), 1u);
  }
  EXPECT_EQ(*read_file(path), "old");
}

TEST_F(File, AFailureInTheLastBufferIsSeenAtCommit) {
  const fs::path path = folder_ / "new";
  const FileSizeLimit limit(10);
  auto file = AtomicFile::create(path);
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE(file->write("more than ten bytes").ok());
  EXPECT_FALSE(file->commit().ok());
  EXPECT_EQ(entries(), 0u);
}

TEST_F(File, DevicesAreWrittenNotReplaced) {
  const Status full = write_file("/dev/full", "text");
  ASSERT_FALSE(full.ok());
  EXPECT_THAT(full.error().message, HasSubstr("No space left on device"));
  EXPECT_TRUE(write_file("/dev/null", "text").ok());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(File, WhatCannotBeWrittenIsNamed) {
  EXPECT_THAT(write_file(folder_, "x").error().message, HasSubstr("it is a folder"));
  const Status no_folder = write_file(folder_ / "none" / "a", "x");
  EXPECT_EQ(no_folder.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(no_folder.error().message, HasSubstr("none' does not exist"));
  ASSERT_TRUE(write_file(folder_ / "plain", "x").ok());
  EXPECT_FALSE(write_file(folder_ / "plain" / "a", "x").ok());
  EXPECT_FALSE(write_file(folder_ / std::string(300, 'n'), "x").ok());
}

TEST_F(File, ReplacingKeepsPermissionsAndLinks) {
  const fs::path path = folder_ / "real";
  ASSERT_TRUE(write_file(path, "old").ok());
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  fs::create_symlink(path, folder_ / "link");
  ASSERT_TRUE(write_file(folder_ / "link", "new").ok());
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(*read_file(path), "new");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(File, ALinkToNothingYetStaysALink) {
  fs::create_directory(folder_ / "far");
  fs::create_symlink("far/there", folder_ / "link");
  fs::create_symlink(folder_ / "link", folder_ / "link of link");
  ASSERT_TRUE(write_file(folder_ / "link of link", "new").ok());
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link of link"));
  EXPECT_EQ(*read_file(folder_ / "far" / "there"), "new");
}

TEST_F(File, MovedFilesWriteOnce) {
  auto first = AtomicFile::create(folder_ / "a");
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(first->write("x").ok());
  AtomicFile second = *std::move(first);
  EXPECT_FALSE(first->commit().ok());  // NOLINT: a moved-from file is closed
  ASSERT_TRUE(second.commit().ok());
  EXPECT_FALSE(second.commit().ok());
  EXPECT_EQ(*read_file(folder_ / "a"), "x");
}

TEST_F(File, FoldersAreMadeWithTheirParents) {
  EXPECT_TRUE(make_folder(folder_ / "a" / "b").ok());
  EXPECT_TRUE(make_folder(folder_ / "a" / "b").ok());
  ASSERT_TRUE(write_file(folder_ / "file", "x").ok());
  EXPECT_FALSE(make_folder(folder_ / "file").ok());
  EXPECT_FALSE(make_folder(folder_ / "file" / "c").ok());
}

TEST_F(File, WhetherAFolderCanBeMadeIsKnownWithoutMakingIt) {
  EXPECT_TRUE(check_folder(folder_).ok());
  EXPECT_TRUE(check_folder(folder_ / "a" / "b").ok());
  EXPECT_TRUE(check_folder("relative/folder/that/is/not/there").ok());
  EXPECT_EQ(entries(), 0u);
  ASSERT_TRUE(write_file(folder_ / "file", "x").ok());
  for (const fs::path& path : {folder_ / "file", folder_ / "file" / "under" / "it"})
    EXPECT_THAT(check_folder(path).error().message,
                testing::AllOf(HasSubstr(path.string()), HasSubstr("is a file")));
}

}  // namespace
}  // namespace hone
