// Plays the recorder of a program in a thread of the test: takes a slot of the control page, obeys orders, and writes
// the segment of a program that launches the same kernels again and again. Not part of the product.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/clock.h"
#include "observe/control.h"
#include "trace/testing/segment_writer.h"

namespace hone::observe {

struct FakeProgram {
  int64_t step_ns = 5'000'000;
  bool marks = true;   // of an optimizer, one a step
  bool device = true;  // kernels in recorded modes; otherwise operators
  int kernels = 8;     // a step, all different, each a little longer than the one before
  bool obeys = true;
  Prospect prospect = Prospect::kNone;
  int write_error = 0;   // of its segment, in the end
  int first_marked = 0;  // the step that is the first to be marked
};

class FakeRecorder {
 public:
  // The folder's control page must be there.
  FakeRecorder(const std::filesystem::path& run_folder, const FakeProgram& program)
      : program_(program), run_folder_(run_folder), writer_(::getpid()) {
    const int descriptor = ::open((run_folder / kControlFile).c_str(), O_RDWR | O_CLOEXEC);
    page_ = static_cast<Control*>(
        ::mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0));
    ::close(descriptor);
    path_ = writer_.write(run_folder);
    written_ = writer_.bytes().size();
    Slot& slot = page_->slots[0];
    page_->prospects[0] = program.prospect;
    page_->write_errors[0] = program.write_error;
    slot.pid = ::getpid();
    slot.attachment = program.device ? Attachment::kAttached : Attachment::kHostOnly;
    thread_ = std::thread([this] { run(); });
  }
  ~FakeRecorder() {
    ends_ = true;
    thread_.join();
    ::munmap(page_, sizeof(Control));
  }
  FakeRecorder(const FakeRecorder&) = delete;
  FakeRecorder& operator=(const FakeRecorder&) = delete;

  // The modes in the order in which they came into force.
  const std::vector<trace::segments::Mode>& modes() const { return modes_; }
  // Of which it was to count launches.
  const std::vector<std::string>& counted() const { return counted_; }
  trace::segments::Mode last_order() const { return page_->order.mode; }

 private:
  void run() {
    int64_t next_step = now_ns();
    while (!ends_) {
      obey();
      if (now_ns() >= next_step) {
        step();
        next_step += program_.step_ns;
      }
      ::usleep(500);
    }
  }

  void obey() {
    const uint32_t number = page_->order.number;
    if (!program_.obeys || number % 2 != 0 || number == page_->slots[0].obeyed) return;
    mode_ = page_->order.mode;
    modes_.push_back(mode_);
    writer_.mode(mode_, page_->order.block, now_ns(), launches_);
    flush();
    page_->slots[0].obeyed = number;
    if (mode_ == trace::segments::Mode::kCounters) count();
  }

  // A launch of each kernel of the request, whose lines begin "kernel INSTANCES DEVICE".
  void count() {
    using namespace trace::segments;
    std::ifstream request(run_folder_ / kCountersFolder / std::to_string(::getpid()));
    for (std::string word; request >> word;) {
      if (word != "kernel") continue;
      Counters counters;
      int instances = 0;
      std::string symbol;
      request >> instances >> counters.device;
      for (uint32_t& size : counters.grid) request >> size;
      for (uint32_t& size : counters.block) request >> size;
      request >> symbol;
      counters.name = writer_.name(symbol);
      writer_.add(counters);
      counted_.push_back(symbol);
    }
    flush();
    page_->slots[0].counted = page_->slots[0].obeyed.load();
  }

  void step() {
    using trace::segments::Mode;
    const int64_t now = now_ns();
    const bool recorded = mode_ == Mode::kTimeline || mode_ == Mode::kOperators;
    for (int i = 0; i < program_.kernels; ++i) {
      const std::string name = "kernel_" + std::to_string(i);
      const int64_t at = now + i * 10'000;
      ++launches_;
      const auto correlation = static_cast<uint32_t>(launches_);
      if (recorded && program_.device)
        writer_.add(writer_.call("cudaLaunchKernel", at, 4'000, correlation))
            .add(writer_.kernel(name, at + 5'000, 4'000 + i * 100, correlation));
      else if (recorded)
        writer_.add(writer_.range(trace::segments::RangeKind::kOperator, "aten::" + name, at, 9'000));
    }
    if (recorded && program_.device)
      writer_.add(writer_.call("cudaStreamSynchronize", now + 90'000, 9'000, 0));
    if (program_.marks && steps_++ >= program_.first_marked) {
      writer_.mark(trace::segments::MarkKind::kOptimizer, "AdamW", now + 100'000, launches_);
      ++page_->slots[0].marks;
    }
    flush();
  }

  void flush() {
    const std::string all = writer_.bytes();
    std::ofstream(path_, std::ios::binary | std::ios::app)
        .write(all.data() + written_, static_cast<std::streamsize>(all.size() - written_));
    written_ = all.size();
  }

  FakeProgram program_;
  std::filesystem::path run_folder_;
  trace::segments::SegmentWriter writer_;
  std::filesystem::path path_;
  std::size_t written_ = 0;
  Control* page_ = nullptr;
  trace::segments::Mode mode_ = trace::segments::Mode::kWaiting;
  std::vector<trace::segments::Mode> modes_;
  std::vector<std::string> counted_;
  uint64_t launches_ = 0;
  int steps_ = 0;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

}  // namespace hone::observe
