#include "analyze/device/busy/widened_weights.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "analyze/device/busy/busy_rules.h"
#include "analyze/device/busy/launch_walk.h"

namespace hone::analyze::device {
namespace {

using trace::CallInput;
using trace::OperatorKind;

// Numbers in 8 bits: masks are none.
bool is_narrow(DType dtype) {
  return dtype_size(dtype) == 1 && dtype != DType::kBool && dtype != DType::kF8E8M0;
}

bool is_wide(DType dtype) { return dtype == DType::kBF16 || dtype == DType::kF16 || dtype == DType::kF32; }

// A matrix of bytes, or one for each product of a batch.
bool is_bytes(const CallInput& input) {
  return is_narrow(input.dtype) && (input.dims.size() == 2 || input.dims.size() == 3) && input.elements() > 1;
}

bool scales_or_shifts(OperatorKind what) {
  return what == OperatorKind::kMul || what == OperatorKind::kDiv || what == OperatorKind::kSub ||
         what == OperatorKind::kAdd;
}

// Where a product has its weight and what passes through it: the second factor is the weight, as in
// F.linear; the first may as well be bytes of a picture, and is that where both are as large. The weight of
// a product with a vector is the matrix. In a backward pass the second factor may be activations that were kept.
struct Factors {
  std::size_t weight = 0, passing = 0;
};

std::optional<Factors> factors_of(OperatorKind what) {
  switch (what) {
    case OperatorKind::kMm:
    case OperatorKind::kBmm:
      return Factors{1, 0};
    case OperatorKind::kAddmm:
    case OperatorKind::kBaddbmm:
      return Factors{2, 1};
    case OperatorKind::kMv:
      return Factors{0, 1};
    case OperatorKind::kAddmv:
      return Factors{1, 2};
    default:
      return std::nullopt;
  }
}

// A weight on its way from bytes into a product.
struct Widening {
  std::vector<int64_t> dims;  // of the bytes
  double elements = 0;        // 0: there is none
  std::vector<uint32_t> works;

  bool is_of_size(const CallInput& input) const { return static_cast<double>(input.elements()) == elements; }
  // Read as it lies, or transposed. Groups of a row that share a scale make a row again.
  bool is(const CallInput& operand) const {
    const std::size_t rank = operand.dims.size();
    if (rank < 2 || rank > dims.size() || !is_of_size(operand)) return false;
    const int64_t a = operand.dims[rank - 2], b = operand.dims[rank - 1];
    if (rank == 2) return a == dims.front() || b == dims.front() || a == dims.back() || b == dims.back();
    return operand.dims[0] == dims[0] && ((a == dims[1] && b == dims[2]) || (a == dims[2] && b == dims[1]));
  }
};

class WidenedWeightFinder : public LaunchWalk {
 public:
  explicit WidenedWeightFinder(const View& view) : LaunchWalk(view) {}

 private:
  void begin_step(int32_t /*step*/) override { widening_ = {}; }

  void look_at(uint32_t work) override {
    if (!view_.has_operator(work) || view_.work(work).kind == WorkKind::kMemset) return;
    if (view_.operator_of(work).op_class == trace::OperatorClass::kMatrix)
      look_at_product(work);
    else if (!begins(work))
      go_on(work);
  }

  // A conversion, or bytes times scales in a wider type, which converts them on the way.
  bool begins(uint32_t work) {
    const trace::Operator& op = view_.operator_of(work);
    const Inputs& inputs = view_.inputs_of(work);
    if (!is_tensor(inputs, 0) || !is_tensor(inputs, 1)) return false;
    const bool converts = op.what == OperatorKind::kCopy && is_wide(inputs[0].dtype);
    const bool scales = scales_or_shifts(op.what) && !op.in_place && is_wide(inputs[1].dtype) &&
                        inputs[1].elements() < inputs[0].elements();
    const CallInput& bytes = inputs[converts ? 1 : 0];
    if ((!converts && !scales) || !is_bytes(bytes) || (converts && inputs[0].dims != bytes.dims))
      return false;
    if (!is_same_call(work)) widening_ = {bytes.dims, static_cast<double>(bytes.elements()), {}};
    widening_.works.push_back(work);
    return true;
  }

  // Whether it is one more kernel of the operator that came last.
  bool is_same_call(uint32_t work) const {
    return !widening_.works.empty() &&
           view_.work(widening_.works.back()).execution == view_.work(work).execution;
  }

  // What is widened may be scaled, shifted or converted once more: everything else over as many elements
  // makes it something else.
  void go_on(uint32_t work) {
    const OperatorUse& use = view_.use_of(work);
    if (widening_.elements == 0 || use.elements != widening_.elements) return;
    const OperatorKind what = view_.operator_of(work).what;
    const auto large = std::count_if(use.inputs.begin(), use.inputs.end(), [&](const CallInput& input) {
      return input.kind == CallInput::Kind::kTensor && widening_.is_of_size(input);
    });
    if ((large == 1 && scales_or_shifts(what)) || (large == 2 && what == OperatorKind::kCopy) ||
        is_same_call(work))
      widening_.works.push_back(work);
    else
      widening_ = {};
  }

  void look_at_product(uint32_t work) {
    const uint32_t execution = view_.work(work).execution;
    if (execution == product_ && execution != kNothing) return claim_product(work);
    if (widening_.elements == 0) return;
    const Inputs& inputs = view_.inputs_of(work);
    const std::optional<Factors> factors = factors_of(view_.operator_of(work).what);
    const bool reads = std::any_of(inputs.begin(), inputs.end(), [&](const CallInput& input) {
      return input.kind == CallInput::Kind::kTensor && widening_.is(input);
    });
    if (!reads) return;
    const Widening widening = std::exchange(widening_, {});
    if (view_.operator_of(work).phase == trace::Phase::kBackward) return;
    if (!factors || !is_tensor(inputs, factors->weight) || !is_tensor(inputs, factors->passing)) return;
    const CallInput &weight = inputs[factors->weight], &passing = inputs[factors->passing];
    if (!widening.is(weight) || !is_wide(weight.dtype) || passing.elements() >= weight.elements()) return;
    claim_widening(work, widening, weight);
  }

  void claim_widening(uint32_t product, const Widening& widening, const CallInput& weight) {
    const trace::Operator& op = view_.operator_of(product);
    const double arithmetic = ns_at(op.fewest_flops(), view_.roofs.matrix_roof(view_.use_of(product).math));
    if (view_.roofs.dram <= 0 || arithmetic > ns_at(weight.bytes(), view_.roofs.dram)) return;
    const double narrow_bytes = std::max(op.bytes() - weight.bytes(), 0.0) + widening.elements;
    std::vector<ClaimedWork> works;
    for (const uint32_t work : widening.works) works.push_back(removed(work));
    claim(Rule::kWidenedWeights, std::move(works));
    product_ = view_.work(product).execution;
    product_floor_ = std::max(arithmetic, ns_at(narrow_bytes, view_.roofs.dram));
    claim_product(product);
  }

  // Every kernel of the product has its part of what the product takes over bytes.
  void claim_product(uint32_t work) {
    const double now = view_.ns(work);
    const double floor = product_floor_ * view_.part_of(work), target = floor / kGoodTraffic;
    if (target < now) claim(Rule::kWidenedWeights, {{work, target, floor / now}});
  }

  Widening widening_;
  uint32_t product_ = kNothing;  // the execution of the last product that was claimed
  double product_floor_ = 0;     // of that, over bytes
};

}  // namespace

Claims find_widened_weights(const View& view) { return WidenedWeightFinder(view).run(); }

}  // namespace hone::analyze::device
