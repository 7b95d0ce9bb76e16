#include "runtime/kernel_timer.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "runtime/memory_plan.h"
#include "runtime/provider.h"

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

}  // namespace

Tensor made_up(const graph::TensorType& type) {
  const std::size_t bytes = type.storage_bytes();
  Tensor data = Tensor::zeros(DType::kU8, {static_cast<int64_t>(bytes)});
  if (type.dtype != DType::kF32) return data;
  constexpr std::size_t kPeriod = std::size_t{1} << 16;  // as random as kernels need it, and soon there
  const std::span all(static_cast<float*>(data.data()), bytes / sizeof(float));
  std::minstd_rand random(12345);
  for (float& x : all.first(std::min(kPeriod, all.size())))
    x = static_cast<float>(random() % 2001) / 1000.0F - 1.0F;
  for (std::size_t done = kPeriod; done < all.size(); done += kPeriod)
    std::memcpy(&all[done], all.data(), std::min(kPeriod, all.size() - done) * sizeof(float));
  return data;
}

Result<std::unique_ptr<Sandbox>> Sandbox::make(const graph::Graph& graph, const graph::Node& node,
                                               Device& device, Queue& queue) {
  std::unique_ptr<Sandbox> sandbox(new Sandbox(device, queue));
  HONE_CHECK(sandbox->fill(graph, node));
  return sandbox;
}

Status Sandbox::fill(const graph::Graph& graph, const graph::Node& node) {
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const graph::ValueId id = node.inputs[i];
    overwritable_.push_back(may_be_overwritten(graph, node, i));
    own_inputs_.push_back(nullptr);
    input_bytes_.push_back(id.valid() ? graph.type(id).storage_bytes() : 0);
    inputs_.push_back(nullptr);
    if (!id.valid()) continue;
    const graph::Value& value = graph.value(id);
    if (value.is_constant() && device_.host_visible()) {
      inputs_.back() = std::as_const(*value.constant).data();
      continue;
    }
    HONE_ASSIGN(std::byte* const address, place(value.is_constant() ? *value.constant : made_up(value.type)));
    inputs_.back() = address;
    if (value.is_constant()) {
      constants_.push_back(std::move(blocks_.back()));
      blocks_.pop_back();
    } else {
      own_inputs_.back() = address;
    }
  }
  for (graph::ValueId id : node.outputs) {
    outputs_.push_back(nullptr);
    if (!id.valid()) continue;
    HONE_ASSIGN(outputs_.back(), allocate(graph.type(id).storage_bytes()));
  }
  std::reverse(blocks_.begin(),
               blocks_.end());  // touched in this order: inputs last, as they are written last
  HONE_ASSIGN(fault_, device_.allocate(sizeof(FaultWord)));
  return queue_.wait();
}

Result<std::byte*> Sandbox::place(const Tensor& data) {
  HONE_ASSIGN(std::byte* const address, allocate(data.bytes()));
  HONE_CHECK(queue_.copy_in(address, data.data(), data.bytes()));
  return address;
}

// Whole cache lines, all written: memory that never was is one page of zeros.
Result<std::byte*> Sandbox::allocate(std::size_t bytes) {
  const std::size_t whole = placed_bytes(std::max<std::size_t>(bytes, 1));
  HONE_ASSIGN(Memory block, device_.allocate(whole));
  blocks_.push_back(std::move(block));
  HONE_CHECK(queue_.fill(blocks_.back().address(), std::byte{0}, whole));
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

Result<KernelArguments> Sandbox::arguments(const Kernel& kernel) {
  if (scratch_.bytes() < kernel.scratch_bytes()) {
    HONE_ASSIGN(scratch_, device_.allocate(kernel.scratch_bytes()));
    HONE_CHECK(queue_.fill(scratch_.address(), std::byte{0}, scratch_.bytes()));
  }
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

Result<std::unique_ptr<KernelTimer>> Provider::make_timer(std::size_t /*step_bytes*/, Share /*share*/) const {
  std::shared_ptr<Device> own = device();
  HONE_ASSIGN(std::unique_ptr<Queue> queue, own->make_queue());
  return std::make_unique<KernelTimer>(std::move(own), std::move(queue));
}

}  // namespace hone::runtime
