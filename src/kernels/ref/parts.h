// Families that several files make up: each part's registration, called from its family's function.
#pragma once

#include "kernels/ref/ref.h"

namespace hone::kernels::ref {

void add_activation_kernels(RefTable&);    // of pointwise
void add_quantization_kernels(RefTable&);  // of pointwise: casts too
void add_indexing_kernels(RefTable&);      // of movement: Gather*, Scatter*, OneHot, Compress, …

}  // namespace hone::kernels::ref
