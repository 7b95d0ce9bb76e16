#include "trace/import/merge.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "trace/import/same_collectives.h"

namespace hone::trace {
namespace {

constexpr int64_t kFarApart = int64_t{86'400} * 1'000'000'000;  // files of one run begin within a day
// Clocks of machines that work together may be apart, but hardly by this: two runs of one program are
// further. What is further must have met at collectives.
constexpr int64_t kClockError = 1'000'000'000;
constexpr int64_t kWallClock =
    1'000'000'000'000'000'000;  // of the year 2001: less counts from something else
constexpr uint64_t kIdMask = (uint64_t{1} << kIdBits) - 1;

// "trace_rank3.json.gz", "rank-0", "rank_12.json": 3, 0, 12.
std::optional<int> rank_in_name(std::string_view name) {
  const std::size_t at = name.rfind("rank");
  if (at == std::string_view::npos) return std::nullopt;
  std::size_t digit = at + 4;
  if (digit < name.size() && (name[digit] == '_' || name[digit] == '-' || name[digit] == '=')) ++digit;
  int rank = 0;
  std::size_t digits = 0;
  for (; digit < name.size() && name[digit] >= '0' && name[digit] <= '9' && digits < 6; ++digit, ++digits)
    rank = rank * 10 + (name[digit] - '0');
  return digits > 0 ? std::optional(rank) : std::nullopt;
}

constexpr std::string_view kSeveralPrograms =
    "these look like several programs, not the ranks of one. Explain them one at a time; `hone compare A B` "
    "tells "
    "two apart";

// On the clock of its machine.
int64_t end_ns(const ImportedFile& file) {
  const SpanTable& spans = file.trace.spans;
  int64_t end = 0;
  for (std::size_t i = 0; i < spans.size(); ++i)
    end = std::max(end, spans.start_ns[i] + spans.duration_ns[i]);
  return file.epoch_ns + end;
}

// A file that was recorded when no other was, more than `error_ns` after them; nothing if there is none.
std::optional<std::size_t> recorded_apart(std::span<const ImportedFile> files, int64_t error_ns) {
  std::vector<std::size_t> order(files.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return files[a].epoch_ns < files[b].epoch_ns; });
  int64_t end = end_ns(files[order[0]]);
  for (std::size_t k = 1; k < order.size(); ++k) {
    if (files[order[k]].epoch_ns > end + error_ns) return order[k];
    end = std::max(end, end_ns(files[order[k]]));
  }
  return std::nullopt;
}

// Whether all files are of ranks that ran collectives together: then it is their clocks that are apart.
bool met(std::span<const ImportedFile> files) {
  if (!std::all_of(files.begin(), files.end(),
                   [](const ImportedFile& file) { return file.rank.has_value(); }))
    return false;
  std::vector<CollectiveEnds> ends;
  for (const ImportedFile& file : files) ends.push_back(collective_ends(file.trace));
  std::vector<char> joined(files.size(), 0);
  joined[0] = 1;
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < files.size(); ++i)
      for (std::size_t k = 0; k < files.size() && joined[i] == 0; ++k)
        if (joined[k] != 0 && same_collectives(ends[k], ends[i])) joined[i] = 1, more = true;
  }
  return std::count(joined.begin(), joined.end(), 1) == static_cast<std::ptrdiff_t>(files.size());
}

bool all_distinct(const std::vector<std::optional<int>>& ranks) {
  std::set<int> seen;
  return std::all_of(ranks.begin(), ranks.end(),
                     [&](const std::optional<int>& rank) { return rank && seen.insert(*rank).second; });
}

std::vector<int> ranks_of(std::span<const ImportedFile> files, std::span<const std::string> sources,
                          std::vector<std::string>& warnings) {
  std::vector<std::optional<int>> ranks;
  for (const ImportedFile& file : files) ranks.push_back(file.rank);
  if (!all_distinct(ranks)) {
    ranks.clear();
    for (const std::string& source : sources) ranks.push_back(rank_in_name(source));
    if (!all_distinct(ranks)) {
      for (std::size_t i = 0; i < files.size(); ++i) ranks[i] = static_cast<int>(i);
      const bool several = std::any_of(sources.begin(), sources.end(),
                                       [&](const std::string& source) { return source != sources[0]; });
      if (several)
        warnings.emplace_back("the files do not say which rank each is: numbered in the order given");
    }
  }
  std::vector<int> result;
  for (const std::optional<int>& rank : ranks) result.push_back(*rank);
  return result;
}

// How far each file's times are moved.
std::vector<int64_t> shifts_of(std::span<const ImportedFile> files, std::vector<std::string>& warnings) {
  std::vector<int64_t> shifts(files.size(), 0);
  if (files.size() < 2) return shifts;
  int64_t first = files[0].epoch_ns, last = files[0].epoch_ns;
  bool known = true;
  for (const ImportedFile& file : files) {
    known = known && file.has_epoch == files[0].has_epoch;
    first = std::min(first, file.epoch_ns);
    last = std::max(last, file.epoch_ns);
  }
  if (!known || last - first > kFarApart) {
    warnings.emplace_back(
        "the clocks of the files do not agree: every file is taken to begin at the same time");
    return shifts;
  }
  for (std::size_t i = 0; i < files.size(); ++i) shifts[i] = files[i].epoch_ns - first;
  return shifts;
}

class Merger {
 public:
  Merger(Trace& into, Trace&& from, uint64_t file, int rank, bool relabel)
      : into_(into), from_(std::move(from)), file_(file << kIdBits), rank_(rank), relabel_(relabel) {}

  void run(int64_t shift_ns) {
    first_track_ = static_cast<uint32_t>(into_.tracks.size());
    first_operator_ = static_cast<uint32_t>(into_.operators.size());
    first_span_ = static_cast<uint32_t>(into_.spans.size());
    strings_.resize(from_.strings.size());
    for (uint32_t i = 0; i < strings_.size(); ++i)
      strings_[i] = into_.strings.intern(from_.strings.text({i}));
    for (Track& track : from_.tracks) {
      if (track.process.valid()) track.process.index += first_track_;
      if (relabel_) track.rank = rank_;
      into_.add_track(std::move(track));
    }
    for (Operator& op : from_.operators) into_.add_operator(std::move(op));
    add_spans(shift_ns);
    add_details();
    add_counters();
    add_samples(shift_ns);
    add_kernel_samples();
    add_stacks(shift_ns);
  }

 private:
  StringId text(StringId id) const { return id.valid() ? strings_[id.index] : id; }
  uint64_t unique(uint64_t id) const { return id == 0 || file_ == 0 ? id : (id & kIdMask) | file_; }

  void add_spans(int64_t shift_ns) {
    for (std::size_t i = 0; i < from_.spans.size(); ++i) {
      Span span = from_.spans.row(i);
      span.start_ns += shift_ns;
      span.track.index += first_track_;
      span.name = text(span.name);
      if (span.op.valid()) span.op.index += first_operator_;
      span.correlation = unique(span.correlation);
      into_.spans.add(span);
    }
  }

  void add_details() {
    for (Call call : from_.calls) {
      call.span += first_span_;
      call.inputs = text(call.inputs);
      if (call.sequence >= 0)
        call.sequence = static_cast<int64_t>(unique(static_cast<uint64_t>(call.sequence)));
      call.external = unique(call.external);
      into_.calls.push_back(call);
    }
    for (Launch launch : from_.launches) {
      launch.span += first_span_;
      launch.external = unique(launch.external);
      into_.launches.push_back(launch);
    }
    for (Copy copy : from_.copies) {
      copy.span += first_span_;
      copy.external = unique(copy.external);
      into_.copies.push_back(copy);
    }
    for (Collective collective : from_.collectives) {
      collective.span += first_span_;
      collective.name = text(collective.name);
      collective.group = text(collective.group);
      into_.collectives.push_back(collective);
    }
  }

  void add_counters() {
    for (KernelCounters& row : from_.counters) {
      if (relabel_) row.rank = rank_;
      row.kernel = text(row.kernel);
      for (CounterValue& each : row.values) each.metric = text(each.metric);
      order_values(row);
      into_.counters.push_back(std::move(row));
    }
  }

  void add_samples(int64_t shift_ns) {
    for (DeviceSamples& samples : from_.samples) {
      if (relabel_) samples.rank = rank_;
      for (StringId& metric : samples.metrics) metric = text(metric);
      for (int64_t& time : samples.start_ns) time += shift_ns;
      for (int64_t& time : samples.end_ns) time += shift_ns;
      into_.samples.push_back(std::move(samples));
    }
  }

  void add_kernel_samples() {
    for (KernelSample& row : from_.kernel_samples) {
      if (relabel_) row.rank = rank_;
      for (StringId* name : {&row.kernel, &row.function, &row.file, &row.source}) *name = text(*name);
      for (StallSamples& each : row.stalls) each.reason = text(each.reason);
      into_.kernel_samples.push_back(std::move(row));
    }
  }

  void add_stacks(int64_t shift_ns) {
    StackTable& into = into_.stacks;
    StackTable& from = from_.stacks;
    const auto first_frame = static_cast<uint32_t>(into.frames.size());
    const auto first_place = static_cast<uint32_t>(into.stacked.size());
    for (Frame& frame : from.frames) {
      frame.function = text(frame.function);
      frame.file = text(frame.file);
      into.frames.push_back(frame);
    }
    for (const FrameId frame : from.stacked) into.stacked.push_back({frame.index + first_frame});
    for (StackSample& sample : from.samples) {
      sample.time_ns += shift_ns;
      sample.track.index += first_track_;
      sample.first += first_place;
      into.samples.push_back(sample);
    }
    for (HostUse& use : from_.host_use) {
      if (relabel_) use.rank = rank_;
      into_.host_use.push_back(use);
    }
  }

  Trace& into_;
  Trace from_;
  uint64_t file_;
  int rank_;
  bool relabel_;
  std::vector<StringId> strings_;
  uint32_t first_track_ = 0, first_operator_ = 0, first_span_ = 0;
};

// Blocks and marks are ordered by rank, which files need not be.
template <typename Row, typename Time>
void add_by_rank(std::vector<Row>&& rows, int rank, int64_t shift_ns, std::vector<Row>& into, Time&& move) {
  const auto at = std::upper_bound(into.begin(), into.end(), rank,
                                   [](int wanted, const Row& row) { return wanted < row.rank; });
  for (Row& row : rows) {
    row.rank = rank;
    move(row, shift_ns);
  }
  into.insert(at, std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
}

void add_turns(Meta&& meta, int rank, int64_t shift_ns, Meta& into) {
  add_by_rank(std::move(meta.blocks), rank, shift_ns, into.blocks, [](RecordingBlock& block, int64_t ns) {
    block.start_ns += ns;
    block.end_ns += ns;
  });
  add_by_rank(std::move(meta.marks), rank, shift_ns, into.marks,
              [](StepMark& mark, int64_t ns) { mark.time_ns += ns; });
  add_by_rank(std::move(meta.block_steps), rank, shift_ns, into.block_steps, [](BlockSteps&, int64_t) {});
  add_by_rank(std::move(meta.loaders), rank, shift_ns, into.loaders,
              [](LoaderEpoch& epoch, int64_t ns) { epoch.start_ns += ns; });
}

void add_meta(Meta&& meta, int rank, const std::string& source, bool several, Meta& into) {
  if (into.producer.empty()) into.producer = meta.producer;
  if (into.machine.empty()) into.machine = meta.machine;
  if (into.framework == Framework::kNative) into.framework = meta.framework;
  if (into.device.empty() || into.device == "cpu") into.device = meta.device;
  into.threads = std::max(into.threads, meta.threads);
  into.dropped += meta.dropped;
  into.lost += meta.lost;
  into.cut_off = into.cut_off || meta.cut_off;
  for (auto& [key, value] : meta.notes) {
    const auto known = [&, &k = key, &v = value](const auto& note) {
      return note.first == k && note.second == v;
    };
    if (std::none_of(into.notes.begin(), into.notes.end(), known)) into.notes.emplace_back(key, value);
  }
  for (DeviceInfo& device : meta.devices) {
    device.rank = rank;
    into.devices.push_back(std::move(device));
  }
  for (RankInfo& info : meta.ranks) {
    info.rank = rank;
    info.source = source;
    into.ranks.push_back(std::move(info));
  }
  for (const std::string& warning : meta.warnings)
    into.warnings.push_back(several ? fmt::format("{}: {}", source, warning) : warning);
}

// The process group that all ranks are in.
const ProcessGroup* default_group(const RankInfo& info) {
  for (const ProcessGroup& group : info.groups)
    if (group.description == "default_pg" && !group.ranks.empty()) return &group;
  return nullptr;
}

// No two ranks begin and end all that they do in the same nanosecond.
bool is_copy(const ImportedFile& a, const ImportedFile& b) {
  return a.rank == b.rank && a.epoch_ns == b.epoch_ns && a.trace.spans.start_ns == b.trace.spans.start_ns &&
         a.trace.spans.duration_ns == b.trace.spans.duration_ns;
}

// What hone wrote is a run joined and priced, without the clocks and names by which ranks are joined.
Status none_of_hone(std::span<const ImportedFile> files, std::span<const std::string> sources) {
  for (std::size_t i = 0; i < files.size(); ++i)
    if (files[i].is_hones)
      return invalid(
          fmt::format("'{}' is a whole run that hone wrote, and cannot be joined with other files: explain "
                      "it alone, or give the "
                      "recordings of all ranks as they were made",
                      sources[i]));
  return {};
}

Status no_copies(std::span<const ImportedFile> files, std::span<const std::string> sources) {
  for (std::size_t i = 0; i < files.size(); ++i)
    for (std::size_t k = i + 1; k < files.size(); ++k)
      if (is_copy(files[i], files[k]))
        return invalid(
            fmt::format("'{}' and '{}' hold the same recording; give it once", sources[i], sources[k]));
  return {};
}

// Ranks of one run agree on how many they are, how they talk and who is in the group of all.
Status same_world(std::span<const ImportedFile> files, std::span<const std::string> sources) {
  std::optional<std::size_t> known;
  const auto differ = [&](std::size_t i, const std::string& what) {
    return invalid(fmt::format("'{}' and '{}' are not of one run: {}; {}", sources[*known], sources[i], what,
                               kSeveralPrograms));
  };
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!files[i].rank || files[i].trace.meta.ranks.empty()) continue;
    if (!known) {
      known = i;
      continue;
    }
    const RankInfo &a = files[*known].trace.meta.ranks.front(), &b = files[i].trace.meta.ranks.front();
    if (a.world_size != b.world_size)
      return differ(i, fmt::format("one is of {} ranks, the other of {}", a.world_size, b.world_size));
    if (!a.backend.empty() && !b.backend.empty() && a.backend != b.backend)
      return differ(i, fmt::format("one talks by '{}', the other by '{}'", a.backend, b.backend));
    const ProcessGroup *all = default_group(a), *other = default_group(b);
    if (all != nullptr && other != nullptr && all->ranks != other->ranks)
      return differ(i, fmt::format("their groups of all ranks have {} and {} members, not the same ones",
                                   all->ranks.size(), other->ranks.size()));
  }
  return {};
}

// Where only some of the files say which rank they are, the others may be of something else.
void warn_of_silent(std::span<const ImportedFile> files, std::span<const std::string> sources,
                    std::vector<std::string>& warnings) {
  const auto says = [](const ImportedFile& file) { return file.rank.has_value(); };
  if (std::none_of(files.begin(), files.end(), says)) return;
  for (std::size_t i = 0; i < files.size(); ++i)
    if (!says(files[i]))
      warnings.push_back(
          fmt::format("{} does not say that it is a rank, as the others do: it may be of another "
                      "program",
                      sources[i]));
}

}  // namespace

Status check_one_program(std::span<const ImportedFile> files, std::span<const std::string> sources) {
  if (files.size() < 2) return {};
  HONE_CHECK(none_of_hone(files, sources));
  HONE_CHECK(no_copies(files, sources));
  std::map<int, std::size_t> first;
  bool silent = true, clocks = true, wall_clocks = true;
  for (std::size_t i = 0; i < files.size(); ++i) {
    clocks = clocks && files[i].has_epoch;
    wall_clocks = wall_clocks && files[i].epoch_ns > kWallClock;
    if (!files[i].rank) continue;
    silent = false;
    if (const auto [at, is_new] = first.emplace(*files[i].rank, i); !is_new)
      return invalid(fmt::format("'{}' and '{}' both say that they are rank {}: {}", sources[at->second],
                                 sources[i], *files[i].rank, kSeveralPrograms));
  }
  HONE_CHECK(same_world(files, sources));
  if (clocks && (silent || wall_clocks))
    if (const auto apart = recorded_apart(files, silent ? 0 : kClockError); apart && !met(files))
      return invalid(fmt::format("'{}' was recorded when the files before it had ended: {}", sources[*apart],
                                 kSeveralPrograms));
  return {};
}

Trace merge_files(std::vector<ImportedFile> files, std::span<const std::string> sources) {
  if (files.size() == 1 && files[0].is_hones) return std::move(files[0].trace);
  Trace trace;
  const std::vector<int> ranks = ranks_of(files, sources, trace.meta.warnings);
  warn_of_silent(files, sources, trace.meta.warnings);
  const std::vector<int64_t> shifts = shifts_of(files, trace.meta.warnings);
  const bool several = files.size() > 1;
  if (!several) {  // nothing is to be renumbered: the tables are moved
    Meta meta = std::exchange(files[0].trace.meta, {});
    trace = std::move(files[0].trace);
    for (Track& track : trace.tracks) track.rank = ranks[0];
    for (KernelCounters& row : trace.counters) row.rank = ranks[0];
    for (DeviceSamples& samples : trace.samples) samples.rank = ranks[0];
    for (KernelSample& row : trace.kernel_samples) row.rank = ranks[0];
    for (HostUse& use : trace.host_use) use.rank = ranks[0];
    add_turns(std::move(meta), ranks[0], 0, trace.meta);
    add_meta(std::move(meta), ranks[0], sources[0], several, trace.meta);
    return trace;
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    add_turns(std::move(files[i].trace.meta), ranks[i], shifts[i], trace.meta);
    add_meta(std::move(files[i].trace.meta), ranks[i], sources[i], several, trace.meta);
    Merger(trace, std::move(files[i].trace), i, ranks[i], true).run(shifts[i]);
    files[i] = {};
  }
  return trace;
}

}  // namespace hone::trace
