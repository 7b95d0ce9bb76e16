#include "lab/experiment/arena_gain.h"

#include <fmt/core.h>

#include "core/units.h"
#include "passes/order_for_memory.h"

namespace hone::lab {

analyze::ArenaGain arena_gain(const graph::Graph& graph_before, const runtime::Plan& before,
                              const graph::Graph& graph_after, const runtime::Plan& after) {
  return {static_cast<double>(before.memory().arena_bytes), static_cast<double>(after.memory().arena_bytes),
          static_cast<double>(passes::peak_live_bytes(graph_before)) -
              static_cast<double>(passes::peak_live_bytes(graph_after))};
}

std::optional<ArenaChange> arena_change(const std::optional<analyze::ArenaGain>& gain) {
  if (!gain) return std::nullopt;
  return ArenaChange{static_cast<std::size_t>(gain->before_bytes),
                     static_cast<std::size_t>(gain->after_bytes)};
}

std::string arena_words(const std::optional<analyze::ArenaGain>& gain) {
  if (!gain) return {};
  return fmt::format("; arena {} instead of {}, predicted to shrink by {}", format_bytes(gain->after_bytes),
                     format_bytes(gain->before_bytes), format_bytes(gain->predicted_gain_bytes));
}

}  // namespace hone::lab
