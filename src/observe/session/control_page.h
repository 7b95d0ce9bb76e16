// The session's side of the page that it shares with the recorders (observe/control.h): gives orders, and reads
// what each process says of itself.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <span>
#include <vector>

#include "core/result.h"
#include "observe/control.h"

namespace hone::observe {

// What all processes are to do from here on.
struct Wanted {
  trace::segments::Mode mode = trace::segments::Mode::kWaiting;
  uint32_t block = 0;
  bool python_stacks = false;
  uint32_t mark_runtime_call = 0;  // as in Order
  uint32_t mark_driver_call = 0;
};

// A process with a slot, at one moment.
struct ProcessState {
  int pid = 0;
  Attachment attachment = Attachment::kNone;
  uint32_t obeyed = 0;
  uint32_t marks = 0;
  uint64_t records = 0, bytes = 0, dropped = 0;
  Prospect prospect = Prospect::kNone;
  int write_error = 0;   // errno of the last write to its segment that failed; 0: none has
  uint32_t counted = 0;  // number of the order whose launches are counted
  bool there = false;    // it runs, as far as its number tells

  bool drives_device() const { return attachment == Attachment::kAttached || device_is_lent(); }
  bool device_is_lent() const { return attachment == Attachment::kLent; }
};

// What the file kControlFile of the run folder leads to: memory of this process that recorders map, too, for as long as this
// lives. One thread.
class ControlPage {
 public:
  // Errors: the file cannot be made.
  static Result<ControlPage> create(const std::filesystem::path& folder);
  ~ControlPage();
  ControlPage(ControlPage&& other) noexcept;
  ControlPage& operator=(ControlPage&& other) noexcept;

  // Wakes all who wait for orders. The order's number: a process that says it obeyed it does what it says.
  uint32_t order(const Wanted& wanted);
  std::vector<ProcessState> processes() const;

 private:
  ControlPage(Control* page, int descriptor) : page_(page), descriptor_(descriptor) {}
  Control* page_ = nullptr;
  int descriptor_ = -1;  // -1: the page is a file
};

// The processes that have not obeyed this order or a later one, but for those that nobody waits for.
std::vector<int> still_to_obey(std::span<const ProcessState> processes, uint32_t number,
                               const std::set<int>& not_waited_for);

}  // namespace hone::observe
