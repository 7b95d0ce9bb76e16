#include "graph/op_table.h"

namespace hone::graph {

void add_recurrent_ops(OpTable&) {}

}  // namespace hone::graph
