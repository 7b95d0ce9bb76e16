#include "runtime/interpret_control.h"

#include <cstring>
#include <limits>
#include <string>

#include <fmt/core.h>

#include "core/memory_budget.h"
#include "graph/op_table.h"

namespace hone::runtime {
namespace {

using graph::Graph;
using graph::Node;

Result<bool> read_condition(const Tensor& tensor, const char* what) {
  if (!tensor.defined() || tensor.size() != 1) return invalid(fmt::format("{} must be one boolean", what));
  return tensor.int_at(0) != 0;
}

Tensor boolean(bool value) {
  Tensor tensor(DType::kBool, {});
  tensor.as<uint8_t>()[0] = value ? 1 : 0;
  return tensor;
}

// Equal tensors stacked along a new `axis`. `reversed`: the last one comes first.
Result<Tensor> stack(const std::vector<Tensor>& slices, int64_t axis, bool reversed) {
  const Tensor& first = slices.front();
  if (first.dtype() == DType::kString) return unsupported("unsupported: strings collected by Loop or Scan");
  for (const Tensor& slice : slices) {
    if (slice.shape() != first.shape() || slice.dtype() != first.dtype()) {
      return invalid(fmt::format("a scan output changes its shape from {} to {} between iterations",
                                 shape_text(first.shape()), shape_text(slice.shape())));
    }
  }
  Shape shape = first.shape();
  const int64_t rank = first.rank() + 1;
  HONE_ASSIGN(const int64_t at, normalize_axis(axis, rank));
  shape.insert(shape.begin() + at, static_cast<int64_t>(slices.size()));
  Tensor result(first.dtype(), shape);
  const auto inner = static_cast<std::size_t>(
                         element_count(std::span(first.shape()).subspan(static_cast<std::size_t>(at)))) *
                     dtype_size(first.dtype());
  const int64_t outer = element_count(std::span(first.shape()).first(static_cast<std::size_t>(at)));
  auto* out = static_cast<std::byte*>(result.data());
  for (int64_t o = 0; o < outer; ++o) {
    for (std::size_t s = 0; s < slices.size(); ++s) {
      const Tensor& slice = slices[reversed ? slices.size() - 1 - s : s];
      if (inner > 0)
        std::memcpy(out, static_cast<const std::byte*>(slice.data()) + static_cast<std::size_t>(o) * inner,
                    inner);
      out += inner;
    }
  }
  return result;
}

// Slice `index` of `tensor` along `axis`, that axis removed.
Tensor take(const Tensor& tensor, int64_t axis, int64_t index) {
  Shape shape = tensor.shape();
  const int64_t extent = shape[static_cast<std::size_t>(axis)];
  const auto inner =
      static_cast<std::size_t>(element_count(std::span(shape).subspan(static_cast<std::size_t>(axis) + 1))) *
      dtype_size(tensor.dtype());
  const int64_t outer = element_count(std::span(shape).first(static_cast<std::size_t>(axis)));
  shape.erase(shape.begin() + axis);
  Tensor result(tensor.dtype(), shape);
  for (int64_t o = 0; o < outer && inner > 0; ++o) {
    std::memcpy(
        static_cast<std::byte*>(result.data()) + static_cast<std::size_t>(o) * inner,
        static_cast<const std::byte*>(tensor.data()) + static_cast<std::size_t>(o * extent + index) * inner,
        inner);
  }
  return result;
}

// A scan output that no iteration produced: as the body's type says, with 0 along the scan axis. Of a body
// that does not say the rank: [0].
Result<Tensor> empty_scan(const graph::TensorType& type, int64_t axis) {
  Shape shape;
  if (!type.has_rank()) return Tensor(type.dtype, {0});
  HONE_ASSIGN(const int64_t at, normalize_axis(axis, type.rank() + 1));
  for (int64_t i = 0; i < type.rank(); ++i) {
    const graph::Dim& dim = (*type.dims)[static_cast<std::size_t>(i)];
    shape.push_back(dim.known() ? dim.extent() : 0);
  }
  shape.insert(shape.begin() + at, 0);
  return Tensor(type.dtype, shape);
}

// Whether Loop's body hands its condition on as it got it.
bool keeps_condition(const Graph& body) {
  graph::ValueId condition = body.outputs()[0];
  while (body.value(condition).producer.valid()) {
    const Node& node = body.node(body.value(condition).producer);
    if (node.op != "Identity") return false;
    condition = node.inputs[0];
  }
  const graph::Value& value = body.value(condition);
  return condition == body.inputs()[1] ||
         (value.is_constant() && value.constant->size() == 1 && value.constant->dtype() == DType::kBool &&
          value.constant->int_at(0));
}

Result<std::vector<Tensor>> run_if(const Node&, std::span<const Tensor> inputs, const RunBody& run_body) {
  HONE_ASSIGN(const bool condition, read_condition(inputs[0], "the condition of If"));
  return run_body(condition ? 0 : 1, inputs.subspan(1));
}

Result<std::vector<Tensor>> run_loop(const Node& node, std::span<const Tensor> inputs,
                                     const RunBody& run_body) {
  const Graph& body = *node.bodies[0];
  const std::size_t formal = inputs.size() - node.captures;
  const std::size_t carried = formal - 2;
  const std::size_t scans = body.outputs().size() - 1 - carried;

  int64_t trips = std::numeric_limits<int64_t>::max();
  if (inputs[0].defined()) {
    if (inputs[0].size() != 1) return invalid("the trip count of Loop must be one integer");
    trips = inputs[0].int_at(0);
  }
  bool going = true;
  if (inputs[1].defined()) {
    HONE_ASSIGN(going, read_condition(inputs[1], "the condition of Loop"));
  }
  // More iterations than any machine does in a lifetime, and nothing that could end them earlier.
  constexpr int64_t kEndless = int64_t{1} << 50;
  if (going && trips >= kEndless && keeps_condition(body))
    return invalid("the loop never ends: nothing in its body changes the condition, and its trip count is " +
                   (inputs[0].defined() ? std::to_string(trips) : std::string("absent")));
  std::vector<Tensor> state(inputs.begin() + 2, inputs.begin() + static_cast<std::ptrdiff_t>(formal));
  std::vector<std::vector<Tensor>> collected(scans);
  for (int64_t trip = 0; trip < trips && going; ++trip) {
    std::vector<Tensor> arguments{Tensor::scalar_i64(trip), boolean(true)};
    arguments.insert(arguments.end(), state.begin(), state.end());
    arguments.insert(arguments.end(), inputs.begin() + static_cast<std::ptrdiff_t>(formal), inputs.end());
    HONE_ASSIGN(std::vector<Tensor> results, run_body(0, arguments));
    HONE_ASSIGN(going, read_condition(results[0], "the condition that Loop's body gives"));
    for (std::size_t i = 0; i < carried; ++i) state[i] = results[1 + i];
    for (std::size_t i = 0; i < scans; ++i) collected[i].push_back(results[1 + carried + i]);
  }
  std::vector<Tensor> outputs = std::move(state);
  for (std::size_t i = 0; i < scans; ++i) {
    if (collected[i].empty()) {
      HONE_ASSIGN(Tensor none, empty_scan(body.type(body.outputs()[1 + carried + i]), 0));
      outputs.push_back(std::move(none));
      continue;
    }
    HONE_ASSIGN(Tensor stacked, stack(collected[i], 0, false));
    outputs.push_back(std::move(stacked));
  }
  return outputs;
}

Result<std::vector<Tensor>> run_scan(const Node& node, std::span<const Tensor> inputs,
                                     const RunBody& run_body) {
  const Graph& body = *node.bodies[0];
  const std::size_t formal = inputs.size() - node.captures;
  const auto scans = static_cast<std::size_t>(node.attributes.integer("num_scan_inputs", 0));
  const std::size_t states = formal - scans;
  const std::size_t scan_outputs = body.outputs().size() - states;
  const Ints input_axes = node.attributes.ints("scan_input_axes", Ints(scans, 0));
  const Ints input_directions = node.attributes.ints("scan_input_directions", Ints(scans, 0));
  const Ints output_axes = node.attributes.ints("scan_output_axes", Ints(scan_outputs, 0));
  const Ints output_directions = node.attributes.ints("scan_output_directions", Ints(scan_outputs, 0));
  if (input_axes.size() != scans || input_directions.size() != scans || output_axes.size() != scan_outputs ||
      output_directions.size() != scan_outputs) {
    return invalid("an axes or directions attribute of Scan has the wrong length");
  }

  Ints axes;
  int64_t length = -1;
  for (std::size_t i = 0; i < scans; ++i) {
    const Tensor& scanned = inputs[states + i];
    if (scanned.dtype() == DType::kString) return unsupported("unsupported: Scan over strings");
    HONE_ASSIGN(const int64_t axis, normalize_axis(input_axes[i], scanned.rank()));
    axes.push_back(axis);
    const int64_t extent = scanned.shape()[static_cast<std::size_t>(axis)];
    if (length >= 0 && extent != length) return invalid("the inputs that Scan scans differ in length");
    length = extent;
  }

  std::vector<Tensor> state(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(states));
  std::vector<std::vector<Tensor>> collected(scan_outputs);
  for (int64_t step = 0; step < length; ++step) {
    std::vector<Tensor> arguments = state;
    for (std::size_t i = 0; i < scans; ++i) {
      arguments.push_back(
          take(inputs[states + i], axes[i], input_directions[i] == 0 ? step : length - 1 - step));
    }
    arguments.insert(arguments.end(), inputs.begin() + static_cast<std::ptrdiff_t>(formal), inputs.end());
    HONE_ASSIGN(std::vector<Tensor> results, run_body(0, arguments));
    for (std::size_t i = 0; i < states; ++i) state[i] = results[i];
    for (std::size_t i = 0; i < scan_outputs; ++i) collected[i].push_back(results[states + i]);
  }
  std::vector<Tensor> outputs = std::move(state);
  for (std::size_t i = 0; i < scan_outputs; ++i) {
    if (collected[i].empty()) {
      HONE_ASSIGN(Tensor none, empty_scan(body.type(body.outputs()[states + i]), output_axes[i]));
      outputs.push_back(std::move(none));
      continue;
    }
    HONE_ASSIGN(Tensor stacked, stack(collected[i], output_axes[i], output_directions[i] != 0));
    outputs.push_back(std::move(stacked));
  }
  return outputs;
}

}  // namespace

bool is_control(const Node& node) {
  const graph::OpEntry* entry = graph::find_entry(node);
  return entry != nullptr && entry->op_class == graph::OpClass::kControl;
}

Result<std::vector<Tensor>> run_control(const Node& node, std::span<const Tensor> inputs,
                                        const RunBody& run_body) {
  try {
    if (node.op == "If") return run_if(node, inputs, run_body);
    if (node.op == "Loop") return run_loop(node, inputs, run_body);
    if (node.op == "Scan") return run_scan(node, inputs, run_body);
    return unsupported(fmt::format("unsupported: {} decides at run time what runs", node.op));
  } catch (const OverMemoryBudget& error) {  // a loop that collects without end, say
    return invalid(error.what());
  }
}

}  // namespace hone::runtime
