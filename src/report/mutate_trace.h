// Real traces broken in many ways, event by event, for tests of everything behind the importer. Not part of
// the product.
#pragma once

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace hone::report::fabricate {

class TraceMutator {
 public:
  using Json = nlohmann::json;

  TraceMutator(Json trace, uint32_t seed) : trace_(std::move(trace)), random_(seed) {}

  // Breaks the trace in one to four ways; returns their names.
  std::string mutate() {
    std::string done;
    for (uint32_t i = 0, count = 1 + below(4); i < count; ++i) {
      const auto& [name, how] = kWays[below(static_cast<uint32_t>(std::size(kWays)))];
      (this->*how)();
      done += done.empty() ? name : std::string(", ") + name;
    }
    return done;
  }

  void set_rank(int rank, int world) {
    trace_["distributedInfo"] = {{"rank", rank}, {"world_size", world}, {"backend", "nccl"}};
  }

  std::string text() const {
    std::string text = trace_.dump(-1, ' ', false, Json::error_handler_t::replace);
    // What JSON has no numbers for, but recorders write.
    for (std::size_t at = 0; (at = text.find(kNaN, at)) != std::string::npos;)
      text.replace(at - 1, std::string_view(kNaN).size() + 2, "NaN");
    return text;
  }

 private:
  static constexpr const char* kNaN = "@NaN@";
  using Way = void (TraceMutator::*)();

  Json::array_t& events() { return trace_["traceEvents"].get_ref<Json::array_t&>(); }
  uint32_t below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }
  // One in two, ten, a hundred or a thousand events.
  uint32_t rarity() {
    constexpr uint32_t kRarities[] = {2, 10, 100, 1000};
    return kRarities[below(4)];
  }
  template <typename Change>
  void change_some(Change change) {
    const uint32_t one_in = rarity();
    for (Json& event : events())
      if (event.is_object() && below(one_in) == 0) change(event);
  }
  template <typename Drop>
  void drop_if(Drop drop) {
    std::erase_if(events(), [&](const Json& event) { return event.is_object() && drop(event); });
  }
  static std::string text_of(const Json& event, const char* key) {
    const auto at = event.find(key);
    return at != event.end() && at->is_string() ? at->get<std::string>() : std::string();
  }
  static double number_of(const Json& event, const char* key) {
    const auto at = event.find(key);
    return at != event.end() && at->is_number() ? at->get<double>() : 0;
  }
  Json odd_number() {
    const Json kOdd[] = {
        0,      -1,   -1e6,   1e-9, 1e6,   1e12,    9.3e15,           9223372036854775.0, 1e300,
        -1e300, kNaN, "1.5x", "",   false, nullptr, Json::array({1}), 9223372036854775807};
    return kOdd[below(static_cast<uint32_t>(std::size(kOdd)))];
  }
  std::string odd_text() {
    const std::string kOdd[] = {"",
                                "\xff\xfe broken",
                                "<script>alert(1)</script>",
                                std::string(5000, 'n'),
                                "ProfilerStep#1",
                                "ProfilerStep#99999999999999999999",
                                "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                                "nan",
                                "a\nb\tc\u202e"};
    return kOdd[below(static_cast<uint32_t>(std::size(kOdd)))];
  }

  void drop() {
    const uint32_t one_in = rarity();
    drop_if([&](const Json&) { return below(one_in) == 0; });
  }
  void drop_kind() {
    if (events().empty()) return;
    const std::string cat = text_of(events()[below(static_cast<uint32_t>(events().size()))], "cat");
    drop_if([&](const Json& event) { return text_of(event, "cat") == cat; });
  }
  void drop_steps() {
    drop_if([](const Json& event) { return text_of(event, "name").starts_with("ProfilerStep"); });
  }
  void keep_one() {
    if (events().empty()) return;
    Json one = events()[below(static_cast<uint32_t>(events().size()))];
    events() = {std::move(one)};
  }
  void keep_start() {
    if (!events().empty()) events().resize(1 + below(static_cast<uint32_t>(events().size())));
  }
  void duplicate() {
    const std::size_t count = events().size();
    for (std::size_t i = 0; i < count; ++i)
      if (below(5) == 0) events().push_back(Json(events()[i]));
  }
  void shuffle() { std::shuffle(events().begin(), events().end(), random_); }
  void odd_durations() {
    change_some([&](Json& event) { event["dur"] = odd_number(); });
  }
  void odd_times() {
    change_some([&](Json& event) { event["ts"] = odd_number(); });
  }
  void all_at_once() {
    const double at = events().empty() ? 0 : number_of(events()[0], "ts");
    for (Json& event : events())
      if (event.is_object()) event["ts"] = at;
  }
  void all_instant() {
    for (Json& event : events())
      if (event.is_object()) event["dur"] = 0;
  }
  void late_in_time() {
    for (Json& event : events())
      if (event.is_object()) event["ts"] = 9.2233720368e15 - below(1000);
  }
  void move_in_time() {
    change_some([&](Json& event) { event["ts"] = number_of(event, "ts") + below(2'000'000) - 1e6; });
  }
  void swap_tracks() {
    if (events().empty()) return;
    change_some([&](Json& event) {
      const Json& other = events()[below(static_cast<uint32_t>(events().size()))];
      for (const char* key : {"tid", "pid"})
        if (other.is_object() && other.contains(key)) event[key] = Json(other[key]);
    });
  }
  void one_track() {
    for (Json& event : events())
      if (event.is_object()) event["tid"] = 7, event["pid"] = 0;
  }
  void many_tracks() {
    change_some([&](Json& event) { event["tid"] = random_(); });
  }
  void wrong_joins() {
    constexpr const char* kJoins[] = {
        "correlation", "External id",   "Sequence number", "stream",
        "device",      "Fwd thread id", "Collective name", "Process Group Name"};
    const char* key = kJoins[below(8)];
    change_some([&](Json& event) {
      Json& args = event["args"];
      if (args.is_null() || args.is_object()) args[key] = below(3) == 0 ? odd_number() : Json(below(50));
    });
  }
  void swap_kinds() {
    if (events().empty()) return;
    change_some([&](Json& event) {
      const std::string cat = text_of(events()[below(static_cast<uint32_t>(events().size()))], "cat");
      if (!cat.empty()) event["cat"] = cat;
    });
  }
  void odd_names() {
    change_some([&](Json& event) { event["name"] = odd_text(); });
  }
  void odd_shapes() {
    change_some([&](Json& event) {
      Json& args = event["args"];
      if (!args.is_null() && !args.is_object()) return;
      args["Input Dims"] =
          Json::array({Json::array({odd_number(), 3}), Json::array({4'000'000'000, 4'000'000'000}),
                       Json::array({-1, 0}), Json::array()});
      args["Input type"] = Json::array({"float", "c10::Half", "", "double"});
    });
  }
  void deep_nesting() {
    const double at = events().empty() ? 0 : number_of(events()[0], "ts");
    for (int i = 0; i < 3000; ++i)
      events().push_back({{"ph", "X"},
                          {"cat", "cpu_op"},
                          {"name", "aten::nested"},
                          {"pid", 793},
                          {"tid", 793},
                          {"ts", at + i * 1e-3},
                          {"dur", 1e4 - i * 2e-3},
                          {"args", {{"External id", i}}}});
  }
  void odd_device() {
    trace_["deviceProperties"] = Json::array({{{"id", odd_number()},
                                               {"name", odd_text()},
                                               {"numSms", odd_number()},
                                               {"totalGlobalMem", odd_number()},
                                               {"computeMajor", odd_number()}}});
  }

  static constexpr std::pair<const char*, Way> kWays[] = {
      {"drop", &TraceMutator::drop},
      {"drop a kind", &TraceMutator::drop_kind},
      {"drop steps", &TraceMutator::drop_steps},
      {"keep one", &TraceMutator::keep_one},
      {"keep the start", &TraceMutator::keep_start},
      {"duplicate", &TraceMutator::duplicate},
      {"shuffle", &TraceMutator::shuffle},
      {"odd durations", &TraceMutator::odd_durations},
      {"odd times", &TraceMutator::odd_times},
      {"all at once", &TraceMutator::all_at_once},
      {"all instant", &TraceMutator::all_instant},
      {"late in time", &TraceMutator::late_in_time},
      {"move in time", &TraceMutator::move_in_time},
      {"swap tracks", &TraceMutator::swap_tracks},
      {"one track", &TraceMutator::one_track},
      {"many tracks", &TraceMutator::many_tracks},
      {"wrong joins", &TraceMutator::wrong_joins},
      {"swap kinds", &TraceMutator::swap_kinds},
      {"odd names", &TraceMutator::odd_names},
      {"odd shapes", &TraceMutator::odd_shapes},
      {"deep nesting", &TraceMutator::deep_nesting},
      {"odd device", &TraceMutator::odd_device},
  };

  Json trace_;
  std::mt19937 random_;
};

}  // namespace hone::report::fabricate
