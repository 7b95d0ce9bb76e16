// Runs a pointwise program tile by tile: each instruction is a vectorised loop over a tile that stays in the
// L1 cache, so that a group of n operators moves its inputs and outputs through memory once instead of n
// times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/result.h"
#include "kernels/pointwise/program.h"

namespace hone::kernels {

class Pointwise {
 public:
  // Checks the program, merges its axes, assigns tile buffers.
  static Result<Pointwise> create(const PointwiseProgram& program);

  std::size_t scratch_bytes() const { return scratch_per_thread_ * static_cast<std::size_t>(threads_); }
  // One pointer per input and output of the program. Scratch is aligned to 64 bytes. An output may be the
  // very memory of an input that is dense in the iteration space and has the same element size; otherwise no
  // overlap.
  void execute(std::span<const void* const> inputs, std::span<void* const> outputs,
               void* scratch) const noexcept;

 private:
  // Where a value lives while its tile is computed.
  enum class Place : uint8_t { kBuffer, kSplat, kOutput, kInput };
  struct Value {
    PointwiseInstruction instruction;
    DType held = DType::kF32;
    Place place = Place::kBuffer;
    int index = 0;  // of the buffer, the splat, the output or the input
  };
  struct Input {
    DType dtype = DType::kF32;
    DType held = DType::kF32;
    std::vector<int64_t> strides;  // along the merged axes
    bool dense = false;            // contiguous over the whole iteration space
    bool periodic = false;         // the same for every row
    int buffer = 0, splat = 0;
  };
  struct alignas(64) Splat {
    std::byte bytes[64];
  };
  struct Loaded;
  struct Worker;
  struct LastUses;

  void merge_axes(const PointwiseProgram& program);
  LastUses find_last_uses(const PointwiseProgram& program) const;
  void place_values(const PointwiseProgram& program);
  void place_result(Value& value, LastUses& last, std::vector<int>& free);
  void plan_tiles();
  void load_input(Worker& worker, std::size_t input, int64_t begin, int64_t n) const noexcept;
  void run_tile(Worker& worker, int64_t begin, int64_t n) const noexcept;
  const void* output_elements(Worker& worker, const PointwiseOutput& output, int64_t n) const noexcept;
  void store_outputs(Worker& worker, int64_t begin, int64_t n) const noexcept;
  void run_item(Worker& worker, int64_t item) const noexcept;
  void write_reduced(Worker& worker, std::size_t k, int64_t group, double real, int64_t whole) const noexcept;
  void write_empty_groups(Worker& worker) const noexcept;

  std::vector<int64_t> extents_;  // the merged axes
  int64_t total_ = 0;             // elements of the iteration space
  int64_t inner_ = 1;             // extent of the last merged axis
  int64_t group_ = 0;             // elements that a reducing output folds into one; 0: no reduction
  int64_t empty_groups_ = 0;      // reduced elements when there is nothing to reduce
  int64_t unit_ = 1, tile_ = 1, tiles_per_unit_ = 1, tiles_ = 0;
  bool whole_rows_ = false;  // tiles begin with rows
  double cost_ns_ = 0;       // rough time of a tile element, for the parallel grain
  std::vector<Value> values_;
  std::vector<Input> inputs_;
  std::vector<PointwiseOutput> outputs_;
  std::vector<Splat> constants_;
  int buffers_ = 0;
  std::size_t buffer_bytes_ = 0;
  std::size_t scratch_per_thread_ = 0;
  int threads_ = 1;
};

}  // namespace hone::kernels
