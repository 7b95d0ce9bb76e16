// How often the gate claims a difference where there is none: a plan against itself, 200 times (the first
// argument names the zoo's model, the second how often). Prints JSON. The claims must be as rare as the
// stated level.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "lab/bench/bench.h"
#include "lab/gate/paired.h"
#include "model/zoo/zoo.h"

int main(int count, char** arguments) {
  using namespace hone;
  const std::string name = count > 1 ? arguments[1] : "mobilenet_v2";
  const int comparisons = count > 2 ? std::atoi(arguments[2]) : 200;
  model::ZooOptions zoo;
  zoo.batch = 1;
  auto graph = model::build_zoo_model(name, zoo);
  auto work = graph.ok() ? lab::ready_to_run(*graph, {}) : Result<lab::Workload>(graph.error());
  lab::PairedOptions options;
  options.budget_ns = 250'000'000;
  auto self = work.ok() ? lab::compare_with_itself(*work, comparisons, options)
                        : Result<lab::SelfComparison>(work.error());
  if (!self.ok()) {
    fmt::print(stderr, "bench_self_comparison: {}: {}\n", name, self.error().message);
    return 1;
  }
  std::sort(self->interval_halfway.begin(), self->interval_halfway.end());
  const double halfway = self->interval_halfway[self->interval_halfway.size() / 2];
  fmt::print("{{\"model\": \"{}\", \"comparisons\": {}, \"claimed\": {}, \"level\": {}, ", name,
             self->comparisons, self->claimed, options.level);
  fmt::print("\"median_half_width\": {:.5f}, \"claims\": [", halfway);
  for (std::size_t i = 0; i < self->claims.size(); ++i)
    fmt::print("{}\"{}\"", i == 0 ? "" : ", ", lab::ratio_text(self->claims[i].ratio));
  fmt::print("]}}\n");
  return 0;
}
