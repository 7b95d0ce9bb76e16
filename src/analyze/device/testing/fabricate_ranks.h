// Programs of several ranks, or of several devices driven by one process, made up for tests. Not part of the
// product. Times in µs.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "trace/testing/add_span.h"

namespace hone::analyze::device::fabricate {

class Ranks {
 public:
  explicit Ranks(int ranks, int devices = 1) : ranks_(static_cast<std::size_t>(ranks)) {
    for (int rank = 0; rank < ranks; ++rank) {
      Rank& made = at(rank);
      const trace::TrackId process = add_process(trace_, rank);
      made.thread = add_thread(trace_, process);
      made.devices.resize(static_cast<std::size_t>(devices));
      for (int device = 0; device < devices; ++device) {
        Device& own = made.devices[static_cast<std::size_t>(device)];
        own.stream = add_stream(trace_, process, 7, device);
        own.side = add_stream(trace_, process, 20, device);
        trace_.meta.devices.push_back({rank, device, "NVIDIA H200", 150e9, 132, 9, 0});
      }
      trace_.meta.ranks.push_back({rank, ranks, "rank" + std::to_string(rank) + ".json", "nccl", {}});
    }
  }

  void clock_offset(int rank, double us) { at(rank).offset = us; }
  void first_step(int rank, int32_t number) { at(rank).step = number; }

  void begin_step(int rank) { at(rank).step_start = at(rank).host; }
  // The range of the step ends on the host; `marked`: a ProfilerStep range stands for it.
  void end_step(int rank) {
    Rank& own = at(rank);
    add(rank, own.thread, trace::Category::kStep, "step", own.step_start, own.host - own.step_start, {}, 0);
    ++own.step;
  }
  void host(int rank, double us) { at(rank).host += us; }

  // The host issues for 2 µs, then launches a work of `us` of an operator, "aten::mul" or, with its inputs,
  // "aten::mul 8×8"; `after`: not before that time.
  double launch(int rank, double us, const std::string& kind = "aten::mul", int device = 0,
                double after = 0) {
    Rank& own = at(rank);
    Device& on = own.devices[static_cast<std::size_t>(device)];
    own.host += 2;
    const uint64_t id = call(rank, kind);
    on.free = std::max({on.free + 1, own.host + 3, after});
    add(rank, on.stream, trace::Category::kKernel, "kernel_of_" + kind, on.free, us, op(kind), id);
    on.free += us;
    return on.free;
  }

  // A collective that all of `members` launch now, which takes `us` from the last arrival on; the streams of
  // the ranks wait for it.
  void collective(const std::vector<int>& members, double us, const std::string& name = "allreduce",
                  double elements = 1e6, const std::string& group = "0") {
    double arrived = 0;
    std::map<int, std::pair<double, uint64_t>> starts;
    for (int rank : members) {
      Rank& own = at(rank);
      own.host += 2;
      const uint64_t id = call(rank, "nccl:" + name);
      const double start = std::max(own.devices[0].free + 1, own.host + 3);
      starts[rank] = {start, id};
      arrived = std::max(arrived, start);
    }
    for (const auto& [rank, start] : starts) {
      Rank& own = at(rank);
      own.devices[0].free = arrived + us;
      add(rank, own.devices[0].side, trace::Category::kCommunication,
          "ncclDevKernel_AllReduce_Sum_f32_RING_LL", start.first, arrived + us - start.first, {},
          start.second);
      describe_collective(trace_, static_cast<uint32_t>(trace_.spans.size() - 1), name, elements, group,
                          static_cast<uint32_t>(members.size()));
    }
  }

  // The host waits until the device is done.
  void wait(int rank, int device = 0) {
    Rank& own = at(rank);
    const double end = std::max(own.host, own.devices[static_cast<std::size_t>(device)].free) + 3;
    add(rank, own.thread, trace::Category::kSynchronization, "cudaStreamSynchronize", own.host,
        end - own.host, {}, 0);
    own.host = end;
  }

  const trace::Trace& trace() const { return trace_; }
  trace::Trace& trace() { return trace_; }

 private:
  struct Device {
    trace::TrackId stream, side;
    double free = 0;
  };
  struct Rank {
    trace::TrackId thread;
    std::vector<Device> devices;
    double host = 1000, step_start = 0, offset = 0;
    int32_t step = 0;
  };

  Rank& at(int rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  uint64_t call(int rank, const std::string& kind) {
    Rank& own = at(rank);
    add(rank, own.thread, trace::Category::kOperator, kind, own.host - 2, 4, op(kind), 0);
    add(rank, own.thread, trace::Category::kRuntime, "cudaLaunchKernel", own.host, 2, {}, ++correlation_);
    own.host += 2;
    return correlation_;
  }

  trace::OperatorId op(const std::string& kind) {
    const auto [known, is_new] = ops_.try_emplace(kind);
    if (is_new) {
      trace::Operator row;
      const std::size_t space = std::min(kind.find(' '), kind.size());
      row.name = row.kind = kind.substr(0, space);
      if (space < kind.size()) row.geometry = kind.substr(space + 1);
      const bool product = row.kind == "aten::mm";
      row.op_class = product ? trace::OperatorClass::kMatrix : trace::OperatorClass::kPointwise;
      row.dtype = product ? DType::kBF16 : DType::kF32;
      if (kind.starts_with("aten::")) {  // of others nobody knows a cost
        row.flops = product ? 1e10 : 1e6;
        row.bytes_read = row.bytes_written = 4e6;
      }
      known->second = trace_.add_operator(row);
    }
    return known->second;
  }

  void add(int rank, trace::TrackId track, trace::Category category, const std::string& name, double start,
           double us, trace::OperatorId op, uint64_t correlation) {
    add_span(trace_, {.on = track,
                      .category = category,
                      .name = name,
                      .from_us = start + at(rank).offset,
                      .us = us,
                      .step = at(rank).step,
                      .op = op,
                      .correlation = correlation});
  }

  trace::Trace trace_;
  std::vector<Rank> ranks_;
  std::map<std::string, trace::OperatorId> ops_;
  uint64_t correlation_ = 0;
};

}  // namespace hone::analyze::device::fabricate
