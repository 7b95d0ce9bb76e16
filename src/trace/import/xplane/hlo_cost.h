// What an instruction of XLA must cost by its shapes: FLOPs of its definition and compulsory bytes, counted
// as trace/aten/cost.h counts them for PyTorch. Of a fusion: the arithmetic of all that is fused, and only the
// bytes that cross its border.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "trace/import/xplane/hlo.h"
#include "trace/operator_class.h"

namespace hone::trace::xplane {

struct HloCost {
  OperatorClass op_class = OperatorClass::kOther;
  DType dtype = DType::kUndefined;  // of the arithmetic
  bool default_precision = false;   // of a product: it asks for no more
  double flops = 0;
  double bytes_read = 0;
  double bytes_written = 0;
  bool is_collective = false;
  bool runs_others = false;  // a loop, a condition or a call: its work is that of the instructions it runs
  std::string geometry;      // "128×256 · 256×512"
};

// Costs of the instructions of one module, which must outlive it.
class HloCosts {
 public:
  explicit HloCosts(const HloModule& module);

  // Of one execution. `instruction` is one of `computation`'s, which is one of the module's. Where it cannot
  // be told (custom calls that hone does not know, malformed instructions) FLOPs and bytes are 0.
  HloCost of(const HloComputation& computation, const HloInstruction& instruction) const;

 private:
  // What is inside a fusion, or what a reduction does with two elements.
  struct Inside {
    double flops = 0;
    const HloInstruction* product = nullptr;  // the largest product or convolution
    double product_flops = 0;
    bool reduces = false, computes = false, reorders = false, moves = false;
  };
  using ById = std::unordered_map<int64_t, const HloInstruction*>;

  std::size_t place_of(const HloComputation& computation) const;
  const HloInstruction* operand(const ById& by_id, const HloInstruction& instruction, std::size_t i) const;
  const Inside* inside_of(const HloInstruction& instruction, std::size_t before) const;
  double flops_of(const ById& by_id, const HloInstruction& instruction, std::size_t place) const;
  double dot_flops(const ById& by_id, const HloInstruction& instruction) const;
  double convolution_flops(const ById& by_id, const HloInstruction& instruction) const;
  double custom_flops(const ById& by_id, const HloInstruction& instruction) const;
  void add_bytes(const ById& by_id, const HloInstruction& instruction, HloCost& cost) const;
  void add_fusion_bytes(const ById& by_id, const HloInstruction& instruction, HloCost& cost) const;
  void describe(const ById& by_id, const HloInstruction& instruction, const HloInstruction* product,
                const ById* inside, HloCost& cost) const;

  const HloModule& module_;
  std::unordered_map<int64_t, std::size_t> place_;  // of computations, by id
  std::vector<ById> by_id_;                         // instructions of each computation
  std::vector<Inside> inside_;                      // of each computation
};

}  // namespace hone::trace::xplane
