#include "observe/session/program.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace hone::observe {
namespace {

// Null-terminated, as exec takes them. Points into `texts`.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& set) {
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    bool replaced = false;
    for (const auto& [name, value] : set) replaced = replaced || text.starts_with(name + "=");
    if (!replaced) all.push_back(text);
  }
  for (const auto& [name, value] : set) all.push_back(name + "=" + value);
  return all;
}

// What posix_spawn does between fork and exec.
class SpawnSettings {
 public:
  explicit SpawnSettings(const ProgramStart& start) {
    posix_spawnattr_init(&attributes_);
    posix_spawn_file_actions_init(&actions_);
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    for (const int signal : start.blocked_signals) sigdelset(&mask, signal);
    posix_spawnattr_setsigmask(&attributes_, &mask);
    sigset_t defaults;
    sigemptyset(&defaults);
    sigaddset(&defaults, SIGXFSZ);  // which hone itself ignores
    posix_spawnattr_setsigdefault(&attributes_, &defaults);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    if (start.standard_output >= 0)
      posix_spawn_file_actions_adddup2(&actions_, start.standard_output, STDOUT_FILENO);
    if (start.standard_error >= 0)
      posix_spawn_file_actions_adddup2(&actions_, start.standard_error, STDERR_FILENO);
  }
  ~SpawnSettings() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  // 0, or what the system said.
  int spawn(pid_t& pid, std::vector<std::string> command, std::vector<std::string> environment) const {
    return posix_spawnp(&pid, command[0].c_str(), &actions_, &attributes_, pointers_to(command).data(),
                        pointers_to(environment).data());
  }

 private:
  posix_spawnattr_t attributes_;
  posix_spawn_file_actions_t actions_;
};

Error cannot_start(const std::string& program, int error) {
  if (error == ENOENT) return not_found(fmt::format("cannot start '{}': there is no such program", program));
  return invalid(fmt::format("cannot start '{}': {}", program, std::generic_category().message(error)));
}

}  // namespace

Result<Program> Program::start(const ProgramStart& start) {
  std::signal(SIGCHLD, SIG_DFL);  // ignored, as some supervisors leave it, it would lose the program's status
  const SpawnSettings settings(start);
  const std::vector<std::string> environment = environment_with(start.environment);
  pid_t pid = 0;
  int error = settings.spawn(pid, start.command, environment);
  if (error == ENOEXEC) {  // a script without its first line: as shells run it
    std::vector<std::string> command = {"/bin/sh"};
    command.insert(command.end(), start.command.begin(), start.command.end());
    error = settings.spawn(pid, command, environment);
  }
  if (error != 0) return cannot_start(start.command[0], error);
  return Program(pid, static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

Program::Program(Program&& other) noexcept
    : pid_(other.pid_), descriptor_(std::exchange(other.descriptor_, -1)), status_(other.status_) {}

Program::~Program() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::optional<int> Program::exit_status() {
  int status = 0;
  if (status_) return status_;
  const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
  if (ended == pid_) status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  if (ended < 0 && errno == ECHILD) status_ = EXIT_FAILURE;  // somebody else has taken it
  return status_;
}

void Program::wait(double seconds) {
  if (exit_status()) return;
  const auto ms = static_cast<int>(seconds * 1e3);
  pollfd ended{descriptor_, POLLIN, 0};
  constexpr int kShortMs = 20;  // where the end cannot be waited for
  ::poll(&ended, descriptor_ >= 0 ? 1 : 0, descriptor_ >= 0 ? ms : std::min(ms, kShortMs));
}

void Program::send(int signal) const {
  if (descriptor_ >= 0)
    ::syscall(SYS_pidfd_send_signal, descriptor_, signal, nullptr, 0);
  else
    ::kill(pid_, signal);
}

}  // namespace hone::observe
