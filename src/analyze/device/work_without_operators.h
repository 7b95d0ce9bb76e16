// The table of what takes most time, of a program that tells of no operators (CuPy, CUDA): the ranges that it has named around
// its launches, or else its kernels.
#pragma once

#include "analyze/device/operators.h"
#include "analyze/device/study.h"

namespace hone::analyze::device {

// Fills the top rows of the tables, which have none; does nothing where they have, or where operators are known.
void list_work_without_operators(const Study& study, std::size_t rank, int top, OperatorTables& tables);

}  // namespace hone::analyze::device
