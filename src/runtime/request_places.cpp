#include "runtime/request_places.h"

#include "runtime/kernel.h"
#include "runtime/memory_plan.h"

namespace hone::runtime {

RequestLayout::RequestLayout(const graph::Graph& graph) {
  const auto place = [&graph](const std::vector<graph::ValueId>& values, std::vector<std::size_t>& offsets) {
    std::size_t at = 0;
    for (const graph::ValueId value : values) {
      offsets.push_back(at);
      at += placed_bytes(graph.type(value).storage_bytes());
    }
    return at;
  };
  input_bytes = place(graph.inputs(), inputs);
  fault = place(graph.outputs(), outputs);
  output_bytes = fault + sizeof(FaultWord);
}

Result<std::unique_ptr<RequestPlaces>> RequestPlaces::make(const RequestLayout& layout, std::size_t most,
                                                           Device& device) {
  auto places = std::make_unique<RequestPlaces>();
  HONE_ASSIGN(places->inputs, device.allocate(layout.input_bytes));
  HONE_ASSIGN(places->outputs, device.allocate(layout.output_bytes));
  for (std::size_t i = 0; i < most; ++i) {
    PageLocked& each = places->page_locked.emplace_back();
    HONE_ASSIGN(each.inputs, device.allocate_staging(layout.input_bytes));
    HONE_ASSIGN(each.outputs, device.allocate_staging(layout.output_bytes));
  }
  HONE_ASSIGN(places->in, device.make_queue());
  HONE_ASSIGN(places->out, device.make_queue());
  HONE_ASSIGN(places->inputs_read, places->in->make_event());
  return places;
}

}  // namespace hone::runtime
