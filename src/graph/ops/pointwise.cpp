#include "graph/op_table.h"

namespace hone::graph {

void add_pointwise_ops(OpTable&) {}

}  // namespace hone::graph
