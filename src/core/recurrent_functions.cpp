#include "core/recurrent_functions.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include <fmt/core.h>

namespace hone {
namespace {

struct FunctionInfo {
  std::string_view name;  // in lower case
  int parameters;         // 0: none, 1: alpha, 2: alpha and beta
  RecurrentFunction with_defaults;
};

using Kind = RecurrentFunction::Kind;
constexpr std::array kFunctions = {
    FunctionInfo{"sigmoid", 0, {Kind::kSigmoid}},
    FunctionInfo{"tanh", 0, {Kind::kTanh}},
    FunctionInfo{"relu", 0, {Kind::kRelu}},
    FunctionInfo{"affine", 2, {Kind::kAffine, 1, 0}},
    FunctionInfo{"leakyrelu", 1, {Kind::kLeakyRelu, 0.01, 0}},
    FunctionInfo{"thresholdedrelu", 1, {Kind::kThresholdedRelu, 1, 0}},
    FunctionInfo{"scaledtanh", 2, {Kind::kScaledTanh, 1, 1}},
    FunctionInfo{"hardsigmoid", 2, {Kind::kHardSigmoid, 0.2, 0.5}},
    FunctionInfo{"elu", 1, {Kind::kElu, 1, 0}},
    FunctionInfo{"softsign", 0, {Kind::kSoftsign}},
    FunctionInfo{"softplus", 0, {Kind::kSoftplus}},
};

}  // namespace

Result<std::vector<RecurrentFunction>> read_recurrent_functions(const Attributes& attributes,
                                                                const Strings& defaults, int64_t directions) {
  Strings names = attributes.texts("activations");
  if (names.empty()) {
    for (int64_t d = 0; d < directions; ++d) names.insert(names.end(), defaults.begin(), defaults.end());
  }
  const std::size_t wanted = defaults.size() * static_cast<std::size_t>(directions);
  // ONNX's default for RNN lists both directions whatever the direction is.
  if (names.size() < wanted) {
    return invalid(
        fmt::format("attribute activations has {} names where {} are needed", names.size(), wanted));
  }
  names.resize(wanted);
  const Floats alphas = attributes.reals("activation_alpha");
  const Floats betas = attributes.reals("activation_beta");
  std::size_t next_alpha = 0;
  std::size_t next_beta = 0;
  std::vector<RecurrentFunction> functions;
  for (std::string name : names) {
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    const auto* const info = std::find_if(kFunctions.begin(), kFunctions.end(),
                                          [&](const FunctionInfo& known) { return known.name == name; });
    if (info == kFunctions.end()) return unsupported(fmt::format("activation '{}' is not known", name));
    RecurrentFunction function = info->with_defaults;
    if (info->parameters > 0 && next_alpha < alphas.size()) function.alpha = alphas[next_alpha++];
    if (info->parameters > 1 && next_beta < betas.size()) function.beta = betas[next_beta++];
    functions.push_back(function);
  }
  return functions;
}

}  // namespace hone
