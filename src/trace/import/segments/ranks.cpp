#include "trace/import/segments/ranks.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace hone::trace::segments {
namespace {

int64_t start_of(const SegmentFile& file) { return file.file.epoch_ns; }

int64_t end_of(const SegmentFile& file) {
  const SpanTable& spans = file.file.trace.spans;
  int64_t end = 0;
  for (std::size_t i = 0; i < spans.size(); ++i)
    end = std::max(end, spans.start_ns[i] + spans.duration_ns[i]);
  return start_of(file) + end;
}

// By what there is most of to explain.
bool has_more(const SegmentFile& a, const SegmentFile& b) {
  const auto work = [](const SegmentFile& file) {
    return std::tuple(file.device_works, file.operators, file.file.trace.spans.size());
  };
  return work(a) > work(b);
}

template <typename Predicate>
void keep_if_any(std::vector<SegmentFile>& files, Predicate&& good) {
  if (std::any_of(files.begin(), files.end(), good))
    std::erase_if(files, [&](const SegmentFile& file) { return !good(file); });
}

// Processes that another one of them started, as loaders of data are.
void drop_children(std::vector<SegmentFile>& files) {
  std::set<int32_t> pids;
  for (const SegmentFile& file : files) pids.insert(file.header.pid);
  const auto is_child = [&](const SegmentFile& file) {
    return file.header.parent_pid != file.header.pid && pids.contains(file.header.parent_pid);
  };
  if (!std::all_of(files.begin(), files.end(), is_child)) std::erase_if(files, is_child);
}

// One a rank, where they say which they are.
std::size_t keep_one_a_rank(std::vector<SegmentFile>& files) {
  const std::size_t before = files.size();
  std::stable_sort(files.begin(), files.end(), has_more);
  std::set<int> seen;
  std::erase_if(files, [&](const SegmentFile& file) {
    return file.file.rank.has_value() && !seen.insert(*file.file.rank).second;
  });
  return before - files.size();
}

// Without those that ran when the one with most work did not.
std::size_t keep_one_program(std::vector<SegmentFile>& files) {
  if (files.empty()) return 0;
  const SegmentFile& most = *std::min_element(files.begin(), files.end(), has_more);
  const int64_t start = start_of(most), end = end_of(most);
  return std::erase_if(files,
                       [&](const SegmentFile& file) { return end_of(file) < start || end < start_of(file); });
}

// Ranks of one machine share its clock. What each process read of both clocks differs a little, and more where
// somebody set the time meanwhile.
void share_clocks(std::vector<SegmentFile>& files) {
  constexpr int64_t kOneMachine = 1'000'000'000;  // machines were hardly started within a second
  std::vector<int64_t> clocks;                    // when a machine's monotonic clock was 0
  for (SegmentFile& file : files) {
    if (!file.file.has_epoch) continue;
    const int64_t own = file.header.realtime_ns - file.header.monotonic_ns;
    const auto known = std::find_if(clocks.begin(), clocks.end(),
                                    [&](int64_t clock) { return std::abs(clock - own) < kOneMachine; });
    if (known == clocks.end())
      clocks.push_back(own);
    else
      file.file.epoch_ns += *known - own;
  }
}

}  // namespace

ChosenRanks choose_ranks(std::vector<SegmentFile> files) {
  ChosenRanks chosen;
  share_clocks(files);
  const bool any_device =
      std::any_of(files.begin(), files.end(), [](const SegmentFile& file) { return file.device_works > 0; });
  if (any_device) {
    keep_if_any(files, [](const SegmentFile& file) { return file.device_works > 0; });
  } else {
    keep_if_any(files, [](const SegmentFile& file) { return file.operators > 0; });
    drop_children(files);
  }
  const std::size_t later = keep_one_program(files);
  const std::size_t same_rank = keep_one_a_rank(files);
  if (later > 0)
    chosen.warnings.push_back(fmt::format(
        "{} processes that ran before or after the one with most work are left out: explain their segments "
        "one at a time",
        later));
  if (same_rank > 0)
    chosen.warnings.push_back(fmt::format(
        "{} processes with the rank of another one, which has more work, are left out", same_rank));
  std::stable_sort(files.begin(), files.end(), [](const SegmentFile& a, const SegmentFile& b) {
    return std::pair(a.file.rank.value_or(INT32_MAX), start_of(a)) <
           std::pair(b.file.rank.value_or(INT32_MAX), start_of(b));
  });
  chosen.files = std::move(files);
  return chosen;
}

}  // namespace hone::trace::segments
