#include "graph/ops/parts.h"

namespace hone::graph {

void add_indexing_ops(OpTable&) {}

}  // namespace hone::graph
