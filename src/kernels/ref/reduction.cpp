#include "kernels/ref/ref.h"

namespace hone::kernels::ref {

void add_reduction_kernels(RefTable&) {}

}  // namespace hone::kernels::ref
