#include "trace/link/repetition.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "trace/link/period.h"
#include "trace/link/waits.h"

namespace hone::trace::link {
namespace {

// Something that the program did: a launch, or an operator where no device is driven.
struct Event {
  int64_t time_ns = 0;
  uint32_t symbol = 0;
  uint32_t row = kNoSpan;  // the launch or the operator, on the host; the work, where no launch is recorded
  bool optimizer = false;
  bool from_host = false;  // a copy to the device
  bool to_host = false;    // a copy from it
  bool graph = false;      // launches a graph of many kernels
};

// Whether a span is of the optimizer, or stands within one that is. What was found of a span on the way is
// kept, so that all answers together cost one visit of each span, however deep they are nested.
class WithinOptimizer {
 public:
  WithinOptimizer(const Trace& trace, const SpanNesting& nesting, const std::vector<Role>& roles)
      : trace_(trace), nesting_(nesting), roles_(roles), known_(trace.spans.size(), kUnknown) {}

  bool operator()(uint32_t row) {
    char answer = kNo;
    path_.clear();
    for (; row != kNoSpan; row = nesting_.parent(row)) {
      if (known_[row] != kUnknown) {
        answer = known_[row];
        break;
      }
      path_.push_back(row);
      if (says_so(row)) {
        answer = kYes;
        break;
      }
    }
    for (const uint32_t passed : path_) known_[passed] = answer;
    return answer == kYes;
  }

 private:
  static constexpr char kUnknown = 0, kYes = 1, kNo = 2;

  bool says_so(uint32_t row) const {
    const StringId name = trace_.spans.name[row];
    const Category category = trace_.spans.category[row];
    if (!name.valid() || (category != Category::kRegion && category != Category::kOperator)) return false;
    if (name.index < roles_.size() && roles_[name.index] == Role::kOptimizer) return true;
    return category == Category::kOperator && is_optimizer_kind(trace_.strings.text(name));
  }

  const Trace& trace_;
  const SpanNesting& nesting_;
  const std::vector<Role>& roles_;
  std::vector<char> known_;     // by row
  std::vector<uint32_t> path_;  // rows that the last question passed
};

// One event a launch: a graph of many kernels is one. Names of operators rather than kernels, where there are
// any: libraries choose kernels by size. A recorder that takes turns writes down operators in some blocks only, where
// they would make the same steps look unlike.
std::vector<Event> launches(const Trace& trace, int rank, const SpanNesting& nesting,
                            std::span<const DeviceWork> work, const std::vector<Role>& roles) {
  std::vector<Event> events;
  const bool takes_turns = !trace.meta.blocks.empty();
  const bool any_launch = std::any_of(work.begin(), work.end(), [&](const DeviceWork& item) {
    return item.launch != kNoSpan && rank_of(trace, item.row) == rank;
  });
  for (const DeviceWork& item : work) {
    if (rank_of(trace, item.row) != rank || (any_launch && item.launch == kNoSpan)) continue;
    const uint32_t row = any_launch ? item.launch : item.row;
    const bool graph =
        any_launch && trace.strings.text(trace.spans.name[row]).find("GraphLaunch") != std::string_view::npos;
    const uint32_t named = item.caller != kNoSpan && !takes_turns ? item.caller
                           : graph                                ? item.launch
                                                                  : item.row;
    const std::string_view copy = trace.spans.category[item.row] == Category::kMemcpy
                                      ? trace.strings.text(trace.spans.name[item.row])
                                      : std::string_view();
    events.push_back({trace.spans.start_ns[row], trace.spans.name[named].index, row, false,
                      copy.find("HtoD") != copy.npos, copy.find("DtoH") != copy.npos, graph});
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.time_ns < b.time_ns; });
  const auto same = [&](const Event& a, const Event& b) { return any_launch && a.row == b.row; };
  events.erase(std::unique(events.begin(), events.end(), same), events.end());
  WithinOptimizer within_optimizer(trace, nesting, roles);
  if (any_launch && !takes_turns)
    for (Event& event : events) event.optimizer = within_optimizer(event.row);
  return events;
}

// Operators that no other operator encloses, on all threads of the rank.
std::vector<Event> calls(const Trace& trace, int rank, const SpanNesting& nesting,
                         const std::vector<Role>& roles) {
  const std::vector<uint32_t> operator_around = nesting.nearest(trace, Category::kOperator);
  WithinOptimizer within_optimizer(trace, nesting, roles);
  std::vector<Event> events;
  for (uint32_t row = 0; row < trace.spans.size(); ++row) {
    if (trace.spans.category[row] != Category::kOperator || rank_of(trace, row) != rank) continue;
    const uint32_t around = nesting.parent(row);
    if (around != kNoSpan && operator_around[around] != kNoSpan) continue;
    events.push_back({trace.spans.start_ns[row], trace.spans.name[row].index, row, within_optimizer(row),
                      false, false, false});
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.time_ns < b.time_ns; });
  return events;
}

// Events after which the optimizer has run: the first ones that are not its own. Runs of it that lie close
// together (parts of one update) count as one.
std::vector<uint32_t> after_optimizer(const std::vector<Event>& events, double period) {
  std::vector<uint32_t> ends;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!events[i].optimizer || (i + 1 < events.size() && events[i + 1].optimizer)) continue;
    const auto end = static_cast<uint32_t>(i + 1);
    if (!ends.empty() && end - ends.back() < std::max(1.0, 0.1 * period))
      ends.back() = end;
    else
      ends.push_back(end);
  }
  return ends;
}

// Every `each`th, such that the last one stays.
std::vector<uint32_t> every(const std::vector<uint32_t>& places, std::size_t each) {
  std::vector<uint32_t> kept;
  for (std::size_t i = (places.size() - 1) % each; i < places.size(); i += each) kept.push_back(places[i]);
  return kept;
}

struct Bounds {
  std::vector<uint32_t> places;  // events with which steps begin; the last may be the number of events
  std::string by;                // "the optimizer", "a batch copied to the device", …; empty: nothing known
  bool alternate = false;        // only every other step is like the one before
  double launches_between_waits = 0;  // not 0: divided where the host waits for the device
};

// How many events lie before each moment of a kind at which the host waits: calls that synchronise, by name, and copies to
// it.
std::map<std::string, std::vector<uint32_t>> host_waits(const Trace& trace, int rank,
                                                        const std::vector<Event>& events) {
  const auto before = [&](int64_t time_ns) {
    return static_cast<uint32_t>(
        std::upper_bound(events.begin(), events.end(), time_ns,
                         [](int64_t time, const Event& event) { return time < event.time_ns; }) -
        events.begin());
  };
  std::map<std::string, std::vector<uint32_t>> waits;
  for (uint32_t row = 0; row < trace.spans.size(); ++row)
    if (trace.spans.category[row] == Category::kSynchronization && rank_of(trace, row) == rank &&
        trace.tracks[trace.spans.track[row].index].kind == TrackKind::kThread)
      waits[std::string(trace.strings.text(trace.spans.name[row]))].push_back(
          before(trace.spans.start_ns[row]));
  for (std::size_t i = 0; i < events.size(); ++i)
    if (events[i].to_host) waits["a copy to the host"].push_back(static_cast<uint32_t>(i + 1));
  for (auto& [name, places] : waits) std::sort(places.begin(), places.end());
  return waits;
}

constexpr double kConfidenceInWaits = 0.45;  // a layer whose result is copied to the host looks so, too

// Of all kinds of waits that come regularly the rarest: a step may wait several times in a way of its own.
Bounds bounds_by_waits(const Trace& trace, int rank, const std::vector<Event>& events) {
  std::vector<uint32_t> breaks;  // where one block ends and the next begins
  for (std::size_t i = 1; i < events.size() && !trace.meta.blocks.empty(); ++i)
    if (block_at(trace.meta.blocks, rank, events[i].time_ns) !=
        block_at(trace.meta.blocks, rank, events[i - 1].time_ns))
      breaks.push_back(static_cast<uint32_t>(i));
  Bounds bounds;
  double longest = 0;
  for (const auto& [name, places] : host_waits(trace, rank, events)) {
    WaitPeriod period = find_wait_period(places, breaks);
    if (period.length <= longest) continue;
    longest = period.length;
    bounds = {std::move(period.places), "the host's wait for the device (" + name + ")", false, longest};
  }
  return bounds;
}

double spacing(const std::vector<uint32_t>& places) {
  return places.size() < 2
             ? 0
             : static_cast<double>(places.back() - places.front()) / static_cast<double>(places.size() - 1);
}

// Places that recur about as often as the period, from what is known to happen once in a step.
Bounds choose_bounds(const Trace& trace, int rank, const std::vector<Event>& events, const Period& period) {
  if (const auto ends = after_optimizer(events, period.length); ends.size() >= 2) {
    const double times = period.found() ? period.length / spacing(ends) : 1;
    // Fewer than once in a period: gradients are accumulated over several, and the update ends the step. More
    // often: all of a period's are one step's, unless the recording has not two periods. Then a step is more
    // likely like the one before the last (batches of two sizes take turns) than half of one.
    const auto each = static_cast<std::size_t>(std::max(1.0, std::round(times)));
    const bool alternate = ends.size() / each < 2;
    return {every(ends, alternate ? 1 : each), "the end of the optimizer's step", alternate};
  }
  if (period.length < kShortPeriod)
    if (Bounds waits = bounds_by_waits(trace, rank, events); !waits.places.empty()) return waits;
  if (!period.found()) return {};
  std::vector<uint32_t> copies;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!events[i].from_host) continue;
    const auto at = static_cast<uint32_t>(i);
    if (copies.empty() || at - copies.back() > 0.25 * period.length) copies.push_back(at);
  }
  if (copies.size() >= 2 && std::abs(spacing(copies) / period.length - 1) < 0.1)
    return {copies, "a batch copied to the device"};
  const bool graphs = std::all_of(period.anchors.begin(), period.anchors.end(),
                                  [&](uint32_t place) { return events[place].graph; });
  // One kernel again and again: nothing says how many launches of it are a step.
  if (period.length < 1.5 && !graphs) return {};
  Bounds bounds{period.anchors, {}};
  if (graphs) bounds.by = "the replay of a CUDA graph";
  return bounds;
}

// Moves the places back so that the first is the first event, if whole steps fit between there and the end of
// the recording: profilers start and stop between steps. Empty: they do not.
std::vector<uint32_t> from_the_start(const std::vector<Event>& events, std::vector<uint32_t> places) {
  constexpr double kAlike = 0.1;  // of the events that are moved may differ, and of a step may be missing
  const double length = spacing(places);
  const uint32_t shift = places.empty() ? 0 : places.front();
  if (places.size() < 2 || shift > (1 + kAlike) * length) return {};
  uint32_t differ = 0;
  for (std::size_t i = 1; i < places.size(); ++i)
    for (uint32_t k = 0; k < shift; ++k)
      differ += places[i] < shift || events[k].symbol != events[places[i] - shift + k].symbol ? 1 : 0;
  if (differ > kAlike * shift * static_cast<double>(places.size() - 1)) return {};
  for (uint32_t& place : places) place -= std::min(place, shift);
  const double tail = static_cast<double>(events.size() - places.back());
  if (std::abs(tail / length - 1) > kAlike) return {};
  return places;
}

// Partial steps at the ends are no steps; almost whole ones are: the recording began or ended with them.
constexpr double kWhole = 0.9;

void complete_ends(std::vector<uint32_t>& places, std::size_t events) {
  const double length = spacing(places);
  if (places.size() < 2) return;
  if (places.front() >= kWhole * length) places.insert(places.begin(), 0);
  if (static_cast<double>(events - places.back()) >= kWhole * length)
    places.push_back(static_cast<uint32_t>(events));
}

// The start of the outermost range or operator that begins with event `at` and not before the event ahead.
int64_t begin_of(const Trace& trace, const SpanNesting& nesting, const std::vector<Event>& events,
                 uint32_t at) {
  uint32_t row = events[at].row;
  const int64_t before = at == 0 ? -1 : events[at - 1].time_ns;
  int64_t time = events[at].time_ns;
  for (row = nesting.parent(row); row != kNoSpan && trace.spans.start_ns[row] > before;
       row = nesting.parent(row))
    if (trace.spans.category[row] != Category::kFunction) time = std::min(time, trace.spans.start_ns[row]);
  return time;
}

int64_t end_of(const Trace& trace, const SpanNesting& nesting, const std::vector<Event>& events,
               uint32_t at) {
  int64_t end = 0;
  const int64_t after = at + 1 < events.size() ? events[at + 1].time_ns : INT64_MAX;
  for (uint32_t row = events[at].row; row != kNoSpan; row = nesting.parent(row)) {
    const int64_t here = trace.spans.row(row).end_ns();
    if (here > after) break;  // and so is what encloses it
    if (trace.spans.category[row] != Category::kFunction) end = std::max(end, here);
  }
  return end;
}

// A step ends where the next begins, so that what the host does between them counts. The last one gets as
// much of that as the others have in the middle, up to the next event.
int64_t end_of_last(const Trace& trace, const SpanNesting& nesting, const std::vector<Event>& events,
                    const std::vector<uint32_t>& places, const std::vector<int64_t>& bounds) {
  std::vector<int64_t> between;
  for (std::size_t i = 1; i + 1 < places.size(); ++i)
    between.push_back(std::max<int64_t>(0, bounds[i] - end_of(trace, nesting, events, places[i] - 1)));
  const auto middle = between.begin() + static_cast<std::ptrdiff_t>(between.size() / 2);
  std::nth_element(between.begin(), middle, between.end());
  const uint32_t next = places.back();
  const int64_t end = end_of(trace, nesting, events, next - 1) + *middle,
                least = bounds[bounds.size() - 2] + 1;
  return std::max(least, next < events.size() ? std::min(end, begin_of(trace, nesting, events, next)) : end);
}

// How much the numbers of events differ from step to step: mean deviation ÷ mean.
double unevenness(const std::vector<uint32_t>& places) {
  const double mean = spacing(places);
  double sum = 0;
  for (std::size_t i = 1; i < places.size(); ++i) sum += std::abs(places[i] - places[i - 1] - mean);
  return mean > 0 ? sum / mean / static_cast<double>(places.size() - 1) : 1;
}

}  // namespace

Repetition find_repetition(const Trace& trace, int rank, const SpanNesting& nesting,
                           std::span<const DeviceWork> work, const std::vector<Role>& roles) {
  std::vector<Event> events = launches(trace, rank, nesting, work, roles);
  const bool by_launches = !events.empty();
  if (!by_launches) events = calls(trace, rank, nesting, roles);
  std::vector<uint32_t> symbols(events.size());
  std::transform(events.begin(), events.end(), symbols.begin(),
                 [](const Event& event) { return event.symbol; });
  const Period period = find_period(symbols);
  Bounds bounds = choose_bounds(trace, rank, events, period);
  const bool waits = bounds.launches_between_waits > 0;
  if (auto aligned = from_the_start(events, bounds.places); !aligned.empty() && !waits)
    bounds.places = std::move(aligned);
  complete_ends(bounds.places, events.size());
  Repetition result;
  if (bounds.places.size() < 3) {
    if (period.found() && period.length < 1.5)
      result.what = fmt::format("{} {} of one kind follow each other, and nothing tells how many are a step",
                                events.size(), by_launches ? "launches" : "calls of operators");
    return result;
  }
  for (uint32_t place : bounds.places)
    result.bounds_ns.push_back(place < events.size() ? begin_of(trace, nesting, events, place) : 0);
  result.bounds_ns.back() = end_of_last(trace, nesting, events, bounds.places, result.bounds_ns);
  const double length = waits ? bounds.launches_between_waits : spacing(bounds.places);
  const char* unit = by_launches ? (length < 1.5 ? "launch" : "launches") : "calls of operators";
  result.what = fmt::format("{:.0f} {} a step{}", length, unit,
                            bounds.by.empty() ? "" : fmt::format(", divided at {}", bounds.by));
  if (waits) {
    result.confidence = kConfidenceInWaits;
    result.notes.push_back(fmt::format(
        "the host waits for the device after every {:.0f} {}, and nothing else tells where a step ends: name "
        "steps with an NVTX range around each, if that is not one",
        length, unit));
    return result;
  }
  const double even = std::max(0.0, 1 - unevenness(bounds.places));
  const bool agrees = period.found() && std::abs(std::remainder(length / period.length, 1.0)) < 0.1;
  // Only an optimizer runs once a step. Layers, tokens and batches repeat as well, and with them copies and
  // graphs.
  const bool trains = bounds.by.find("optimizer") != std::string::npos;
  const double trained = bounds.alternate ? 0.6 : agrees ? 0.95 : 0.8;
  result.confidence = even * (trains ? trained : length < 16 ? 0.28 : 0.45);
  if (bounds.alternate)
    result.notes.push_back(
        "steps differ from one to the next, and too few are recorded to tell whether two updates of the "
        "optimizer are one step; record more steps, or mark them with torch.profiler's step()");
  if (!trains)
    result.notes.push_back(fmt::format(
        "{} repeat and no optimizer tells where a step ends: this may be a part of a step (a layer, a "
        "token, a batch); mark steps with torch.profiler's step() or a record_function range",
        by_launches ? "launches" : "calls of operators"));
  return result;
}

}  // namespace hone::trace::link
