// fork and exec with pipes, a deadline and a process group, so that nothing outlives a test.
#include "tests/cli/run_program.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/testing/source_folder.h"

namespace hone::testing_support {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

class Pipe {
 public:
  Pipe() {
    if (::pipe2(ends_.data(), O_CLOEXEC) != 0) throw std::runtime_error("run_program: no pipe");
  }
  ~Pipe() {
    close_read();
    close_write();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  int read_end() const { return ends_[0]; }
  int write_end() const { return ends_[1]; }
  void close_read() { close_end(ends_[0]); }
  void close_write() { close_end(ends_[1]); }

 private:
  static void close_end(int& descriptor) {
    if (descriptor >= 0) ::close(std::exchange(descriptor, -1));
  }
  std::array<int, 2> ends_{-1, -1};
};

// In the child, between fork and exec.
[[noreturn]] void become(const std::vector<char*>& arguments, const RunOptions& options) {
  ::setpgid(0, 0);
  if (options.largest_file) {
    const rlimit limit{*options.largest_file, *options.largest_file};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  if (!options.folder.empty() && ::chdir(options.folder.c_str()) != 0) ::_exit(126);
  for (const auto& [name, value] : options.environment) ::setenv(name.c_str(), value.c_str(), 1);
  ::execv(arguments[0], arguments.data());
  ::_exit(127);
}

// Reads both pipes until the child closes them; false when the deadline came first.
bool collect(Pipe& out, Pipe& err, ProgramResult& result, Clock::time_point deadline) {
  std::array<pollfd, 2> waits = {pollfd{out.read_end(), POLLIN, 0}, pollfd{err.read_end(), POLLIN, 0}};
  const std::array<std::string*, 2> texts = {&result.out, &result.err};
  std::array<char, 1 << 16> buffer;
  while (waits[0].fd >= 0 || waits[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    if (::poll(waits.data(), waits.size(), static_cast<int>(left)) < 0 && errno != EINTR)
      throw std::runtime_error("run_program: poll failed");
    for (std::size_t i = 0; i < waits.size(); ++i) {
      if (waits[i].fd < 0 || waits[i].revents == 0) continue;
      const ssize_t count = ::read(waits[i].fd, buffer.data(), buffer.size());
      if (count > 0)
        texts[i]->append(buffer.data(), static_cast<std::size_t>(count));
      else if (count == 0 || errno != EINTR)
        waits[i].fd = -1;  // poll skips negative descriptors
    }
  }
  return true;
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

ProgramResult run_program(const fs::path& program, const std::vector<std::string>& arguments,
                          const RunOptions& options) {
  std::vector<std::string> words = {program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);

  Pipe in, out, err;
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("run_program: fork failed");
  if (child == 0) {
    ::dup2(in.read_end(), STDIN_FILENO);
    ::dup2(out.write_end(), STDOUT_FILENO);
    ::dup2(err.write_end(), STDERR_FILENO);
    become(pointers, options);
  }
  out.close_write();
  err.close_write();
  // The read end stays open here until the child is done, so that unread input cannot raise SIGPIPE.
  const std::size_t input_size = std::min<std::size_t>(options.input.size(), 1 << 16);
  if (input_size != 0 && ::write(in.write_end(), options.input.data(), input_size) < 0)
    throw std::runtime_error("run_program: cannot write to the program");
  in.close_write();

  ProgramResult result;
  result.timed_out = !collect(out, err, result, Clock::now() + options.time_limit);
  if (result.timed_out) {
    ::kill(child, SIGKILL);
    ::kill(-child, SIGKILL);  // its children too
  }
  result.exit_code = wait_for(child);
  return result;
}

fs::path hone_program() { return build_folder() / "hone"; }

ProgramResult run_hone(const std::vector<std::string>& arguments, const RunOptions& options) {
  return run_program(hone_program(), arguments, options);
}

void give_roofs(const RunOptions& options) {
  const fs::path shared = build_folder() / "test_cache", cache = options.environment.at("XDG_CACHE_HOME");
  RunOptions there;
  there.environment["XDG_CACHE_HOME"] = shared.string();
  const ProgramResult known = run_hone({"ceilings", "--quick", "--quiet"}, there);
  if (known.exit_code != 0) throw std::runtime_error("hone ceilings: " + known.err);
  fs::create_directories(cache / "hone");
  for (const auto& entry : fs::directory_iterator(shared / "hone"))
    if (entry.path().extension() == ".json")  // not what another test is writing
      fs::copy_file(entry.path(), cache / "hone" / entry.path().filename());
}

::testing::AssertionResult is_one_line_error(const ProgramResult& result,
                                             const std::vector<std::string>& parts) {
  const auto failure = [&](const std::string& what) {
    return ::testing::AssertionFailure() << what << "\nexit code " << result.exit_code
                                         << "\nstdout: " << result.out << "\nstderr: " << result.err;
  };
  if (result.timed_out) return failure("did not end in time");
  if (result.exit_code == 0) return failure("exited with 0");
  if (result.exit_code >= 126) return failure("was ended by a signal or did not start");
  const auto lines = std::count(result.err.begin(), result.err.end(), '\n');
  if (lines != 1 || result.err.back() != '\n') return failure("stderr is not one line");
  for (const std::string& part : parts)
    if (result.err.find(part) == std::string::npos) return failure("stderr does not say '" + part + "'");
  return ::testing::AssertionSuccess();
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "hone-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make " + name);
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::vector<std::string> TemporaryFolder::names() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path_)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace hone::testing_support
