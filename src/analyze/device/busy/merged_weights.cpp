#include "analyze/device/busy/merged_weights.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analyze/device/busy/busy_rules.h"
#include "analyze/device/busy/launch_walk.h"

namespace hone::analyze::device {
namespace {

using trace::OperatorClass;
using trace::OperatorKind;

// How much wider the sides of the matrix are than what the narrow ones share.
constexpr int64_t kNarrow = 16;

// A matrix on its way from two narrow ones into a product.
struct Merging {
  int64_t rows = 0, columns = 0, rank = 0;
  std::vector<uint32_t> works;  // the last is the sum, once there is one
  bool summed = false;

  double elements() const { return static_cast<double>(rows) * static_cast<double>(columns); }
  bool is(const trace::CallInput& input) const {
    return input.dims.size() == 2 && ((input.dims[0] == rows && input.dims[1] == columns) ||
                                      (input.dims[0] == columns && input.dims[1] == rows));
  }
};

// Where a product has its two factors: mm(a, b), addmm(c, a, b).
std::size_t first_factor(const trace::Operator& op) { return op.what == OperatorKind::kAddmm ? 1 : 0; }

bool has_factors(const Inputs& inputs, std::size_t first) {
  return is_tensor(inputs, first) && is_tensor(inputs, first + 1) && inputs[first].dims.size() == 2 &&
         inputs[first + 1].dims.size() == 2 && inputs[first].elements() > 0;
}

class MergedWeightFinder : public LaunchWalk {
 public:
  explicit MergedWeightFinder(const View& view) : LaunchWalk(view) {}

 private:
  void begin_step(int32_t /*step*/) override { merging_ = {}; }

  void look_at(uint32_t work) override {
    if (!view_.has_operator(work) || view_.work(work).kind == WorkKind::kMemset) return;
    if (view_.operator_of(work).phase == trace::Phase::kBackward) merging_ = {};
    if (view_.operator_of(work).op_class == OperatorClass::kMatrix)
      look_at_product(work);
    else if (merging_.rank > 0 && view_.use_of(work).elements == merging_.elements() && !continues(work))
      merging_ = {};
  }

  // One more kernel of an operator.
  bool same_call(uint32_t before, uint32_t work) const {
    return view_.work(before).op == view_.work(work).op && before + 1 == work;
  }

  void look_at_product(uint32_t work) {
    const trace::Operator& op = view_.operator_of(work);
    const Inputs& inputs = view_.inputs_of(work);
    const std::size_t first = first_factor(op);
    if (!has_factors(inputs, first)) return;
    if (merging_.summed && merging_.is(inputs[first + 1])) {
      if (!merging_.is(inputs[first])) return claim_merging(work, inputs[first]);
      merging_ = {};  // as many rows as columns: the sum may as well be one of activations
    }
    if (op.phase == trace::Phase::kBackward) return;
    const int64_t rows = inputs[first].dims[0], rank = inputs[first].dims[1],
                  columns = inputs[first + 1].dims[1];
    if (rank <= 0 || rank * kNarrow > std::min(rows, columns)) return;
    if (!merging_.summed && !merging_.works.empty() && same_call(merging_.works.back(), work))
      return merging_.works.push_back(work);
    merging_ = {rows, columns, rank, {work}, false};
    merging_.summed = first > 0 && merging_.is(inputs[0]);  // addmm(weight, a, b)
  }

  // A scaling, a conversion, or the sum with a tensor of that size; everything else makes it something else.
  bool continues(uint32_t work) {
    const trace::Operator& op = view_.operator_of(work);
    int large = 0;
    for (const trace::CallInput& input : view_.inputs_of(work)) {
      if (input.kind != trace::CallInput::Kind::kTensor || input.elements() == 1) continue;
      if (static_cast<double>(input.elements()) != merging_.elements()) return false;
      ++large;
    }
    const bool adds = op.what == OperatorKind::kAdd || op.what == OperatorKind::kSub ||
                      op.what == OperatorKind::kAddcmul || op.what == OperatorKind::kAddcdiv;
    const bool scales = op.what == OperatorKind::kMul || op.what == OperatorKind::kDiv;
    if (!(adds && large == 2) && !(scales && large == 1) && op.what != OperatorKind::kCopy) return false;
    merging_.works.push_back(work);
    merging_.summed = merging_.summed || adds;
    return true;
  }

  // What the activations times the narrow matrices take: the activations are read once more, and the result
  // is read, added to and written.
  double narrow_floor_ns(const Merging& merging, uint32_t product,
                         const trace::CallInput& activations) const {
    const auto rows = static_cast<double>(activations.dims[0]),
               width = static_cast<double>(activations.dims[1]);
    const double elements = rows * width + 2 * rows * merging.elements() / width;
    const double flops =
        2 * rows * static_cast<double>(merging.rank) * static_cast<double>(merging.rows + merging.columns);
    return std::max(
        ns_at(elements * static_cast<double>(dtype_size(view_.operator_of(product).dtype)), view_.roofs.dram),
        ns_at(flops, view_.roofs.matrix_roof(view_.use_of(product).math)));
  }

  void claim_merging(uint32_t product, const trace::CallInput& activations) {
    const Merging merging = std::exchange(merging_, {});
    double now = 0;
    for (const uint32_t work : merging.works) now += view_.ns(work);
    const double floor = narrow_floor_ns(merging, product, activations), target = floor / kGoodTraffic;
    if (floor <= 0 || target >= now) return;
    std::vector<ClaimedWork> works;
    for (const uint32_t work : merging.works) works.push_back(removed(work));
    works.back() = {merging.works.back(), target, floor / view_.ns(merging.works.back())};
    claim(Rule::kMergedWeights, std::move(works));
  }

  Merging merging_;
};

}  // namespace

Claims find_merged_weights(const View& view) { return MergedWeightFinder(view).run(); }

}  // namespace hone::analyze::device
