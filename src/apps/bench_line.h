// What the line of hone bench says, and what its forms share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "apps/command_line.h"
#include "apps/model_options.h"
#include "core/result.h"
#include "lab/bench/bench.h"
#include "lab/gate/latency.h"

namespace hone::apps {

struct BenchLine {
  ModelOptions model;
  std::optional<Option> device_option;
  lab::BenchOptions bench;
  std::vector<std::string> inputs;
  std::vector<std::string> disabled;
  std::vector<std::string> against;
  std::string ort_library;
  std::string json;
  std::string csv;
  int64_t batch = 0;
  bool no_cache = false;
  bool on_request = false;
  bool sweep = false;
  std::string batches, concurrencies;  // of the sweep: "1,8,32"
  std::vector<std::string> buckets;    // "batch=1,8,32"
};

// The symbols that stand for the batch: the first extents of the inputs. A fixed one must be what was asked
// for.
Result<std::vector<std::string>> batch_symbols(const BenchLine& options);

nlohmann::ordered_json latency_json(const lab::Latency& latency);
void print_latency(const std::string& who, const lab::Latency& latency);

// hone bench --buckets.
Status bench_in_buckets(const BenchLine& options);

}  // namespace hone::apps
