// Families that several files make up: each part's registration, called from its family's function.
#pragma once

#include "graph/op_table.h"

namespace hone::graph {

void add_activation_ops(OpTable&);    // of pointwise
void add_quantization_ops(OpTable&);  // of pointwise: casts too
void add_indexing_ops(OpTable&);      // of movement: Gather*, Scatter*, OneHot, Compress, …
void add_attention_ops(OpTable&);     // of matrix: rotary embedding, linear attention too
void add_pooling_ops(OpTable&);       // of convolution: LRN too

}  // namespace hone::graph
