// The code that the program has loaded onto its devices, as far as it says which source lines it was made of: CUPTI shows each
// cubin once, while it is loaded, and samples of instructions name it by a checksum later. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "observe/inject/cupti/cupti.h"
#include "observe/inject/cupti/cupti_pc_sampling_abi.h"
#include "observe/inject/lock.h"
#include "trace/segments/record.h"

namespace hone::observe::inject {

// Whether a cubin has a table of source lines: an ELF file with a section ".debug_line".
bool has_source_lines(const void* cubin, size_t bytes);

struct SourcePlace {
  trace::segments::LineInfo known = trace::segments::LineInfo::kCodeUnseen;
  std::string file;  // path
  uint32_t line = 0;
};

class LoadedCode {
 public:
  ~LoadedCode();
  LoadedCode() = default;
  LoadedCode(const LoadedCode&) = delete;
  LoadedCode& operator=(const LoadedCode&) = delete;

  // Code is being loaded: it is copied, as far as there is room. Never throws. CUPTI is asked nothing here, because it is in
  // the middle of telling.
  void loaded(const void* cubin, size_t bytes);

  // The line that an instruction was made of; `cubin` is the checksum of what it lies in, `offset` counts from the beginning of
  // `function`, in bytes.
  SourcePlace place_of(const Cupti& cupti, uint64_t cubin, const char* function, uint64_t offset);

  void in_child() { lock_.reopen(); }

 private:
  struct Cubin {
    uint64_t checksum;  // CUPTI's, of the instructions alone: the same with and without source lines
    void* copy;         // null: without source lines
    size_t bytes;
  };
  Cubin* find(uint64_t checksum);
  void know_what_was_loaded(const Cupti& cupti);
  void drop_copy(Cubin& cubin);

  Lock lock_;
  std::vector<Cubin> new_;    // whose checksums are not known yet
  std::vector<Cubin> known_;  // one of each checksum
  size_t bytes_ = 0;          // of all copies
};

}  // namespace hone::observe::inject
