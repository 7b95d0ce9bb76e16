#include "graph/op_table.h"

namespace hone::graph {

void add_normalization_ops(OpTable&) {}

}  // namespace hone::graph
