// LSTM and GRU on the CPU against the reference.
#include "tests/backends/compare.h"
#include <gtest/gtest.h>

namespace hone::backends {
namespace {

using graph::GraphBuilder;
using graph::kNoValue;
using graph::ValueId;

struct Form {
  std::string direction = "forward";
  bool bias = true, lengths = false, states = false, peephole = false;
  Attributes more = {};
};

const std::vector<Form>& forms() {
  static const std::vector<Form> all = {{},
                                        {"reverse"},
                                        {"bidirectional"},
                                        {"forward", false},
                                        {"bidirectional", true, true, true},
                                        {"reverse", true, true, false},
                                        {"forward", false, true, true, true},
                                        {"bidirectional", true, false, true, true, {{"clip", 0.4F}}}};
  return all;
}

Build layer(const std::string& op, const Form& form, int64_t batch) {
  return [=](GraphBuilder& b) -> std::vector<ValueId> {
    const int64_t time = 6, input = 5, hidden = 19;
    const int64_t gates = op == "LSTM" ? 4 : 3;
    const int64_t directions = form.direction == "bidirectional" ? 2 : 1;
    std::vector<ValueId> in{f32_input(b, "x", {time, batch, input}),
                            f32_constant(b, {directions, gates * hidden, input}, 1),
                            f32_constant(b, {directions, gates * hidden, hidden}, 2),
                            form.bias ? f32_constant(b, {directions, 2 * gates * hidden}, 3) : kNoValue};
    in.push_back(form.lengths ? input_of(b, "lengths", DType::kI32, {batch}) : kNoValue);
    in.push_back(form.states ? f32_input(b, "h", {directions, batch, hidden}) : kNoValue);
    if (op == "LSTM") {
      in.push_back(form.states ? f32_input(b, "c", {directions, batch, hidden}) : kNoValue);
      if (form.peephole) in.push_back(f32_constant(b, {directions, 3 * hidden}, 4));
    }
    Attributes attributes = form.more;
    attributes.set("direction", form.direction).set("hidden_size", hidden);
    if (op == "GRU" && form.peephole) attributes.set("linear_before_reset", int64_t{1});
    return b.add_many(op, in, op == "LSTM" ? 3 : 2, attributes);
  };
}

TEST(Recurrent, EveryFormAgrees) {
  CompareOptions options;  // of lengths: some sequences are empty, some whole
  options.int_low = 0;
  options.int_high = 6;
  for (const char* op : {"LSTM", "GRU"}) {
    for (const Form& form : forms()) {
      for (const int64_t batch : {1, 3}) {
        SCOPED_TRACE(testing::Message()
                     << op << " " << form.direction << " " << (&form - forms().data()) << " " << batch);
        compare_all_kernels(layer(op, form, batch), options);
      }
    }
  }
}

}  // namespace
}  // namespace hone::backends
