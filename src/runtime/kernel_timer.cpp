#include "runtime/kernel_timer.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "runtime/memory_plan.h"
#include "runtime/provider.h"
#include "runtime/recorded_timer.h"

namespace hone::runtime {
namespace {

// As far as the graph tells: a computed value that nothing else reads (BufferAssignment knows aliases, too).
bool may_be_overwritten(const graph::Graph& graph, const graph::Node& node, std::size_t input) {
  const graph::ValueId from = node.inputs[input];
  if (!from.valid() || !node.has_output(0)) return false;
  return graph.value(from).producer.valid() && !graph.is_output(from) && graph.users(from).size() == 1 &&
         graph.type(from).storage_bytes() == graph.type(node.outputs[0]).storage_bytes() &&
         std::count(node.inputs.begin(), node.inputs.end(), from) == 1;
}

// Numbers from -1 to 1, as random as kernels need it, and soon there.
template <typename T, typename FromFloat>
void fill_random(Tensor& data, FromFloat&& from_float) {
  constexpr std::size_t kPeriod = std::size_t{1} << 16;
  const std::span all(static_cast<T*>(data.data()), data.bytes() / sizeof(T));
  std::minstd_rand random(12345);
  for (T& x : all.first(std::min(kPeriod, all.size())))
    x = from_float(static_cast<float>(random() % 2001) / 1000.0F - 1.0F);
  for (std::size_t done = kPeriod; done < all.size(); done += kPeriod)
    std::memcpy(&all[done], all.data(), std::min(kPeriod, all.size() - done) * sizeof(T));
}

// Bytes that a run of `node` may touch, each value in whole cache lines.
struct TouchedBytes {
  std::size_t constants = 0, computed = 0;
};
TouchedBytes bytes_of_values(const graph::Graph& graph, const graph::Node& node) {
  TouchedBytes touched;
  for (const auto& ids : {node.inputs, node.outputs}) {
    for (const graph::ValueId id : ids) {
      if (!id.valid()) continue;
      const graph::Value& value = graph.value(id);
      (value.is_constant() ? touched.constants : touched.computed) +=
          placed_bytes(std::max<std::size_t>(value.type.storage_bytes(), 1));
    }
  }
  return touched;
}

constexpr std::byte kPoison{0xff};

}  // namespace

Tensor made_up(const graph::TensorType& type) {
  const std::size_t bytes = type.storage_bytes();
  Tensor data = Tensor::zeros(DType::kU8, {static_cast<int64_t>(bytes)});
  switch (type.dtype) {
    case DType::kF32:
      fill_random<float>(data, [](float x) { return x; });
      break;
    case DType::kF64:
      fill_random<double>(data, [](float x) { return static_cast<double>(x); });
      break;
    case DType::kF16:
      fill_random<uint16_t>(data, f32_to_f16);
      break;
    case DType::kBF16:
      fill_random<uint16_t>(data, f32_to_bf16);
      break;
    default:
      break;
  }
  return data;
}

Result<std::unique_ptr<Sandbox>> Sandbox::make(const graph::Graph& graph, const graph::Node& node,
                                               Device& device, Queue& queue, const Rotation& rotation) {
  std::unique_ptr<Sandbox> sandbox(new Sandbox(device, queue));
  const TouchedBytes touched = bytes_of_values(graph, node);
  const bool stays = touched.computed <= rotation.stays;
  const std::size_t own = touched.constants + (stays ? 0 : touched.computed);
  if (own > 0) sandbox->set_count_ = std::clamp<std::size_t>((rotation.over + own - 1) / own, 1, kMostSets);
  sandbox->computed_sets_ = stays ? 1 : sandbox->set_count_;
  HONE_CHECK(sandbox->fill(graph, node));
  sandbox->lay_out_sets();
  return sandbox;
}

Status Sandbox::fill(const graph::Graph& graph, const graph::Node& node) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const graph::ValueId id = node.inputs[i];
    overwritable_.push_back(may_be_overwritten(graph, node, i));
    own_inputs_.push_back(nullptr);
    input_bytes_.push_back(id.valid() ? graph.type(id).storage_bytes() : 0);
    inputs_.push_back(nullptr);
    input_strides_.push_back(0);
    if (!id.valid()) continue;
    const graph::Value& value = graph.value(id);
    if (value.is_constant() && device_.host_visible()) {
      inputs_.back() = std::as_const(*value.constant).data();
      continue;
    }
    const Tensor data = value.is_constant() ? *value.constant : made_up(value.type);
    const std::size_t sets = value.is_constant() ? set_count_ : computed_sets_;
    HONE_ASSIGN(std::byte* const address, place(data, sets));
    inputs_.back() = address;
    if (sets > 1) input_strides_.back() = placed_bytes(std::max<std::size_t>(data.bytes(), 1));
    if (value.is_constant()) {
      constants_.push_back(std::move(blocks_.back()));
      blocks_.pop_back();
    } else {
      own_inputs_.back() = address;
    }
  }
  for (graph::ValueId id : node.outputs) {
    outputs_.push_back(nullptr);
    output_strides_.push_back(0);
    if (!id.valid()) continue;
    const std::size_t bytes = graph.type(id).storage_bytes();
    HONE_ASSIGN(outputs_.back(), allocate(bytes, kPoison, computed_sets_));
    if (computed_sets_ > 1) output_strides_.back() = placed_bytes(std::max<std::size_t>(bytes, 1));
  }
  std::reverse(blocks_.begin(),
               blocks_.end());  // touched in this order: inputs last, as they are written last
  HONE_ASSIGN(fault_, device_.allocate(sizeof(FaultWord)));
  return queue_.wait();
}

void Sandbox::lay_out_sets() {
  for (std::size_t set = 0; set < set_count_; ++set) {
    Set& at = sets_.emplace_back(Set{inputs_, outputs_});
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i] != nullptr)
        at.inputs[i] = static_cast<const std::byte*>(inputs_[i]) + set * input_strides_[i];
    }
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      if (outputs_[i] != nullptr)
        at.outputs[i] = static_cast<std::byte*>(outputs_[i]) + set * output_strides_[i];
    }
  }
}

// Once from the host; the other sets are copies on the device.
Result<std::byte*> Sandbox::place(const Tensor& data, std::size_t sets) {
  HONE_ASSIGN(std::byte* const address, allocate(data.bytes(), std::byte{0}, sets));
  HONE_CHECK(queue_.copy_in(address, data.data(), data.bytes()));
  const std::size_t stride = placed_bytes(std::max<std::size_t>(data.bytes(), 1));
  for (std::size_t set = 1; set < sets && data.bytes() > 0; ++set)
    HONE_CHECK(queue_.copy(address + set * stride, address, data.bytes()));
  return address;
}

// Whole cache lines, all written: memory that never was is one page of zeros.
Result<std::byte*> Sandbox::allocate(std::size_t bytes, std::byte value, std::size_t sets) {
  const std::size_t whole = placed_bytes(std::max<std::size_t>(bytes, 1)) * sets;
  HONE_ASSIGN(Memory block, device_.allocate(whole));
  blocks_.push_back(std::move(block));
  HONE_CHECK(queue_.fill(blocks_.back().address(), value, whole));
  return blocks_.back().address();
}

Result<std::byte*> Sandbox::overwrite(std::size_t input) {
  const auto known = std::find_if(overwritten_.begin(), overwritten_.end(),
                                  [&](const Overwritten& o) { return o.input == input; });
  if (known != overwritten_.end()) return known->address;
  Overwritten fresh{input, own_inputs_[input], input_bytes_[input], {}};
  HONE_ASSIGN(fresh.fresh, device_.allocate(fresh.bytes));
  HONE_CHECK(queue_.copy(fresh.fresh.address(), fresh.address, fresh.bytes));
  overwritten_.push_back(std::move(fresh));
  return own_inputs_[input];
}

Status Sandbox::make_scratch(const Kernel& kernel) {
  if (scratch_.bytes() >= kernel.scratch_bytes()) return {};
  HONE_ASSIGN(Memory larger, device_.allocate(kernel.scratch_bytes()));
  outgrown_.push_back(std::exchange(scratch_, std::move(larger)));
  return queue_.fill(scratch_.address(), std::byte{0}, scratch_.bytes());
}

Result<KernelArguments> Sandbox::arguments(const Kernel& kernel) {
  HONE_CHECK(make_scratch(kernel));
  targets_ = outputs_;
  if (const auto input = kernel.in_place_input(); input && overwritable_[*input]) {
    HONE_ASSIGN(targets_[0], overwrite(*input));
  }
  for (const Overwritten& input : overwritten_)
    HONE_CHECK(queue_.copy(input.address, input.fresh.address(), input.bytes));
  HONE_CHECK(queue_.fill(fault_.address(), std::byte{0}, sizeof(FaultWord)));
  return KernelArguments{inputs_, targets_, scratch_.address(),
                         reinterpret_cast<FaultWord*>(fault_.address()), 0};
}

Result<std::vector<KernelArguments>> Sandbox::all_arguments(const Kernel& kernel) {
  HONE_CHECK(make_scratch(kernel));
  HONE_CHECK(queue_.fill(fault_.address(), std::byte{0}, sizeof(FaultWord)));
  std::vector<KernelArguments> all;
  for (const Set& set : sets_)
    all.push_back(
        {set.inputs, set.outputs, scratch_.address(), reinterpret_cast<FaultWord*>(fault_.address()), 0});
  return all;
}

Status Sandbox::fault(const Kernel& kernel) const {
  FaultWord word = 0;
  HONE_CHECK(queue_.copy_out(&word, fault_.address(), sizeof word));
  HONE_CHECK(queue_.wait());
  if (word != 0) return kernel.fault(code_of_fault(word));
  return {};
}

Result<double> KernelTimer::microseconds(Sandbox& sandbox, Kernel& kernel) {
  (void)queue_->wait();  // for what a reading that failed has left
  HONE_ASSIGN(const KernelArguments arguments, sandbox.arguments(kernel));
  HONE_ASSIGN(const std::unique_ptr<Event> begin, queue_->make_event());
  HONE_ASSIGN(const std::unique_ptr<Event> end, queue_->make_event());
  HONE_CHECK(queue_->record(*begin));
  HONE_CHECK(kernel.enqueue(arguments, *queue_));
  HONE_CHECK(queue_->record(*end));
  HONE_CHECK(sandbox.fault(kernel));
  return queue_->microseconds(*begin, *end);
}

Result<std::unique_ptr<KernelTimer>> Provider::make_timer(std::size_t step_bytes, Share /*share*/) const {
  std::shared_ptr<Device> own = device();
  HONE_ASSIGN(std::unique_ptr<Queue> queue, own->make_queue());
  if (own->replays_alone())
    return std::unique_ptr<KernelTimer>(
        std::make_unique<RecordedTimer>(std::move(own), std::move(queue), step_bytes));
  return std::make_unique<KernelTimer>(std::move(own), std::move(queue));
}

}  // namespace hone::runtime
