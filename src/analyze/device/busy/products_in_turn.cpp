#include "analyze/device/busy/products_in_turn.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analyze/device/busy/busy_rules.h"

namespace hone::analyze::device {
namespace {

class TurnFinder {
 public:
  explicit TurnFinder(const View& view) : view_(view) {}

  Claims run() const {
    Claims claims;
    for (const Loop& loop : view_.loops.loops)
      if (const std::vector<uint32_t> products = products_of(loop); !products.empty())
        if (Claim joined = join(products); !joined.works.empty()) claims.push_back(std::move(joined));
    return claims;
  }

 private:
  // Empty: the loop does something else, too.
  std::vector<uint32_t> products_of(const Loop& loop) const {
    std::vector<uint32_t> products;
    for (uint32_t k = 0; k < loop.works; ++k) {
      const uint32_t work = view_.timeline.launched[loop.first + k];
      if (view_.work(work).kind == WorkKind::kMemset) continue;
      if (!can_be_batched(work)) return {};
      products.push_back(work);
    }
    for (std::size_t k = 0; k < products.size(); ++k)
      if (may_feed(products[k], products[(k + 1) % products.size()])) return {};
    return products;
  }

  // Whether the result of a product can be a factor of another by its shape.
  bool may_feed(uint32_t product, uint32_t other) const {
    const Inputs& inputs = view_.inputs_of(product);
    const Inputs& factors = view_.inputs_of(other);
    const std::vector<int64_t> result = {inputs[0].dims[0], inputs[1].dims[1]};
    return result == factors[0].dims || result == factors[1].dims;
  }

  bool can_be_batched(uint32_t work) const {
    if (!view_.has_operator(work) || view_.operator_of(work).what != trace::OperatorKind::kMm) return false;
    const Inputs& inputs = view_.inputs_of(work);
    if (!is_tensor(inputs, 0) || !is_tensor(inputs, 1) || view_.use_of(work).floor_ns <= 0) return false;
    const auto &a = inputs[0].dims, &b = inputs[1].dims;
    if (a.size() != 2 || b.size() != 2) return false;
    return view_.ns(work) >= kShortWorkNs && fills_once(work) && view_.alone[work].cause() == Cause::kFloor;
  }

  bool fills_once(uint32_t work) const {
    const double blocks = view_.blocks(work);
    return blocks > 0 && blocks <= view_.roofs.multiprocessors;
  }

  // A claim without works: they are as fast as one product of all would be.
  Claim join(const std::vector<uint32_t>& products) const {
    double floor = 0, now = 0;
    for (const uint32_t work : products) {
      floor += view_.use_of(work).floor_ns * view_.part_of(work);
      now += view_.ns(work);
    }
    Claim claim{Rule::kProductsInTurn, {}};
    if (floor / kManyWaves >= now) return claim;
    for (const uint32_t work : products) claim.works.push_back({work, kGone, floor / now});
    claim.works.front().target_ns = floor / kManyWaves;
    return claim;
  }

  const View& view_;
};

}  // namespace

Claims find_products_in_turn(const View& view) { return TurnFinder(view).run(); }

}  // namespace hone::analyze::device
