// The functions of recurrent layers' gates: their names, parameters and defaults as ONNX has them, read from attributes once for
// the reference and for all providers.
#pragma once

#include <cstdint>
#include <vector>

#include "core/attributes.h"
#include "core/result.h"

namespace hone {

struct RecurrentFunction {
  enum class Kind : uint8_t {
    kSigmoid,
    kTanh,
    kRelu,
    kAffine,           // alpha·x + beta
    kLeakyRelu,        // alpha·x below 0
    kThresholdedRelu,  // 0 below alpha
    kScaledTanh,       // alpha·tanh(beta·x)
    kHardSigmoid,      // alpha·x + beta, from 0 to 1
    kElu,              // alpha·(exp(x) − 1) below 0
    kSoftsign,
    kSoftplus,
  };
  Kind kind = Kind::kTanh;
  double alpha = 0, beta = 0;
  friend bool operator==(const RecurrentFunction&, const RecurrentFunction&) = default;
};

// Attributes activations, activation_alpha and activation_beta: as many functions as `defaults` names for each of the directions,
// those of the first direction first. alphas and betas go, in order, to the functions that have such a parameter. Names may be
// written in any case; one that is not known is unsupported.
Result<std::vector<RecurrentFunction>> read_recurrent_functions(const Attributes& attributes,
                                                                const Strings& defaults, int64_t directions);

}  // namespace hone
