#include "observe/inject/counters/range_counter.h"

#include <algorithm>

namespace hone::observe::inject {
using cupti::Result;

bool RangeCounter::use(const char* chip, const std::vector<std::string>& metrics) {
  of_before_ = enabled_;
  config_ = std::make_unique<CounterConfig>(profiler_);
  return check(config_->make(chip, metrics), "no metric is known of this GPU");
}

void RangeCounter::disable() {
  for (Context& context : contexts_) {
    auto disabling = cupti::parameters<cupti::RangeProfiler>();
    disabling.profiler = context.profiler;
    if (context.profiler) profiler_.disable(&disabling);
  }
  contexts_.clear();
  enabled_ = of_before_ = false;
}

RangeCounter::Context* RangeCounter::context_of(void* context) {
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

bool RangeCounter::make_images(Context& context) {
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

// The metrics of a context stay as they are while it is enabled.
bool RangeCounter::start(void* context) {
  if (of_before_) disable();
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

bool RangeCounter::stop() {
  auto stopping = cupti::parameters<cupti::RangeStop>();
  stopping.profiler = at_->profiler;
  return check(profiler_.stop(&stopping), "counting cannot be stopped");
}

RangeCounter::Counted RangeCounter::read() {
  auto decoding = cupti::parameters<cupti::RangeDecode>();
  decoding.profiler = at_->profiler;
  if (!check(profiler_.decode(&decoding), "what was counted cannot be read")) return Counted::kFailed;
  auto asking = cupti::parameters<cupti::RangeImageInfo>();
  asking.image = at_->image.data();
  asking.size = at_->image.size();
  if (profiler_.image_info(&asking) != Result::kSuccess || asking.ranges != 1) return Counted::kNothing;
  return check(config_->evaluate(at_->image, values_), "what was counted cannot be evaluated")
             ? Counted::kOne
             : Counted::kFailed;
}

bool RangeCounter::check(Result result, const char* doing) {
  if (result == Result::kSuccess) return true;
  failure_ = {doing, result};
  return false;
}

}  // namespace hone::observe::inject
