// The step's operators and kernels with their place on the roofline: tables for people, longest first. An
// operator that runs at many places with the same inputs is one row here.
#pragma once

#include <string>
#include <vector>

#include "analyze/device/study.h"
#include "analyze/findings.h"

namespace hone::analyze::device {

struct OperatorTables {
  std::vector<OperatorTime> operators;
  std::vector<TopOperator> top;
  std::vector<RooflinePoint> roofline;
  std::vector<KernelTime> kernels;  // the longest
  std::vector<PhaseShare> phases;
  Coverage coverage;
  double floor_ms = 0;
  double flops = 0;          // a step
  double product_flops = 0;  // of matrix products and convolutions
  double bytes = 0;
};

// For one rank. `top`: rows of the table of operators.
OperatorTables make_operator_tables(const Study& study, std::size_t rank, int top);

// The name of the row that an operator is counted in, unless another kind has the same.
std::string operator_row_name(const Study& study, std::size_t rank, uint32_t op);

}  // namespace hone::analyze::device
