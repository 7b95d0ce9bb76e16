#include "analyze/device/busy/products_in_turn.h"

#include <algorithm>
#include <vector>

#include "analyze/device/busy/busy_rules.h"

namespace hone::analyze::device {
namespace {

class ProductsInTurnFinder {
 public:
  ProductsInTurnFinder(const trace::Trace& trace, const RankTimeline& timeline, const Loops& loops,
                       const GpuRoofs& roofs, BusySplit& split)
      : trace_(trace), timeline_(timeline), loops_(loops), roofs_(roofs), split_(split) {}

  void run() {
    for (const Loop& loop : loops_.loops) {
      const std::vector<uint32_t> products = products_of(loop);
      if (!products.empty()) join(products);
    }
  }

 private:
  // Empty: the loop does something else, too.
  std::vector<uint32_t> products_of(const Loop& loop) const {
    std::vector<uint32_t> products;
    for (uint32_t k = 0; k < loop.works; ++k) {
      const uint32_t work = timeline_.launched[loop.first + k];
      if (timeline_.works[work].kind == WorkKind::kMemset) continue;
      if (!can_be_batched(work)) return {};
      products.push_back(work);
    }
    for (std::size_t k = 0; k < products.size(); ++k)
      if (may_feed(products[k], products[(k + 1) % products.size()])) return {};
    return products;
  }

  // Whether the result of a product can be a factor of another by its shape.
  bool may_feed(uint32_t product, uint32_t other) const {
    const Inputs& inputs = split_.uses.rows[timeline_.works[product].op].inputs;
    const Inputs& factors = split_.uses.rows[timeline_.works[other].op].inputs;
    const std::vector<int64_t> result = {inputs[0].dims[0], inputs[1].dims[1]};
    return result == factors[0].dims || result == factors[1].dims;
  }

  bool can_be_batched(uint32_t work) const {
    const Work& row = timeline_.works[work];
    if (row.op == kNothing || trace_.operators[row.op].kind != "aten::mm") return false;
    const Inputs& inputs = split_.uses.rows[row.op].inputs;
    if (!is_tensor(inputs, 0) || !is_tensor(inputs, 1) || split_.uses.rows[row.op].floor_ns <= 0)
      return false;
    const auto &a = inputs[0].dims, &b = inputs[1].dims;
    if (a.size() != 2 || b.size() != 2) return false;
    return static_cast<double>(row.ns()) >= kShortWorkNs && fills_once(row) &&
           split_.works[work].reason == Reason::kNone;
  }

  bool fills_once(const Work& row) const {
    const trace::Launch* launch = trace::find_detail(trace_.launches, row.span);
    if (launch == nullptr) return false;
    const double blocks = static_cast<double>(launch->grid[0]) * launch->grid[1] * launch->grid[2];
    return blocks > 0 && blocks <= roofs_.multiprocessors;
  }

  void join(const std::vector<uint32_t>& products) {
    double floor = 0, now = 0;
    for (const uint32_t work : products) {
      const Work& row = timeline_.works[work];
      floor += split_.uses.rows[row.op].floor_ns * split_.uses.part(row);
      now += static_cast<double>(row.ns());
    }
    if (floor / kManyWaves >= now) return;
    for (const uint32_t work : products)
      set_split(split_.works[work], Cause::kKernelInefficiency, floor / now, Reason::kProductsInTurn, kGone);
    split_.works[products.front()].target_ns = floor / kManyWaves;
  }

  const trace::Trace& trace_;
  const RankTimeline& timeline_;
  const Loops& loops_;
  const GpuRoofs& roofs_;
  BusySplit& split_;
};

}  // namespace

void mark_products_in_turn(const trace::Trace& trace, const RankTimeline& timeline, const Loops& loops,
                           const GpuRoofs& roofs, BusySplit& split) {
  ProductsInTurnFinder(trace, timeline, loops, roofs, split).run();
}

}  // namespace hone::analyze::device
