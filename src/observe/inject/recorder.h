// The recorder of this process: obeys the session's orders from the shared page in a thread of its own, and takes
// what hooks of the program say. There is one in a process, made when the library is loaded into an observed
// program and never destroyed: threads of the program may call until its last instruction.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "observe/control.h"
#include "observe/inject/device/device_recorder.h"
#include "observe/inject/log/output.h"

namespace hone::observe::inject {

class Recorder {
 public:
  // In the run folder; false where that has no control page.
  bool start(const char* run_folder);

  void cuda_starts();
  void mark(trace::segments::MarkKind what, uint32_t name, uint64_t launches);
  void lend_device(const char* reason);
  void take_device_back();
  void capture_begins();
  void capture_ends();

  Output& output() { return output_; }
  DeviceRecorder& device() { return device_; }
  trace::segments::Mode mode() const {
    return static_cast<trace::segments::Mode>(__atomic_load_n(&mode_, __ATOMIC_ACQUIRE));
  }
  bool recording() const { return mode() != trace::segments::Mode::kFinished; }
  const volatile uint32_t* mode_address() const { return &mode_; }
  const volatile uint32_t* python_stacks_address() const { return &python_stacks_; }

  // The process ends in good order: what is buffered is written.
  void process_ends();

  void before_fork() { output_.before_fork(); }
  void in_parent() { output_.in_parent(); }
  void in_child();

 private:
  bool map_control(const char* run_folder);
  void take_slot();
  void start_thread();
  static void* thread_main(void* recorder);
  void run();
  void open_segment();
  bool read_order(uint32_t& number, DeviceOrder& order);
  void obey(uint32_t number, const DeviceOrder& order);
  void expect_marks(Prospect prospect);
  void tell_hooks(trace::segments::Mode mode);
  void change_mode(trace::segments::Mode mode);
  void tick();
  bool session_is_gone() const;
  void say_how_it_stands();
  void say_what_is_counted();

  Environment environment_ = Environment::read();
  Output output_;
  DeviceRecorder device_{environment_, output_};
  char folder_[4096] = {};
  char counter_request_[sizeof(folder_) + 64] = {}, sampling_request_[sizeof(folder_) + 64] = {};
  Control* control_ = nullptr;
  Slot own_slot_;  // for more processes than the page has slots
  std::atomic<Slot*> slot_{&own_slot_};
  volatile uint32_t mode_ = 0, python_stacks_ = 0;
  uint32_t block_ = 0;
  std::atomic<uint32_t> marks_{0};
  int32_t session_pid_ = 0;  // 0: cannot be seen from here, as in a container
  bool forked_ = false;
  std::atomic<bool> ended_{false};
};

// Null in a program that is not observed.
Recorder* this_process();

// Has what is buffered written when the process exits, before what has been loaded until now is taken down.
void watch_exit_of_process();

}  // namespace hone::observe::inject
