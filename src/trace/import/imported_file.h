// What an importer makes of one file, before files are merged: a Trace of its own and when it began.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "trace/trace.h"

namespace hone::trace {

struct ImportedFile {
  Trace trace;           // spans by start time, the first at 0; ranks: one row
  int64_t epoch_ns = 0;  // the trace's time 0 on the clock of its machine
  bool has_epoch = false;
  std::optional<int> rank;  // as the file says
  std::string source = {};  // its name, where it was found in a folder that is read as a whole
  bool is_hones = false;    // written by hone: it may hold several ranks, and its meta data are complete
  uint64_t bytes = 0;       // of the file, decompressed
};

// Called now and then by the importing thread or threads, one at a time; `share` is 0 to 1. Where it returns
// false the import ends with kCancelled.
using FileProgress = std::function<bool(double share)>;

}  // namespace hone::trace
