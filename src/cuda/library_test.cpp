#include "cuda/library.h"

#include <filesystem>

#include "cuda/testing/fake_driver.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "core/testing/scratch_path.h"

namespace hone::cuda {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// Folders of a machine that we make up; libraries are copies of the fake driver.
class FindLibrary : public ::testing::Test {
 protected:
  FindLibrary() { fs::create_directories(root_); }
  ~FindLibrary() override { fs::remove_all(root_); }

  std::string put(const std::string& file) {
    const fs::path at = root_ / file;
    fs::create_directories(at.parent_path());
    fs::copy_file(testing::fake_driver_file(), at);
    return at.string();
  }
  LibraryPlaces places(std::vector<std::string> homes, std::vector<std::string> packages = {}) const {
    LibraryPlaces places{.loaded = false, .homes = {}, .linker = false, .toolkits = {}, .site_packages = {}};
    for (const std::string& home : homes) places.homes.push_back((root_ / home).string());
    for (const std::string& folder : packages) places.site_packages.push_back((root_ / folder).string());
    return places;
  }

  const fs::path root_ = scratch_path("hone-libraries");
};

LibraryName made_up_name() {
  return {.title = "Foo",
          .file = "libfoo.so",
          .majors = {13, 12},
          .package = "foo",
          .pip = "nvidia-foo",
          .follows_driver = true};
}

TEST_F(FindLibrary, TakesTheToolkitThatTheUserNamesBeforePythonsPackages) {
  const std::string in_home = put("home/lib64/libfoo.so.13");
  put("python/site-packages/nvidia/cu13/lib/libfoo.so.13");
  const auto found = find_library(made_up_name(), places({"home"}, {"python/site-packages"}));
  ASSERT_TRUE(found.ok()) << found.error().message;
  EXPECT_EQ(found->path, in_home);
  EXPECT_EQ(found->major, 13);
}

TEST_F(FindLibrary, KnowsBothWaysInWhichPythonsPackagesLie) {
  const std::string old = put("a/site-packages/nvidia/foo/lib/libfoo.so.12");
  EXPECT_EQ(find_library(made_up_name(), places({}, {"a/site-packages"}))->path, old);
  const std::string current = put("b/site-packages/nvidia/cu13/lib/libfoo.so.13");
  EXPECT_EQ(find_library(made_up_name(), places({}, {"a/site-packages", "b/site-packages"}))->path, current);
}

TEST_F(FindLibrary, TakesAVersionOfLastResortWhereThereIsNoOther) {
  LibraryName name = made_up_name();
  name.last_resort = {"13.4.0"};
  fs::create_symlink(put("home/lib64/libfoo.so.13.4.0"), root_ / "home/lib64/libfoo.so.13");
  EXPECT_EQ(find_library(name, places({"home"}))->path, root_ / "home/lib64/libfoo.so.13");
  const std::string other = put("python/site-packages/nvidia/cu13/lib/libfoo.so.13");
  EXPECT_EQ(find_library(name, places({"home"}, {"python/site-packages"}))->path, other);
  name.last_resort = {"3.4.0", "13.4"};
  EXPECT_EQ(find_library(name, places({"home"}, {"python/site-packages"}))->path,
            root_ / "home/lib64/libfoo.so.13");
}

TEST_F(FindLibrary, TakesNoneThatIsNewerThanTheDriver) {
  put("home/lib64/libfoo.so.13");
  const std::string older = put("home/lib/libfoo.so.12");
  EXPECT_EQ(find_library(made_up_name(), places({"home"}), 12080)->path, older);
  fs::remove(older);
  const auto none = find_library(made_up_name(), places({"home"}), 12080);
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message,
              AllOf(HasSubstr("Foo (libfoo.so.12) is not here"), Not(HasSubstr("libfoo.so.13"))));
}

TEST_F(FindLibrary, OneThatIsMissingIsSaidInOneLineWithWhereItWasLookedFor) {
  const auto none = find_library(made_up_name(), places({"home"}, {"python/site-packages"}));
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message,
              AllOf(HasSubstr("Foo (libfoo.so.13 or libfoo.so.12) is not here"),
                    HasSubstr((root_ / "home").string()), HasSubstr("python/site-packages/nvidia"),
                    HasSubstr("pip install nvidia-foo"), Not(HasSubstr("\n"))));
}

TEST_F(FindLibrary, OneThatDoesNotLoadSaysWhy) {
  const fs::path damaged = root_ / "damaged/lib64/libfoo.so.13";
  fs::create_directories(damaged.parent_path());
  ASSERT_TRUE(write_file(damaged, "no library").ok());
  const auto none = find_library(made_up_name(), places({"damaged"}));
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message, AllOf(HasSubstr("does not load"), HasSubstr(damaged.string())));
}

TEST_F(FindLibrary, TheActivePythonIsTheEnvironments) {
  fs::create_directories(root_ / "venv/lib/python3.11/site-packages/nvidia");
  ::setenv("VIRTUAL_ENV", (root_ / "venv").c_str(), 1);
  const LibraryPlaces places = LibraryPlaces::of_this_process();
  ::unsetenv("VIRTUAL_ENV");
  EXPECT_THAT(places.site_packages, Contains((root_ / "venv/lib/python3.11/site-packages").string()));
}

TEST_F(FindLibrary, ThePythonOfPathIsItsVirtualEnvironmentsNotWhatThatLinksTo) {
  fs::create_directories(root_ / "venv/lib/python3.12/site-packages/nvidia");
  fs::create_directories(root_ / "venv/bin");
  fs::create_symlink("/bin/true", root_ / "venv/bin/python3");
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", ((root_ / "venv/bin").string() + ":" + path).c_str(), 1);
  const LibraryPlaces places = LibraryPlaces::of_this_process();
  ::setenv("PATH", path.c_str(), 1);
  EXPECT_THAT(places.site_packages, Contains((root_ / "venv/lib/python3.12/site-packages").string()));
}

}  // namespace
}  // namespace hone::cuda
