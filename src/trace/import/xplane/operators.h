// The operators of a profile: rows of the operator table for instructions of XLA, with the costs that the
// profile records or its modules tell.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "trace/import/xplane/hlo.h"
#include "trace/import/xplane/hlo_cost.h"
#include "trace/import/xplane/profile.h"
#include "trace/trace.h"

namespace hone::trace::xplane {

// What an event says of the instruction that ran.
struct HloEvent {
  std::string_view op;             // "fusion.3"
  std::string_view module;         // "jit_step"
  int64_t program = 0;             // tells modules of one name apart
  std::string_view op_name = {};   // as the framework names it, where the event says
  std::string_view category = {};  // "convolution fusion", where the event says
  double flops = 0, bytes = 0;     // as the profiler recorded them; 0: not said
  std::string_view kernel = {};    // that ran for it, of a GPU
};

struct HloOperator {
  OperatorId op = {};
  bool is_collective = false;
  bool in_module = false;    // the module that the profile has of it has the instruction
  bool runs_others = false;  // a loop, a condition, a call
};

class HloOperators {
 public:
  // The bytes of an HloProto, which must outlive this. `name` is "jit_step(17)".
  void add_module(std::string_view name, int64_t program, std::string_view proto);
  // Adds a row to `trace` the first time.
  HloOperator find(const HloEvent& event, std::string_view device, Trace& trace);
  // An operator of TensorFlow, by its full name and its type: "model/dense/MatMul", "MatMul".
  OperatorId framework_operator(std::string_view name, std::string_view type, Trace& trace);

  uint64_t damaged_modules() const { return damaged_; }
  bool has_modules() const { return !modules_.empty(); }

 private:
  struct Module {
    std::string_view proto;
    bool is_read = false;
    HloModule hlo;
    std::unique_ptr<HloCosts> costs;
    std::unordered_map<std::string_view, std::pair<std::size_t, std::size_t>>
        places;  // by instruction's name
    std::unordered_map<std::string, std::string_view>
        of_kernels;       // instructions by what kernels made for them are called
    bool trains = false;  // some of its instructions are of a backward pass
  };
  struct Key {
    int64_t program;
    std::string_view module, op;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return std::hash<std::string_view>()(key.op) ^ (std::hash<std::string_view>()(key.module) << 1) ^
             (static_cast<std::size_t>(key.program) * 0x9e3779b97f4a7c15u);
    }
  };

  Module* module_of(const HloEvent& event);
  void read(Module& module);
  HloOperator describe(const HloEvent& event, std::string_view device, Trace& trace);
  std::string unique_name(std::string name);

  std::map<int64_t, Module> modules_;                    // by program
  std::map<std::string_view, int64_t> program_by_name_;  // "jit_step"
  std::unordered_map<Key, HloOperator, KeyHash> known_;
  std::map<std::pair<std::string_view, std::string_view>, OperatorId> framework_known_;
  std::unordered_map<std::string, int> names_;  // how many rows are called so
  uint64_t damaged_ = 0;
};

}  // namespace hone::trace::xplane
