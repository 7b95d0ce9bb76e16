#include "runtime/timing_cache.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/core.h>

#include "core/cache_folder.h"
#include "core/file.h"
#include "graph/custom_operator.h"
#include "graph/text.h"

namespace hone::runtime {
namespace {

constexpr std::string_view kTimingsHeader = "hone timings 2";

void append_attribute(std::string& out, const Attribute& attribute) {
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Ints> || std::is_same_v<T, Floats>) {
          for (auto x : value) out += fmt::format("{},", x);
        } else if constexpr (std::is_same_v<T, Strings>) {
          for (const auto& x : value) out += x + ",";
        } else if constexpr (std::is_same_v<T, Tensor>) {
          out += fmt::format("{}{}", dtype_name(value.dtype()), shape_text(value.shape()));
        } else {
          out += fmt::format("{}", value);
        }
      },
      attribute);
}

}  // namespace

namespace {

// Its nodes, and how they are connected: by the places of inputs ("i0") and results ("n2.0"), not by names.
std::string body_signature(const graph::Graph& body) {
  std::vector<std::string> places(body.values().size());
  for (std::size_t i = 0; i < body.inputs().size(); ++i)
    places[body.inputs()[i].index] = fmt::format("i{}", i);
  const auto listed = [&](const std::vector<graph::ValueId>& ids) {
    std::string text;
    for (graph::ValueId id : ids) {
      const std::string place = id.valid() ? places[id.index] : "none";
      text += " " + (place.empty() ? "const" : place);
    }
    return text;
  };
  std::string out = " {";
  for (std::size_t n = 0; n < body.nodes().size(); ++n) {
    const graph::Node& inner = body.nodes()[n];
    out += fmt::format("{} of{};", node_signature(body, inner), listed(inner.inputs));
    for (std::size_t i = 0; i < inner.outputs.size(); ++i)
      if (inner.outputs[i].valid()) places[inner.outputs[i].index] = fmt::format("n{}.{}", n, i);
  }
  return out + fmt::format(" gives{}}}", listed(body.outputs()));
}

}  // namespace

std::string node_signature(const graph::Graph& graph, const graph::Node& node) {
  std::string out = node.op;
  if (node.custom != nullptr) out += fmt::format(" ({})", node.custom->identity);
  for (const auto& [name, attribute] : node.attributes) {
    out += fmt::format(" {}=", name);
    append_attribute(out, attribute);
  }
  for (auto input = node.inputs.begin(); input != node.inputs.end(); ++input) {
    const graph::ValueId id = *input;
    out += id.valid()
               ? fmt::format(" {}{}", graph.value(id).is_constant() ? "const " : "", graph.type(id).text())
               : " none";
    const auto first = std::find(node.inputs.begin(), input, id);
    if (id.valid() && first != input) out += fmt::format(" (input {})", first - node.inputs.begin());
  }
  out += " ->";
  for (graph::ValueId id : node.outputs) out += id.valid() ? " " + graph.type(id).text() : " none";
  for (const auto& body : node.bodies) out += body_signature(*body);
  for (char& c : out) {
    if (c == '\t' || c == '\n') c = ' ';
  }
  return out;
}

namespace {

// A time in microseconds that a clock can have shown.
bool read_time(std::string_view text, double& time) {
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, time);
  return read.ec == std::errc() && read.ptr == end && std::isfinite(time) && time >= 0;
}

}  // namespace

std::filesystem::path TimingCache::default_path() {
  const std::filesystem::path folder = cache_folder();
  return folder.empty() ? folder : folder / "timings.tsv";
}

TimingCache TimingCache::open(std::filesystem::path path) {
  TimingCache cache;
  cache.path_ = std::move(path);
  std::error_code ignored;
  if (cache.path_.empty() || !std::filesystem::exists(cache.path_, ignored)) return cache;
  auto text = read_file(cache.path_);
  if (!text.ok()) {
    cache.note_ = text.error().message + "; kernels are measured again";
    return cache;
  }
  std::string_view rest = *text;
  auto next_line = [&] {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    return line;
  };
  auto damaged = [&] {
    cache.entries_.clear();
    cache.note_ = fmt::format("{}: not a timing cache of this version; kernels are measured again",
                              cache.path_.string());
  };
  if (next_line() != kTimingsHeader) {
    damaged();
    return cache;
  }
  while (!rest.empty()) {  // key \t candidate \t microseconds
    const std::string_view line = next_line();
    const std::size_t a = line.find('\t');
    const std::size_t b = a == std::string_view::npos ? a : line.find('\t', a + 1);
    double time = 0;
    if (b == std::string_view::npos || !read_time(line.substr(b + 1), time)) {
      damaged();
      return cache;
    }
    cache.entries_[std::string(line.substr(0, a))] = {std::string(line.substr(a + 1, b - a - 1)), time};
  }
  return cache;
}

std::optional<TimingCache::Entry> TimingCache::find(const std::string& provider,
                                                    const std::string& node) const {
  auto it = entries_.find(provider + " | " + node);
  return it == entries_.end() ? std::nullopt : std::optional(it->second);
}

void TimingCache::put(const std::string& provider, const std::string& node, Entry entry) {
  entries_[provider + " | " + node] = std::move(entry);
  dirty_ = true;
}

void TimingCache::erase(const std::string& provider, const std::string& node) {
  dirty_ = entries_.erase(provider + " | " + node) > 0 || dirty_;
}

Status TimingCache::save() const {
  if (path_.empty() || !dirty_) return {};
  HONE_CHECK(make_folder(path_.parent_path()));
  std::string text{kTimingsHeader};
  text += '\n';
  for (const auto& [key, entry] : entries_)
    text += fmt::format("{}\t{}\t{}\n", key, entry.candidate, entry.microseconds);
  return write_file(path_, text);
}

}  // namespace hone::runtime
