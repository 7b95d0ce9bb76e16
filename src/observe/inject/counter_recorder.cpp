#include "observe/inject/counter_recorder.h"

#include <algorithm>
#include <cstring>
#include <ctime>

#include <dlfcn.h>

namespace hone::observe::inject {
namespace segments = trace::segments;
using cupti::Result;
namespace {

constexpr int kMostFailures = 5;     // counts that went wrong
constexpr int kMostDisturbed = 100;  // that other threads' launches came into
constexpr int64_t kEndPatience = 10'000'000'000, kEndPeriod = 1'000'000;  // ns

// What the driver itself is asked in the middle of a launch.
struct DriverState {
  int (*device_of_context)(int*) = nullptr;
  int (*is_capturing)(void* stream, int* status) = nullptr;

  DriverState() {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (!driver) return;
    device_of_context = reinterpret_cast<decltype(device_of_context)>(dlsym(driver, "cuCtxGetDevice"));
    is_capturing = reinterpret_cast<decltype(is_capturing)>(dlsym(driver, "cuStreamIsCapturing"));
  }
};
const DriverState& driver_state() {
  static const DriverState state;
  return state;
}

std::string reason(const Cupti& cupti, Result result) {
  if (result == Result::kNotPrivileged)
    return "this user may not read hardware counters: run as root, or have the driver loaded with "
           "NVreg_RestrictProfilingToAdminUsers=0 (https://developer.nvidia.com/ERR_NVGPUCTRPERM)";
  return std::string("CUPTI says ") + cupti.text(result);
}

}  // namespace

// A launch, as the call says it.
struct CounterRecorder::Launched {
  const char* symbol;
  const uint32_t* grid;
  const uint32_t* block;
  void* stream;
  void* context;

  // False: of a graph.
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
  left_ = 0;
  try {
    return prepare(request_path);
  } catch (...) {
    return false;
  }
}

bool CounterRecorder::prepare(const char* request_path) {
  request_ = {};
  if (!read_counter_request(request_path, request_) || request_.kernels.empty()) return false;
  if (!profiler_.load(cupti_)) {
    give_up(std::string("CUPTI of CUDA 12.6 or later is needed, ") + cupti_.path + " is older");
    return false;
  }
  auto starting = cupti::parameters<cupti::ProfilerInitialize>();
  auto naming = cupti::parameters<cupti::ChipName>();
  naming.device = request_.kernels[0].device;
  config_ = std::make_unique<CounterConfig>(profiler_);
  if (!check(profiler_.initialize(&starting), "the profiler cannot be used") ||
      !check(profiler_.chip_name(&naming), "the GPU is not known") ||
      !check(config_->make(naming.name, request_.metrics), "no metric is known of this GPU"))
    return false;
  metric_names_.clear();
  for (size_t i = 0; i < config_->count(); ++i) metric_names_.push_back(output_.id(config_->metrics()[i]));
  counted_.assign(request_.kernels.size(), 0);
  uint32_t left = 0;
  for (const WantedKernel& kernel : request_.kernels) left += kernel.instances;
  failures_ = disturbances_ = 0;
  ends_ = false;
  left_ = left;
  return true;
}

void CounterRecorder::end() {
  ends_ = true;
  const timespec period = {0, kEndPeriod};
  for (int64_t waited = 0; owner_ != 0 && waited < kEndPatience; waited += kEndPeriod)
    nanosleep(&period, nullptr);
  int32_t none = 0;
  if (!owner_.compare_exchange_strong(none, -1)) return;  // CUPTI still replays: it keeps what it has
  for (Context& context : contexts_) {
    auto disabling = cupti::parameters<cupti::RangeProfiler>();
    disabling.profiler = context.profiler;
    if (context.profiler) profiler_.disable(&disabling);
  }
  contexts_.clear();
  left_ = 0;
  owner_ = 0;
}

void CounterRecorder::in_child() {
  ends_ = true;
  left_ = 0;
  captures_ = 0;
}

void CounterRecorder::on_capture(bool begins, const cupti::CallData& call) {
  if (call.site != cupti::Site::kExit) return;
  const bool failed = call.returned && *static_cast<const int*>(call.returned) != 0;
  if (begins && !failed) ++captures_;
  if (!begins && captures_.fetch_sub(1) <= 0) ++captures_;  // it began before we were there
}

void CounterRecorder::on_launch(uint32_t id, const cupti::CallData& call) {
  try {
    call.site == cupti::Site::kEnter ? launch_begins(id, call) : launch_ends(call);
  } catch (...) {
    ends_ = true;
    left_ = 0;
  }
}

void CounterRecorder::launch_begins(uint32_t id, const cupti::CallData& call) {
  if (owner_.load() != 0) {
    disturbed_ = true;
    return;
  }
  Launched launched;
  if (ends_ || done() || !Launched::read(id, call, launched)) return;
  if (!wanted(launched)) return;
  int32_t none = 0;
  if (!owner_.compare_exchange_strong(none, current_tid())) return;
  kernel_ = ends_ ? nullptr : wanted(launched);
  disturbed_ = false;
  if (!kernel_ || !can_be_counted(launched) || !start(launched.context)) let_go();
}

// With the same name and geometry, of which instances are left. What other threads count meanwhile is looked at again.
WantedKernel* CounterRecorder::wanted(const Launched& launched) {
  for (size_t i = 0; i < request_.kernels.size(); ++i) {
    WantedKernel& kernel = request_.kernels[i];
    if (std::equal(kernel.grid, kernel.grid + 3, launched.grid) &&
        std::equal(kernel.block, kernel.block + 3, launched.block) && counted_[i] < kernel.instances &&
        kernel.symbol == launched.symbol)
      return &kernel;
  }
  return nullptr;
}

bool CounterRecorder::can_be_counted(const Launched& launched) {
  if (captures_ > 0) return false;
  const DriverState& driver = driver_state();
  int status = 0, device = 0;
  if (driver.is_capturing && (driver.is_capturing(launched.stream, &status) != 0 || status != 0))
    return false;
  return !driver.device_of_context || driver.device_of_context(&device) != 0 ||
         static_cast<uint32_t>(device) == kernel_->device;
}

CounterRecorder::Context* CounterRecorder::context_of(void* context) {
  for (Context& known : contexts_) {
    if (known.context == context) return known.profiler ? &known : nullptr;
  }
  Context& made = contexts_.emplace_back();
  made.context = context;
  auto enabling = cupti::parameters<cupti::RangeEnable>();
  enabling.context = context;
  if (!check(profiler_.enable(&enabling), "the profiler cannot be enabled")) return nullptr;
  made.profiler = enabling.profiler;
  return make_empty_image(made) ? &made : nullptr;
}

bool CounterRecorder::make_empty_image(Context& context) {
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
  return check(profiler_.image_initialize(&filling), "no room for counters");
}

bool CounterRecorder::start(void* context) {
  at_ = context_of(context);
  if (!at_) return false;
  image_ = at_->empty_image;
  auto config = cupti::parameters<cupti::RangeConfig>();
  config.profiler = at_->profiler;
  config.config = config_->image().data();
  config.config_size = config_->image().size();
  config.image = image_.data();
  config.size = image_.size();
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
  if (owner_.load() != current_tid()) return;
  const bool launched = !call.returned || *static_cast<const int*>(call.returned) == 0;
  auto stopping = cupti::parameters<cupti::RangeStop>();
  stopping.profiler = at_->profiler;
  const bool stopped = check(profiler_.stop(&stopping), "counting cannot be stopped");
  if (stopped && launched && count_was_good()) {
    write(*kernel_);
  } else {
    count_was_bad();
  }
  let_go();
}

bool CounterRecorder::count_was_good() {
  auto decoding = cupti::parameters<cupti::RangeDecode>();
  decoding.profiler = at_->profiler;
  if (!check(profiler_.decode(&decoding), "what was counted cannot be read")) return false;
  auto asking = cupti::parameters<cupti::RangeImageInfo>();
  asking.image = image_.data();
  asking.size = image_.size();
  return profiler_.image_info(&asking) == Result::kSuccess && asking.ranges == 1 && !disturbed_ &&
         check(config_->evaluate(image_, values_), "what was counted cannot be evaluated");
}

void CounterRecorder::count_was_bad() {
  if (done()) return;  // a note has said why
  if (disturbed_ ? ++disturbances_ < kMostDisturbed : ++failures_ < kMostFailures) return;
  give_up(disturbed_ ? "other threads launch kernels all the time, which would be counted as well"
                     : "kernels were launched, and CUPTI counted none");
}

void CounterRecorder::write(const WantedKernel& kernel) {
  uint32_t& counted = counted_[static_cast<size_t>(&kernel - request_.kernels.data())];
  segments::Counters record;
  record.device = kernel.device;
  record.name = output_.id(kernel.symbol);
  std::copy(kernel.grid, kernel.grid + 3, record.grid.begin());
  std::copy(kernel.block, kernel.block + 3, record.block.begin());
  record.instance = counted++;
  record.passes = static_cast<uint32_t>(config_->passes());
  record.values = static_cast<uint32_t>(values_.size());
  const auto whole =
      segments::with_head(record, static_cast<uint32_t>(values_.size() * sizeof(segments::CounterValue)));
  record_.clear();
  record_.append(&whole, sizeof(whole));
  for (size_t i = 0; i < values_.size(); ++i) {
    const segments::CounterValue value = {metric_names_[i], 0, values_[i]};
    record_.append(&value, sizeof(value));
  }
  output_.add_all(record_, 1);
  left_.fetch_sub(1, std::memory_order_acq_rel);
}

void CounterRecorder::let_go() {
  at_ = nullptr;
  kernel_ = nullptr;
  owner_ = 0;
}

bool CounterRecorder::check(Result result, const char* what) {
  if (result == Result::kSuccess) return true;
  give_up(std::string(what) + ": " + reason(cupti_, result));
  return false;
}

void CounterRecorder::give_up(const std::string& why) {
  ends_ = true;
  left_ = 0;
  output_.note("no hardware counters: " + why);
}

}  // namespace hone::observe::inject
