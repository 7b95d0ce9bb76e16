// CUPTI's buffers of activities: where they come from, and what their records become in the segment.
#pragma once

#include <cstdint>

#include "observe/inject/cupti/cupti.h"
#include "observe/inject/device/calls.h"
#include "observe/inject/device/correlations.h"
#include "observe/inject/log/output.h"

namespace hone::observe::inject {

// Buffers that CUPTI fills, used again and again: a fresh one costs page faults inside the program's launches.
class ActivityBuffers {
 public:
  static constexpr size_t kBytes = 8 << 20;
  static constexpr int kMost = 64;

  uint8_t* take();  // null when kMost are out or memory is short: CUPTI then drops records, and says how many
  void give_back(uint8_t* buffer);
  int out();  // how many CUPTI has

 private:
  Lock lock_;
  uint8_t* free_[kMost] = {};
  int free_count_ = 0, made_ = 0;
};

class Activities {
 public:
  Activities(const Cupti& cupti, Output& output, Calls& calls, Correlations& correlations)
      : cupti_(cupti), output_(output), calls_(calls), correlations_(correlations) {}

  ActivityBuffers& buffers() { return buffers_; }

  // Writes the records of a buffer that CUPTI gives back. From any thread of CUPTI or the program.
  void complete(void* context, uint32_t stream, uint8_t* buffer, size_t valid_bytes);

  void attached_again();  // CUPTI counts from the beginning

  // Added to the times of CUPTI where it cannot be given our clock.
  void set_clock_offset(int64_t offset) { clock_offset_ = offset; }

  // What has been delivered so far: whether the work of the last launch is among it, and how many buffers.
  struct Delivered {
    bool last_launch = false;
    uint64_t buffers = 0;
  };
  Delivered delivered();

  // Kernels seen since this was last asked (the last kKernelsKept of them), how many of them no recorded call launched,
  // and calls that the program made to the driver itself. To be asked when everything has been flushed.
  struct Launched {
    uint64_t kernels = 0, without_call = 0, by_driver = 0;
  };
  Launched take_launched();

 private:
  void write(const cupti::Activity& activity);
  void kernel(const cupti::KernelActivity& activity);
  void copy(const cupti::CopyActivity& activity);
  void copy(const cupti::PeerCopyActivity& activity);
  void set(const cupti::SetActivity& activity);
  void synchronization(const cupti::SynchronizationActivity& activity);
  void memory(const cupti::MemoryActivity& activity);
  void deliver();
  uint32_t name_of_kernel(const char* name);
  int64_t time(uint64_t of_cupti) const { return static_cast<int64_t>(of_cupti) + clock_offset_; }
  bool ended(uint64_t start, uint64_t end);

  template <typename Record>
  void add(const Record& record) {
    const auto whole = trace::segments::with_head(record);
    if (records_.append(&whole, sizeof(whole))) {
      ++record_count_;
    } else {
      output_.lost(Loss::kHostBuffers, 1);
    }
  }

  static constexpr uint32_t kKernelsKept = 4096;
  static constexpr uint32_t kNamesKept = 1024;

  const Cupti& cupti_;
  Output& output_;
  Calls& calls_;
  Correlations& correlations_;
  ActivityBuffers buffers_;
  int64_t clock_offset_ = 0;

  Lock lock_;  // of all below: one buffer at a time
  ByteBuffer records_;
  uint64_t record_count_ = 0;
  uint32_t kernel_correlations_[kKernelsKept] = {};
  uint32_t last_kernel_ = 0;  // correlation
  uint64_t buffers_delivered_ = 0;
  uint64_t kernels_ = 0;
  // Of the buffer at hand only: CUPTI may reuse the memory of a name once the module is gone.
  const char* name_texts_[kNamesKept] = {};
  uint32_t name_ids_[kNamesKept] = {};
};

}  // namespace hone::observe::inject
