#include "analyze/device/busy/checks.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analyze/device/busy/launch_walk.h"

namespace hone::analyze::device {
namespace {

constexpr double kAnswerBytes = 8;

using trace::OperatorKind;

// What isnan, isinf, isfinite, isclose and comparisons run; abs only before one of the others.
bool asks(OperatorKind what) {
  return what == OperatorKind::kComparison || what == OperatorKind::kLogical || what == OperatorKind::kAbs;
}

class CheckFinder : public LaunchWalk {
 public:
  explicit CheckFinder(const View& view) : LaunchWalk(view) {}

 private:
  bool is_answer(uint32_t work) const {
    const trace::Copy* copy = trace::find_detail(view_.trace.copies, view_.work(work).span);
    return view_.work(work).kind == WorkKind::kCopyToHost && copy != nullptr && copy->bytes <= kAnswerBytes;
  }

  // Whether it multiplies two truth values: their product is their conjunction.
  bool joins(uint32_t work) const {
    const Inputs& inputs = view_.inputs_of(work);
    return view_.operator_of(work).what == OperatorKind::kMul && is_tensor(inputs, 0) &&
           inputs[0].dtype == DType::kBool;
  }

  void look_at(uint32_t answer) override {
    if (is_answer(answer)) claim_before(answer);
  }

  void claim_before(uint32_t answer) {
    std::vector<ClaimedWork> claimed;
    double elements = 0;
    for (std::size_t before = place(); before > 0; --before) {
      const uint32_t work = launched(before - 1);
      if (view_.work(work).kind == WorkKind::kMemset) continue;  // clears what the reduction adds to
      if (!view_.has_operator(work) || view_.work(work).step != view_.work(answer).step) break;
      const OperatorUse& use = view_.use_of(work);
      const OperatorKind what = view_.operator_of(work).what;
      const bool sums =
          what == OperatorKind::kAllOrAny && (claimed.empty() || use.elements == elements || elements == 0);
      if (!sums && !(!claimed.empty() && use.elements == elements && (asks(what) || joins(work)))) break;
      if (sums) elements = std::max(elements, use.elements);
      claimed.push_back(along(work));
    }
    if (claimed.empty()) return;
    claimed.push_back(along(answer));
    claim(Rule::kHostChecks, std::move(claimed));
  }
};

}  // namespace

Claims find_checks(const View& view) { return CheckFinder(view).run(); }

}  // namespace hone::analyze::device
