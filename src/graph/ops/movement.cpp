#include "graph/op_table.h"

namespace hone::graph {

void add_movement_ops(OpTable&) {}

}  // namespace hone::graph
