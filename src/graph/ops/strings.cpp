// Operators on strings.
#include <fmt/core.h>

#include "graph/ops/infer_helpers.h"

namespace hone::graph {
namespace {

bool is_string(DType dtype) { return dtype == DType::kString; }

// Upper and lower case of single characters are the same in all languages but these.
bool has_own_letters(std::string_view locale) {
  const std::string_view language = locale.substr(0, locale.find_first_of("_-."));
  return language == "tr" || language == "az" || language == "lt";
}

// Stop words go, the rest moves together; where nothing stays, one empty string does.
Status infer_string_normalizer(InferContext& context) {
  HONE_CHECK(infer::expect_dtype(context, 0, is_string, "string"));
  const std::string action = context.attributes().text("case_change_action", "NONE");
  if (action != "NONE" && action != "LOWER" && action != "UPPER")
    return context.error(
        fmt::format("attribute case_change_action is '{}', must be NONE, LOWER or UPPER", action));
  const std::string locale = context.attributes().text("locale", "");
  if (has_own_letters(locale))
    return unsupported(fmt::format(
        "unsupported: StringNormalizer in locale '{}', whose letters change case in their own way", locale));

  TensorType type = unranked(DType::kString);
  const TensorType& x = context.input(0);
  if (x.has_rank()) {
    const bool row = x.rank() == 2 && (!(*x.dims)[0].known() || (*x.dims)[0].extent() == 1);
    if (x.rank() != 1 && !row)
      return context.error(fmt::format("input 0 is {}, must be of shape [C] or [1,C]", x.text()));
    const Dim& words = x.dims->back();
    const bool all_stay =
        context.attributes().texts("stopwords").empty() && words.known() && words.extent() > 0;
    type.dims = row ? Dims{Dim(1), Dim()} : Dims{Dim()};
    if (all_stay) type.dims->back() = words;
  }
  context.set_output(0, std::move(type));
  return {};
}

}  // namespace

void add_string_ops(OpTable& table) {
  table.add({.name = "StringNormalizer",
             .op_class = OpClass::kOther,
             .min_inputs = 1,
             .max_inputs = 1,
             .attributes = {{"case_change_action", AttributeKind::kString},
                            {"is_case_sensitive", AttributeKind::kInt},
                            {"locale", AttributeKind::kString},
                            {"stopwords", AttributeKind::kStrings}},
             .infer = infer_string_normalizer,
             .summary = "words in upper or lower case, without stop words"});
}

}  // namespace hone::graph
