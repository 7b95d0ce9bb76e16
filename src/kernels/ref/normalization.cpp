#include "kernels/ref/ref.h"

namespace hone::kernels::ref {

void add_normalization_kernels(RefTable&) {}

}  // namespace hone::kernels::ref
