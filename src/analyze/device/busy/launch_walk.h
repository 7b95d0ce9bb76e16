// The one walk over works in the order of their launches, which rules about what follows what share.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "analyze/device/busy/view.h"

namespace hone::analyze::device {

class LaunchWalk {
 public:
  virtual ~LaunchWalk() = default;

  Claims run() {
    int32_t step = trace::kNoStep;
    begin_step(step);
    for (place_ = 0; place_ < view_.timeline.launched.size(); ++place_) {
      const uint32_t work = launched(place_);
      if (view_.work(work).step != step) begin_step(step = view_.work(work).step);
      look_at(work);
    }
    end();
    return std::move(claims_);
  }

 protected:
  explicit LaunchWalk(const View& view) : view_(view) {}

  // What was seen in the step before is over.
  virtual void begin_step(int32_t /*step*/) {}
  virtual void look_at(uint32_t work) = 0;
  virtual void end() {}

  uint32_t launched(std::size_t place) const { return view_.timeline.launched[place]; }
  std::size_t launches() const { return view_.timeline.launched.size(); }
  std::size_t place() const { return place_; }  // of the work that is looked at
  void claim(Rule rule, std::vector<ClaimedWork> works) {
    if (!works.empty()) claims_.push_back({rule, std::move(works)});
  }

  const View& view_;

 private:
  std::size_t place_ = 0;
  Claims claims_;
};

}  // namespace hone::analyze::device
