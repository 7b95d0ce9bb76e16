// Puts together what threads read of one file: rows in order of time, texts and tracks numbered once.
#pragma once

#include <span>
#include <vector>

#include "trace/import/imported_file.h"
#include "trace/import/kineto/event.h"
#include "trace/import/kineto/header.h"

namespace hone::trace::kineto {

// What one thread read: its chunks' rows, and the texts and tracks that they name by number.
struct Reading {
  EventSink sink;
  std::vector<Rows> chunks;
};

// The result depends on the file only, not on which thread read what. `faults` gains what is found on the
// way. Empties the readings.
ImportedFile assemble(std::span<Reading> readings, const Header& header, Faults& faults);

}  // namespace hone::trace::kineto
