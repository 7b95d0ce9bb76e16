// The header of a .npy file as data: a Python dict literal with exactly three keys. Internal to core/npy.
#pragma once

#include <string>
#include <string_view>

#include "core/result.h"
#include "core/shape.h"

namespace hone {

struct NpyHeader {
  std::string descr;  // NumPy's type string, e.g. "<f4"
  bool fortran_order = false;
  Shape shape;
};

// Parses the dict, e.g. "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }".
Result<NpyHeader> parse_npy_header(std::string_view text);

}  // namespace hone
