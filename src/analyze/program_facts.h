// What a recording shows that a program has, as far as advice depends on it: nobody should be told to do what the program
// does, or to speed up what it has not got. The words that follow from it are here, too; those of one framework only.
#pragma once

#include <string>

#include "trace/trace.h"

namespace hone::analyze {

struct ProgramFacts {
  bool observed = false;  // recorded by hone: no profiler has options to set
  bool convolves = false;
  bool updates = false;  // some operator updates parameters
  bool fused_update = false;
  std::string optimizer;  // its class, "AdamW"; empty: not known
  int loaders =
      0;  // processes that prepare batches at once: as the recorder saw them, else as samples of their stacks show
};

ProgramFacts facts_of(const trace::Trace& trace);

// For a PyTorch program that waits for its next batch. `device`: it has one, which could prepare batches, too.
std::string batch_advice(const ProgramFacts& program, bool device);

// For a PyTorch program whose optimizer passes over the parameters many times.
std::string optimizer_advice(const ProgramFacts& program);

// How to learn what code of a PyTorch program the host was at, as the end of a sentence; empty where `named`: its lines
// stand beside the advice.
std::string unnamed_code_advice(const ProgramFacts& program, bool named);

// For operators of a PyTorch program that are slow on the CPU, for many small ones, and for copies that change the order
// of elements.
std::string cpu_kernel_advice(const ProgramFacts& program);
std::string small_operator_advice(const ProgramFacts& program);
std::string cpu_order_advice(const ProgramFacts& program);

}  // namespace hone::analyze
