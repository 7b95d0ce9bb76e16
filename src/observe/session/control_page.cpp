#include "observe/session/control_page.h"

#include <cerrno>
#include <climits>
#include <csignal>
#include <new>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hone::observe {
namespace {

// Zombies count as there: who waits for them knows better.
bool is_there(int pid) { return ::kill(pid, 0) == 0 || errno == EPERM; }

// Maps a file of so many bytes, with blocks of its own: writing into a hole would raise SIGBUS on a full disk. Null, with
// errno, where that cannot be.
void* map_whole(int descriptor, std::size_t bytes) {
  if (const int error = ::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes)); error != 0)
    return errno = error, nullptr;
  void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return at == MAP_FAILED ? nullptr : at;
}

struct SharedMemory {
  void* at = nullptr;
  int descriptor = -1;  // by which other processes open it; -1: they open the file
};

// Memory that nobody can cut short: to write behind its end would end the programs that share it (SIGBUS). The path is a
// link to it among the open files of this process. None where the system has no such memory, or the file system no links.
SharedMemory map_sealed(const std::filesystem::path& path, std::size_t bytes) {
  const int descriptor = ::memfd_create("hone-control", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (descriptor < 0) return {};
  void* at = map_whole(descriptor, bytes);
  const std::string target = fmt::format("/proc/{}/fd/{}", ::getpid(), descriptor);
  if (at != nullptr && ::fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0 &&
      ::access(target.c_str(), R_OK | W_OK) == 0 && ::symlink(target.c_str(), path.c_str()) == 0)
    return {at, descriptor};
  if (at != nullptr) ::munmap(at, bytes);
  ::close(descriptor);
  return {};
}

Result<SharedMemory> map_new_file(const std::filesystem::path& path, std::size_t bytes) {
  const auto failure = [&](int error) {
    return io_error(
        fmt::format("cannot create '{}': {}", path.string(), std::generic_category().message(error)));
  };
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) return failure(errno);
  void* at = map_whole(descriptor, bytes);
  const int error = errno;
  ::close(descriptor);
  if (at != nullptr) return SharedMemory{at, -1};
  ::unlink(path.c_str());
  return failure(error);
}

}  // namespace

Result<ControlPage> ControlPage::create(const std::filesystem::path& folder) {
  SharedMemory memory = map_sealed(folder / kControlFile, sizeof(Control));
  if (memory.at == nullptr) {
    HONE_ASSIGN(memory, map_new_file(folder / kControlFile, sizeof(Control)));
  }
  auto* page = new (memory.at) Control;
  page->bytes = sizeof(Control);
  page->session_pid = ::getpid();
  return ControlPage(page, memory.descriptor);
}

ControlPage::ControlPage(ControlPage&& other) noexcept
    : page_(std::exchange(other.page_, nullptr)), descriptor_(std::exchange(other.descriptor_, -1)) {}

ControlPage& ControlPage::operator=(ControlPage&& other) noexcept {
  std::swap(page_, other.page_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

ControlPage::~ControlPage() {
  if (page_ != nullptr) ::munmap(page_, sizeof(Control));
  if (descriptor_ >= 0) ::close(descriptor_);
}

uint32_t ControlPage::order(const Wanted& wanted) {
  Order& order = page_->order;
  order.number.fetch_add(1);  // odd: being written
  order.mode = wanted.mode;
  order.block = wanted.block;
  order.python_stacks = wanted.python_stacks ? 1 : 0;
  order.mark_runtime_call = wanted.mark_runtime_call;
  order.mark_driver_call = wanted.mark_driver_call;
  const uint32_t number = order.number.fetch_add(1) + 1;
  ::syscall(SYS_futex, &order.number, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  return number;
}

std::vector<ProcessState> ControlPage::processes() const {
  std::vector<ProcessState> all;
  for (std::size_t i = 0; i < page_->slots.size(); ++i) {
    const Slot& slot = page_->slots[i];
    ProcessState state;
    state.pid = slot.pid;
    state.attachment = slot.attachment;
    if (state.pid == 0 || state.attachment == Attachment::kNone) continue;
    state.obeyed = slot.obeyed;
    state.marks = slot.marks;
    state.records = slot.records;
    state.bytes = slot.bytes;
    state.dropped = slot.dropped;
    state.counted = slot.counted;
    state.prospect = page_->prospects[i];
    state.write_error = page_->write_errors[i];
    state.there = state.attachment != Attachment::kEnded && is_there(state.pid);
    all.push_back(state);
  }
  return all;
}

std::vector<int> still_to_obey(std::span<const ProcessState> processes, uint32_t number,
                               const std::set<int>& not_waited_for) {
  std::vector<int> late;
  for (const ProcessState& state : processes)
    if (state.there && static_cast<int32_t>(state.obeyed - number) < 0 && !not_waited_for.contains(state.pid))
      late.push_back(state.pid);
  return late;
}

}  // namespace hone::observe
