#include "tests/backends/convolution_cases.h"

namespace hone::backends {

std::string text(const ConvCase& c) { return c.op + shape_text(c.input) + " * " + shape_text(c.weights); }

graph::ValueId conv(graph::GraphBuilder& b, const ConvCase& c, graph::ValueId x, DType rounded) {
  const DType dtype = b.type(x).dtype;
  const auto constant = [&](const Shape& shape, uint32_t seed) {
    return b.constant(
        "c",
        cast_floats(random_floats_of(rounded == DType::kUndefined ? dtype : rounded, shape, seed), dtype));
  };
  const int64_t groups = c.attributes.integer("group", 1);
  const int64_t channels = c.op == "Conv" ? c.weights[0] : c.weights[1] * groups;
  std::vector<graph::ValueId> inputs{x, constant(c.weights, 3)};
  if (c.bias) inputs.push_back(constant({channels}, 4));
  return b.add(c.op, inputs, c.attributes);
}

const std::vector<ConvCase>& convolution_cases() {
  static const std::vector<ConvCase> all = {
      {{1, 3, 9, 7}, {5, 3, 3, 3}, {}},
      {{2, 3, 9, 7}, {16, 3, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}, {"strides", Ints{2, 2}}}},
      {{1, 16, 8, 8}, {32, 16, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}, false},
      {{2, 20, 6, 5}, {17, 20, 1, 1}, {}},
      {{2, 32, 7, 5}, {48, 32, 1, 1}, {{"strides", Ints{2, 2}}}},
      {{1, 32, 7, 5}, {32, 32, 1, 1}, {}},
      {{1, 8, 10, 11}, {12, 4, 3, 2}, {{"group", int64_t{2}}, {"pads", Ints{0, 1, 2, 0}}}},
      {{1, 32, 10, 11}, {32, 16, 3, 3}, {{"group", int64_t{2}}, {"pads", Ints{1, 1, 1, 1}}}},
      {{2, 32, 9, 8}, {32, 1, 3, 3}, {{"group", int64_t{32}}, {"pads", Ints{1, 1, 1, 1}}}},
      {{1, 19, 9, 8}, {19, 1, 5, 3}, {{"group", int64_t{19}}, {"strides", Ints{2, 1}}}},
      {{1, 6, 9, 8}, {12, 1, 3, 3}, {{"group", int64_t{6}}}},
      {{1, 16, 13, 12}, {16, 16, 3, 3}, {{"dilations", Ints{2, 3}}, {"pads", Ints{2, 3, 2, 3}}}},
      {{1, 3, 9, 8}, {4, 3, 3, 4}, {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}}},
      {{1, 3, 9, 8}, {4, 3, 4, 2}, {{"auto_pad", std::string("SAME_LOWER")}, {"strides", Ints{1, 3}}}},
      {{1, 3, 9, 8}, {4, 3, 3, 3}, {{"auto_pad", std::string("VALID")}}},
      {{2, 5, 23}, {6, 5, 4}, {{"strides", Ints{3}}, {"pads", Ints{2, 1}}}},
      {{1, 16, 23}, {32, 16, 3}, {{"pads", Ints{1, 1}}}},
      {{1, 3, 5, 6, 7}, {4, 3, 3, 2, 3}, {{"pads", Ints{1, 0, 1, 1, 1, 1}}}},
      {{1, 16, 5, 6, 7}, {16, 16, 3, 3, 3}, {{"pads", Ints{1, 1, 1, 1, 1, 1}}}},
      {{1, 3, 5, 4}, {3, 4, 3, 3}, {}, true, "ConvTranspose"},
      {{2, 16, 5, 4}, {16, 32, 2, 2}, {{"strides", Ints{2, 2}}}, true, "ConvTranspose"},
      {{1, 16, 5, 4},
       {16, 8, 3, 3},
       {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}, {"output_padding", Ints{1, 1}}},
       true,
       "ConvTranspose"},
      {{1, 4, 5, 4}, {4, 3, 3, 3}, {{"group", int64_t{2}}, {"strides", Ints{2, 1}}}, true, "ConvTranspose"},
      {{1, 4, 6}, {4, 3, 3}, {{"strides", Ints{2}}}, false, "ConvTranspose"},
      {{1, 4, 5, 4},
       {4, 3, 3, 3},
       {{"output_shape", Ints{10, 9}}, {"strides", Ints{2, 2}}},
       true,
       "ConvTranspose"},
      {{1, 4, 5, 4},
       {4, 3, 3, 3},
       {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}},
       true,
       "ConvTranspose"},
  };
  return all;
}

}  // namespace hone::backends
