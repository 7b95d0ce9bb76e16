// LSTM and GRU, f32: the input's products with W for all steps at once, then step by step the product with R
// and the cell. Weights are packed once.
#include <array>
#include <cstring>

#include <fmt/core.h>

#include "kernels/cpu/dnnl/matmul.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/recurrent/cells.h"
#include "runtime/cpu/families.h"
#include "runtime/cpu/make_kernel.h"

namespace hone::runtime::cpu {
namespace {

using kernels::MatMul;
using kernels::MatMulDesc;
using kernels::PostOp;

enum Input : std::size_t { kX, kW, kR, kB, kLengths, kInitialH, kInitialC, kPeephole };

struct LayerDesc {
  bool lstm = true;
  bool linear_before_reset = false, input_forget = false;
  float clip = 0;
  int64_t time = 0, batch = 0, input = 0, hidden = 0, gates = 4;
  std::vector<bool> reverse;  // one a direction

  int64_t state() const { return batch * hidden; }
  int64_t gate_floats() const { return batch * gates * hidden; }
};

// One direction's packed products and cell.
struct Direction {
  std::shared_ptr<MatMul> input, recurrent, candidate;  // candidate: GRU that resets before the product
  std::optional<kernels::LstmCell> lstm;
  std::optional<kernels::GruCell> gru;
};

Result<std::shared_ptr<MatMul>> product(int64_t rows, int64_t depth, int64_t columns, const float* weights,
                                        const float* bias, std::vector<PostOp> post_ops) {
  MatMulDesc desc;
  desc.a_shape = {rows, depth};
  desc.b_shape = {depth, columns};
  desc.b_strides = {1, depth};  // ONNX stores [columns, depth]
  desc.constant_b = true;
  desc.has_bias = bias != nullptr;
  desc.post_ops = std::move(post_ops);
  HONE_ASSIGN(std::shared_ptr<MatMul> made, MatMul::create(desc, weights, bias));
  return made;
}

// Biases of one direction: [Wb, Rb], each gates·hidden. LSTM adds both with the input's product; GRU's
// equations keep Rb with the recurrent one.
Result<Direction> make_direction(const LayerDesc& layer, int64_t index, const Tensor& w, const Tensor& r,
                                 const Tensor& b) {
  const int64_t columns = layer.gates * layer.hidden;
  const float* w_data = w.as<float>().data() + index * columns * layer.input;
  const float* r_data = r.as<float>().data() + index * columns * layer.hidden;
  const float* w_bias = b.defined() ? b.as<float>().data() + index * 2 * columns : nullptr;
  const float* r_bias = b.defined() ? w_bias + columns : nullptr;
  std::vector<float> sum;
  if (layer.lstm && b.defined()) {
    for (int64_t i = 0; i < columns; ++i) sum.push_back(w_bias[i] + r_bias[i]);
    w_bias = sum.data();
  }
  Direction made;
  HONE_ASSIGN(made.input, product(layer.time * layer.batch, layer.input, columns, w_data, w_bias, {}));
  if (layer.lstm) {
    // In place of the input's products: one buffer, one pass less.
    HONE_ASSIGN(made.recurrent,
                product(layer.batch, layer.hidden, columns, r_data, nullptr, {PostOp::sum()}));
    kernels::LstmCellDesc cell{.batch = layer.batch, .hidden = layer.hidden, .clip = layer.clip};
    cell.input_forget = layer.input_forget;
    HONE_ASSIGN(made.lstm, kernels::LstmCell::create(cell));
    return made;
  }
  HONE_ASSIGN(made.recurrent, product(layer.batch, layer.hidden, columns, r_data, r_bias, {}));
  if (!layer.linear_before_reset) {
    const int64_t h = 2 * layer.hidden;
    HONE_ASSIGN(made.candidate, product(layer.batch, layer.hidden, layer.hidden, r_data + h * layer.hidden,
                                        r_bias != nullptr ? r_bias + h : nullptr, {}));
  }
  HONE_ASSIGN(made.gru,
              kernels::GruCell::create({.batch = layer.batch, .hidden = layer.hidden, .clip = layer.clip}));
  return made;
}

// Scratch memory, cut into cache lines.
struct Scratch {
  float *gates, *recurrent, *h, *c, *next_h, *next_c, *update, *reset, *candidate;
  void* library;

  // Lays the parts out from `base` and returns the bytes that they take without the library's.
  std::size_t lay_out(const LayerDesc& layer, void* base) {
    std::size_t at = 0;
    auto take = [&](int64_t floats) {
      // Offsets first: with no base this only counts.
      float* part = base != nullptr ? static_cast<float*>(base) + at / sizeof(float) : nullptr;
      at += (static_cast<std::size_t>(floats) * sizeof(float) + 63) / 64 * 64;
      return part;
    };
    gates = take(layer.time * layer.gate_floats());
    recurrent = take(layer.lstm ? 0 : layer.gate_floats());
    for (float** state : {&h, &c, &next_h, &next_c, &update, &reset, &candidate})
      *state = take(layer.state());
    library = base != nullptr ? static_cast<std::byte*>(base) + at : nullptr;
    return at;
  }
};

class RecurrentKernel : public Kernel {
 public:
  // `in_lanes`: each direction on one thread, both at once; its products were made for that.
  RecurrentKernel(LayerDesc layer, std::vector<Direction> directions, std::vector<std::size_t> unread,
                  bool in_lanes)
      : layer_(std::move(layer)),
        directions_(std::move(directions)),
        unread_(std::move(unread)),
        in_lanes_(in_lanes) {}

  std::string implementation() const override {
    return fmt::format("oneDNN {} + hone {} cell{}", directions_[0].recurrent->name(),
                       layer_.lstm ? "LSTM" : "GRU", in_lanes_ ? ", one thread a direction" : "");
  }
  std::size_t scratch_bytes() const override {
    return direction_scratch_bytes() * (in_lanes_ ? directions_.size() : 1);
  }
  std::size_t packed_bytes() const override {
    std::size_t bytes = 0;
    for_each_product([&](const MatMul& m) { bytes += m.packed_weight_bytes(); });
    return bytes;
  }
  bool reads(std::size_t input) const override {
    return std::find(unread_.begin(), unread_.end(), input) == unread_.end();
  }

  Status enqueue(const KernelArguments& arguments, Queue&) override {
    if (in_lanes_) return run_in_lanes(arguments);
    Scratch scratch{};
    scratch.lay_out(layer_, arguments.scratch);
    for (std::size_t d = 0; d < directions_.size(); ++d) HONE_CHECK(run_direction(d, arguments, scratch));
    return {};
  }

 private:
  // A multiple of a cache line: directions that run at once write to lines of their own.
  std::size_t direction_scratch_bytes() const {
    std::size_t library = 0;
    for_each_product([&](const MatMul& m) { library = std::max(library, m.scratch_bytes()); });
    return Scratch().lay_out(layer_, nullptr) + (library + 63) / 64 * 64;
  }

  Status run_in_lanes(const KernelArguments& arguments) {
    struct Work {
      RecurrentKernel& kernel;
      const KernelArguments& arguments;
      std::size_t stride;
      std::array<Status, 2> ended;
    } work{*this, arguments, direction_scratch_bytes(), {}};
    kernels::run_lanes(
        static_cast<int>(directions_.size()),
        [](void* context, int lane) {
          Work& w = *static_cast<Work*>(context);
          const auto d = static_cast<std::size_t>(lane);
          Scratch scratch{};
          scratch.lay_out(w.kernel.layer_, static_cast<std::byte*>(w.arguments.scratch) + d * w.stride);
          w.ended[d] = w.kernel.run_direction(d, w.arguments, scratch);
        },
        &work);
    for (Status& ended : work.ended) HONE_CHECK(std::move(ended));
    return {};
  }

  template <typename F>
  void for_each_product(const F& f) const {
    for (const Direction& direction : directions_) {
      for (const auto* m : {&direction.input, &direction.recurrent, &direction.candidate})
        if (*m) f(**m);
    }
  }

  static const float* given(const KernelArguments& arguments, std::size_t input) {
    return input < arguments.inputs.size() ? static_cast<const float*>(arguments.inputs[input]) : nullptr;
  }
  static float* wanted(const KernelArguments& arguments, std::size_t output) {
    return output < arguments.outputs.size() ? static_cast<float*>(arguments.outputs[output]) : nullptr;
  }

  void load(float* state, const float* initial, std::size_t d) const {
    const auto bytes = static_cast<std::size_t>(layer_.state()) * sizeof(float);
    if (initial != nullptr)
      std::memcpy(state, initial + static_cast<int64_t>(d) * layer_.state(), bytes);
    else
      std::memset(state, 0, bytes);
  }

  Status run_direction(std::size_t d, const KernelArguments& arguments, const Scratch& s) {
    const auto index = static_cast<int64_t>(d);
    load(s.h, given(arguments, kInitialH), d);
    if (layer_.lstm) load(s.c, given(arguments, kInitialC), d);
    const float* peephole = layer_.lstm ? given(arguments, kPeephole) : nullptr;
    if (peephole != nullptr) peephole += index * 3 * layer_.hidden;
    HONE_CHECK(directions_[d].input->execute(given(arguments, kX), nullptr, s.gates, {}, s.library));
    for (int64_t k = 0; k < layer_.time; ++k) {
      const int64_t t = layer_.reverse[d] ? layer_.time - 1 - k : k;
      HONE_CHECK(step(directions_[d], s.gates + t * layer_.gate_floats(), peephole, s));
      float* y = wanted(arguments, 0);
      if (y != nullptr) y += (t * static_cast<int64_t>(directions_.size()) + index) * layer_.state();
      keep(t, arguments, s, y);
    }
    const auto bytes = static_cast<std::size_t>(layer_.state()) * sizeof(float);
    if (float* last = wanted(arguments, 1)) std::memcpy(last + index * layer_.state(), s.h, bytes);
    if (float* last = wanted(arguments, 2)) std::memcpy(last + index * layer_.state(), s.c, bytes);
    return {};
  }

  // From s.h and s.c to s.next_h and s.next_c.
  Status step(Direction& direction, float* gates, const float* peephole, const Scratch& s) const {
    if (layer_.lstm) {
      HONE_CHECK(direction.recurrent->execute(s.h, nullptr, gates, {}, s.library));
      direction.lstm->execute(gates, peephole, s.c, s.next_c, s.next_h);
      return {};
    }
    HONE_CHECK(direction.recurrent->execute(s.h, nullptr, s.recurrent, {}, s.library));
    if (layer_.linear_before_reset) {
      direction.gru->execute(gates, s.recurrent, s.h, s.next_h);
      return {};
    }
    direction.gru->reset(gates, s.recurrent, s.h, s.update, s.reset);
    HONE_CHECK(direction.candidate->execute(s.reset, nullptr, s.candidate, {}, s.library));
    direction.gru->finish(gates, s.candidate, s.update, s.h, s.next_h);
    return {};
  }

  // Takes the new state over where the sequence has a step t. Beyond its end the state stays, and y is zero;
  // in reverse that lasts until the sequence's last step comes up.
  void keep(int64_t t, const KernelArguments& arguments, const Scratch& s, float* y) const {
    const auto* lengths = kLengths < arguments.inputs.size()
                              ? static_cast<const int32_t*>(arguments.inputs[kLengths])
                              : nullptr;
    const auto bytes = static_cast<std::size_t>(layer_.hidden) * sizeof(float);
    for (int64_t n = 0; n < layer_.batch; ++n) {
      const int64_t at = n * layer_.hidden;
      if (lengths != nullptr && t >= lengths[n]) {
        if (y != nullptr) std::memset(y + at, 0, bytes);
        continue;
      }
      std::memcpy(s.h + at, s.next_h + at, bytes);
      if (layer_.lstm) std::memcpy(s.c + at, s.next_c + at, bytes);
      if (y != nullptr) std::memcpy(y + at, s.next_h + at, bytes);
    }
  }

  LayerDesc layer_;
  std::vector<Direction> directions_;
  std::vector<std::size_t> unread_;
  const bool in_lanes_;
};

// Only the default functions have kernels.
bool default_activations(const Attributes& attributes, bool lstm) {
  const Strings defaults = lstm ? Strings{"Sigmoid", "Tanh", "Tanh"} : Strings{"Sigmoid", "Tanh"};
  const Strings given = attributes.texts("activations");
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] != defaults[i % defaults.size()]) return false;
  }
  return true;
}

std::optional<LayerDesc> read_layer(const LowerContext& context) {
  const graph::Node& node = context.node;
  const Attributes& attributes = node.attributes;
  LayerDesc layer;
  layer.lstm = node.op == "LSTM";
  layer.gates = layer.lstm ? 4 : 3;
  if (attributes.integer("layout", 0) != 0 || !default_activations(attributes, layer.lstm))
    return std::nullopt;
  layer.linear_before_reset = attributes.integer("linear_before_reset", 0) != 0;
  layer.input_forget = attributes.integer("input_forget", 0) != 0;
  layer.clip = attributes.real("clip", 0.0F);
  const Shape x = context.in_shape(kX);
  layer.time = x[0];
  layer.batch = x[1];
  layer.input = x[2];
  layer.hidden = context.in_shape(kR)[2];
  const std::string direction = attributes.text("direction", "forward");
  layer.reverse = direction == "bidirectional" ? std::vector<bool>{false, true}
                                               : std::vector<bool>{direction == "reverse"};
  if (element_count(x) == 0 || layer.hidden == 0) return std::nullopt;
  return layer;
}

}  // namespace

void lower_recurrent(const LowerContext& context, std::vector<Candidate>& found) {
  const graph::Node& node = context.node;
  if ((node.op != "LSTM" && node.op != "GRU") || context.in(kX).dtype != DType::kF32) return;
  const Tensor* w = context.constant(kW);
  const Tensor* r = context.constant(kR);
  const Tensor* b = context.has(kB) ? context.constant(kB) : nullptr;
  if (w == nullptr || r == nullptr || (context.has(kB) && b == nullptr)) return;
  if (context.has(kLengths) && context.in(kLengths).dtype != DType::kI32) return;
  const auto layer = read_layer(context);
  if (!layer) return;
  const auto make = [layer = *layer, w = *w, r = *r,
                     b = b != nullptr ? *b : Tensor()](bool in_lanes) -> Result<std::unique_ptr<Kernel>> {
    std::vector<Direction> directions;
    for (std::size_t d = 0; d < layer.reverse.size(); ++d) {
      HONE_ASSIGN(Direction made, make_direction(layer, static_cast<int64_t>(d), w, r, b));
      directions.push_back(std::move(made));
    }
    return std::unique_ptr<Kernel>(std::make_unique<RecurrentKernel>(
        layer, std::move(directions), std::vector<std::size_t>{kW, kR, kB}, in_lanes));
  };
  found.push_back({"oneDNN products, hone cell", [make] { return make(false); }});
  // A step of the sequence is little work, and threads meet several times in each.
  if (kernels::thread_count() == 1) return;
  found.push_back({"oneDNN products, hone cell, one thread a direction", [make] {
                     std::optional<Result<std::unique_ptr<Kernel>>> made;
                     kernels::on_one_thread([&] { made = make(true); });
                     return std::move(*made);
                   }});
}

}  // namespace hone::runtime::cpu
