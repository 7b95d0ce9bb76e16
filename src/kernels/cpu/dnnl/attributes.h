// Post-ops as oneDNN attributes.
#pragma once

#include <span>
#include <vector>

#include "kernels/cpu/dnnl/library.h"
#include "kernels/cpu/dnnl/post_op.h"

namespace hone::kernels::onednn {

struct Epilogue {
  dnnl::primitive_attr attributes;  // the post-ops; the scratchpad is the caller's
  // One for each binary post-op: the argument number and how its operand lies in memory.
  struct Operand {
    int argument = 0;
    MemoryDesc desc;
  };
  std::vector<Operand> operands;
};

// `output` is the logical shape of the result, to whose rank operands are extended with leading ones.
Result<Epilogue> make_epilogue(std::span<const PostOp> post_ops, const Shape& output);

}  // namespace hone::kernels::onednn
