// Families that several files make up: each part's registration, called from its family's function.
#pragma once

#include "kernels/ref/ref.h"

namespace hone::kernels::ref {

void add_activation_kernels(RefTable&);    // of pointwise
void add_quantization_kernels(RefTable&);  // of pointwise: casts too
void add_indexing_kernels(RefTable&);      // of movement: Gather*, Scatter*, OneHot, Compress, …
void add_einsum_kernels(RefTable&);        // of matrix
void add_attention_kernels(RefTable&);     // of matrix: rotary embedding, linear attention too
void add_pooling_kernels(RefTable&);       // of convolution
void add_deform_conv_kernels(RefTable&);   // of convolution: Col2Im too
void add_grid_sample_kernels(RefTable&);   // of vision
void add_resize_kernels(RefTable&);        // of vision
void add_detection_kernels(RefTable&);     // of vision: regions of interest, NonMaxSuppression

}  // namespace hone::kernels::ref
