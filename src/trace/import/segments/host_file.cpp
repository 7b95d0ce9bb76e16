#include "trace/import/segments/host_file.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace/import/segments/records.h"
#include "trace/import/segments/stacks.h"

namespace hone::trace::segments {
namespace {

// The last word of a path: "/usr/bin/python3 train.py" → "python3 train.py".
std::string_view without_folder(std::string_view command) {
  const std::size_t end = std::min(command.find(' '), command.size());
  const std::size_t slash = command.substr(0, end).rfind('/');
  return slash == std::string_view::npos ? command : command.substr(slash + 1);
}

// A rank's file, and what is added to it.
struct RankRows {
  explicit RankRows(SegmentFile& segment) : file(segment), stacks(segment.file.trace) {}

  SegmentFile& file;
  StackBuilder stacks;
  std::unordered_map<uint32_t, FrameId> frames;           // by their number in the file
  std::map<std::pair<int32_t, int32_t>, TrackId> tracks;  // by pid and tid; tid 0: the process
};

class HostFileReader {
 public:
  HostFileReader(Records records, std::span<SegmentFile> files) : records_(std::move(records)) {
    for (SegmentFile& file : files) {
      ranks_.push_back(std::make_unique<RankRows>(file));
      rank_of_.emplace(file.header.pid, ranks_.back().get());
      RankRows& rank = *ranks_.back();
      const std::vector<Track>& tracks = file.file.trace.tracks;
      for (uint32_t i = 0; i < tracks.size(); ++i) {
        if (tracks[i].kind == TrackKind::kStream) continue;
        const bool process = tracks[i].kind == TrackKind::kProcess;
        rank.tracks.emplace(std::pair(file.header.pid, process ? 0 : static_cast<int32_t>(tracks[i].tid)),
                            TrackId{i});
      }
    }
  }

  void run() {
    while (records_.next()) read_record();
    add_uses();
  }

 private:
  struct SeenProcess {
    int32_t parent = 0;
    std::string command;
  };
  struct SeenFrame {
    FrameKind kind = FrameKind::kPython;
    uint32_t function = kNoName, file = kNoName;
    int32_t line = 0;
  };

  void read_record() {
    switch (records_.kind()) {
      case Kind::kName:
        if (const auto name = records_.as<Name>()) {
          const std::string_view behind = records_.following<Name>();
          names_[name->id] =
              std::string(behind.substr(0, std::min<std::size_t>(name->length, behind.size())));
        }
        return;
      case Kind::kHostProcess:
        if (const auto process = records_.as<HostProcess>())
          processes_[process->pid] = {process->parent, names_[process->command]};
        return;
      case Kind::kHostFrame:
        if (const auto frame = records_.as<HostFrame>())
          frames_[frame->id] = {frame->what == StackKind::kNative ? FrameKind::kNative : FrameKind::kPython,
                                frame->function, frame->file, frame->line};
        return;
      case Kind::kHostSample:
        if (const auto sample = records_.as<HostSample>()) read_sample(*sample);
        return;
      case Kind::kHostUse:
        if (const auto use = records_.as<HostUse>()) uses_.push_back(*use);
        return;
      case Kind::kNote:
        if (const auto note = records_.as<Note>(); note && !ranks_.empty())
          ranks_.front()->file.file.trace.meta.warnings.push_back(names_[note->text]);
        return;
      default:
        return;
    }
  }

  // The rank that a process is, or that it was started by; null: neither.
  RankRows* rank_of(int32_t pid) {
    if (const auto known = rank_of_.find(pid); known != rank_of_.end()) return known->second;
    RankRows* rank = nullptr;
    int32_t at = pid;
    for (int steps = 0; steps < 64 && rank == nullptr; ++steps) {
      const auto process = processes_.find(at);
      if (process == processes_.end()) break;
      at = process->second.parent;
      if (const auto known = rank_of_.find(at); known != rank_of_.end()) rank = known->second;
    }
    return rank_of_[pid] = rank;
  }

  TrackId track_of(RankRows& rank, int32_t pid, int32_t tid) {
    const auto known = rank.tracks.find({pid, tid});
    if (known != rank.tracks.end()) return known->second;
    Track track;
    track.pid = pid;
    if (tid == 0) {
      track.kind = TrackKind::kProcess;
      track.name = std::string(without_folder(processes_[pid].command));
    } else {
      track.process = track_of(rank, pid, 0);
      track.tid = tid;
      track.name = tid == pid ? "main thread" : "thread " + std::to_string(tid);
    }
    return rank.tracks[{pid, tid}] = rank.file.file.trace.add_track(std::move(track));
  }

  void read_sample(const HostSample& sample) {
    RankRows* rank = rank_of(sample.pid);
    constexpr int64_t kFarthest = std::numeric_limits<int64_t>::max() / 8;  // damage: no clock shows that
    if (rank == nullptr || sample.tid <= 0 || sample.time_ns <= 0 || sample.time_ns > kFarthest) return;
    const std::string_view ids = records_.following<HostSample>();
    const std::size_t count = std::size_t{sample.python} + sample.native;
    if (count * 4 > ids.size()) return;
    std::vector<FrameId> frames;
    for (std::size_t i = 0; i < count; ++i) {
      uint32_t id = 0;
      std::memcpy(&id, ids.data() + 4 * i, sizeof(id));
      frames.push_back(frame_of(*rank, id));
    }
    StackSample row;
    row.time_ns = sample.time_ns - rank->file.first_ns;
    row.track = track_of(*rank, sample.pid, sample.tid);
    row.state = static_cast<uint32_t>(sample.state) < kThreadStateCount
                    ? static_cast<trace::ThreadState>(sample.state)
                    : trace::ThreadState::kUnknown;
    rank->stacks.add(row, std::span(frames).first(sample.python), std::span(frames).subspan(sample.python));
  }

  FrameId frame_of(RankRows& rank, uint32_t id) {
    const auto known = rank.frames.find(id);
    if (known != rank.frames.end()) return known->second;
    const SeenFrame& frame = frames_[id];
    return rank.frames[id] =
               rank.stacks.frame(frame.kind, names_[frame.function], names_[frame.file], frame.line);
  }

  // Counters of a process, or of the machine (pid 0), at both ends of a block: what it took is their difference.
  void add_uses() {
    std::map<std::pair<uint32_t, int32_t>, std::pair<HostUse, HostUse>> ends;
    for (const HostUse& use : uses_) {
      const auto [at, is_new] = ends.emplace(std::pair(use.block, use.pid), std::pair(use, use));
      if (!is_new) at->second.second = use;
    }
    std::map<std::pair<RankRows*, uint32_t>, trace::HostUse> rows;
    for (const auto& [key, both] : ends) {
      const auto& [block, pid] = key;
      if (both.second.time_ns <= both.first.time_ns) continue;
      if (RankRows* rank = pid == 0 ? nullptr : rank_of(pid); rank != nullptr)
        add_use(both.first, both.second, pid == rank->file.header.pid, rows[{rank, block}]);
    }
    for (auto& [key, row] : rows) {
      row.block = key.second;
      if (const auto machine = ends.find({key.second, 0}); machine != ends.end()) {
        const auto& [first, last] = machine->second;
        row.bytes_received = counted_since(first.bytes_received, last.bytes_received);
        row.bytes_sent = counted_since(first.bytes_sent, last.bytes_sent);
      }
      key.first->file.file.trace.host_use.push_back(row);
    }
  }

  template <typename Count>
  static double counted_since(Count before, Count after) {
    return after > before ? static_cast<double>(after - before) : 0;
  }

  static void add_use(const HostUse& first, const HostUse& last, bool is_rank, trace::HostUse& row) {
    constexpr double kSecond = 1e-9;
    ++row.processes;
    if (is_rank) {
      row.seconds = static_cast<double>(last.time_ns - first.time_ns) * kSecond;
      row.main_running_s = counted_since(first.main_running_ns, last.main_running_ns) * kSecond;
      row.main_in_line_s = counted_since(first.main_in_line_ns, last.main_in_line_ns) * kSecond;
    }
    row.cpu_s += counted_since(first.cpu_ns, last.cpu_ns) * kSecond;
    row.disk_wait_s += counted_since(first.disk_wait_ns, last.disk_wait_ns) * kSecond;
    row.minor_faults += counted_since(first.minor_faults, last.minor_faults);
    row.major_faults += counted_since(first.major_faults, last.major_faults);
    row.bytes_read += counted_since(first.bytes_read, last.bytes_read);
    row.bytes_written += counted_since(first.bytes_written, last.bytes_written);
  }

  Records records_;
  std::vector<std::unique_ptr<RankRows>> ranks_;
  std::unordered_map<int32_t, RankRows*> rank_of_;
  std::unordered_map<uint32_t, std::string> names_;
  std::unordered_map<uint32_t, SeenFrame> frames_;
  std::map<int32_t, SeenProcess> processes_;
  std::vector<HostUse> uses_;
};

}  // namespace

void add_host_file(std::string_view bytes, std::span<SegmentFile> files) {
  if (Result<Records> records = Records::open(bytes); records.ok())
    HostFileReader(std::move(*records), files).run();
}

}  // namespace hone::trace::segments
