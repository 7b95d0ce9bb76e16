// What PyTorch's allocator wrote down of itself (torch.cuda.memory._dump_snapshot): what it holds of each device, and, where the
// program asked for it (_record_memory_history), every time that memory was taken and given back, with the stacks.
#pragma once

#include <string_view>

#include "core/result.h"
#include "trace/import/imported_file.h"

namespace hone::trace::snapshot {

// Only Trace::memory is filled: a snapshot has no times of what the program does. `bytes` are those of the pickle.
// Errors: no pickle of plain data (pickle.h), or none of an allocator.
Result<ImportedFile> read_snapshot(std::string_view bytes);

}  // namespace hone::trace::snapshot
