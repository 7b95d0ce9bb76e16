#include "analyze/device/varying_shapes.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace hone::analyze::device {
namespace {

constexpr std::size_t kFewestGrown = 3;    // sizes in a row
constexpr std::size_t kMostChanging = 10;  // kinds of sizes that are told apart

// Rows of the operator table of equal sizes.
struct ShapedRows {
  std::vector<int64_t> sizes;  // of all tensors, lists' items included
  std::vector<uint32_t> ops;
  std::set<int32_t> steps;
};

void append_sizes(const trace::CallInput& input, std::vector<int64_t>& sizes, std::vector<int64_t>& form) {
  form.push_back(static_cast<int64_t>(input.kind));
  form.push_back(static_cast<int64_t>(input.dtype));
  form.push_back(static_cast<int64_t>(input.dims.size()));
  form.push_back(static_cast<int64_t>(input.items.size()));
  sizes.insert(sizes.end(), input.dims.begin(), input.dims.end());
  for (const trace::CallInput& item : input.items) append_sizes(item, sizes, form);
}

class VariationFinder {
 public:
  VariationFinder(const trace::Trace& trace, const RankTimeline& timeline, const OperatorUses& uses)
      : trace_(trace), timeline_(timeline), uses_(uses) {}

  VaryingShapes run() {
    for (const trace::Operator& op : trace_.operators) found_.geometry.push_back(op.geometry);
    for (const auto& [kind, rows] : rows_by_form()) {
      std::vector<ShapedRows> changing, steady;
      for (const ShapedRows& row : rows)
        (row.steps.size() < timeline_.steps.size() ? changing : steady).push_back(row);
      if (changing.size() > 1) join_changing(changing);
      join_grown(steady.empty() ? changing : steady);
    }
    count_varying();
    return std::move(found_);
  }

 private:
  using Form = std::tuple<std::string_view, trace::Phase, std::vector<int64_t>>;

  std::map<Form, std::vector<ShapedRows>> rows_by_form() const {
    std::vector<std::set<int32_t>> steps(trace_.operators.size());
    for (const Work& work : timeline_.works)
      if (work.op != kNothing && work.step != trace::kNoStep) steps[work.op].insert(work.step);
    std::map<Form, std::map<std::vector<int64_t>, ShapedRows>> forms;
    for (uint32_t op = 0; op < steps.size(); ++op) {
      if (steps[op].empty() || uses_.rows[op].inputs.empty()) continue;
      std::vector<int64_t> sizes, form;
      for (const trace::CallInput& input : uses_.rows[op].inputs) append_sizes(input, sizes, form);
      const trace::Operator& of = trace_.operators[op];
      ShapedRows& rows = forms[{of.kind, of.phase, std::move(form)}][sizes];
      rows.sizes = std::move(sizes);
      rows.ops.push_back(op);
      rows.steps.insert(steps[op].begin(), steps[op].end());
    }
    std::map<Form, std::vector<ShapedRows>> by_size;
    for (auto& [form, all] : forms)
      for (auto& [sizes, rows] : all) by_size[form].push_back(std::move(rows));
    return by_size;
  }

  // Places of sizes that differ between rows; those that differ alike are one. A damaged recording says any size: differences
  // are modulo 2^64.
  static std::vector<std::vector<std::size_t>> changing_places(const std::vector<ShapedRows>& rows) {
    std::map<std::vector<uint64_t>, std::vector<std::size_t>> alike;  // by what is added to the first row's
    for (std::size_t place = 0; place < rows.front().sizes.size(); ++place) {
      const auto size = [place](const ShapedRows& row) { return static_cast<uint64_t>(row.sizes[place]); };
      std::vector<uint64_t> added;
      for (const ShapedRows& row : rows) added.push_back(size(row) - size(rows.front()));
      if (std::ranges::any_of(added, [](uint64_t more) { return more != 0; })) alike[added].push_back(place);
    }
    std::vector<std::vector<std::size_t>> places;
    for (auto& [added, which] : alike) places.push_back(std::move(which));
    return places;
  }

  using Members = std::map<std::vector<int64_t>, std::vector<const ShapedRows*>>;  // by the sizes that stay

  static Members split(const std::vector<ShapedRows>& rows,
                       const std::vector<std::vector<std::size_t>>& places, uint64_t changing) {
    Members members;
    for (const ShapedRows& row : rows) {
      std::vector<int64_t> stays;
      for (std::size_t k = 0; k < places.size(); ++k)
        if ((changing >> k & 1U) == 0) stays.push_back(row.sizes[places[k].front()]);
      members[std::move(stays)].push_back(&row);
    }
    return members;
  }

  bool are_in_every_step(const Members& members) const {
    return std::ranges::all_of(members, [&](const auto& entry) {
      std::set<int32_t> steps;
      for (const ShapedRows* row : entry.second) steps.insert(row->steps.begin(), row->steps.end());
      return steps.size() == timeline_.steps.size();
    });
  }

  // As few sizes change as explain that every step has the operator.
  void join_changing(const std::vector<ShapedRows>& rows) {
    const std::vector<std::vector<std::size_t>> places = changing_places(rows);
    if (places.empty() || places.size() > kMostChanging) return;
    const uint64_t all = (uint64_t{1} << places.size()) - 1;
    Members best = split(rows, places, all);
    if (!are_in_every_step(best)) return;  // some steps do other things
    for (int changing = 1; changing < std::popcount(all); ++changing)
      for (uint64_t which = 1; which < all; ++which)
        if (std::popcount(which) == changing) {
          Members members = split(rows, places, which);
          if (are_in_every_step(members)) return join(members, true);
        }
    join(best, true);
  }

  void join(const Members& members, bool from_step_to_step) {
    for (const auto& [stays, rows] : members) {
      if (rows.size() < 2) continue;
      std::vector<std::string_view> texts;
      for (const ShapedRows* row : rows) texts.push_back(trace_.operators[row->ops.front()].geometry);
      const std::string text = range_of_sizes(texts);
      for (const ShapedRows* row : rows)
        for (const uint32_t op : row->ops) {
          found_.geometry[op] = text;
          if (from_step_to_step) varies_.insert(op);
        }
    }
  }

  // Whether some sizes of the second are by one larger, and none differs otherwise: which.
  static std::vector<char> grown(const ShapedRows& first, const ShapedRows& second) {
    std::vector<char> places;
    bool some = false;
    for (std::size_t k = 0; k < first.sizes.size(); ++k) {
      const uint64_t more = static_cast<uint64_t>(second.sizes[k]) - static_cast<uint64_t>(first.sizes[k]);
      if (more != 0 && more != 1) return {};
      places.push_back(static_cast<char>(more));
      some |= more == 1;
    }
    return some ? places : std::vector<char>();
  }

  void join_grown(const std::vector<ShapedRows>& rows) {  // by sizes
    for (std::size_t first = 0, end = 0; first + 1 < rows.size(); first = end) {
      const std::vector<char> places = grown(rows[first], rows[first + 1]);
      end = first + 1;
      if (places.empty()) continue;
      while (end < rows.size() && grown(rows[end - 1], rows[end]) == places) ++end;
      if (end - first >= kFewestGrown) {
        Members family;
        for (std::size_t k = first; k < end; ++k) family[{}].push_back(&rows[k]);
        join(family, false);
        const trace::Operator& op = trace_.operators[rows[first].ops.front()];
        found_.cache_grows |=
            op.what == trace::OperatorKind::kAttention || op.what == trace::OperatorKind::kCat;
      } else {
        end = first + 1;
      }
    }
  }

  void count_varying() {
    double all = 0, varying = 0;
    for (const Work& work : timeline_.works) {
      if (work.step == trace::kNoStep) continue;
      ++all;
      varying += work.op != kNothing && varies_.contains(work.op) ? 1 : 0;
    }
    found_.share = all > 0 ? varying / all : 0;
  }

  const trace::Trace& trace_;
  const RankTimeline& timeline_;
  const OperatorUses& uses_;
  std::set<uint32_t> varies_;  // rows, from step to step
  VaryingShapes found_;
};

// A text's numbers, and what stands around them. Digits behind a letter are a part of a word, as in "f32".
struct Words {
  std::vector<std::string> between;
  std::vector<int64_t> numbers;
};

Words words_of(std::string_view text) {
  constexpr std::size_t kMostDigits = 18;
  Words words;
  std::string current;
  for (std::size_t i = 0; i < text.size();) {
    const auto is_digit = [&](std::size_t k) {
      return k < text.size() && std::isdigit(static_cast<unsigned char>(text[k])) != 0;
    };
    const bool in_word =
        i > 0 && (std::isalnum(static_cast<unsigned char>(text[i - 1])) != 0 || text[i - 1] == '.');
    std::size_t end = i;
    while (is_digit(end)) ++end;
    if (end == i || in_word || end - i > kMostDigits || (end < text.size() && text[end] == '.')) {
      current += text[i++];
      continue;
    }
    words.between.push_back(std::exchange(current, {}));
    words.numbers.push_back(std::stoll(std::string(text.substr(i, end - i))));
    i = end;
  }
  words.between.push_back(current);
  return words;
}

}  // namespace

std::string range_of_sizes(const std::vector<std::string_view>& texts) {
  if (texts.empty()) return {};
  const Words first = words_of(texts.front());
  std::vector<int64_t> least = first.numbers, most = first.numbers;
  for (const std::string_view text : texts) {
    const Words words = words_of(text);
    if (words.between != first.between)
      return fmt::format("{} and {} more", texts.front(), std::set(texts.begin(), texts.end()).size() - 1);
    for (std::size_t k = 0; k < least.size(); ++k) {
      least[k] = std::min(least[k], words.numbers[k]);
      most[k] = std::max(most[k], words.numbers[k]);
    }
  }
  std::string joined = first.between.front();
  for (std::size_t k = 0; k < least.size(); ++k)
    joined += (least[k] == most[k] ? fmt::format("{}", least[k]) : fmt::format("{}–{}", least[k], most[k])) +
              first.between[k + 1];
  return joined;
}

VaryingShapes varying_shapes(const trace::Trace& trace, const RankTimeline& timeline,
                             const OperatorUses& uses) {
  return VariationFinder(trace, timeline, uses).run();
}

}  // namespace hone::analyze::device
