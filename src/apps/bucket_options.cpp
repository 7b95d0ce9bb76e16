#include "apps/bucket_options.h"

#include <charconv>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace hone::apps {

Result<std::vector<int64_t>> numbers_of(const std::string& option, const std::string& text) {
  std::set<int64_t> numbers;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    int64_t number = 0;
    const auto [read, failed] = std::from_chars(text.data() + at, text.data() + end, number);
    if (failed != std::errc() || read != text.data() + end || number < 1 || number > 1'000'000)
      return usage_error(fmt::format("{} '{}': give numbers above 0, as 1,2,8", option, text));
    numbers.insert(number);
    at = end + 1;
  }
  return std::vector<int64_t>(numbers.begin(), numbers.end());
}

void add_buckets_to(Command command, std::vector<std::string>* buckets) {
  command.option(
      "--buckets SYMBOL=LIST", buckets,
      fmt::format("extents of a symbol that there are plans for, as batch=1,8,32 (batch alone: powers of two "
                  "to {}): inputs are padded to the next larger one where that is shown to change no output, "
                  "else run exactly (once for each symbol; docs/plans.md)",
                  lab::kLargestDefaultBucket));
}

Result<std::map<std::string, std::vector<int64_t>>> read_buckets(const std::vector<std::string>& given) {
  std::map<std::string, std::vector<int64_t>> buckets;
  for (const std::string& text : given) {
    const std::size_t at = text.rfind('=');
    const std::string symbol = text.substr(0, at);
    if (symbol.empty()) return usage_error(fmt::format("--buckets '{}' should read SYMBOL=1,8,32", text));
    std::vector<int64_t> numbers = lab::default_buckets();
    if (at != std::string::npos) {
      HONE_ASSIGN(numbers, numbers_of("--buckets " + symbol, text.substr(at + 1)));
    }
    if (!buckets.emplace(symbol, std::move(numbers)).second)
      return usage_error(fmt::format("--buckets {} is given twice", symbol));
  }
  return buckets;
}

nlohmann::ordered_json served_json(const lab::Served& served) {
  auto symbols = nlohmann::ordered_json::array();
  for (const lab::ServedSymbol& symbol : served.symbols)
    symbols.push_back({{"name", symbol.name},
                       {"extent", symbol.extent},
                       {"of_plan", symbol.of_plan},
                       {"exact", symbol.exact}});
  return {{"symbols", std::move(symbols)}, {"padding", served.padding()},   {"made_now", served.made_now},
          {"made_s", served.made_s},       {"from_file", served.from_file}, {"note", served.note}};
}

}  // namespace hone::apps
