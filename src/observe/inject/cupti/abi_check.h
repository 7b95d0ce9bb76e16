// How structures of ours are compared with the vendor's, in files that are compiled and not linked.
#pragma once

#include <cstddef>

// A field of ours lies where the vendor's does, and is as large.
#define HONE_SAME_FIELD(Ours, field, Vendor, vendor_field)                 \
  static_assert(offsetof(Ours, field) == offsetof(Vendor, vendor_field) && \
                sizeof(Ours::field) == sizeof(static_cast<Vendor*>(nullptr)->vendor_field))

// The same of parameters, which the vendor names after their function and whose size it states.
#define HONE_SAME_PARAMETER(Ours, field, Function, vendor_field) \
  HONE_SAME_FIELD(Ours, field, Function##_Params, vendor_field)
#define HONE_SAME_PARAMETERS(Ours, Function) static_assert(sizeof(Ours) == Function##_Params_STRUCT_SIZE)
