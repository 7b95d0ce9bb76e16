// Kernels made before somebody chooses between them, several at a time: making one may be compiling it.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "runtime/provider.h"

namespace hone::runtime {

class MadeAhead {
 public:
  struct Wanted {
    const graph::Node* node = nullptr;  // that the candidate is of; stays where it is
    Candidate candidate;
  };
  // Makes all of `wanted`, as many at a time as there are cores. What cannot be made is left out: who takes it makes it
  // again, and learns why. `go_on` is told how many are made, on this thread; once it says false no more are begun, and
  // the result is false.
  bool make(const std::vector<Wanted>& wanted,
            const std::function<bool(std::size_t made, std::size_t of)>& go_on = {});
  // Null: not made, or taken already.
  std::unique_ptr<Kernel> take(const graph::Node& node, const std::string& candidate);
  // What was made and nobody took.
  void drop() { made_.clear(); }

 private:
  std::map<std::pair<const graph::Node*, std::string>, std::unique_ptr<Kernel>> made_;
};

}  // namespace hone::runtime
