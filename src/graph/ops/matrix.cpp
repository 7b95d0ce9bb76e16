#include "graph/op_table.h"

namespace hone::graph {

void add_matrix_ops(OpTable&) {}

}  // namespace hone::graph
