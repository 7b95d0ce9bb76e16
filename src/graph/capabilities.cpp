#include "graph/capabilities.h"

#include <algorithm>

namespace hone::graph {
namespace {

template <typename Row>
const Row* find_row(const std::vector<Row>& rows, std::string_view op) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.op == op; });
  return found != rows.end() ? &*found : nullptr;
}

}  // namespace

const PointwiseCapability* Capabilities::find_pointwise(std::string_view op) const {
  return find_row(pointwise, op);
}

const EpilogueCapability* Capabilities::find_epilogue(std::string_view op) const {
  return find_row(epilogue, op);
}

}  // namespace hone::graph
