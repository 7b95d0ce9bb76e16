#include "trace/import/segments/host_alone.h"

#include <span>
#include <utility>

#include "trace/import/segments/host_file.h"
#include "trace/import/segments/records.h"

namespace hone::trace::segments {

Result<Trace> read_host_alone(std::string_view bytes) {
  HONE_ASSIGN(Records records, Records::open(bytes));
  SegmentFile file;
  file.header = records.header();
  file.first_ns = file.header.monotonic_ns;
  file.header.pid = 0;
  while (file.header.pid == 0 && records.next())  // the first is the one that was started
    if (const auto process = records.as<HostProcess>(); process && records.kind() == Kind::kHostProcess)
      file.header.pid = process->pid;
  add_host_file(bytes, std::span(&file, 1));
  if (file.file.trace.stacks.samples.empty()) return invalid("nothing was seen of the program's processes");
  HONE_CHECK(file.file.trace.validate());
  return std::move(file.file.trace);
}

}  // namespace hone::trace::segments
