// Compiling and running pointwise programs. The loops over elements are in interpret_*.cpp.
#include "kernels/cpu/pointwise/pointwise.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "kernels/cpu/parallel.h"
#include "kernels/cpu/pointwise/interpret.h"

namespace hone::kernels {

using internal::kSplatBytes;
using internal::kTile;
using internal::TileOperand;
using internal::TileStep;
using Op = PointwiseOp;

namespace {

constexpr double kParallelNs = 6000;  // work that is worth waking another thread for
constexpr std::size_t kMaxValues = 256;
constexpr std::size_t kMaxPointwiseAxes = 16;
constexpr std::size_t kMaxOutputs = 16;
constexpr int kStaging = 2;  // buffers for outputs that need spreading or converting

bool is_integer_held(DType held) { return held == DType::kI32 || held == DType::kI64; }

// Fills a vector with copies of one held value.
void write_splat(const PointwiseInstruction& constant, DType held, void* to) {
  const auto fill = [&](auto x) {
    for (std::size_t i = 0; i < kSplatBytes / sizeof x; ++i) {
      std::memcpy(static_cast<std::byte*>(to) + i * sizeof x, &x, sizeof x);
    }
  };
  switch (held) {
    case DType::kF32:
      return fill(static_cast<float>(constant.literal));
    case DType::kF64:
      return fill(constant.literal);
    case DType::kI32:
      return fill(static_cast<int32_t>(constant.integer));
    case DType::kI64:
      return fill(constant.integer);
    default:
      return fill(static_cast<uint8_t>(constant.integer != 0));
  }
}

// Rough nanoseconds an element of one instruction, at AVX2 speed: only the order of magnitude matters.
double instruction_ns(Op op, DType held) {
  if (held != DType::kF32 && held != DType::kBool) return 1.0;
  switch (op) {
    case Op::kPow:
    case Op::kFmod:
    case Op::kMod:
    case Op::kTan:
    case Op::kAsin:
    case Op::kAcos:
    case Op::kAtan:
    case Op::kSinh:
    case Op::kCosh:
    case Op::kAsinh:
    case Op::kAcosh:
    case Op::kAtanh:
    case Op::kLog1p:
      return 10.0;
    case Op::kExp:
    case Op::kLog:
    case Op::kSin:
    case Op::kCos:
    case Op::kTanh:
    case Op::kErf:
    case Op::kSigmoid:
    case Op::kSwish:
    case Op::kMish:
    case Op::kElu:
    case Op::kSelu:
    case Op::kCelu:
    case Op::kSoftplus:
    case Op::kGeluErf:
    case Op::kGeluTanh:
    case Op::kGeluErfSlope:
    case Op::kGeluTanhSlope:
      return 0.6;
    default:
      return 0.1;
  }
}

// n copies of the four bytes at `from`.
void fill_words(const std::byte* from, std::byte* to, int64_t n) {
  uint32_t word;
  std::memcpy(&word, from, sizeof word);
  std::fill_n(reinterpret_cast<uint32_t*>(to), n, word);
}

// Writes the `bytes` at `from` again behind themselves, `times` times.
void repeat_bytes(std::byte* from, std::size_t bytes, int64_t times) {
  std::size_t done = bytes;
  const std::size_t all = bytes * static_cast<std::size_t>(times + 1);
  while (done < all) {
    const std::size_t more = std::min(done, all - done);
    std::memcpy(from + done, from, more);
    done += more;
  }
}

struct Accumulator {
  double real;
  int64_t whole;
};

Accumulator identity(ReduceOp op) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  switch (op) {
    case ReduceOp::kProd:
      return {1, 1};
    case ReduceOp::kMax:
      return {-kInfinity, std::numeric_limits<int64_t>::min()};
    case ReduceOp::kMin:
      return {kInfinity, std::numeric_limits<int64_t>::max()};
    default:
      return {0, 0};
  }
}

}  // namespace

// What an input's operand holds from a tile before, all rows of which were the same: it serves all tiles between
// these places that are no longer.
struct Pointwise::Loaded {
  int64_t begin = 0, end = 0;
  int64_t count = 0;  // elements that it holds
};

// What one thread works with: carved from the caller's scratch.
struct Pointwise::Worker {
  std::span<const void* const> inputs;
  std::span<void* const> outputs;
  std::byte* buffers = nullptr;
  std::byte* splats = nullptr;
  TileOperand* operands = nullptr;  // of each value in this tile
  Loaded* loaded = nullptr;         // of each input
};

Result<Pointwise> Pointwise::create(const PointwiseProgram& program) {
  HONE_CHECK(program.verify());
  if (program.instructions.size() > kMaxValues || program.shape.size() > kMaxPointwiseAxes ||
      program.outputs.size() > kMaxOutputs) {
    return unsupported(
        "pointwise program: more than 256 instructions, 16 axes or 16 outputs; split the group");
  }
  Pointwise kernel;
  kernel.threads_ = thread_count();
  kernel.outputs_ = program.outputs;
  kernel.total_ = element_count(program.shape);
  kernel.merge_axes(program);
  kernel.place_values(program);
  kernel.plan_tiles();
  const auto aligned = [](std::size_t bytes) { return (bytes + 63) / 64 * 64; };
  kernel.scratch_per_thread_ = static_cast<std::size_t>(kernel.buffers_ + kStaging) * kernel.buffer_bytes_ +
                               kernel.inputs_.size() * kSplatBytes +
                               aligned((kernel.values_.size() + kernel.inputs_.size()) * sizeof(TileOperand) +
                                       kernel.inputs_.size() * sizeof(Loaded));
  return kernel;
}

// Drops axes of extent 1 and joins neighbours that every input walks as one, never across the reduced
// boundary.
void Pointwise::merge_axes(const PointwiseProgram& program) {
  const std::size_t rank = program.shape.size();
  const std::size_t boundary = rank - static_cast<std::size_t>(program.reduced_axes);
  std::vector<std::vector<int64_t>> strides(program.inputs.size());
  std::size_t last = rank;  // the original axis that the last merged axis ends with
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const int64_t extent = program.shape[axis];
    if (extent == 1) continue;
    bool joins = last != rank && !(last < boundary && axis >= boundary);
    for (std::size_t i = 0; joins && i < program.inputs.size(); ++i) {
      joins = strides[i].back() == program.inputs[i].strides[axis] * extent;
    }
    if (joins) {
      extents_.back() *= extent;
      for (std::size_t i = 0; i < strides.size(); ++i) strides[i].back() = program.inputs[i].strides[axis];
    } else {
      extents_.push_back(extent);
      for (std::size_t i = 0; i < strides.size(); ++i) strides[i].push_back(program.inputs[i].strides[axis]);
    }
    last = axis;
  }
  if (extents_.empty()) {
    extents_.push_back(1);
    for (auto& s : strides) s.push_back(0);
  }
  inner_ = extents_.back();
  const std::vector<int64_t> dense = row_major_strides(extents_);
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    Input input;
    input.dtype = program.inputs[i].dtype;
    input.held = compute_type(input.dtype);
    input.strides = std::move(strides[i]);
    input.dense = input.strides == dense || total_ == 1;
    input.periodic =
        std::all_of(input.strides.begin(), input.strides.end() - 1, [](int64_t s) { return s == 0; });
    input.splat = static_cast<int>(i);
    inputs_.push_back(std::move(input));
  }
  group_ = 0;
  for (const PointwiseOutput& output : outputs_) {
    if (output.reduce != ReduceOp::kNone) {
      group_ = element_count(std::span(program.shape).subspan(boundary));
      if (total_ == 0) empty_groups_ = element_count(std::span(program.shape).first(boundary));
    }
  }
}

// Which instruction reads each value last (-1: none; their count: the outputs do), and which one an input.
struct Pointwise::LastUses {
  std::vector<int> of_value;
  int of_inputs = -1;
};

Pointwise::LastUses Pointwise::find_last_uses(const PointwiseProgram& program) const {
  const int count = static_cast<int>(program.instructions.size());
  LastUses last{std::vector<int>(program.instructions.size(), -1)};
  const auto use = [&](int value, int by) {
    last.of_value[static_cast<std::size_t>(value)] = by;
    if (program.instructions[static_cast<std::size_t>(value)].op == Op::kInput) last.of_inputs = by;
  };
  for (int i = 0; i < count; ++i) {
    const PointwiseInstruction& instruction = program.instructions[static_cast<std::size_t>(i)];
    const std::array operands = {instruction.a, instruction.b, instruction.c};
    for (int k = 0; k < pointwise_arity(instruction.op); ++k) use(operands[static_cast<std::size_t>(k)], i);
  }
  for (const PointwiseOutput& output : outputs_) use(output.value, count);
  return last;
}

// Gives each value a place: inputs and constants their own, results what place_result() finds.
void Pointwise::place_values(const PointwiseProgram& program) {
  LastUses last = find_last_uses(program);
  std::size_t widest = 4;
  for (const PointwiseOutput& output : outputs_)
    widest = std::max(widest, dtype_size(compute_type(output.dtype)));
  for (Input& input : inputs_) input.buffer = buffers_++;
  std::vector<int> free;  // buffers that dead values left
  for (const PointwiseInstruction& instruction : program.instructions) {
    Value value;
    value.instruction = instruction;
    value.held = compute_type(instruction.dtype);
    widest = std::max(widest, dtype_size(value.held));
    if (instruction.op == Op::kInput) {
      value.place = Place::kInput;
      value.index = instruction.a;
    } else if (instruction.op == Op::kConstant) {
      value.place = Place::kSplat;
      value.index = static_cast<int>(constants_.size());
      write_splat(instruction, value.held, constants_.emplace_back().bytes);
    } else {
      cost_ns_ += instruction_ns(instruction.op, value.held);
      place_result(value, last, free);
    }
    values_.push_back(value);
  }
  // A line more than a power of two: tiles that differ by 4096 bytes would look like each other to the store
  // buffer.
  buffer_bytes_ = static_cast<std::size_t>(kTile) * widest + 64;
}

// The next of values_: into the output's memory if it is an output as it stands and nothing reads an input
// afterwards (which the output might overwrite); else into a buffer that a dead value left, or a new one.
void Pointwise::place_result(Value& value, LastUses& last, std::vector<int>& free) {
  const int i = static_cast<int>(values_.size());
  const std::array operands = {value.instruction.a, value.instruction.b, value.instruction.c};
  std::vector<int> released;  // buffers of operands of another size: free after this instruction
  for (int k = 0; k < pointwise_arity(value.instruction.op); ++k) {
    const auto operand = static_cast<std::size_t>(operands[static_cast<std::size_t>(k)]);
    if (last.of_value[operand] != i || values_[operand].place != Place::kBuffer) continue;
    last.of_value[operand] = -1;  // an operand used twice is freed once
    const bool same_size = dtype_size(values_[operand].held) == dtype_size(value.held);
    (same_size ? free : released).push_back(values_[operand].index);
  }
  const auto direct = std::find_if(outputs_.begin(), outputs_.end(), [&](const PointwiseOutput& output) {
    return output.value == i && output.reduce == ReduceOp::kNone && output.dtype == value.held;
  });
  if (direct != outputs_.end() && i >= last.of_inputs) {
    value.place = Place::kOutput;
    value.index = static_cast<int>(direct - outputs_.begin());
  } else if (!free.empty()) {
    value.index = free.back();
    free.pop_back();
  } else {
    value.index = buffers_++;
  }
  free.insert(free.end(), released.begin(), released.end());
}

// Tiles never cross a unit: the row of the innermost axis, or the group that one reduced element comes from.
// Units shorter than a tile share one.
void Pointwise::plan_tiles() {
  unit_ = std::max<int64_t>(group_ > 0 ? group_ : inner_, 1);
  if (unit_ >= kTile) {
    tiles_per_unit_ = (unit_ + kTile - 1) / kTile;
    tile_ = std::min((unit_ + tiles_per_unit_ - 1) / tiles_per_unit_ + 63, kTile * 64) / 64 * 64;
    tile_ = std::min(tile_, kTile);
    tiles_per_unit_ = (unit_ + tile_ - 1) / tile_;
    tiles_ = total_ / unit_ * tiles_per_unit_;
  } else {
    tiles_per_unit_ = 1;
    tile_ = kTile / unit_ * unit_;
    tiles_ = (total_ + tile_ - 1) / tile_;
  }
  whole_rows_ = inner_ > 0 && tile_ % inner_ == 0 && unit_ % inner_ == 0;
  cost_ns_ += 0.1 * static_cast<double>(inputs_.size() + outputs_.size());
}

// Makes the input's elements [begin, begin + n) of the iteration space readable as an operand.
void Pointwise::load_input(Worker& worker, std::size_t index, int64_t begin, int64_t n) const noexcept {
  const Input& input = inputs_[index];
  TileOperand& operand = worker.operands[index];
  const std::size_t size = dtype_size(input.dtype);
  const auto* base = static_cast<const std::byte*>(worker.inputs[index]);
  const auto at = [&](int64_t offset) { return base + offset * static_cast<int64_t>(size); };
  std::byte* buffer = worker.buffers + static_cast<std::size_t>(input.buffer) * buffer_bytes_;
  const bool as_is = input.dtype == input.held && input.dtype != DType::kBool;
  if (input.dense) {
    operand = {at(begin), -1};
    if (!as_is) {
      internal::load_held(at(begin), input.dtype, 1, buffer, n);
      operand.data = buffer;
    }
    return;
  }
  // Numbers along the last axis, or one block for all positions of an image: most tiles are like the one before.
  Loaded& loaded = worker.loaded[index];
  if (loaded.begin <= begin && begin + n <= loaded.end && n <= loaded.count) return;
  const int64_t inner_stride = input.strides.back();
  int64_t column = begin % inner_;
  int64_t row = begin / inner_;
  std::array<int64_t, kMaxPointwiseAxes> position{};
  int64_t offset = 0;
  for (std::size_t axis = extents_.size() - 1; axis-- > 0;) {
    position[axis] = row % extents_[axis];
    row /= extents_[axis];
    offset += position[axis] * input.strides[axis];
  }
  const bool repeats = extents_.size() > 1 && input.strides[extents_.size() - 2] == 0;
  loaded = {};
  if (whole_rows_ && input.periodic) {
    loaded = {0, total_, n};
  } else if (whole_rows_ && repeats) {
    const int64_t rows = extents_[extents_.size() - 2] - position[extents_.size() - 2];
    if (rows * inner_ >= n) loaded = {begin, begin + rows * inner_, n};
  }
  if (column + n <= inner_ && inner_stride == 0) {
    std::byte* splat = worker.splats + index * kSplatBytes;
    std::byte value[8];
    internal::load_held(at(offset), input.dtype, 1, value, 1);
    internal::fill_held(value, input.held, splat, kSplatBytes / static_cast<int64_t>(dtype_size(input.held)));
    operand = {splat, 0};
    return;
  }
  if (column + n <= inner_ && inner_stride == 1 && as_is) {
    operand = {at(offset + column), -1};
    return;
  }
  operand = {buffer, -1};
  const std::size_t held_size = dtype_size(input.held);
  for (int64_t done = 0; done < n; column = 0) {
    const int64_t run = std::min(inner_ - column, n - done);
    std::byte* to = buffer + static_cast<std::size_t>(done) * held_size;
    if (as_is && size == 4 && inner_stride == 0) {
      fill_words(at(offset), to, run);
    } else if (as_is && inner_stride == 1) {
      std::memcpy(to, at(offset + column), static_cast<std::size_t>(run) * size);
    } else {
      internal::load_held(at(offset + column * inner_stride), input.dtype, inner_stride, to, run);
    }
    done += run;
    if (repeats && as_is && run == inner_) {  // a copy each time would be many short ones
      const int64_t rows =
          std::min(extents_[extents_.size() - 2] - position[extents_.size() - 2] - 1, (n - done) / inner_);
      repeat_bytes(to, static_cast<std::size_t>(inner_) * size, rows);
      done += rows * inner_;
      position[extents_.size() - 2] += rows;
    }
    for (std::size_t axis = extents_.size() - 1; axis-- > 0;) {
      offset += input.strides[axis];
      if (++position[axis] < extents_[axis]) break;
      offset -= input.strides[axis] * extents_[axis];
      position[axis] = 0;
    }
  }
}

void Pointwise::run_tile(Worker& worker, int64_t begin, int64_t n) const noexcept {
  for (std::size_t i = 0; i < inputs_.size(); ++i) load_input(worker, i, begin, n);
  TileOperand* operands = worker.operands + inputs_.size();
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Value& value = values_[i];
    const auto index = static_cast<std::size_t>(value.index);
    if (value.place == Place::kInput) {
      operands[i] = worker.operands[index];
      continue;
    }
    if (value.place == Place::kSplat) {
      operands[i] = {constants_[index].bytes, 0};
      continue;
    }
    std::byte* result = worker.buffers + index * buffer_bytes_;
    if (value.place == Place::kOutput) {
      result = static_cast<std::byte*>(worker.outputs[index]) +
               static_cast<std::size_t>(begin) * dtype_size(value.held);
    }
    const PointwiseInstruction& instruction = value.instruction;
    const int arity = pointwise_arity(instruction.op);
    TileStep step{
        .op = instruction.op, .to = instruction.dtype, .alpha = instruction.alpha, .beta = instruction.beta};
    step.result = result;
    step.a = operands[instruction.a];
    step.type =
        values_[static_cast<std::size_t>(instruction.op == Op::kWhere ? instruction.b : instruction.a)].held;
    if (arity > 1) {
      step.b = operands[instruction.b];
      step.second = values_[static_cast<std::size_t>(instruction.b)].held;
    }
    if (arity > 2) step.c = operands[instruction.c];
    const bool f32 = internal::is_f32_step(step.op, step.type) && (arity != 2 || step.second == DType::kF32);
    (f32 ? internal::run_f32_step : internal::run_typed_step)(step, n);
    operands[i] = {result, -1};
  }
}

// The elements of an output's value in this tile, in memory one after the other and in the output's class.
const void* Pointwise::output_elements(Worker& worker, const PointwiseOutput& output,
                                       int64_t n) const noexcept {
  const auto index = static_cast<std::size_t>(output.value);
  const DType held = values_[index].held;
  TileOperand from = worker.operands[inputs_.size() + index];
  std::byte* staging = worker.buffers + static_cast<std::size_t>(buffers_) * buffer_bytes_;
  if (from.mask == 0) {
    internal::fill_held(from.data, held, staging, n);
    from = {staging, -1};
  }
  if (output.reduce == ReduceOp::kNone && compute_type(output.dtype) != held) {
    TileStep step{.op = Op::kCast, .type = held, .to = output.dtype};
    step.a = from;
    step.result = staging + buffer_bytes_;
    internal::run_typed_step(step, n);
    return step.result;
  }
  return from.data;
}

void Pointwise::store_outputs(Worker& worker, int64_t begin, int64_t n) const noexcept {
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    const PointwiseOutput& output = outputs_[k];
    const Value& value = values_[static_cast<std::size_t>(output.value)];
    if (output.reduce != ReduceOp::kNone) continue;
    if (value.place == Place::kOutput && value.index == static_cast<int>(k)) continue;
    auto* to = static_cast<std::byte*>(worker.outputs[k]) +
               static_cast<std::size_t>(begin) * dtype_size(output.dtype);
    internal::store_held(output_elements(worker, output, n), output.dtype, to, n);
  }
}

// One tile, or with a reduction over more than a tile, one whole group of tiles.
void Pointwise::run_item(Worker& worker, int64_t item) const noexcept {
  const bool grouped = group_ > 0 && tiles_per_unit_ > 1;
  const int64_t first = grouped ? item * tiles_per_unit_ : item;
  const int64_t last = grouped ? first + tiles_per_unit_ : first + 1;
  std::array<Accumulator, kMaxOutputs> totals;
  for (std::size_t k = 0; k < outputs_.size(); ++k) totals[k] = identity(outputs_[k].reduce);
  for (int64_t tile = first; tile < last; ++tile) {
    int64_t begin = tile * tile_;
    int64_t n = std::min(tile_, total_ - begin);
    if (tiles_per_unit_ > 1) {
      const int64_t within = tile % tiles_per_unit_ * tile_;
      begin = tile / tiles_per_unit_ * unit_ + within;
      n = std::min(tile_, unit_ - within);
    }
    run_tile(worker, begin, n);
    store_outputs(worker, begin, n);
    if (group_ == 0) continue;
    for (std::size_t k = 0; k < outputs_.size(); ++k) {
      const PointwiseOutput& output = outputs_[k];
      if (output.reduce == ReduceOp::kNone) continue;
      const DType held = values_[static_cast<std::size_t>(output.value)].held;
      const auto* from = static_cast<const std::byte*>(output_elements(worker, output, n));
      const int64_t length = grouped ? n : group_;
      for (int64_t done = 0; done < n; done += length) {
        if (!grouped) totals[k] = identity(output.reduce);
        void* accumulator = is_integer_held(held) ? static_cast<void*>(&totals[k].whole) : &totals[k].real;
        internal::reduce_held(output.reduce, held, from + static_cast<std::size_t>(done) * dtype_size(held),
                              length, accumulator);
        if (!grouped) write_reduced(worker, k, (begin + done) / group_, totals[k].real, totals[k].whole);
      }
    }
  }
  if (!grouped) return;
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    if (outputs_[k].reduce != ReduceOp::kNone)
      write_reduced(worker, k, item, totals[k].real, totals[k].whole);
  }
}

void Pointwise::write_reduced(Worker& worker, std::size_t k, int64_t group, double real,
                              int64_t whole) const noexcept {
  const PointwiseOutput& output = outputs_[k];
  const DType held = values_[static_cast<std::size_t>(output.value)].held;
  const bool integer = is_integer_held(held);
  const bool mean = output.reduce == ReduceOp::kMean;
  const int64_t count = std::max<int64_t>(group_, 1);
  if (mean) real /= static_cast<double>(group_);  // 0/0 over nothing
  if (mean) whole /= count;
  TileStep step{.op = Op::kCast, .type = integer ? DType::kI64 : DType::kF64, .to = output.dtype};
  step.a = {integer ? static_cast<const void*>(&whole) : &real, -1};
  std::byte converted[8];
  step.result = converted;
  internal::run_typed_step(step, 1);
  auto* to =
      static_cast<std::byte*>(worker.outputs[k]) + static_cast<std::size_t>(group) * dtype_size(output.dtype);
  internal::store_held(converted, output.dtype, to, 1);
}

void Pointwise::execute(std::span<const void* const> inputs, std::span<void* const> outputs,
                        void* scratch) const noexcept {
  const int64_t items = group_ > 0 && tiles_per_unit_ > 1 ? tiles_ / tiles_per_unit_ : tiles_;
  if (items == 0) {
    if (empty_groups_ > 0) {
      Worker worker{.inputs = inputs, .outputs = outputs};
      write_empty_groups(worker);
    }
    return;
  }
  const double item_ns = cost_ns_ * static_cast<double>(total_) / static_cast<double>(items);
  const auto grain = static_cast<int64_t>(kParallelNs / std::max(item_ns, 1.0)) + 1;
  parallel_for(items, grain_within(items, grain, threads_), [&](int64_t first, int64_t last, int thread) {
    std::byte* memory =
        static_cast<std::byte*>(scratch) + static_cast<std::size_t>(thread) * scratch_per_thread_;
    Worker worker{.inputs = inputs, .outputs = outputs};
    worker.buffers = memory;
    memory += static_cast<std::size_t>(buffers_ + kStaging) * buffer_bytes_;
    worker.splats = memory;
    memory += inputs_.size() * kSplatBytes;
    worker.operands = reinterpret_cast<TileOperand*>(memory);
    memory += (values_.size() + inputs_.size()) * sizeof(TileOperand);
    worker.loaded = reinterpret_cast<Loaded*>(memory);
    std::fill_n(worker.loaded, inputs_.size(), Loaded{});
    for (int64_t item = first; item < last; ++item) run_item(worker, item);
  });
}

// Reductions over nothing: the identity of each, NaN for a mean.
void Pointwise::write_empty_groups(Worker& worker) const noexcept {
  for (std::size_t k = 0; k < outputs_.size(); ++k) {
    if (outputs_[k].reduce == ReduceOp::kNone) continue;
    const Accumulator nothing = identity(outputs_[k].reduce);
    for (int64_t group = 0; group < empty_groups_; ++group) {
      write_reduced(worker, k, group, nothing.real, nothing.whole);
    }
  }
}

}  // namespace hone::kernels
