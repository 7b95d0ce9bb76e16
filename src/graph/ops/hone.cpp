#include "graph/op_table.h"

namespace hone::graph {

void add_hone_ops(OpTable&) {}

}  // namespace hone::graph
