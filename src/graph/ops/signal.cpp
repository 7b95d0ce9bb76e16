#include "graph/op_table.h"

namespace hone::graph {

void add_signal_ops(OpTable&) {}

}  // namespace hone::graph
