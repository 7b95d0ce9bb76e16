#include "analyze/device/busy/one_hot.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analyze/device/busy/busy_rules.h"
#include "analyze/device/busy/launch_walk.h"

namespace hone::analyze::device {
namespace {

using trace::OperatorKind;

// scatter_(self, dim, index, value) with one index a row: along the last dimension, all others are equal.
bool writes_one_a_row(const trace::Operator& op, const Inputs& inputs) {
  if (op.what != OperatorKind::kScatter || inputs.size() < 4) return false;
  if (!is_tensor(inputs, 0) || !is_tensor(inputs, 2) || is_tensor(inputs, 3)) return false;
  const auto &rows = inputs[0].dims, &index = inputs[2].dims;
  return !rows.empty() && rows.size() == index.size() && rows.back() > 1 && index.back() == 1 &&
         std::equal(rows.begin(), rows.end() - 1, index.begin());
}

class OneHotFinder : public LaunchWalk {
 public:
  explicit OneHotFinder(const View& view) : LaunchWalk(view) {}

 private:
  void begin_step(int32_t /*step*/) override { forget(); }

  void look_at(uint32_t work) override {
    if (!view_.has_operator(work)) return;
    const trace::Operator& op = view_.operator_of(work);
    const OperatorUse& use = view_.use_of(work);
    if (op.what == OperatorKind::kFill) {
      if (use.elements != filled_) filling_.clear();
      filled_ = use.elements;
      filling_.push_back(work);
    } else if (writes_one_a_row(op, use.inputs)) {
      begin(work);
    } else if (elements_ > 0 && op.op_class == trace::OperatorClass::kMatrix) {
      look_at_product(work);
    } else if (elements_ > 0 && use.elements == elements_) {
      if (op.what != OperatorKind::kCopy) return forget();
      makers_.push_back(work);
    }
  }

  // A large matrix takes several kernels: those of one operator come one after the other.
  void begin(uint32_t work) {
    const trace::CallInput& rows = view_.inputs_of(work)[0];
    const auto elements = static_cast<double>(rows.elements());
    if (elements != elements_ || has_products_) {
      makers_.clear();
      if (filled_ == elements) makers_ = filling_;
    }
    makers_.push_back(work);
    elements_ = elements;
    words_ = rows.dims.back();
    has_products_ = false;
  }

  void look_at_product(uint32_t work) {
    const Inputs& inputs = view_.inputs_of(work);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::size_t rank = inputs[i].dims.size();
      if (!is_tensor(inputs, i) || rank < 2 || static_cast<double>(inputs[i].elements()) != elements_)
        continue;
      const bool looks_up = inputs[i].dims[rank - 1] == words_;
      if (!looks_up && inputs[i].dims[rank - 2] != words_) continue;
      for (std::size_t other = 0; other < inputs.size(); ++other)
        if (other != i && is_tensor(inputs, other) && inputs[other].dims.size() >= 2)
          return claim_product(work, static_cast<double>(inputs[other].elements()), looks_up);
    }
  }

  // Looking up reads the rows that it writes; adding up reads a row for each number and writes the table.
  void claim_product(uint32_t product, double other_elements, bool looks_up) {
    const trace::Operator& op = view_.operator_of(product);
    const double rows = elements_ / static_cast<double>(words_);
    const double width = other_elements / (looks_up ? static_cast<double>(words_) : rows);
    const double bytes = rows * width * static_cast<double>(dtype_size(op.dtype)) + op.bytes_written;
    const double now = view_.ns(product);
    const double floor = ns_at(bytes, view_.roofs.dram) * view_.part_of(product),
                 target = floor / kGoodTraffic;
    if (op.bytes_written <= 0 || floor <= 0 || target >= now) return;
    std::vector<ClaimedWork> works = {{product, target, floor / now}};
    for (const uint32_t maker : makers_) works.push_back(removed(maker));
    claim(Rule::kOneHotProducts, std::move(works));
    makers_.clear();
    has_products_ = true;
  }

  void forget() {
    makers_.clear();
    filling_.clear();
    elements_ = filled_ = 0;
    has_products_ = false;
  }

  std::vector<uint32_t> filling_;  // the last works that filled a tensor, of `filled_` elements
  double filled_ = 0;
  std::vector<uint32_t> makers_;  // of the rows that wait for a product
  double elements_ = 0;           // of those rows; 0: there are none
  int64_t words_ = 0;             // the length of each
  bool has_products_ = false;
};

}  // namespace

Claims find_one_hot_products(const View& view) { return OneHotFinder(view).run(); }

}  // namespace hone::analyze::device
