// Throughput against latency: a model by batch and by how many of its plans run at once, with and without the copies of
// inputs and outputs. The work of `hone bench --sweep`.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "graph/graph.h"
#include "lab/bench/bench.h"
#include "lab/gate/latency.h"

namespace hone::lab {

// Calls of one kind at one point of the sweep.
struct ThroughputCalls {
  int in_flight = 1;                      // requests of all plans together that are on their way at once
  Latency latency;                        // of one call, or of a request from being given to being taken
  double per_s = 0;                       // items of all plans together
  std::optional<double> joules_per_item;  // of the device; where NVML counts its energy
};

struct ThroughputPoint {
  int64_t batch = 1;
  int concurrency = 1;
  int threads = 1;              // of each plan
  ThroughputCalls compute;      // inputs lie in the device's memory already, outputs stay there
  ThroughputCalls with_copies;  // inputs come from the host's, outputs go there; one plan is pipelined
  PlanMemoryUse memory;         // of its plans
};

struct Throughput {
  std::vector<ThroughputPoint> points;  // in the order measured: by batch, then by concurrency
  std::optional<std::size_t> knee;      // by the calls with their copies
  std::vector<std::string> notes;
};

struct ThroughputOptions {
  BenchOptions bench;  // its budget is for all points together
  std::vector<int64_t> batches;
  std::vector<int> concurrencies;
};

// The model at a batch; 0: as it is. What the result calls a batch is what its inputs begin with.
using GraphOfBatch = std::function<Result<graph::Graph>(int64_t batch)>;

// A batch that needs more memory than there is ends the sweep there, with a note; an error if none fits.
Result<Throughput> measure_throughput(const GraphOfBatch& graph_of, const ThroughputOptions& options);

// Where more throughput begins to cost latency alone: of the points that reach this share of the greatest throughput, the
// one of the shortest median latency. nullopt without points.
inline constexpr double kKneeShare = 0.9;
struct LatencyAndThroughput {
  double p50_ms = 0, per_s = 0;
};
std::optional<std::size_t> find_knee(std::span<const LatencyAndThroughput> points);

// 1, 2, 4 … up to what so many plans can share: their threads where they run on the host's, kMostPlans elsewhere.
inline constexpr int kMostPlans = 4;
Result<std::vector<int>> default_concurrencies(const BenchOptions& options);

}  // namespace hone::lab
