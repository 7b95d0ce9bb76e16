#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>

#include "analyze/memory/memory_findings.h"
#include "trace/allocator_history.h"

namespace hone::analyze {
namespace {

using trace::AllocatorHistory, trace::MemoryAction, trace::MemoryEvent;

constexpr std::size_t kMostHoldings = 50;
constexpr const char* kUnknownHolder = "not known";
constexpr const char* kEarlierHolder = "taken before the events begin";

constexpr uint64_t kNoAddress = ~uint64_t{0};  // of what was there at first and is never given back

struct LiveBlock {
  double bytes = 0;
  uint32_t holder = 0;
  bool earlier = false;  // it was there before the events begin, and nobody says whose it is
};

// One device. Events tell changes; how much there was at first follows from what there is at the end, or from what was given
// back without having been taken.
class DeviceMemoryStudy {
 public:
  DeviceMemoryStudy(const AllocatorHistory& use, int device) : use_(use) {
    found_.rank = use.rank;
    found_.device = device;
    for (const MemoryEvent& event : use.events)
      if (event.device == device) events_.push_back(event);
  }

  DeviceMemory run() {
    read_end();
    find_first();
    follow();
    hold_peak();
    return std::move(found_);
  }

 private:
  bool is_of_device(const trace::MemoryBlock& block) const {
    return block.segment < use_.segments.size() && use_.segments[block.segment].device == found_.device;
  }

  void read_end() {
    std::map<uint32_t, bool> used;  // segments with tensors in them
    std::map<uint32_t, double> free_of;
    for (const trace::MemoryBlock& block : use_.blocks) {
      if (!is_of_device(block)) continue;
      const auto bytes = static_cast<double>(block.bytes);
      bool& in_use = used[block.segment];
      in_use = in_use || block.in_use;
      if (block.in_use) {
        found_.end_bytes += bytes;
        at_end_[block.address] = {bytes, block.holder, false};
      } else {
        free_of[block.segment] += bytes;
        found_.largest_free = std::max(found_.largest_free, bytes);
      }
    }
    for (const trace::MemorySegment& segment : use_.segments)
      if (segment.device == found_.device) found_.end_reserved += static_cast<double>(segment.bytes);
    for (const auto& [segment, bytes] : free_of)
      (used[segment] ? found_.between_blocks : found_.free_segments) += bytes;
  }

  // What was there before the first event: tensors that are there at the end and were not taken meanwhile, and those that
  // were given back and not taken before.
  void find_first() {
    std::unordered_map<uint64_t, bool> taken;
    first_ = at_end_;
    for (const MemoryEvent& event : events_) {
      if (event.action == MemoryAction::kTake) {
        taken[event.address] = true;
        first_.erase(event.address);
      } else if (event.action == MemoryAction::kGive && !std::exchange(taken[event.address], false)) {
        earlier_.push_back({event.address, static_cast<double>(event.bytes)});
      }
    }
    // An address may be given back, taken and held again until the end; then it was there at first, too.
    for (const auto& [address, bytes] : earlier_) first_[address] = {bytes, 0, true};
    found_.peak_is_bound = !use_.whole && !events_.empty() && !first_.empty() && !recorder_counts();
    if (!recorder_counts()) return;
    const MemoryEvent& event = events_.front();
    const auto change = static_cast<double>(event.action == MemoryAction::kTake ? event.bytes : -event.bytes);
    double unseen = static_cast<double>(event.allocated) - change;
    for (const auto& [address, block] : first_) unseen -= block.bytes;
    if (unseen > 0) first_[kNoAddress] = {unseen, 0, true};
  }

  // Whether the recorder says with every event how much there is.
  bool recorder_counts() const { return !events_.empty() && events_.front().allocated >= 0; }

  double reserved_at_first() const {
    if (!events_.empty() && events_.front().reserved >= 0)
      return static_cast<double>(events_.front().reserved);
    double reserved = found_.end_reserved;
    for (const MemoryEvent& event : events_) {
      if (event.action == MemoryAction::kReserve) reserved -= static_cast<double>(event.bytes);
      if (event.action == MemoryAction::kRelease) reserved += static_cast<double>(event.bytes);
    }
    return reserved;
  }

  void follow() {
    live_ = first_;
    double allocated = 0, reserved = reserved_at_first();
    for (const auto& [address, block] : live_) allocated += block.bytes;
    note_moment(0, allocated, reserved, 0);
    for (std::size_t i = 0; i < events_.size(); ++i) {
      const MemoryEvent& event = events_[i];
      const auto bytes = static_cast<double>(event.bytes);
      switch (event.action) {
        case MemoryAction::kTake:
          take(event, allocated);
          break;
        case MemoryAction::kGive:
          if (const auto at = live_.find(event.address); at != live_.end()) {
            allocated -= at->second.bytes;
            live_.erase(at);
          }
          break;
        case MemoryAction::kReserve:
          reserved += bytes;
          break;
        case MemoryAction::kRelease:
          reserved -= bytes;
          break;
        case MemoryAction::kOutOfMemory:
          ++found_.failed;
          found_.failed_bytes = std::max(found_.failed_bytes, bytes);
          break;
      }
      if (event.reserved >= 0) reserved = static_cast<double>(event.reserved);
      note_moment(static_cast<double>(event.time_ns) * 1e-6, allocated, reserved, i + 1);
    }
    found_.events = static_cast<double>(events_.size());
    if (events_.empty())
      found_.course.clear();
    else if (use_.blocks.empty())
      found_.end_bytes = found_.course.back().allocated;
    thin_course();
  }

  void take(const MemoryEvent& event, double& allocated) {
    LiveBlock& block = live_[event.address];
    allocated += static_cast<double>(event.bytes) - block.bytes;
    block = {static_cast<double>(event.bytes), event.holder, false};
  }

  void note_moment(double ms, double allocated, double reserved, std::size_t events_before) {
    allocated = std::max(allocated, 0.0), reserved = std::max(reserved, 0.0);
    found_.course.push_back({ms, allocated, reserved});
    found_.peak_reserved = std::max(found_.peak_reserved, reserved);
    if (allocated <= found_.peak_bytes && events_before > 0) return;
    found_.peak_bytes = allocated;
    found_.peak_ms = ms;
    peak_at_ = events_before;
  }

  // Of every stretch its highest: what matters of a course is how high it goes.
  void thin_course() {
    std::vector<MemoryMoment>& course = found_.course;
    if (course.size() <= kMostMoments) return;
    std::vector<MemoryMoment> thin;
    for (std::size_t i = 0; i < kMostMoments; ++i) {
      const auto from = course.begin() + static_cast<std::ptrdiff_t>(course.size() * i / kMostMoments);
      const auto to = course.begin() + static_cast<std::ptrdiff_t>(course.size() * (i + 1) / kMostMoments);
      thin.push_back(*std::max_element(
          from, to, [](const MemoryMoment& a, const MemoryMoment& b) { return a.allocated < b.allocated; }));
    }
    course = std::move(thin);
  }

  void hold_peak() {
    live_ = first_;
    double ignored = 0;
    for (std::size_t i = 0; i < peak_at_; ++i) {
      if (events_[i].action == MemoryAction::kTake) take(events_[i], ignored);
      if (events_[i].action == MemoryAction::kGive) live_.erase(events_[i].address);
    }
    std::map<std::pair<std::string, std::string>, MemoryHolding> by_holder;
    for (const auto& [address, block] : live_) {
      const auto [line, inside] = words_of(block);
      MemoryHolding& holding = by_holder[{line, inside}];
      holding.holder = line;
      holding.inside = inside;
      holding.bytes += block.bytes;
      ++holding.blocks;
    }
    for (auto& [key, holding] : by_holder) found_.holdings.push_back(std::move(holding));
    std::stable_sort(found_.holdings.begin(), found_.holdings.end(),
                     [](const MemoryHolding& a, const MemoryHolding& b) { return a.bytes > b.bytes; });
    if (found_.holdings.size() > kMostHoldings) found_.holdings.resize(kMostHoldings);
    for (MemoryHolding& holding : found_.holdings)
      holding.share = found_.peak_bytes > 0 ? holding.bytes / found_.peak_bytes : 0;
  }

  std::pair<std::string, std::string> words_of(const LiveBlock& block) const {
    if (block.earlier) return {kEarlierHolder, ""};
    if (block.holder == 0 || block.holder >= use_.holders.size()) return {kUnknownHolder, ""};
    const trace::MemoryHolder& holder = use_.holders[block.holder];
    if (holder.line.empty()) return {holder.inside, ""};
    return {holder.line, holder.inside == holder.line ? "" : holder.inside};
  }

  const AllocatorHistory& use_;
  DeviceMemory found_;
  std::vector<MemoryEvent> events_;
  std::unordered_map<uint64_t, LiveBlock> at_end_, first_, live_;
  std::vector<std::pair<uint64_t, double>> earlier_;
  std::size_t peak_at_ = 0;  // after so many events
};

}  // namespace

MemoryFindings study_memory(const trace::Trace& trace) {
  MemoryFindings found;
  if (trace.memory == nullptr) return found;
  std::map<int, bool> devices;
  for (const MemoryEvent& event : trace.memory->events) devices[event.device] = true;
  for (const trace::MemorySegment& segment : trace.memory->segments) devices[segment.device] = true;
  for (const auto& [device, any] : devices)
    found.devices.push_back(DeviceMemoryStudy(*trace.memory, device).run());
  return found;
}

}  // namespace hone::analyze
