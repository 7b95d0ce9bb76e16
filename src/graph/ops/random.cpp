#include "graph/op_table.h"

namespace hone::graph {

void add_random_ops(OpTable&) {}

}  // namespace hone::graph
