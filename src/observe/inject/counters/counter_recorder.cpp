#include "observe/inject/counters/counter_recorder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>
#include <utility>

#include <dlfcn.h>

#include "observe/inject/futex.h"

namespace hone::observe::inject {
namespace segments = trace::segments;
using cupti::Result;
namespace {

constexpr const char* kDuration = "gpu__time_duration.sum";
constexpr double kAlike = 0.2, kAlikeNs = 4000;  // times of launches that do the same work
constexpr int kMostAttempts = 15;
constexpr int kMostFailures = 20;                 // counts that went wrong
constexpr int64_t kGatePatience = 5'000'000'000;  // ns, for a count to come to its end
constexpr int64_t kAlonePatience = 200'000'000;   // ns, for calls of other threads to return
constexpr int64_t kAlonePeriod = 100'000;
constexpr int64_t kLastPatience = 300'000'000;
// Of each kernel, and for all of them together from the first sampled launch on.
constexpr uint64_t kEnoughSamples = 20'000;
constexpr uint32_t kMostSampled = 30;  // launches
constexpr uint32_t kMostEmpty = 10;    // launches that were sampled in vain, before one that was not
constexpr int64_t kSamplingPatience = 5'000'000'000;
constexpr int64_t kEndPatience = 10'000'000'000, kEndPeriod = 1'000'000;  // ns

// What the driver itself is asked in the middle of a launch.
struct DriverState {
  int (*device_of_context)(int*) = nullptr;
  int (*is_capturing)(void* stream, int* status) = nullptr;
  int (*memory)(size_t* free, size_t* total) = nullptr;

  DriverState() {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!driver) return;
    device_of_context = reinterpret_cast<decltype(device_of_context)>(dlsym(driver, "cuCtxGetDevice"));
    is_capturing = reinterpret_cast<decltype(is_capturing)>(dlsym(driver, "cuStreamIsCapturing"));
    memory = reinterpret_cast<decltype(memory)>(dlsym(driver, "cuMemGetInfo_v2"));
  }
};
const DriverState& driver_state() {
  static const DriverState state;
  return state;
}

}  // namespace

// A launch of one kernel, as the call says it.
struct CounterRecorder::Launched {
  const char* symbol;
  const uint32_t* grid;
  const uint32_t* block;
  void* stream;
  void* context;

  // False: another call.
  static bool read(uint32_t id, const cupti::CallData& call, Launched& launched) {
    launched.symbol = call.symbol;
    launched.context = call.context;
    if (!call.symbol || !call.parameters) return false;
    switch (id) {
      case cupti::kLaunchKernel:
      case cupti::kLaunchKernelOfThread:
      case cupti::kLaunchCooperative:
      case cupti::kLaunchCooperativeOfThread: {
        const auto& of_call = *static_cast<const cupti::LaunchParameters*>(call.parameters);
        launched.grid = of_call.grid, launched.block = of_call.block, launched.stream = of_call.stream;
        return true;
      }
      case cupti::kLaunchKernelEx:
      case cupti::kLaunchKernelExOfThread: {
        const auto& of_call = *static_cast<const cupti::LaunchExParameters*>(call.parameters)->config;
        launched.grid = of_call.grid, launched.block = of_call.block, launched.stream = of_call.stream;
        return true;
      }
      default:
        return false;
    }
  }
};

bool CounterRecorder::begin(const char* request_path) {
  done_ = true;
  try {
    return prepare(request_path);
  } catch (...) {
    return false;
  }
}

bool CounterRecorder::prepare(const char* request_path) {
  CounterRequest request;
  if (!read_counter_request(request_path, request) || request.kernels.empty()) return false;
  gave_up_ = false;
  if (!start_profiler(request.kernels[0].device)) return false;
  make_groups(request);
  if (!use_group(groups_.size() - 1)) return false;
  rounds_.begin(std::move(request.kernels), groups_.size(), false, request.quiet_ns, monotonic_ns());
  sampled_.assign(rounds_.kernels().size(), {});
  phase_ = Phase::kCounting;
  lines_wanted_ = request.lines;
  failures_ = 0;
  memory_was_asked_ = false;
  done_ = rounds_.done(monotonic_ns());
  ends_ = false;
  return true;
}

bool CounterRecorder::start_profiler(uint32_t device) {
  if (!profiler_.load(cupti_)) {
    give_up(std::string("CUPTI of CUDA 12.6 or later is needed, ") + cupti_.path + " is older");
    return false;
  }
  auto starting = cupti::parameters<cupti::ProfilerInitialize>();
  if (const Result result = profiler_.initialize(&starting); result != Result::kSuccess) {
    give_up("the profiler cannot be used: " + cupti_.reason(result));
    return false;
  }
  auto naming = cupti::parameters<cupti::ChipName>();
  naming.device = device;
  if (const Result result = profiler_.chip_name(&naming); result != Result::kSuccess) {
    give_up("the GPU is not known: " + cupti_.reason(result));
    return false;
  }
  chip_ = naming.name;
  return true;
}

// First what is counted in launches that run once, then all else.
void CounterRecorder::make_groups(const CounterRequest& request) {
  groups_.clear();
  std::vector<std::string> rest = known_metrics(profiler_, chip_, request.metrics);
  const std::vector<std::string> once = known_metrics(profiler_, chip_, request.once);
  if (!once.empty()) groups_ = one_pass_groups(profiler_, chip_, once);
  once_groups_ = groups_.size();
  for (const std::string& metric : once) {
    const bool counted = std::any_of(groups_.begin(), groups_.end(), [&](const auto& group) {
      return std::find(group.begin(), group.end(), metric) != group.end();
    });
    if (!counted) rest.push_back(metric);  // it takes several passes by itself
  }
  if (!rest.empty() || groups_.empty()) groups_.push_back(std::move(rest));
}

bool CounterRecorder::use_group(size_t group) {
  group_ = group;
  if (!check(counter_.use(chip_, groups_[group]))) return false;
  metric_names_.clear();
  for (const std::string& metric : groups_[group]) metric_names_.push_back(output_.id(metric.c_str()));
  return true;
}

// What kernels run several times for has to be saved. Into the host's memory, where the device's is too full, CUPTI takes half a
// minute for 60 GB. Every group holds the time then, by which what was counted in different launches can be compared.
void CounterRecorder::divide_if_memory_is_short() {
  if (memory_was_asked_ || once_groups_ == groups_.size()) return;
  memory_was_asked_ = true;
  size_t free = 0, total = 0;
  const auto ask = driver_state().memory;
  if (!ask || ask(&free, &total) != 0 || free - free / 8 > total - free) return;
  std::vector<std::string> rest = std::move(groups_.back());
  groups_.pop_back();
  for (std::vector<std::string>& group : one_pass_groups(profiler_, chip_, rest))
    groups_.push_back(std::move(group));
  const bool was_one_pass = groups_.size() == once_groups_ + 1;
  once_groups_ = groups_.size();
  rounds_.change_groups(groups_.size(), !was_one_pass);
  group_ = kNoGroup;
}

bool CounterRecorder::done() const {
  if (done_.load(std::memory_order_acquire)) return true;
  if (owner_ != 0 || phase_ != Phase::kCounting) return false;
  const int64_t now = monotonic_ns();
  return lines_wanted_ ? rounds_.is_quiet(now) : rounds_.done(now);  // the next launch may be sampled
}

// The contexts are disabled by the next launch of a thread of the program, as everything that CUPTI does with them; where none
// comes soon they stay as they are, which costs nothing.
void CounterRecorder::end() {
  ends_ = done_ = true;
  const timespec period = {0, kEndPeriod};
  for (int64_t waited = 0; owner_ != 0 && waited < kEndPatience; waited += kEndPeriod) {
    nanosleep(&period, nullptr);
  }
  write_last_samples();
  for (int64_t waited = 0; holds_hardware() && waited < kLastPatience; waited += kEndPeriod)
    nanosleep(&period, nullptr);
  if (!gave_up_) note_missing();
}

void CounterRecorder::in_child() {
  ends_ = done_ = true;
  captures_ = 0;
  held_ = 0;
  owner_ = 0;
}

void CounterRecorder::on_capture(bool begins, const cupti::CallData& call) {
  if (call.site != cupti::Site::kExit) return;
  const bool failed = call.returned && *static_cast<const int*>(call.returned) != 0;
  if (begins && !failed) ++captures_;
  if (!begins && captures_.fetch_sub(1) <= 0) ++captures_;  // it began before we were there
}

void CounterRecorder::on_call(OpenCalls::Edge edge, cupti::Domain domain, uint32_t id,
                              const cupti::CallData& call) {
  if (edge == OpenCalls::Edge::kOuterBegins) pass_gate();
  if (domain != cupti::Domain::kDriver) return;
  try {
    begins(edge) ? launch_begins(id, call) : launch_ends(call);
  } catch (...) {
    ends_ = done_ = true;
  }
}

void CounterRecorder::pass_gate() {
  const auto self = static_cast<uint32_t>(current_tid());
  const int64_t until = monotonic_ns() + kGatePatience;
  while (true) {
    const uint32_t owner = owner_;
    const int64_t left = until - monotonic_ns();
    if (owner == 0 || owner == self || left <= 0) return;
    ++held_;
    futex_wait(owner_, owner, left, false);
    --held_;
  }
}

// Whether no other thread is in a call that it began before the gate was shut; waits for them a little.
bool CounterRecorder::alone() const {
  const timespec period = {0, kAlonePeriod};
  for (int64_t waited = 0; open_calls_.threads() > held_ + 1; waited += kAlonePeriod) {
    if (waited >= kAlonePatience) return false;
    nanosleep(&period, nullptr);
  }
  return true;
}

void CounterRecorder::launch_begins(uint32_t id, const cupti::CallData& call) {
  const auto self = static_cast<uint32_t>(current_tid());
  Launched launched;
  if (owner_ == self || (ends_ && !holds_hardware()) || !Launched::read(id, call, launched)) return;
  if (!ends_ && (done_ || !wanted(launched))) return;
  uint32_t none = 0;
  if (!owner_.compare_exchange_strong(none, self)) return;
  kernel_ = nullptr;
  if (ends_) return;  // at its end the hardware is released
  if (!alone()) return let_go();
  if (phase_ == Phase::kCounting && rounds_.done(monotonic_ns())) all_are_counted();
  kernel_ = done_ ? nullptr : wanted(launched);  // other threads may have counted it meanwhile
  if (!kernel_ || !can_be_counted(launched) || !start(launched.context)) let_go();
}

// The kernel, if a launch of it is to be counted now, or sampled.
CounterRecorder::Wanted* CounterRecorder::wanted(const Launched& launched) {
  const int64_t now = monotonic_ns();
  Wanted* found = rounds_.find(launched.symbol, launched.grid, launched.block, now);
  if (!found) return nullptr;
  if (phase_ != Phase::kCounting) return sampled_enough(*found) ? nullptr : found;
  return rounds_.is_due(*found, now) || (lines_wanted_ && rounds_.done(now)) ? found : nullptr;
}

bool CounterRecorder::start(void* context) {
  if (phase_ == Phase::kSampling) {
    sampler_enabled_ = true;
    const bool started = sampler_.start(context, sampled_[kernel_->number].ns);
    if (!started) phase_ = Phase::kSampled;
    return started;
  }
  divide_if_memory_is_short();
  const size_t group = rounds_.take(*kernel_);
  return (group == group_ || use_group(group)) && check(counter_.start(context));
}

bool CounterRecorder::can_be_counted(const Launched& launched) {
  if (captures_ > 0) return false;
  const DriverState& driver = driver_state();
  int status = 0, device = 0;
  if (driver.is_capturing && (driver.is_capturing(launched.stream, &status) != 0 || status != 0))
    return false;
  return !driver.device_of_context || driver.device_of_context(&device) != 0 ||
         static_cast<uint32_t>(device) == kernel_->kernel.device;
}

void CounterRecorder::launch_ends(const cupti::CallData& call) {
  if (owner_ != static_cast<uint32_t>(current_tid())) return;
  if (!kernel_) {
    release_hardware();
    return let_go();
  }
  if (phase_ != Phase::kCounting) return sample_ends();
  const bool launched = !call.returned || *static_cast<const int*>(call.returned) == 0;
  using Counted = RangeCounter::Counted;
  const Counted counted = !counter_.stop() ? Counted::kFailed
                          : launched       ? counter_.read()
                                           : Counted::kNothing;
  if (counted == Counted::kOne) {
    take_count();
  } else if (check(counted != Counted::kFailed) && ++failures_ == kMostFailures) {
    give_up("kernels were launched, and CUPTI counted none, or more than one");
  }
  if (done_) release_hardware();
  let_go();
}

// The profiler is left first: CUPTI cannot count and sample at once.
void CounterRecorder::all_are_counted() {
  if (!lines_wanted_ || !sampler_.begin()) {
    done_ = true;
    return;
  }
  release_hardware();
  auto closing = cupti::parameters<cupti::ProfilerInitialize>();
  profiler_.deinitialize(&closing);
  sampling_until_ns_ = monotonic_ns() + kSamplingPatience;
  phase_ = Phase::kSampling;
}

bool CounterRecorder::sampled_enough(const Wanted& wanted) const {
  const Sampled& sampled = sampled_[wanted.number];
  return phase_ != Phase::kSampling || sampled.samples >= kEnoughSamples || sampled.launches >= kMostSampled;
}

void CounterRecorder::sample_ends() {
  uint64_t samples = 0;
  const bool worked = sampler_.stop(kernel_->number, samples);
  Sampled& sampled = sampled_[kernel_->number];
  ++sampled.launches;
  sampled.samples += samples;
  const auto& kernels = rounds_.kernels();
  bool enough = std::all_of(kernels.begin(), kernels.end(),
                            [this](const Wanted& each) { return sampled_enough(each); });
  uint32_t launches = 0;
  for (const Sampled& each : sampled_) {
    launches += each.launches;
    samples += each.samples;
  }
  if (samples == 0 && launches >= kMostEmpty) {
    output_.note("no source lines of kernels: CUPTI sampled " + std::to_string(launches) +
                 " launches and found no warp in them");
    enough = true;
  }
  if (!worked || enough || monotonic_ns() > sampling_until_ns_) {
    release_hardware();
    phase_ = Phase::kSampled;
  }
  let_go();
}

// Where launches come no more, nobody is there to say that it is enough.
void CounterRecorder::write_samples() {
  if (phase_ == Phase::kSampling && monotonic_ns() > sampling_until_ns_) {
    uint32_t none = 0;
    if (!owner_.compare_exchange_strong(none, static_cast<uint32_t>(current_tid()))) return;
    phase_ = Phase::kSampled;
    let_go();
  }
  Phase sampled = Phase::kSampled;
  if (!phase_.compare_exchange_strong(sampled, Phase::kWriting)) return;
  try {
    for (const Wanted& each : rounds_.kernels()) sampler_.write(each.number, each.kernel);
  } catch (...) {  // memory is short
  }
  done_ = true;
  phase_ = Phase::kCounting;
}

void CounterRecorder::write_last_samples() {
  Phase sampling = Phase::kSampling;
  if (owner_ == 0) phase_.compare_exchange_strong(sampling, Phase::kSampled);
  write_samples();
}

void CounterRecorder::release_hardware() {
  counter_.disable();
  sampler_.disable();
  sampler_enabled_ = false;
}

void CounterRecorder::write() {
  const WantedKernel& kernel = kernel_->kernel;
  const std::vector<double>& values = counter_.values();
  segments::Counters record;
  record.device = kernel.device;
  record.name = output_.id(kernel.symbol);
  std::copy(kernel.grid, kernel.grid + 3, record.grid.begin());
  std::copy(kernel.block, kernel.block + 3, record.block.begin());
  record.instance = kernel_->counted;
  record.passes = static_cast<uint32_t>(counter_.config().passes());
  record.values = static_cast<uint32_t>(values.size());
  const auto whole =
      segments::with_head(record, static_cast<uint32_t>(values.size() * sizeof(segments::CounterValue)));
  record_.clear();
  record_.append(&whole, sizeof(whole));
  for (size_t i = 0; i < values.size(); ++i) {
    const segments::CounterValue value = {metric_names_[i], 0, values[i]};
    record_.append(&value, sizeof(value));
  }
  output_.add_all(record_, 1);
}

// Of the launch that was just counted, ns; 0: not among what is counted.
double CounterRecorder::counted_time() const {
  const std::vector<std::string>& metrics = groups_[group_];
  const auto at = static_cast<size_t>(std::find(metrics.begin(), metrics.end(), kDuration) - metrics.begin());
  return at < metrics.size() ? counter_.values()[at] : 0;
}

void CounterRecorder::take_count() {
  const double ns = counted_time();
  if (Sampled& first = sampled_[kernel_->number]; first.ns == 0) first.ns = ns;
  const bool again = group_ < once_groups_ && !is_like_the_first(ns);
  if (!again) write();
  const int64_t now = monotonic_ns();
  rounds_.count(*kernel_, again, now);
  if (rounds_.done(now)) all_are_counted();
}

// Products of different depth share a kernel and its grid. One that ran once is to be one that was replayed before.
bool CounterRecorder::is_like_the_first(double ns) {
  Sampled& first = sampled_[kernel_->number];
  if (ns <= 0 || first.ns <= 0 || std::abs(ns - first.ns) <= std::max(kAlikeNs, kAlike * first.ns))
    return true;
  return ++first.attempts > kMostAttempts;
}

void CounterRecorder::let_go() {
  kernel_ = nullptr;
  owner_ = 0;
  futex_wake_all(owner_, false);
}

void CounterRecorder::note_missing() {
  size_t missing = 0, launched = 0;
  for (const Wanted& each : rounds_.kernels()) {
    missing += each.counted == 0;
    launched += each.counted == 0 && each.seen;
  }
  if (missing == 0) return;
  output_.note("no counters of " + std::to_string(missing) + " of the " +
               std::to_string(rounds_.kernels().size()) + " kernels that were to be counted: " +
               (launched == 0
                    ? "the program did not launch them again meanwhile"
                    : "they were not launched again meanwhile, or while other threads launched kernels, or "
                      "while a CUDA graph was captured, or time was up"));
}

bool CounterRecorder::check(bool worked) {
  if (!worked)
    give_up(std::string(counter_.failure().doing) + ": " + cupti_.reason(counter_.failure().result));
  return worked;
}

void CounterRecorder::give_up(const std::string& why) {
  ends_ = done_ = gave_up_ = true;
  output_.note("no hardware counters: " + why);
}

}  // namespace hone::observe::inject
