#include "trace/import/xplane/op_name.h"

#include <algorithm>
#include <array>

namespace hone::trace::xplane {
namespace {

constexpr std::size_t kLongestName = 2000;
constexpr int kMostWrappers = 32;

// Transformations of JAX that wrap the name of what they transform: "jvp(block0)".
constexpr std::array<std::string_view, 9> kWrappers = {
    "transpose", "jvp", "vmap", "checkpoint", "remat", "pmap", "xmap", "linearize", "shard_map"};
// Traced functions: "jit(gelu)". The function's name is one of the library's as often as one of the program's.
constexpr std::array<std::string_view, 4> kCalls = {"jit", "pjit", "core_call", "closed_call"};
// Parts that say how JAX runs something, not where it belongs.
constexpr std::array<std::string_view, 14> kControl = {"while",
                                                       "body",
                                                       "cond",
                                                       "scan",
                                                       "closed_call",
                                                       "core_call",
                                                       "checkpoint",
                                                       "remat",
                                                       "remat2",
                                                       "rematted_computation",
                                                       "custom_jvp_call",
                                                       "custom_vjp_call",
                                                       "custom_vjp_call_jaxpr",
                                                       "shard_map"};

template <std::size_t count>
bool is_one_of(const std::array<std::string_view, count>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// "transpose(jvp(block0))" → "transpose", "jvp(block0)". False: nothing is wrapped.
bool unwrap(std::string_view part, std::string_view& wrapper, std::string_view& inner) {
  const std::size_t open = part.find('(');
  if (open == std::string_view::npos || !part.ends_with(')')) return false;
  wrapper = part.substr(0, open);
  inner = part.substr(open + 1, part.size() - open - 2);
  return true;
}

// The end of the part that begins at `from`: a slash outside of all parentheses.
std::size_t part_end(std::string_view name, std::size_t from) {
  int depth = 0;
  for (std::size_t at = from; at < name.size(); ++at) {
    if (name[at] == '(') ++depth;
    if (name[at] == ')') --depth;
    if (name[at] == '/' && depth <= 0) return at;
  }
  return name.size();
}

class PlaceReader {
 public:
  OpPlace read(std::string_view name) {
    add_parts(name, 0);
    if (transposed_)
      place_.phase = Phase::kBackward;
    else if (differentiated_)
      place_.phase = Phase::kForward;
    place_.differentiated = differentiated_;
    return std::move(place_);
  }

 private:
  // The last part names the primitive; parts of a wrapped path ("jvp(block0/mlp)") are all of modules.
  void add_parts(std::string_view name, int depth) {
    for (std::size_t at = 0; at < name.size();) {
      const std::size_t end = part_end(name, at);
      const bool last = end == name.size() && depth == 0;
      add_part(name.substr(at, end - at), last, depth);
      at = end + 1;
    }
  }

  void add_part(std::string_view part, bool last, int depth) {
    std::string_view wrapper, inner;
    if (unwrap(part, wrapper, inner) && depth < kMostWrappers) {
      if (is_one_of(kCalls, wrapper)) return;
      if (is_one_of(kWrappers, wrapper)) {
        transposed_ = transposed_ || wrapper == "transpose";
        differentiated_ = differentiated_ || wrapper == "transpose" || wrapper == "jvp";
        add_parts(inner, depth + 1);
        return;
      }
    }
    if (last) {
      place_.primitive = part;
      return;
    }
    if (part == "gradient_tape" || part == "gradients") {  // TensorFlow
      transposed_ = differentiated_ = true;
      return;
    }
    if (part.empty() || is_one_of(kControl, part) || part.starts_with("branch_")) return;
    if (!place_.module.empty()) place_.module += '/';
    place_.module += part;
  }

  OpPlace place_;
  bool transposed_ = false, differentiated_ = false;
};

}  // namespace

OpPlace place_of_op(std::string_view op_name) { return PlaceReader().read(op_name.substr(0, kLongestName)); }

}  // namespace hone::trace::xplane
