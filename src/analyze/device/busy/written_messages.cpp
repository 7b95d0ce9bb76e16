#include "analyze/device/busy/written_messages.h"

#include <utility>
#include <vector>

#include "analyze/device/busy/busy_rules.h"
#include "analyze/device/busy/launch_walk.h"

namespace hone::analyze::device {
namespace {

constexpr double kFewestElements = 65'536;  // that are worth a sparse product
constexpr std::size_t kIndex = 2,
                      kSource = 3;  // arguments of x.index_add_(axis, index, source) and scatter_add_

class MessageFinder : public LaunchWalk {
 public:
  explicit MessageFinder(const View& view) : LaunchWalk(view) {}

 private:
  bool moves_rows(uint32_t work) const { return view_.kernel(work).work == trace::KernelWork::kGather; }

  // Elements that it looks up; 0: it does something else.
  double looked_up(uint32_t work) const {
    const trace::Operator& op = view_.operator_of(work);
    const auto width = static_cast<double>(dtype_size(op.dtype));
    const bool looks_up = moves_rows(work) && !op.in_place && op.what != trace::OperatorKind::kCat;
    return looks_up && width > 0 ? op.bytes_written / width : 0;
  }

  // Elements that it adds to the fewer of its first argument; 0: it does something else.
  double added_up(uint32_t work) const {
    const Inputs& inputs = view_.inputs_of(work);
    if (!moves_rows(work) || !view_.operator_of(work).in_place || view_.operator_of(work).flops <= 0)
      return 0;
    if (!is_tensor(inputs, 0) || !is_tensor(inputs, kIndex) || !is_tensor(inputs, kSource)) return 0;
    const auto from = static_cast<double>(inputs[kSource].elements());
    return from > static_cast<double>(inputs[0].elements()) ? from : 0;
  }

  bool fills(uint32_t work) const {
    return view_.work(work).kind == WorkKind::kMemset ||
           (view_.has_operator(work) && view_.operator_of(work).what == trace::OperatorKind::kFill);
  }

  void begin_step(int32_t /*step*/) override { forget(); }

  void look_at(uint32_t work) override {
    if (fills(work)) return;  // what is added to
    if (!view_.has_operator(work)) return forget();
    const OperatorUse& use = view_.use_of(work);
    if (!rows_.empty() && added_up(work) == elements_) {
      claim(Rule::kWrittenMessages, std::exchange(rows_, {}));
    } else if (!rows_.empty() && view_.operator_of(work).op_class == trace::OperatorClass::kPointwise &&
               use.elements == elements_) {
      rows_.push_back(removed(work));
    } else if (const double elements = looked_up(work); elements >= kFewestElements) {
      rows_ = {removed(work)};
      elements_ = elements;
    } else if (use.elements * kRowLength > elements_) {  // smaller ones are of indices
      forget();
    }
  }

  void forget() {
    rows_.clear();
    elements_ = 0;
  }

  std::vector<ClaimedWork> rows_;  // works since a lookup that only wrote what it looked up
  double elements_ = 0;            // of each
};

}  // namespace

Claims find_written_messages(const View& view) { return MessageFinder(view).run(); }

}  // namespace hone::analyze::device
