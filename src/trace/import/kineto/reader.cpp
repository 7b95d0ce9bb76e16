#include "trace/import/kineto/reader.h"

#include <algorithm>
#include <mutex>

#include <fmt/format.h>

#include "core/side_by_side.h"
#include "trace/import/kineto/assemble.h"
#include "trace/import/kineto/parse.h"

namespace hone::trace::kineto {
namespace {

// Threads take the next chunk in turn (whoever does also decompresses it) and parse it on their own.
class ParallelReading {
 public:
  ParallelReading(ByteSource& source, ChunkReader& chunks, const ReadOptions& options)
      : source_(source), chunks_(chunks), options_(options) {}

  Status run(std::vector<Reading>& readings) {
    side_by_side(readings.size(), [&](std::size_t i) { work(readings[i]); });
    return status_;
  }

  bool list_was_closed() const { return closed_; }
  const std::string& footer() const { return footer_; }

 private:
  bool take(Chunk& chunk) {
    const std::lock_guard lock(mutex_);
    if (!status_.ok()) return false;
    Result<bool> more = chunks_.next(chunk);
    if (!more.ok()) status_ = more.error();
    if (more.ok() && *more && options_.progress && !options_.progress(source_.progress()))
      status_ = Error{ErrorCode::kCancelled, "reading was interrupted"};
    return status_.ok() && *more;
  }

  void work(Reading& reading) {
    Chunk chunk;
    ChunkParser parser;
    while (take(chunk)) {
      reading.sink.rows.clear();
      reading.sink.rows.chunk = chunk.index;
      parser.parse(chunk, reading.sink);
      reading.chunks.push_back(reading.sink.rows);  // a copy has no more room than it needs
      if (!chunk.last) continue;
      const std::lock_guard lock(mutex_);
      closed_ = parser.list_was_closed();
      footer_ = parser.footer();
    }
    reading.sink.rows = {};
  }

  ByteSource& source_;
  ChunkReader& chunks_;
  const ReadOptions& options_;
  std::mutex mutex_;
  Status status_;
  bool closed_ = false;
  std::string footer_;
};

std::string printable(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool gap = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (gap && (result.empty() || result.back() == ' ')) continue;
    result += gap ? ' ' : (c >= ' ' && c < 127 ? c : '?');
  }
  return result;
}

void warn(const Fault& fault, std::string_view what, std::vector<std::string>& warnings) {
  if (fault.count == 0) return;
  warnings.push_back(fmt::format("{} event{} {}; the first, at byte {}: {}", fault.count,
                                 fault.count == 1 ? "" : "s", what, fault.offset, printable(fault.example)));
}

void warn(const Faults& faults, std::vector<std::string>& warnings) {
  warn(faults.repaired, "broke JSON's rules and could be mended", warnings);
  warn(faults.lost, "lost: the text is not JSON and could not be mended", warnings);
  warn(faults.cut_off, "lost: the file ends inside it", warnings);
  warn(faults.no_time, "left out: no number as start time", warnings);
  warn(faults.no_microseconds,
       "left out: the start time is out of range (are times in ns? the format has µs)", warnings);
  warn(faults.no_duration, "without a duration, taken as 0", warnings);
  warn(faults.negative, "with a negative duration, taken as 0", warnings);
  warn(faults.unknown_kind, "left out: of a kind that hone does not know", warnings);
  warn(faults.unknown_inputs, "with inputs that are not as PyTorch writes them, left without", warnings);
  if (faults.repeated.count > 0)
    warnings.push_back(
        fmt::format("{} record{} of the device left out: the same work stands in the file again",
                    faults.repeated.count, faults.repeated.count == 1 ? "" : "s"));
  if (faults.far_away.count > 0)
    warnings.push_back(fmt::format("{} event{} left out: a day or more from the others; the first: {}",
                                   faults.far_away.count, faults.far_away.count == 1 ? "" : "s",
                                   faults.far_away.example));
}

}  // namespace

Result<ImportedFile> read_kineto(ByteSource& source, const ReadOptions& options) {
  ChunkReader chunks(source, options.chunk_bytes);
  HONE_ASSIGN(const bool has_list, chunks.open());
  if (!has_list)
    return invalid(
        source.trouble().empty()
            ? "JSON without a list of events (\"traceEvents\"): no trace, which PyTorch's profiler "
              "writes by export_chrome_trace(FILE)"
            : fmt::format("no events: {}; get the whole file", source.trouble()));
  std::vector<Reading> readings(static_cast<std::size_t>(std::max(options.threads, 1)));
  ParallelReading reading(source, chunks, options);
  HONE_CHECK(reading.run(readings));

  Header header;
  header.read(chunks.header());
  header.read(reading.footer());
  Faults faults;
  for (const Reading& each : readings) faults.add(each.sink.faults);
  ImportedFile file = assemble(readings, header, faults);
  file.bytes = chunks.bytes_read();
  Meta& meta = file.trace.meta;
  meta.producer = header.is_pytorch ? "PyTorch profiler" : "Chrome trace";
  meta.framework = header.is_pytorch ? Framework::kPyTorch : Framework::kNative;
  meta.device = file.trace.launches.empty() && file.trace.copies.empty() ? "cpu" : "cuda";
  meta.warnings = header.warnings;
  if (!source.trouble().empty()) meta.warnings.push_back(source.trouble() + "; what came before is here");
  if (!reading.list_was_closed() && source.trouble().empty())
    meta.warnings.emplace_back("the file ends before its list of events does; what came before is here");
  warn(faults, meta.warnings);
  meta.cut_off = !source.trouble().empty() || !reading.list_was_closed();
  meta.lost = faults.lost.count + faults.cut_off.count + faults.no_time.count + faults.no_microseconds.count;
  if (file.trace.spans.size() == 0) {
    std::string why = "no event that PyTorch's profiler writes";
    for (const std::string& warning : meta.warnings) why += "; " + warning;
    why += meta.cut_off
               ? "; get the whole file, or record again with fewer steps"
               : "; record with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], call "
                 "profiler.step() after "
                 "each step, and export when steps of the schedule's `active` have run (docs/explain.md)";
    return invalid(std::move(why));
  }
  return file;
}

}  // namespace hone::trace::kineto
