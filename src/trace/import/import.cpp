#include "trace/import/import.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "core/file.h"
#include "core/side_by_side.h"
#include "trace/import/byte_source.h"
#include "trace/import/kineto/reader.h"
#include "trace/import/merge.h"
#include "trace/import/ncu/reader.h"
#include "trace/import/nsys/reader.h"
#include "trace/import/onednn/reader.h"
#include "trace/import/segments/reader.h"
#include "trace/import/snapshot/reader.h"
#include "trace/import/sniff.h"
#include "trace/import/xplane/reader.h"
#include "trace/perfetto/reader.h"
#include "trace/run_folder.h"

namespace hone::trace {
namespace {

namespace fs = std::filesystem;

// For what cannot be read in place, because it is packed or piped.
constexpr std::size_t kMostUnpackedBytes = std::size_t{16} << 30;

// A file to read, and the path that the user gave: itself, or the folder that holds it.
struct Input {
  fs::path path;
  fs::path given = path;
  bool is_given() const { return path == given; }
};

// What was read of one.
struct Read {
  std::vector<ImportedFile> files;
  std::string why_none;  // of a file of a folder that is no trace
  bool is_lost = false;  // it may have been one: its bytes are not there
};
using Readings = std::vector<std::optional<Result<Read>>>;  // of each input; those of threads, so set later

// "rank3.json.gz", "run.sqlite": what a folder of recordings holds.
bool is_named_like_a_trace(const fs::path& path) {
  const std::string suffix = path.extension().string();
  const fs::path inner = suffix == ".gz" || suffix == ".zst" ? path.stem() : path;
  return inner.extension() == ".json" || inner.extension() == ".sqlite" || inner.extension() == ".pftrace" ||
         inner.extension() == ".nsys-rep";
}

// "rank2" before "rank10".
bool natural_less(const fs::path& a, const fs::path& b) {
  const std::string x = a.string(), y = b.string();
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t i = 0, j = 0;
  while (i < x.size() && j < y.size()) {
    if (is_digit(x[i]) && is_digit(y[j])) {
      const std::size_t ends_x = std::min(x.find_first_not_of("0123456789", i), x.size());
      const std::size_t ends_y = std::min(y.find_first_not_of("0123456789", j), y.size());
      const std::string_view p = std::string_view(x).substr(i, ends_x - i),
                             q = std::string_view(y).substr(j, ends_y - j);
      if (p != q) return p.size() != q.size() ? p.size() < q.size() : p < q;
      i = ends_x;
      j = ends_y;
    } else {
      if (x[i] != y[j]) return x[i] < y[j];
      ++i, ++j;
    }
  }
  return x.size() - i < y.size() - j;
}

Error no_files(const fs::path& folder) {
  std::error_code error;
  return invalid(
      fmt::format("{}: no trace here: {}", folder.string(),
                  fs::is_empty(folder, error)
                      ? "the folder is empty"
                      : "the folder has no files, and folders in it are not searched; name one of them"));
}

struct Sniffing {
  std::unique_ptr<ByteSource> source;
  Sniffed found;
};

Result<Sniffing> look_at(const fs::path& path) {
  HONE_ASSIGN(std::unique_ptr<ByteSource> source, open_bytes(path));
  std::string first(kSniffBytes, '\0');
  HONE_ASSIGN(const std::size_t got, source->read(first));
  first.resize(got);
  Sniffed found = sniff(first);
  if (got == 0 && !source->trouble().empty()) {
    found.looks_like = "a packed file, but " + source->trouble();
    found.is_lost = true;
  }
  return Sniffing{put_back(std::move(source), std::move(first)), std::move(found)};
}

// Where TensorBoard looks: LOGDIR/plugins/profile/RUN, and the same in folders of LOGDIR ("train"). Empty: no
// run there.
std::vector<fs::path> tensorboard_runs(const fs::path& logdir) {
  std::vector<fs::path> runs;
  std::error_code error;
  const auto add_runs = [&](const fs::path& profiles) {
    for (fs::directory_iterator at(profiles, error), end; !error && at != end; at.increment(error))
      if (at->is_directory(error)) runs.push_back(at->path());
  };
  const fs::path below = fs::path("plugins") / "profile";
  add_runs(logdir / below);
  std::vector<fs::path> inner;
  for (fs::directory_iterator at(logdir, error), end; !error && at != end; at.increment(error))
    if (at->is_directory(error)) inner.push_back(at->path());
  for (const fs::path& folder : inner) add_runs(folder / below);
  // Runs are named after the time.
  std::sort(runs.begin(), runs.end(),
            [](const fs::path& a, const fs::path& b) { return natural_less(a.filename(), b.filename()); });
  return runs;
}

// Beside an XPlane file lies the same recording as pages show it: less of it.
void keep_xplanes(std::vector<fs::path>& files) {
  std::vector<fs::path> xplanes;
  for (const fs::path& file : files) {
    const Result<Sniffing> look = look_at(file);
    if (look.ok() && look->found.format == TraceFormat::kXplane) xplanes.push_back(file);
  }
  if (!xplanes.empty()) files = std::move(xplanes);
}

Result<std::vector<Input>> inputs_of(std::span<const fs::path> paths) {
  std::vector<Input> inputs;
  for (const fs::path& path : paths) {
    std::error_code error;
    if (!fs::is_directory(path, error) || is_run_folder(path) || segments::holds_segments(path)) {
      inputs.push_back({path});
      continue;
    }
    std::vector<fs::path> files;
    const std::vector<fs::path> runs = tensorboard_runs(path);
    const fs::directory_iterator entries(runs.empty() ? path : runs.back(), error);
    if (error) return io_error(fmt::format("{}: cannot be read: {}", path.string(), error.message()));
    for (const auto& entry : entries)
      if (entry.is_regular_file(error)) files.push_back(entry.path());
    std::sort(files.begin(), files.end(), natural_less);
    if (files.empty()) return no_files(path);
    keep_xplanes(files);
    for (fs::path& file : files) inputs.push_back({std::move(file), path});
  }
  // Twice the same recording would pass for two ranks.
  std::set<fs::path> seen;
  for (const Input& input : inputs) {
    std::error_code error;
    if (!seen.insert(fs::weakly_canonical(input.path, error)).second)
      return invalid(fmt::format("{} is given twice; give each file once", input.path.string()));
  }
  return inputs;
}

std::vector<ImportedFile> one(ImportedFile file) {
  std::vector<ImportedFile> files;
  files.push_back(std::move(file));
  return files;
}

ImportedFile of_trace(Trace trace) {
  ImportedFile file;
  file.trace = std::move(trace);
  file.is_hones = true;
  return file;
}

Result<std::vector<ImportedFile>> read_format(const Input& input, Sniffing look, int threads,
                                              const FileProgress& progress) {
  switch (look.found.format) {
    case TraceFormat::kJson: {
      HONE_ASSIGN(ImportedFile file,
                  kineto::read_kineto(*look.source, {threads, kineto::kChunkBytes, progress}));
      return one(std::move(file));
    }
    case TraceFormat::kSqlite: {
      if (look.source->is_plain_file()) return nsys::read_nsys(input.path);
      HONE_ASSIGN(std::string bytes, read_all(*look.source, kMostUnpackedBytes));
      Result<std::vector<ImportedFile>> files = nsys::read_nsys_bytes(std::move(bytes));
      if (files.ok() && !look.source->trouble().empty())
        files->front().trace.meta.warnings.push_back(look.source->trouble() + "; what came before is here");
      return files;
    }
    case TraceFormat::kNcuCsv: {
      HONE_ASSIGN(ImportedFile file, ncu::read_ncu(*look.source));
      return one(std::move(file));
    }
    case TraceFormat::kOneDnn: {
      HONE_ASSIGN(ImportedFile file, onednn::read_onednn(*look.source));
      return one(std::move(file));
    }
    case TraceFormat::kPerfetto: {
      if (look.source->is_plain_file()) {
        HONE_ASSIGN(const std::shared_ptr<const MappedFile> mapped, MappedFile::open(input.path));
        HONE_ASSIGN(Trace trace, parse_perfetto(mapped->text()));
        return one(of_trace(std::move(trace)));
      }
      HONE_ASSIGN(const std::string bytes, read_all(*look.source, kMostUnpackedBytes));
      HONE_ASSIGN(Trace trace, parse_perfetto(bytes));
      return one(of_trace(std::move(trace)));
    }
    case TraceFormat::kXplane: {
      if (look.source->is_plain_file()) {
        HONE_ASSIGN(const std::shared_ptr<const MappedFile> mapped, MappedFile::open(input.path));
        HONE_ASSIGN(ImportedFile file, xplane::read_xplane(mapped->text(), progress));
        return one(std::move(file));
      }
      HONE_ASSIGN(const std::string bytes, read_all(*look.source, kMostUnpackedBytes));
      HONE_ASSIGN(ImportedFile file, xplane::read_xplane(bytes, progress));
      if (!look.source->trouble().empty())
        file.trace.meta.warnings.push_back(look.source->trouble() + "; what came before is here");
      return one(std::move(file));
    }
    case TraceFormat::kViewer: {
      HONE_ASSIGN(ImportedFile file, xplane::read_viewer_json(*look.source, progress));
      return one(std::move(file));
    }
    case TraceFormat::kSnapshot: {
      if (look.source->is_plain_file()) {
        HONE_ASSIGN(const std::shared_ptr<const MappedFile> mapped, MappedFile::open(input.path));
        HONE_ASSIGN(ImportedFile file, snapshot::read_snapshot(mapped->text()));
        return one(std::move(file));
      }
      HONE_ASSIGN(const std::string bytes, read_all(*look.source, kMostUnpackedBytes));
      HONE_ASSIGN(ImportedFile file, snapshot::read_snapshot(bytes));
      return one(std::move(file));
    }
    case TraceFormat::kSegment: {
      HONE_ASSIGN(const std::string bytes, read_all(*look.source, kMostUnpackedBytes));
      HONE_ASSIGN(segments::SegmentFile segment, segments::read_segment(bytes));
      return one(std::move(segment.file));
    }
    case TraceFormat::kUnknown:
      break;
  }
  return invalid(what_instead(look.found, input.path));
}

// The ranks in a file; none for a file of a folder that is no trace.
Result<Read> read_one(const Input& input, int threads, const FileProgress& progress) {
  if (is_run_folder(input.path)) {
    HONE_ASSIGN(RunFolder folder, read_run_folder(input.path));
    return Read{one(of_trace(std::move(folder.trace))), {}};
  }
  std::error_code error;
  if (fs::is_directory(input.path, error)) {
    Result<std::vector<ImportedFile>> files = segments::read_segments(input.path);
    if (!files.ok()) return files.error().within(input.path.string());
    return Read{*std::move(files), {}};
  }
  HONE_ASSIGN(Sniffing look, look_at(input.path));
  const bool known = look.found.format != TraceFormat::kUnknown, lost = look.found.is_lost;
  Result<std::vector<ImportedFile>> files = read_format(input, std::move(look), threads, progress);
  if (files.ok()) return Read{*std::move(files), {}};
  Error failure = files.error().within(input.path.string());
  if (failure.code != ErrorCode::kInvalidArgument) return failure;
  if (!input.is_given()) return Read{{}, files.error().message, lost};
  if (!known) failure.message += fmt::format(" {}.", readable_formats());
  return failure;
}

// Reads files side by side: compressed ones keep a core busy each.
class FilesReading {
 public:
  FilesReading(const std::vector<Input>& inputs, const ImportOptions& options)
      : inputs_(inputs), options_(options), results_(inputs.size()) {}

  void run() {
    const int cores = options_.threads > 0
                          ? options_.threads
                          : static_cast<int>(std::max(std::thread::hardware_concurrency(), 1u));
    const int files = static_cast<int>(inputs_.size());
    threads_each_ = std::max(cores / std::max(files, 1), 1);
    side_by_side(static_cast<std::size_t>(std::max(std::min(cores, files), 1)),
                 [this](std::size_t) { work(); });
  }

  Readings& results() { return results_; }  // of each input, after run()

 private:
  void work() {
    for (std::size_t i = next_++; i < inputs_.size(); i = next_++)
      results_[i] = read_one(inputs_[i], threads_each_, [this, i](double share) {
        if (!options_.progress) return true;
        const std::lock_guard lock(mutex_);
        return options_.progress(inputs_[i].path.filename().string(), share);
      });
  }

  const std::vector<Input>& inputs_;
  const ImportOptions& options_;
  Readings results_;
  std::atomic<std::size_t> next_ = 0;
  int threads_each_ = 1;
  std::mutex mutex_;
};

// Each folder that the user gave must hold a trace. The first of its files stands for why it does not.
Status check_folders(const std::vector<Input>& inputs, const Readings& readings) {
  std::set<fs::path> with_traces;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!(*readings[i])->files.empty()) with_traces.insert(inputs[i].given);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (with_traces.contains(inputs[i].given)) continue;
    const std::string& why = (*readings[i])->why_none;
    return invalid(fmt::format("{}: no trace here; '{}', for one: {}{} {}", inputs[i].given.string(),
                               inputs[i].path.filename().string(), why, why.ends_with('.') ? "" : ".",
                               readable_formats()));
  }
  return {};
}

// What of the folders should have been a trace, by its name, and is empty: a rank that was not written.
std::string left_out_of_folders(const std::vector<Input>& inputs, const Readings& readings) {
  std::string text;
  std::size_t count = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!(*readings[i])->is_lost || !is_named_like_a_trace(inputs[i].path)) continue;
    if (count++ == 0)
      text = fmt::format("left out '{}': {}", inputs[i].path.filename().string(), (*readings[i])->why_none);
  }
  return count > 1 ? fmt::format("{} (and {} more)", text, count - 1) : text;
}

// A snapshot of memory is no rank: it says more of one. Alone it stays the only file.
Result<std::shared_ptr<const AllocatorHistory>> take_snapshot(std::vector<ImportedFile>& files,
                                                              std::vector<std::string>& sources) {
  std::shared_ptr<const AllocatorHistory> memory;
  for (std::size_t i = files.size(); i-- > 0;) {
    if (files[i].trace.memory == nullptr || files[i].trace.spans.size() > 0) continue;
    if (memory != nullptr)
      return invalid(fmt::format("{}: one snapshot of memory at a time can be explained", sources[i]));
    memory = files[i].trace.memory;
    if (files.size() == 1) break;
    files.erase(files.begin() + static_cast<std::ptrdiff_t>(i));
    sources.erase(sources.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return memory;
}

}  // namespace

Result<Trace> import_trace(std::span<const fs::path> paths, const ImportOptions& options) {
  HONE_ASSIGN(const std::vector<Input> inputs, inputs_of(paths));
  FilesReading reading(inputs, options);
  reading.run();
  std::vector<ImportedFile> files;
  std::vector<std::string> sources;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Result<Read>& result = *reading.results()[i];
    if (!result.ok()) return result.error();
    for (ImportedFile& file : result->files) {
      sources.push_back(file.source.empty() ? inputs[i].path.filename().string() : file.source);
      files.push_back(std::move(file));
    }
  }
  HONE_CHECK(check_folders(inputs, reading.results()));
  HONE_ASSIGN(const std::shared_ptr<const AllocatorHistory> memory, take_snapshot(files, sources));
  HONE_CHECK(check_one_program(files, sources));
  Trace trace = merge_files(std::move(files), sources);
  if (memory != nullptr) trace.memory = memory;
  if (std::string left_out = left_out_of_folders(inputs, reading.results()); !left_out.empty())
    trace.meta.warnings.push_back(std::move(left_out));
  return trace;
}

}  // namespace hone::trace
