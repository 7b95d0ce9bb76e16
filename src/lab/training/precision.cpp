#include "lab/training/precision.h"

#include <map>

#include <fmt/format.h>

#include "core/units.h"

namespace hone::lab {
namespace {

std::string counts_text(const std::map<std::string, int>& counts) {
  std::string text;
  for (const auto& [what, count] : counts)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  return text;
}

}  // namespace

DType product_type(const model::RecipeTrain& train) {
  if (train.precision == "bf16") return DType::kBF16;
  return train.precision == "fp16" ? DType::kF16 : DType::kF32;
}

std::string types_text(const std::string& precision, const std::vector<passes::TypeChoice>& types) {
  std::map<std::string, int> narrow, wide;
  int narrowed = 0, kept = 0;
  for (const passes::TypeChoice& type : types) {
    ++(type.narrowed ? narrowed : kept);
    ++(type.narrowed ? narrow[type.op] : wide[fmt::format("{} ({})", type.op, type.why)]);
  }
  std::string text = fmt::format("{0}: {1} of the step in {0} ({2})", precision,
                                 counted(narrowed, "operator"), counts_text(narrow));
  if (kept > 0) text += fmt::format("; beside them in f32: {}", counts_text(wide));
  return text;
}

}  // namespace hone::lab
