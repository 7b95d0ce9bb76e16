#include "observe/session/onednn_stream.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace hone::observe {
namespace {

constexpr std::array<std::string_view, 2> kMarks = {"onednn_verbose,", "dnnl_verbose,"};
constexpr int kPatience_ms = 20;  // for the rest of what looks like a mark
constexpr int kQuiet_ms = 100;    // after the program's end: nothing more comes

// Where the first mark begins, or what may become one at the end; the length: neither.
std::size_t find_mark(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at)
    for (const std::string_view mark : kMarks)
      if (const std::string_view rest = text.substr(at, mark.size()); mark.starts_with(rest)) return at;
  return text.size();
}

bool is_whole_mark(std::string_view text) {
  return text.starts_with(kMarks[0]) || text.starts_with(kMarks[1]);
}

bool write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

void OneDnnFilter::take(std::string_view piece) {
  held_ += piece;
  std::string_view left = held_;
  while (!left.empty()) {
    if (within_) {
      const std::size_t end = left.find('\n');
      if (end == left.npos) break;
      lines_(left.substr(0, end + 1));
      left.remove_prefix(end + 1);
      within_ = false;
      continue;
    }
    const std::size_t mark = find_mark(left);
    if (mark > 0) others_(left.substr(0, mark));
    left.remove_prefix(mark);
    if (!is_whole_mark(left)) break;
    within_ = true;
  }
  held_.erase(0, held_.size() - left.size());
}

void OneDnnFilter::give_up_waiting() {
  if (held_.empty()) return;
  (within_ ? lines_ : others_)(held_);
  held_.clear();
  within_ = false;
}

Result<std::unique_ptr<OneDnnStream>> OneDnnStream::open(int output, std::filesystem::path log) {
  std::array<int, 2> ends = {-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return io_error(fmt::format("--onednn: no pipe for the program's output: {}", std::strerror(errno)));
  const int wake = ::eventfd(0, EFD_CLOEXEC);
  return std::unique_ptr<OneDnnStream>(new OneDnnStream(ends[0], ends[1], wake, output, std::move(log)));
}

OneDnnStream::OneDnnStream(int read_end, int write_end, int wake, int output, std::filesystem::path log)
    : read_end_(read_end), write_end_(write_end), wake_(wake), output_(output), log_path_(std::move(log)) {
  thread_ = std::thread([this] { run(); });
}

OneDnnStream::~OneDnnStream() {
  finish();
  if (read_end_ >= 0) ::close(read_end_);
  ::close(wake_);
  if (log_ >= 0) ::close(log_);
}

std::vector<std::pair<std::string, std::string>> OneDnnStream::environment() {
  return {{"ONEDNN_VERBOSE", "1"}, {"ONEDNN_VERBOSE_TIMESTAMP", "1"}};
}

void OneDnnStream::program_has_started() {
  if (write_end_ >= 0) ::close(write_end_);
  write_end_ = -1;
}

void OneDnnStream::finish() {
  program_has_started();
  if (!thread_.joinable()) return;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = ::write(wake_, &one, sizeof one);
  thread_.join();
}

void OneDnnStream::run() {
  const auto to_log = [this](std::string_view line) {
    if (log_ < 0 && !failed_)
      log_ = ::open(log_path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    failed_ = failed_ || log_ < 0 || !write_all(log_, line);
  };
  bool heard = true;
  const auto to_output = [&](std::string_view bytes) { heard = heard && write_all(output_, bytes); };
  OneDnnFilter filter(to_output, to_log);
  std::array<char, 1 << 16> buffer;
  bool program_runs = true;
  while (heard) {
    std::array<pollfd, 2> waits = {pollfd{read_end_, POLLIN, 0},
                                   pollfd{program_runs ? wake_ : -1, POLLIN, 0}};
    const int ready =
        ::poll(waits.data(), waits.size(), filter.waits() ? kPatience_ms : (program_runs ? -1 : kQuiet_ms));
    if (ready < 0 && errno != EINTR) break;
    if (ready == 0 && filter.waits()) {
      filter.give_up_waiting();
      continue;
    }
    if (ready == 0) break;
    if ((waits[1].revents & POLLIN) != 0) program_runs = false;
    if ((waits[0].revents & (POLLIN | POLLHUP)) == 0) continue;
    const ssize_t count = ::read(read_end_, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    filter.take({buffer.data(), static_cast<std::size_t>(count)});
  }
  filter.give_up_waiting();
  if (heard) return;
  ::close(
      read_end_);  // whoever read the output has gone: the program is to learn that as it would without us
  read_end_ = -1;
}

}  // namespace hone::observe
