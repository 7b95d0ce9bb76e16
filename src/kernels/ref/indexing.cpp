#include "kernels/ref/parts.h"

namespace hone::kernels::ref {

void add_indexing_kernels(RefTable&) {}

}  // namespace hone::kernels::ref
