#include "graph/op_table.h"

namespace hone::graph {

void add_vision_ops(OpTable&) {}

}  // namespace hone::graph
