#include "kernels/ref/ref.h"

namespace hone::kernels::ref {

void add_pointwise_kernels(RefTable&) {}

}  // namespace hone::kernels::ref
