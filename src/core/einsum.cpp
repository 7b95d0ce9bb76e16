#include "core/einsum.h"

#include <algorithm>
#include <map>
#include <string>

#include <fmt/core.h>

namespace hone {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Labels of one term; `ellipsis` is how many axes "..." stands for.
Result<EinsumLabels> read_term(std::string_view term, int64_t ellipsis) {
  EinsumLabels labels;
  bool seen = false;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (is_letter(term[i])) {
      labels.push_back(term[i]);
    } else if (term.substr(i, 3) == "..." && !seen) {
      for (int64_t k = ellipsis; k > 0; --k) labels.push_back(static_cast<int>(-k));
      seen = true;
      i += 2;
    } else {
      return invalid(fmt::format("'{}' is not a term of an einsum equation", term));
    }
  }
  return labels;
}

std::vector<std::string> split_terms(const std::string& text) {
  std::vector<std::string> terms(1);
  for (char c : text) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back().push_back(c);
    }
  }
  return terms;
}

EinsumLabels implicit_output(const std::vector<EinsumLabels>& operands) {
  std::map<int, int> counts;
  for (const EinsumLabels& labels : operands) {
    for (int label : labels) ++counts[label];
  }
  EinsumLabels output;
  for (auto [label, count] : counts) {  // ellipsis axes are negative and come first, outermost first
    if (label < 0 || count == 1) output.push_back(label);
  }
  return output;
}

}  // namespace

Result<Einsum> parse_einsum(std::string_view equation, std::span<const int64_t> ranks) {
  std::string text;
  std::copy_if(equation.begin(), equation.end(), std::back_inserter(text), [](char c) { return c != ' '; });
  const std::size_t arrow = text.find("->");
  const std::vector<std::string> terms = split_terms(text.substr(0, arrow));
  if (terms.size() != ranks.size()) {
    return invalid(
        fmt::format("equation '{}' has {} terms for {} inputs", equation, terms.size(), ranks.size()));
  }
  Einsum einsum;
  int64_t widest = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const auto letters = static_cast<int64_t>(std::count_if(terms[i].begin(), terms[i].end(), is_letter));
    const bool open = terms[i].find("...") != std::string::npos;
    if (open ? ranks[i] < letters : ranks[i] != letters) {
      return invalid(fmt::format("term '{}' of equation '{}' does not fit an input of rank {}", terms[i],
                                 equation, ranks[i]));
    }
    const int64_t ellipsis = ranks[i] - letters;
    widest = std::max(widest, ellipsis);
    HONE_ASSIGN(EinsumLabels labels, read_term(terms[i], ellipsis));
    einsum.operands.push_back(std::move(labels));
  }
  if (arrow == std::string::npos) {
    einsum.output = implicit_output(einsum.operands);
  } else {
    HONE_ASSIGN(einsum.output, read_term(text.substr(arrow + 2), widest));
  }
  EinsumLabels known;
  for (const EinsumLabels& labels : einsum.operands) known.insert(known.end(), labels.begin(), labels.end());
  for (std::size_t i = 0; i < einsum.output.size(); ++i) {
    const int label = einsum.output[i];
    const bool repeated = std::find(einsum.output.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                                    einsum.output.end(), label) != einsum.output.end();
    if (repeated || std::find(known.begin(), known.end(), label) == known.end()) {
      return invalid(
          fmt::format("the output of equation '{}' repeats a label or has one that no input has", equation));
    }
  }
  for (int label : known) {
    const auto has = [label](const EinsumLabels& labels) {
      return std::find(labels.begin(), labels.end(), label) != labels.end();
    };
    if (!has(einsum.output) && !has(einsum.summed)) einsum.summed.push_back(label);
  }
  return einsum;
}

}  // namespace hone
