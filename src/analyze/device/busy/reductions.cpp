#include "analyze/device/busy/reductions.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "analyze/device/busy/launch_walk.h"

namespace hone::analyze::device {
namespace {

constexpr double kSameElements = 0.02;  // buckets are padded

// What one backward pass reduces.
struct Pass {
  std::vector<ClaimedWork> works;
  std::vector<double> sizes;
  double elements = 0;
};

// The parameters that one call of the optimizer goes over; 0: it takes them one by one, or there is none.
double updated_elements(const View& view) {
  double most = 0;
  for (std::size_t op = 0; op < view.uses.rows.size(); ++op) {
    const Inputs& inputs = view.uses.rows[op].inputs;
    if (view.trace.operators[op].phase != trace::Phase::kOptimizer || inputs.empty()) continue;
    if (inputs.front().kind == trace::CallInput::Kind::kList)
      most = std::max(most, static_cast<double>(inputs.front().elements()));
  }
  return most;
}

// A reduction over ranks; null: another work.
const trace::Collective* reduction(const View& view, uint32_t work) {
  const trace::Collective* detail = view.collective(work);
  return detail != nullptr && trace::adds_up(detail->kind) ? detail : nullptr;
}

double elements_of(const trace::Collective& detail) {
  return std::max(detail.elements_in, detail.elements_out);
}

class WideSumFinder : public LaunchWalk {
 public:
  explicit WideSumFinder(const View& view) : LaunchWalk(view) {}

 private:
  // A conversion of type over as many elements, between f32 and 16 bits.
  bool converts(uint32_t work) const {
    if (work == kNothing || !view_.has_operator(work)) return false;
    const OperatorUse& use = view_.use_of(work);
    return is_cast(view_.operator_of(work), use.inputs) && use.elements == elements_;
  }

  void look_at(uint32_t work) override {
    if (sum_ != kNothing) close(work);
    if (const trace::Collective* detail = reduction(view_, work);
        detail != nullptr && detail->dtype == DType::kF32) {
      sum_ = work;
      elements_ = elements_of(*detail);
      converted_ = before_;
    }
    before_ = work;
  }

  void end() override {
    if (sum_ != kNothing) close(kNothing);
  }

  void close(uint32_t after) {
    std::vector<ClaimedWork> works;
    for (const uint32_t work : {converted_, after})
      if (converts(work)) works.push_back(along(work));
    if (!works.empty()) works.push_back(along(sum_, view_.ns(sum_) / 2));
    claim(Rule::kWideSums, std::move(works));
    sum_ = kNothing;
  }

  uint32_t before_ = kNothing;     // what was launched last
  uint32_t sum_ = kNothing;        // that, if it is a sum in f32
  uint32_t converted_ = kNothing;  // what was launched before the sum
  double elements_ = 0;            // of the sum
};

class RepeatedReductionFinder : public LaunchWalk {
 public:
  explicit RepeatedReductionFinder(const View& view) : LaunchWalk(view), updated_(updated_elements(view)) {}

 private:
  bool is_forward(uint32_t work) const {
    return view_.has_operator(work) && view_.operator_of(work).phase == trace::Phase::kForward;
  }

  void begin_step(int32_t /*step*/) override {
    end();
    passes_.clear();
    forward_ = true;
  }

  void look_at(uint32_t work) override {
    if (view_.work(work).kind != WorkKind::kCollective) {
      forward_ = forward_ || is_forward(work);
      before_ = work;
      return;
    }
    const trace::Collective* detail = reduction(view_, work);
    if (detail == nullptr) return;
    if (forward_) passes_.emplace_back();
    forward_ = false;
    const double elements = elements_of(*detail);
    Pass& pass = passes_.back();
    pass.works.push_back(along(work));
    pass.sizes.push_back(elements);
    pass.elements += elements;
    if (before_ != kNothing && view_.has_operator(before_) && view_.use_of(before_).elements == elements)
      pass.works.push_back(along(before_));  // the division by the number of ranks
    before_ = kNothing;
  }

  void end() override {
    if (updated_ <= 0 || passes_.size() < 2) return;
    for (const Pass& pass : passes_)
      if (pass.sizes != passes_.front().sizes ||
          std::abs(pass.elements - updated_) > kSameElements * updated_)
        return;
    passes_.pop_back();
    for (Pass& pass : passes_) claim(Rule::kRepeatedReductions, std::move(pass.works));
  }

  double updated_;
  std::vector<Pass> passes_;  // of the step
  bool forward_ = true;
  uint32_t before_ = kNothing;  // what was launched last
};

}  // namespace

Claims find_wide_sums(const View& view) { return WideSumFinder(view).run(); }

Claims find_repeated_reductions(const View& view) { return RepeatedReductionFinder(view).run(); }

}  // namespace hone::analyze::device
