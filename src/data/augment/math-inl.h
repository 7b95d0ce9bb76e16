// Highway's mathematics, included where it must be: behind foreach_target.h, once for each instruction set.
#include <hwy/contrib/math/math-inl.h>
