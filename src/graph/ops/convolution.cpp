#include "graph/op_table.h"

namespace hone::graph {

void add_convolution_ops(OpTable&) {}

}  // namespace hone::graph
