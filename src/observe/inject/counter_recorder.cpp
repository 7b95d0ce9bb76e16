#include "observe/inject/counter_recorder.h"

#include <algorithm>
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
constexpr int kMostFailures = 20;                 // counts that went wrong
constexpr int64_t kGatePatience = 5'000'000'000;  // ns, for a count to come to its end
constexpr int64_t kAlonePatience = 200'000'000;   // ns, for calls of other threads to return
constexpr int64_t kAlonePeriod = 100'000;
constexpr int64_t kRoundPatience = 2'000'000'000;  // ns without a count
constexpr int64_t kLastPatience = 300'000'000;
// Of each kernel, and for all of them together from the first sampled launch on.
constexpr uint64_t kEnoughSamples = 20'000;
constexpr uint32_t kMostSampled = 30;  // launches
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

// Calls of this thread that are open, of those whose beginning was seen.
struct OpenCalls {
  uint32_t period, depth;
};
__thread OpenCalls t_open_calls = {0, 0};

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
  if (!profiler_.load(cupti_)) {
    give_up(std::string("CUPTI of CUDA 12.6 or later is needed, ") + cupti_.path + " is older");
    return false;
  }
  auto starting = cupti::parameters<cupti::ProfilerInitialize>();
  auto naming = cupti::parameters<cupti::ChipName>();
  naming.device = request.kernels[0].device;
  if (!check(profiler_.initialize(&starting), "the profiler cannot be used") ||
      !check(profiler_.chip_name(&naming), "the GPU is not known"))
    return false;
  profiler_was_used_ = true;
  chip_ = naming.name;
  known_ = known_metrics(profiler_, chip_, request.metrics);
  groups_.clear();
  if (!use_metrics(known_)) return false;
  wanted_.clear();
  rounds_ = round_ = 0;
  for (WantedKernel& kernel : request.kernels) {
    rounds_ = std::max(rounds_, kernel.instances);
    wanted_.push_back({std::move(kernel)});
  }
  failures_ = 0;
  phase_ = Phase::kCounting;
  lines_wanted_ = request.lines;
  in_calls_ = 0;
  ++period_;
  contexts_are_of_before_ = enabled_;
  memory_was_asked_ = false;
  last_count_ns_ = monotonic_ns();
  done_ = rounds_ == 0;
  ends_ = false;
  return true;
}

bool CounterRecorder::use_metrics(const std::vector<std::string>& metrics) {
  config_ = std::make_unique<CounterConfig>(profiler_);
  if (!check(config_->make(chip_, metrics), "no metric is known of this GPU")) return false;
  metric_names_.clear();
  for (size_t i = 0; i < config_->count(); ++i) metric_names_.push_back(output_.id(config_->metrics()[i]));
  return true;
}

// What kernels run several times for has to be saved. Into the host's memory, where the device's is too full, CUPTI takes half a
// minute for 60 GB.
void CounterRecorder::divide_if_memory_is_short() {
  if (memory_was_asked_) return;
  memory_was_asked_ = true;
  size_t free = 0, total = 0;
  const auto ask = driver_state().memory;
  if (config_->passes() <= 1 || !ask || ask(&free, &total) != 0 || free - free / 8 > total - free) return;
  groups_ = one_pass_groups(profiler_, chip_, known_);
  rounds_ = static_cast<uint32_t>(groups_.size());
  use_metrics(groups_[0]);
}

// The contexts are disabled by the next launch of a thread of the program, as everything that CUPTI does with them; where none
// comes soon they stay as they are, which costs nothing.
void CounterRecorder::end() {
  ends_ = done_ = true;
  const timespec period = {0, kEndPeriod};
  for (int64_t waited = 0; owner_ != 0 && waited < kEndPatience; waited += kEndPeriod) {
    nanosleep(&period, nullptr);
  }
  if (owner_ == 0 && phase_ == Phase::kSampling) phase_ = Phase::kSampled;
  write_samples();
  for (int64_t waited = 0; enabled_ && waited < kLastPatience; waited += kEndPeriod)
    nanosleep(&period, nullptr);
}

void CounterRecorder::disable_contexts() {
  for (Context& context : contexts_) {
    auto disabling = cupti::parameters<cupti::RangeProfiler>();
    disabling.profiler = context.profiler;
    if (context.profiler) profiler_.disable(&disabling);
  }
  contexts_.clear();
  sampler_.disable();
  enabled_ = false;
}

void CounterRecorder::in_child() {
  ends_ = done_ = true;
  captures_ = in_calls_ = 0;
  owner_ = 0;
  ++period_;
}

void CounterRecorder::on_capture(bool begins, const cupti::CallData& call) {
  if (call.site != cupti::Site::kExit) return;
  const bool failed = call.returned && *static_cast<const int*>(call.returned) != 0;
  if (begins && !failed) ++captures_;
  if (!begins && captures_.fetch_sub(1) <= 0) ++captures_;  // it began before we were there
}

void CounterRecorder::on_call(cupti::Domain domain, uint32_t id, const cupti::CallData& call) {
  const bool begins = call.site == cupti::Site::kEnter;
  if (begins) pass_gate();
  try {
    if (domain == cupti::Domain::kDriver) begins ? launch_begins(id, call) : launch_ends(call);
  } catch (...) {
    ends_ = done_ = true;
  }
  if (!begins) leave_gate();
}

// Calls of the runtime call the driver inside: the outermost one counts.
void CounterRecorder::pass_gate() {
  OpenCalls& open = t_open_calls;
  if (open.period != period_) open = {period_, 0};
  if (open.depth++ > 0) return;
  const auto self = static_cast<uint32_t>(current_tid());
  const int64_t until = monotonic_ns() + kGatePatience;
  while (true) {
    ++in_calls_;
    const uint32_t owner = owner_;
    const int64_t left = until - monotonic_ns();
    if (owner == 0 || owner == self || left <= 0) return;
    --in_calls_;
    futex_wait(owner_, owner, left, false);
  }
}

// Who was in a call when counting began has not passed the gate.
void CounterRecorder::leave_gate() {
  OpenCalls& open = t_open_calls;
  if (open.period == period_ && open.depth > 0 && --open.depth == 0) --in_calls_;
}

// Whether no other thread is in a call that it began before the gate was shut; waits for them a little.
bool CounterRecorder::alone() const {
  const timespec period = {0, kAlonePeriod};
  for (int64_t waited = 0; in_calls_ > 1; waited += kAlonePeriod) {
    if (waited >= kAlonePatience) return false;
    nanosleep(&period, nullptr);
  }
  return true;
}

void CounterRecorder::launch_begins(uint32_t id, const cupti::CallData& call) {
  const auto self = static_cast<uint32_t>(current_tid());
  Launched launched;
  if (owner_ == self || (ends_ && !enabled_) || !Launched::read(id, call, launched)) return;
  if (!ends_ && (done() || !wanted(launched))) return;
  uint32_t none = 0;
  if (!owner_.compare_exchange_strong(none, self)) return;
  if (ends_ || !alone()) {
    if (ends_) disable_contexts();
    return let_go();
  }
  kernel_ = wanted(launched);
  if (!kernel_ || !can_be_counted(launched)) return let_go();
  divide_if_memory_is_short();
  if (kernel_->in_round && phase_ == Phase::kCounting) next_round();
  if (done() || !start(launched.context)) let_go();
}

// With the same name and geometry, not yet counted in this round. What other threads count meanwhile is looked at again.
CounterRecorder::Wanted* CounterRecorder::wanted(const Launched& launched) {
  for (Wanted& each : wanted_) {
    const WantedKernel& kernel = each.kernel;
    if (std::equal(kernel.grid, kernel.grid + 3, launched.grid) &&
        std::equal(kernel.block, kernel.block + 3, launched.block) && kernel.symbol == launched.symbol) {
      if (phase_ != Phase::kCounting) return sampled_enough(each) ? nullptr : &each;
      return each.in_round && !round_is_over() ? nullptr : &each;
    }
  }
  return nullptr;
}

// Rounds take kernels in turn, so that each has been counted once before one is counted twice. Some may not come again.
bool CounterRecorder::round_is_over() const {
  return std::all_of(wanted_.begin(), wanted_.end(), [](const Wanted& each) { return each.in_round; }) ||
         monotonic_ns() - last_count_ns_ > kRoundPatience;
}

void CounterRecorder::next_round() {
  if (++round_ >= rounds_) return all_are_counted();
  for (Wanted& each : wanted_) each.in_round = false;
  if (groups_.empty()) return;
  disable_contexts();  // the metrics of a context stay as they are while it is enabled
  use_metrics(groups_[round_]);
}

// The profiler is left first: CUPTI cannot count and sample at once.
void CounterRecorder::all_are_counted() {
  if (!lines_wanted_ || !sampler_.begin()) {
    done_ = true;
    return;
  }
  disable_contexts();
  sampling_until_ns_ = monotonic_ns() + kSamplingPatience;
  phase_ = Phase::kSampling;
}

bool CounterRecorder::sampled_enough(const Wanted& wanted) const {
  return phase_ == Phase::kSampled || wanted.samples >= kEnoughSamples || wanted.sampled >= kMostSampled;
}

// Where launches come no more, nobody is there to say that it is enough.
void CounterRecorder::write_samples() {
  if (phase_ == Phase::kSampling && monotonic_ns() > sampling_until_ns_) {
    uint32_t none = 0;
    if (!owner_.compare_exchange_strong(none, static_cast<uint32_t>(current_tid()))) return;
    phase_ = Phase::kSampled;
    let_go();
  }
  if (phase_ != Phase::kSampled) return;
  try {
    for (size_t i = 0; i < wanted_.size(); ++i) sampler_.write(i, wanted_[i].kernel);
  } catch (...) {  // memory is short
  }
  done_ = true;
  phase_ = Phase::kCounting;
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

CounterRecorder::Context* CounterRecorder::context_of(void* context) {
  for (Context& known : contexts_) {
    if (known.context == context) return known.profiler ? &known : nullptr;
  }
  Context& made = contexts_.emplace_back();
  enabled_ = true;
  made.context = context;
  auto enabling = cupti::parameters<cupti::RangeEnable>();
  enabling.context = context;
  if (!check(profiler_.enable(&enabling), "the profiler cannot be enabled")) return nullptr;
  made.profiler = enabling.profiler;
  return make_images(made) ? &made : nullptr;
}

bool CounterRecorder::make_images(Context& context) {
  auto sizing = cupti::parameters<cupti::RangeImageSize>();
  sizing.profiler = context.profiler;
  sizing.metrics = config_->metrics();
  sizing.count = config_->count();
  sizing.ranges = sizing.nodes = 1;
  if (!check(profiler_.image_size(&sizing), "no room for counters")) return false;
  context.empty_image.assign(sizing.size, 0);
  auto filling = cupti::parameters<cupti::RangeImageInitialize>();
  filling.profiler = context.profiler;
  filling.size = context.empty_image.size();
  filling.image = context.empty_image.data();
  context.image = context.empty_image;
  return check(profiler_.image_initialize(&filling), "no room for counters");
}

bool CounterRecorder::start(void* context) {
  if (phase_ == Phase::kSampling) {
    enabled_ = true;
    const bool started = sampler_.start(context, kernel_->ns);
    if (!started) phase_ = Phase::kSampled;
    return started;
  }
  if (std::exchange(contexts_are_of_before_, false)) disable_contexts();
  at_ = context_of(context);
  if (!at_) return false;
  std::copy(at_->empty_image.begin(), at_->empty_image.end(), at_->image.begin());
  auto config = cupti::parameters<cupti::RangeConfig>();
  config.profiler = at_->profiler;
  config.config = config_->image().data();
  config.config_size = config_->image().size();
  config.image = at_->image.data();
  config.size = at_->image.size();
  config.range = cupti::kAutoRange;
  config.replay = cupti::kKernelReplay;
  config.ranges_per_pass = 1;
  config.nesting_levels = config.least_level = config.level = 1;
  if (!check(profiler_.set_config(&config), "the counters cannot be chosen")) return false;
  auto starting = cupti::parameters<cupti::RangeProfiler>();
  starting.profiler = at_->profiler;
  return check(profiler_.start(&starting), "counting cannot be started");
}

void CounterRecorder::launch_ends(const cupti::CallData& call) {
  if (owner_ != static_cast<uint32_t>(current_tid())) return;
  if (phase_ != Phase::kCounting) return sample_ends();
  const bool launched = !call.returned || *static_cast<const int*>(call.returned) == 0;
  auto stopping = cupti::parameters<cupti::RangeStop>();
  stopping.profiler = at_->profiler;
  const bool stopped = check(profiler_.stop(&stopping), "counting cannot be stopped");
  if (stopped && launched && count_was_good()) {
    write(*kernel_);
  } else if (!done() && ++failures_ == kMostFailures) {
    give_up("kernels were launched, and CUPTI counted none, or more than one");
  }
  if (done()) disable_contexts();
  let_go();
}

void CounterRecorder::sample_ends() {
  uint64_t samples = 0;
  const bool sampled = sampler_.stop(static_cast<size_t>(kernel_ - wanted_.data()), samples);
  ++kernel_->sampled;
  kernel_->samples += samples;
  const bool enough = std::all_of(wanted_.begin(), wanted_.end(),
                                  [this](const Wanted& each) { return sampled_enough(each); });
  if (!sampled || enough || monotonic_ns() > sampling_until_ns_) {
    disable_contexts();
    phase_ = Phase::kSampled;
  }
  let_go();
}

bool CounterRecorder::count_was_good() {
  auto decoding = cupti::parameters<cupti::RangeDecode>();
  decoding.profiler = at_->profiler;
  if (!check(profiler_.decode(&decoding), "what was counted cannot be read")) return false;
  auto asking = cupti::parameters<cupti::RangeImageInfo>();
  asking.image = at_->image.data();
  asking.size = at_->image.size();
  return profiler_.image_info(&asking) == Result::kSuccess && asking.ranges == 1 &&
         check(config_->evaluate(at_->image, values_), "what was counted cannot be evaluated");
}

void CounterRecorder::write(Wanted& wanted) {
  const WantedKernel& kernel = wanted.kernel;
  segments::Counters record;
  record.device = kernel.device;
  record.name = output_.id(kernel.symbol);
  std::copy(kernel.grid, kernel.grid + 3, record.grid.begin());
  std::copy(kernel.block, kernel.block + 3, record.block.begin());
  record.instance = wanted.counted++;
  record.passes = static_cast<uint32_t>(config_->passes());
  record.values = static_cast<uint32_t>(values_.size());
  const auto whole =
      segments::with_head(record, static_cast<uint32_t>(values_.size() * sizeof(segments::CounterValue)));
  record_.clear();
  record_.append(&whole, sizeof(whole));
  for (size_t i = 0; i < values_.size(); ++i) {
    const segments::CounterValue value = {metric_names_[i], 0, values_[i]};
    if (std::strcmp(config_->metrics()[i], kDuration) == 0) wanted.ns = values_[i];
    record_.append(&value, sizeof(value));
  }
  output_.add_all(record_, 1);
  wanted.in_round = true;
  last_count_ns_ = monotonic_ns();
  if (round_ + 1 == rounds_ && round_is_over()) all_are_counted();
}

void CounterRecorder::let_go() {
  at_ = nullptr;
  kernel_ = nullptr;
  owner_ = 0;
  futex_wake_all(owner_, false);
}

bool CounterRecorder::check(Result result, const char* what) {
  if (result == Result::kSuccess) return true;
  give_up(std::string(what) + ": " + cupti_.reason(result));
  return false;
}

void CounterRecorder::give_up(const std::string& why) {
  ends_ = done_ = true;
  output_.note("no hardware counters: " + why);
}

}  // namespace hone::observe::inject
