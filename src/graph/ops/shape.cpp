#include "graph/op_table.h"

namespace hone::graph {

void add_shape_ops(OpTable&) {}

}  // namespace hone::graph
