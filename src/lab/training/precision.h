// The types that a training run computes in: what [train] precision asks for, and what came of it, operator by operator.
#pragma once

#include <string>
#include <vector>

#include "core/dtype.h"
#include "model/recipe/recipe.h"
#include "passes/pass.h"

namespace hone::lab {

// The type of the run's products.
DType product_type(const model::RecipeTrain& train);

// "bf16: 74 operators of the step in bf16 (60 MatMul, 14 Conv); beside them in f32: 12 Attention (the target has no kernel for it
// in bf16)".
std::string types_text(const std::string& precision, const std::vector<passes::TypeChoice>& types);

}  // namespace hone::lab
