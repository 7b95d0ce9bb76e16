#include "graph/op_table.h"

namespace hone::graph {

void add_loss_ops(OpTable&) {}

}  // namespace hone::graph
