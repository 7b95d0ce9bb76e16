// A tree of named values: what Perfetto calls debug annotations and shows when a slice is clicked. hone keeps
// its tables (operators, tracks, machine) in one such tree, so that a trace is complete in itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <protozero/data_view.hpp>

namespace hone::trace::perfetto {

struct Annotation {
  struct Dict {
    std::vector<Annotation> entries;  // named
  };
  struct Array {
    std::vector<Annotation> items;  // without names
  };

  std::string name;
  std::variant<std::monostate, int64_t, double, std::string, Dict, Array> value;

  const Annotation* find(std::string_view entry) const;  // null if this is no dict or has no such entry
  // The entry's value, or a neutral one where it is absent or of another type.
  int64_t integer(std::string_view entry) const;
  double real(std::string_view entry) const;
  std::string text(std::string_view entry) const;
  const std::vector<Annotation>& items(std::string_view entry) const;
};

// Bytes of a DebugAnnotation message.
std::string encode(const Annotation& annotation);
// Throws protozero::exception on malformed bytes, and on nesting deeper than any tree of ours.
Annotation decode(protozero::data_view bytes, int depth = 0);

}  // namespace hone::trace::perfetto
