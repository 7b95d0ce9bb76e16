#include "graph/op_table.h"

namespace hone::graph {

void add_control_ops(OpTable&) {}

}  // namespace hone::graph
