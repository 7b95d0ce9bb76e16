#include "analyze/hot_lines.h"

#include <algorithm>
#include <map>

#include "analyze/host_lines.h"
#include "analyze/host_use.h"

namespace hone::analyze {

HotLines hot_lines(const trace::Trace& trace, std::size_t most) {
  using trace::ThreadState;
  HotLines result;
  std::vector<uint32_t> running, waiting;
  std::map<int64_t, uint64_t> ran;  // by process
  const auto& samples = trace.stacks.samples;
  for (uint32_t row = 0; row < samples.size(); ++row) {
    if (samples[row].state != ThreadState::kRunning) continue;
    running.push_back(row);
    ++ran[trace.tracks[samples[row].track.index].pid];
  }
  const auto busiest = std::ranges::max_element(ran, {}, [](const auto& entry) { return entry.second; });
  const int64_t pid = busiest != ran.end() ? busiest->first
                      : samples.empty()    ? 0
                                           : trace.tracks[samples.front().track.index].pid;
  for (uint32_t row = 0; row < samples.size(); ++row) {
    const trace::Track& track = trace.tracks[samples[row].track.index];
    if (track.pid != pid || track.tid != pid) continue;
    result.main_samples += 1;
    if (samples[row].state != ThreadState::kRunning) waiting.push_back(row);
  }
  result.samples = static_cast<double>(samples.size());
  result.running = static_cast<double>(running.size());
  result.main_waiting = static_cast<double>(waiting.size());
  result.lines = host_lines(trace, running, pid, most);
  result.waits = host_lines(trace, waiting, pid, 3);
  result.use = host_use_metrics(total_host_use(trace, 0), 1000);
  return result;
}

}  // namespace hone::analyze
