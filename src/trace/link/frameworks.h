// Which framework made a program, told by the names that only its own code gives to calls, ranges and
// kernels.
#pragma once

#include <span>
#include <string_view>

#include "trace/framework.h"
#include "trace/name_patterns.h"
#include "trace/trace.h"

namespace hone::trace::link {

// The table: names that one framework alone gives.
std::span<const NamePattern<Framework>> framework_marks();

// For a trace whose Meta::framework does not say: the framework that most of its distinct names speak for;
// kNative where none does. What a library names (cuBLAS, cuDNN, NCCL) speaks for nobody. O(spans), and one
// look at each distinct name.
Framework recognise_framework(const Trace& trace);

}  // namespace hone::trace::link
