// Operators of images: affine grids, centred crops, columns put back, pooling undone, deformable convolution.
#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "core/columns.h"
#include "core/window.h"
#include "graph/spelled_out/forms.h"

namespace hone::graph {
namespace {

using namespace spelling;

// Tables that a form makes of constants stay below so many elements.
constexpr int64_t kMostOfATable = int64_t{1} << 24;

}  // namespace

// The places of the grid, [places, axes + 1], are known; each image's map is a matrix that multiplies them.
SpelledResult affine_grid_spelled_out(NodeEmitter& e, const Node& node, SpelledInputs in) {
  HONE_ASSIGN(const Ints size, known_ints(e, in, 1, "the size"));
  if (size.size() != 4 && size.size() != 5) return invalid("size needs 4 values (2-D) or 5 (3-D)");
  const auto axes = static_cast<int64_t>(size.size()) - 2;
  if (e.type(in[0]).shape() != Shape{size[0], axes, axes + 1}) return invalid("theta does not fit the size");
  const bool align = node.attributes.integer("align_corners", 0) != 0;
  const Shape extents(size.begin() + 2, size.end());
  HONE_ASSIGN(const int64_t places, checked_element_count(extents));
  if (places < 1 || places > kMostOfATable) return unsupported(fmt::format("a grid of {} places", places));
  std::vector<double> table;
  table.reserve(static_cast<std::size_t>(places * (axes + 1)));
  Ints place(extents.size(), 0);
  do {
    for (std::size_t axis = extents.size(); axis-- > 0;) {  // x, y, z: the last axis first
      const auto extent = static_cast<double>(extents[axis]);
      const auto i = static_cast<double>(place[axis]);
      table.push_back(align ? (extent > 1 ? 2 * i / (extent - 1) - 1 : -1) : (2 * i + 1) / extent - 1);
    }
    table.push_back(1);
  } while (next_place(place, extents));
  const DType dtype = e.type(in[0]).dtype;
  const ValueId maps = transposed(e, widened(e, in[0]), {0, 2, 1});
  const ValueId grid = e.add("MatMul", {numbers(e, dtype, {places, axes + 1}, table), maps});
  Shape result{size[0]};
  result.insert(result.end(), extents.begin(), extents.end());
  result.push_back(axes);
  return std::vector<ValueId>{reshaped(e, e.cast(grid, dtype), result)};
}

// Odd differences: the window is half an element to the left, the extra border on the right.
SpelledResult center_crop_pad_spelled_out(NodeEmitter& e, const Node& node, SpelledInputs in) {
  HONE_ASSIGN(const Ints wanted, known_ints(e, in, 1, "the shape"));
  const Shape shape = e.type(in[0]).shape();
  const auto rank = static_cast<int64_t>(shape.size());
  Ints axes(shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  axes = node.attributes.ints("axes", axes);
  if (axes.size() != wanted.size()) return invalid("CenterCropPad needs one extent an axis");
  Ints begins, ends, cropped, pads(2 * shape.size(), 0);
  bool padded = false;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    HONE_ASSIGN(const int64_t axis, normalize_axis(axes[i], rank));
    const int64_t extent = shape[static_cast<std::size_t>(axis)], missing = wanted[i] - extent;
    if (wanted[i] < 0) return invalid(fmt::format("an extent of {}", wanted[i]));
    if (missing < 0) {
      begins.push_back(-missing / 2);
      ends.push_back(-missing / 2 + wanted[i]);
      cropped.push_back(axis);
    }
    if (missing > 0) {
      pads[static_cast<std::size_t>(axis)] = missing / 2;
      pads[static_cast<std::size_t>(axis + rank)] = missing - missing / 2;
      padded = true;
    }
  }
  ValueId y = in[0];
  if (!cropped.empty()) y = e.add("Slice", {y, e.ints(begins), e.ints(ends), e.ints(cropped)});
  if (padded) y = e.add("Pad", {y, e.ints(pads)});
  return std::vector<ValueId>{y == in[0] ? e.add("Identity", {y}) : y};
}

namespace {

// Of each pixel of an image the elements of its columns, numbered tap by tap, that are added up to it.
struct PixelSources {
  std::vector<std::vector<int64_t>> of_pixel;
  int64_t taps = 0, places = 0;
  std::size_t most = 0;
};

Result<PixelSources> pixel_sources(const Attributes& attributes, const Ints& image, const Ints& block) {
  HONE_ASSIGN(WindowSpec windows, read_windows(attributes, block));
  HONE_ASSIGN(const Shape places, place_windows(windows, image));
  PixelSources sources;
  HONE_ASSIGN(sources.taps, checked_element_count(block));
  HONE_ASSIGN(sources.places, checked_element_count(places));
  HONE_ASSIGN(const int64_t pixels, checked_element_count(image));
  if (pixels < 1 || pixels > kMostOfATable || sources.places < 1 ||
      sources.taps > kMostOfATable / sources.places)
    return unsupported("columns of more elements than a table has");
  sources.of_pixel.resize(static_cast<std::size_t>(pixels));
  int64_t from = 0;
  walk_columns(windows.axes, places, image, [&](int64_t pixel) {
    if (pixel >= 0) sources.of_pixel[static_cast<std::size_t>(pixel)].push_back(from);
    ++from;
  });
  for (const auto& each : sources.of_pixel) sources.most = std::max(sources.most, each.size());
  if (static_cast<int64_t>(sources.most) > kMostOfATable / pixels)
    return unsupported("columns that overlap more often than a table has elements for");
  return sources;
}

}  // namespace

// Each pixel takes its sources (a zero behind the columns where it has fewer than others) and adds them up.
SpelledResult col2im_spelled_out(NodeEmitter& e, const Node& node, SpelledInputs in) {
  HONE_ASSIGN(const Ints image, known_ints(e, in, 1, "image_shape"));
  HONE_ASSIGN(const Ints block, known_ints(e, in, 2, "block_shape"));
  HONE_ASSIGN(const PixelSources sources, pixel_sources(node.attributes, image, block));
  const Shape columns = e.type(in[0]).shape();
  if (columns.size() != 3 || columns[1] % sources.taps != 0 || columns[2] != sources.places ||
      sources.most == 0)
    return invalid(fmt::format("columns of shape {} do not fit the image", shape_text(columns)));
  const int64_t channels = columns[1] / sources.taps, planes = columns[0] * channels;
  const int64_t elements = sources.taps * sources.places;
  const auto pixels = static_cast<int64_t>(sources.of_pixel.size());
  const auto most = static_cast<int64_t>(sources.most);
  std::vector<int64_t> table(static_cast<std::size_t>(most * pixels), elements);
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    int64_t row = 0;
    for (const int64_t from : sources.of_pixel[static_cast<std::size_t>(pixel)])
      table[static_cast<std::size_t>(row++ * pixels + pixel)] = from;
  }
  ValueId lines = reshaped(e, in[0], {planes, elements});
  if (std::find(table.begin(), table.end(), elements) != table.end())
    lines = e.add("Pad", {lines, e.ints({0, 0, 0, 1})});
  ValueId y = e.add("Gather", {lines, e.tensor(Tensor::i64({most, pixels}, table))}, {{"axis", int64_t{1}}});
  if (most > 1) y = e.summed(y, {1});
  Shape result{columns[0], channels};
  result.insert(result.end(), image.begin(), image.end());
  return std::vector<ValueId>{reshaped(e, y, result)};
}

// Zeros, to which the elements are scattered; indices count through a tensor of the inferred shape, and a larger output_shape
// extends that at its ends, a smaller one cuts it there.
SpelledResult max_unpool_spelled_out(NodeEmitter& e, const Node& node, SpelledInputs in) {
  const Shape x = e.type(in[0]).shape();
  if (x.size() < 3 || e.type(in[1]).shape() != x) return invalid("I does not have the shape of X");
  HONE_ASSIGN(WindowSpec windows, read_windows(node.attributes, {}));
  HONE_ASSIGN(const Shape spatial, place_transposed_windows(windows, {}, std::span(x).subspan(2)));
  Shape inferred{x[0], x[1]};
  inferred.insert(inferred.end(), spatial.begin(), spatial.end());
  Shape wanted = inferred;
  if (given(in, 2)) {
    HONE_ASSIGN(wanted, known_ints(e, in, 2, "output_shape"));
  }
  if (wanted.size() != inferred.size()) return invalid("output_shape does not have the rank of X");
  HONE_ASSIGN(const int64_t total, checked_element_count(inferred));
  const ValueId zeros = e.add("Expand", {e.scalar(0, in[0]), e.ints({total})});
  const ValueId flat =
      e.add("ScatterElements",
            {zeros, reshaped(e, in[1], {element_count(x)}), reshaped(e, in[0], {element_count(x)})},
            {{"axis", int64_t{0}}});
  ValueId y = reshaped(e, flat, inferred);
  Ints pads(2 * wanted.size(), 0);
  bool larger = false;
  for (std::size_t axis = 0; axis < wanted.size(); ++axis) {
    y = sliced(e, y, static_cast<int64_t>(axis), 0, std::min(wanted[axis], inferred[axis]));
    pads[wanted.size() + axis] = std::max<int64_t>(0, wanted[axis] - inferred[axis]);
    larger = larger || wanted[axis] > inferred[axis];
  }
  return std::vector<ValueId>{larger ? e.add("Pad", {y, e.ints(pads)}) : y};
}

namespace {

// A deformable convolution over two axes.
struct Deformable {
  int64_t batch = 0, channels = 0, outputs = 0, groups = 1, offset_groups = 1, taps = 0;
  Shape in = {}, out = {};
  std::vector<Window> windows = {};
  int64_t places() const { return out[0] * out[1]; }
};

Result<Deformable> read_deformable(const NodeEmitter& e, const Node& node, SpelledInputs in) {
  const Shape x = e.type(in[0]).shape(), w = e.type(in[1]).shape();
  if (x.size() != 4) return unsupported("deformable convolutions over other than two axes");
  Deformable d{.batch = x[0],
               .channels = x[1],
               .outputs = w.empty() ? 0 : w[0],
               .groups = node.attributes.integer("group", 1),
               .offset_groups = node.attributes.integer("offset_group", 1),
               .in = {x[2], x[3]}};
  if (w.size() != 4 || d.groups < 1 || d.offset_groups < 1 || w[1] * d.groups != x[1] ||
      w[0] % d.groups != 0 || x[1] % d.offset_groups != 0)
    return invalid("the weight does not fit the input");
  const Shape kernel{w[2], w[3]};
  HONE_ASSIGN(WindowSpec windows, read_windows(node.attributes, kernel));
  HONE_ASSIGN(d.out, place_windows(windows, d.in));
  d.windows = std::move(windows.axes);
  d.taps = kernel[0] * kernel[1];
  const int64_t maps = d.offset_groups * d.taps;
  if (e.type(in[2]).shape() != Shape{d.batch, 2 * maps, d.out[0], d.out[1]} ||
      (given(in, 3) && e.type(in[3]).shape() != Shape{d.outputs}) ||
      (given(in, 4) && e.type(in[4]).shape() != Shape{d.batch, maps, d.out[0], d.out[1]}))
    return invalid("offset, bias or mask do not fit the output");
  if (d.taps * d.places() > kMostOfATable) return unsupported("more samples than a table has elements");
  return d;
}

// Where each tap reads, as GridSample takes it: [batch · offset groups, taps · places, 1, (x, y)], pixels p as
// (2p + 1) / extent - 1. Offsets lie as [batch, offset group, tap, (y, x), place].
ValueId sampling_grid(NodeEmitter& e, const Deformable& d, ValueId offset) {
  const int64_t maps = d.batch * d.offset_groups;
  const std::vector<ValueId> axes =
      slices(e, reshaped(e, widened(e, offset), {maps, d.taps, 2, d.places()}), 2);
  if (!e.status().ok()) return kNoValue;
  std::vector<ValueId> coordinates;
  for (const std::size_t axis : {std::size_t{1}, std::size_t{0}}) {
    const Window& window = d.windows[axis];
    std::vector<double> bases;
    for (int64_t tap = 0; tap < d.taps; ++tap) {
      const int64_t own = axis == 0 ? tap / d.windows[1].kernel : tap % d.windows[1].kernel;
      for (int64_t place = 0; place < d.places(); ++place) {
        const int64_t at = axis == 0 ? place / d.out[1] : place % d.out[1];
        bases.push_back(static_cast<double>(at * window.stride + own * window.dilation - window.pad_begin));
      }
    }
    const auto extent = static_cast<double>(d.in[axis]);
    const DType dtype = e.type(axes[axis]).dtype;
    const ValueId point = e.plus(axes[axis], numbers(e, dtype, {d.taps, 1, d.places()}, bases));
    const ValueId scaled = e.plus(e.times(point, 2 / extent), e.scalar(1 / extent - 1, point));
    coordinates.push_back(reshaped(e, scaled, {maps, d.taps * d.places(), 1, 1}));
  }
  return joined(e, std::move(coordinates), 3);
}

}  // namespace

// The image sampled for each tap, times the mask, is a matrix that the weights multiply.
SpelledResult deform_conv_spelled_out(NodeEmitter& e, const Node& node, SpelledInputs in) {
  HONE_ASSIGN(const Deformable d, read_deformable(e, node, in));
  const int64_t maps = d.batch * d.offset_groups, each = d.channels / d.offset_groups;
  const ValueId images = reshaped(e, widened(e, in[0]), {maps, each, d.in[0], d.in[1]});
  ValueId samples = e.add("GridSample", {images, sampling_grid(e, d, in[2])},
                          {{"mode", std::string("linear")},
                           {"padding_mode", std::string("zeros")},
                           {"align_corners", int64_t{0}}});
  if (given(in, 4))
    samples = e.times(reshaped(e, samples, {maps, each, d.taps, d.places()}),
                      reshaped(e, widened(e, in[4]), {maps, 1, d.taps, d.places()}));
  const int64_t depth = d.channels / d.groups * d.taps;
  const ValueId columns = reshaped(e, samples, {d.batch, d.groups, depth, d.places()});
  ValueId weights = reshaped(e, widened(e, in[1]), {1, d.groups, d.outputs / d.groups, depth});
  // Products repeat a matrix for all of a batch, or each of it, but not for a part of its axes.
  if (d.groups > 1 && d.batch > 1) weights = e.add("Expand", {weights, e.ints({d.batch, 1, 1, 1})});
  ValueId y = reshaped(e, e.add("MatMul", {weights, columns}), {d.batch, d.outputs, d.out[0], d.out[1]});
  if (given(in, 3)) y = e.plus(y, reshaped(e, widened(e, in[3]), {d.outputs, 1, 1}));
  return std::vector<ValueId>{e.cast(y, e.type(in[0]).dtype)};
}

}  // namespace hone::graph
