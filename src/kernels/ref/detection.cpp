// What object detectors need: RoiAlign (He et al. 2017) with its gradient, and NonMaxSuppression.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/core.h>

#include "kernels/ref/elements.h"
#include "kernels/ref/parts.h"
#include "kernels/ref/wide.h"

namespace hone::kernels::ref {
namespace {

struct Bilinear {
  int64_t at[4] = {0, 0, 0, 0};
  double weight[4] = {0, 0, 0, 0};  // all zero for a point outside the image
};

Bilinear bilinear(double y, double x, int64_t height, int64_t width) {
  Bilinear b;
  if (!(y >= -1 && y <= static_cast<double>(height) && x >= -1 && x <= static_cast<double>(width))) return b;
  y = std::min(std::max(y, 0.0), static_cast<double>(height - 1));
  x = std::min(std::max(x, 0.0), static_cast<double>(width - 1));
  const auto top = static_cast<int64_t>(y), left = static_cast<int64_t>(x);
  const int64_t bottom = std::min(top + 1, height - 1), right = std::min(left + 1, width - 1);
  const double down = y - static_cast<double>(top), along = x - static_cast<double>(left);
  const int64_t at[4] = {top * width + left, top * width + right, bottom * width + left,
                         bottom * width + right};
  const double weight[4] = {(1 - down) * (1 - along), (1 - down) * along, down * (1 - along), down * along};
  std::copy(at, at + 4, b.at);
  std::copy(weight, weight + 4, b.weight);
  return b;
}

struct RoiShape {
  int64_t channels, height, width, out_height, out_width, ratio;
  double scale, offset;
  bool maximum;
};

// `x`: the shape of the images; the regions and their images are inputs `rois` and `rois` + 1.
Result<RoiShape> plan_roi_align(const RefCall& call, const Shape& x, std::size_t rois) {
  if (x.size() != 4) return invalid(fmt::format("X has the shape {}, must have rank 4", shape_text(x)));
  HONE_CHECK(expect_rank(call.inputs[rois], 2, "rois"));
  const int64_t regions = call.inputs[rois].shape()[0];
  HONE_CHECK(expect_shape(call.inputs[rois], {regions, 4}, "rois"));
  HONE_CHECK(expect_shape(call.inputs[rois + 1], {regions}, "batch_indices"));
  const std::string mode = call.attributes.text("mode", "avg");
  const std::string coordinates = call.attributes.text("coordinate_transformation_mode", "half_pixel");
  if (mode != "avg" && mode != "max")
    return unsupported(fmt::format("RoiAlign mode '{}' is not known", mode));
  if (coordinates != "half_pixel" && coordinates != "output_half_pixel") {
    return unsupported(fmt::format("coordinate_transformation_mode '{}' is not known", coordinates));
  }
  RoiShape plan{x[1],
                x[2],
                x[3],
                call.attributes.integer("output_height", 1),
                call.attributes.integer("output_width", 1),
                call.attributes.integer("sampling_ratio", 0),
                call.attributes.real("spatial_scale", 1),
                coordinates == "half_pixel" ? 0.5 : 0.0,
                mode == "max"};
  if (plan.out_height < 1 || plan.out_width < 1 || plan.height < 1 || plan.width < 1) {
    return invalid("the image and the output need at least one element");
  }
  for (int64_t image : call.inputs[rois + 1].to_ints()) {
    if (image < 0 || image >= x[0]) {
      return invalid(fmt::format("a region is in image {}, which does not exist", image));
    }
  }
  return plan;
}

// The sample points of every bin of one region, bins in row-major order; `per_bin` points each.
Result<std::vector<Bilinear>> region_samples(const RoiShape& plan, const double* box, std::size_t& per_bin) {
  const double left = box[0] * plan.scale - plan.offset, top = box[1] * plan.scale - plan.offset;
  double width = box[2] * plan.scale - plan.offset - left, height = box[3] * plan.scale - plan.offset - top;
  if (plan.offset == 0) {
    width = std::max(width, 1.0);
    height = std::max(height, 1.0);
  }
  const double bin_h = height / static_cast<double>(plan.out_height);
  const double bin_w = width / static_cast<double>(plan.out_width);
  constexpr double kMostSamples = 1 << 12;
  if (!(std::abs(bin_h) < kMostSamples && std::abs(bin_w) < kMostSamples)) {
    return invalid(fmt::format("a region of {} by {} pixels is too large", height, width));
  }
  const auto grid_h =
      std::max<int64_t>(0, plan.ratio > 0 ? plan.ratio : static_cast<int64_t>(std::ceil(bin_h)));
  const auto grid_w =
      std::max<int64_t>(0, plan.ratio > 0 ? plan.ratio : static_cast<int64_t>(std::ceil(bin_w)));
  per_bin = static_cast<std::size_t>(grid_h * grid_w);
  std::vector<Bilinear> samples;
  for (int64_t bin = 0; bin < plan.out_height * plan.out_width; ++bin) {
    for (int64_t i = 0; i < grid_h * grid_w; ++i) {
      const double y = top + (static_cast<double>(bin / plan.out_width) +
                              (static_cast<double>(i / grid_w) + 0.5) / static_cast<double>(grid_h)) *
                                 bin_h;
      const double x = left + (static_cast<double>(bin % plan.out_width) +
                               (static_cast<double>(i % grid_w) + 0.5) / static_cast<double>(grid_w)) *
                                  bin_w;
      samples.push_back(bilinear(y, x, plan.height, plan.width));
    }
  }
  return samples;
}

// The bin's mean; or, as ONNX has it, the largest of all weighted neighbours (not of interpolated values).
double pool_bin(std::span<const Bilinear> samples, const double* image, bool maximum) {
  double result = 0;
  bool first = true;
  for (const Bilinear& s : samples) {
    for (int k = 0; k < 4; ++k) {
      const double value = s.weight[k] * image[s.at[k]];
      result = !maximum ? result + value : first ? value : std::max(result, value);
      first = false;
    }
  }
  return maximum || samples.empty() ? result : result / static_cast<double>(samples.size());
}

Result<std::vector<Tensor>> roi_align(const RefCall& call) {
  const Tensor& x = call.inputs[0];
  HONE_ASSIGN(const RoiShape plan, plan_roi_align(call, x.shape(), 1));
  const Wide images = widen(x), boxes = widen(call.inputs[1]);
  const std::vector<int64_t> batch = call.inputs[2].to_ints();
  const Shape output{call.inputs[1].shape()[0], plan.channels, plan.out_height, plan.out_width};
  HONE_CHECK(checked_element_count(output));
  Wide y;
  for (std::size_t r = 0; r < batch.size(); ++r) {
    std::size_t per_bin = 0;
    HONE_ASSIGN(const std::vector<Bilinear> samples, region_samples(plan, boxes.data() + 4 * r, per_bin));
    for (int64_t c = 0; c < plan.channels; ++c) {
      const double* image = images.data() + (batch[r] * plan.channels + c) * plan.height * plan.width;
      for (std::size_t bin = 0; bin < static_cast<std::size_t>(plan.out_height * plan.out_width); ++bin) {
        y.push_back(pool_bin(std::span(samples).subspan(bin * per_bin, per_bin), image, plan.maximum));
      }
    }
  }
  return one(rounded(x.dtype(), output, std::move(y)));
}

// Adds what the gradient `g` of a bin gives to the pixels: to each what it counted; where the largest was taken, to
// that alone, the first of equals.
void unpool_bin(std::span<const Bilinear> samples, double g, const double* image, bool maximum, double* dx) {
  if (!maximum) {
    const double share = samples.empty() ? 0 : g / static_cast<double>(samples.size());
    for (const Bilinear& s : samples)
      for (int k = 0; k < 4; ++k) dx[s.at[k]] += s.weight[k] * share;
    return;
  }
  const Bilinear* taken = nullptr;
  int corner = 0;
  for (const Bilinear& s : samples)
    for (int k = 0; k < 4; ++k)
      if (taken == nullptr ||
          taken->weight[corner] * image[taken->at[corner]] < s.weight[k] * image[s.at[k]]) {
        taken = &s;
        corner = k;
      }
  if (taken != nullptr) dx[taken->at[corner]] += taken->weight[corner] * g;
}

Result<std::vector<Tensor>> roi_align_gradient(const RefCall& call) {
  const Shape x = call.inputs[1].to_ints();
  const Tensor& g = call.inputs[0];
  HONE_CHECK(make_tensor(call, g.dtype(), x));
  HONE_ASSIGN(const RoiShape plan, plan_roi_align(call, x, 2));
  const Shape output{call.inputs[2].shape()[0], plan.channels, plan.out_height, plan.out_width};
  HONE_CHECK(expect_shape(g, output, "the gradient"));
  if (plan.maximum && !call.has(4)) return bad_call(call, "mode max needs X");
  if (plan.maximum) HONE_CHECK(expect_shape(call.inputs[4], x, "X"));
  const Wide flowing = widen(g), boxes = widen(call.inputs[2]);
  const Wide images = plan.maximum ? widen(call.inputs[4]) : Wide{};
  const std::vector<int64_t> batch = call.inputs[3].to_ints();
  Wide dx(static_cast<std::size_t>(element_count(x)), 0);
  const auto bins = static_cast<std::size_t>(plan.out_height * plan.out_width);
  const double* next = flowing.data();
  for (std::size_t r = 0; r < batch.size(); ++r) {
    std::size_t per_bin = 0;
    HONE_ASSIGN(const std::vector<Bilinear> samples, region_samples(plan, boxes.data() + 4 * r, per_bin));
    for (int64_t c = 0; c < plan.channels; ++c) {
      const int64_t plane = (batch[r] * plan.channels + c) * plan.height * plan.width;
      for (std::size_t bin = 0; bin < bins; ++bin)
        unpool_bin(std::span(samples).subspan(bin * per_bin, per_bin), *next++,
                   plan.maximum ? images.data() + plane : nullptr, plan.maximum, dx.data() + plane);
    }
  }
  return one(rounded(g.dtype(), x, std::move(dx)));
}

struct Box {
  double y0, x0, y1, x1;
  double area() const { return (y1 - y0) * (x1 - x0); }
};

Box read_box(const double* values, bool centre) {
  if (centre) {  // x, y of the centre, width, height
    return {values[1] - values[3] / 2, values[0] - values[2] / 2, values[1] + values[3] / 2,
            values[0] + values[2] / 2};
  }
  return {std::min(values[0], values[2]), std::min(values[1], values[3]), std::max(values[0], values[2]),
          std::max(values[1], values[3])};
}

double overlap(const Box& a, const Box& b) {
  const double height = std::min(a.y1, b.y1) - std::max(a.y0, b.y0);
  const double width = std::min(a.x1, b.x1) - std::max(a.x0, b.x0);
  if (height <= 0 || width <= 0 || a.area() <= 0 || b.area() <= 0) return 0;
  return height * width / (a.area() + b.area() - height * width);
}

// The boxes of one class that stay, best first; equal scores in the order of the boxes.
std::vector<std::size_t> suppress(const std::vector<Box>& boxes, const double* scores, int64_t most,
                                  double iou_threshold, std::optional<double> score_threshold) {
  std::vector<std::size_t> candidates;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (!score_threshold || scores[i] > *score_threshold) candidates.push_back(i);
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [scores](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  std::vector<std::size_t> kept;
  for (std::size_t candidate : candidates) {
    if (static_cast<int64_t>(kept.size()) >= most) break;
    const bool free = std::none_of(kept.begin(), kept.end(), [&](std::size_t other) {
      return overlap(boxes[candidate], boxes[other]) > iou_threshold;
    });
    if (free) kept.push_back(candidate);
  }
  return kept;
}

// Rows of image, class and box: what NonMaxSuppression returns.
Result<std::vector<int64_t>> selected_boxes(const RefCall& call) {
  const Tensor& boxes = call.inputs[0];
  const Tensor& scores = call.inputs[1];
  HONE_CHECK(expect_rank(boxes, 3, "boxes"));
  HONE_CHECK(expect_rank(scores, 3, "scores"));
  const int64_t batch = boxes.shape()[0], count = boxes.shape()[1], classes = scores.shape()[1];
  HONE_CHECK(expect_shape(boxes, {batch, count, 4}, "boxes"));
  HONE_CHECK(expect_shape(scores, {batch, classes, count}, "scores"));
  const int64_t most = call.has(2) && call.inputs[2].size() > 0 ? call.inputs[2].int_at(0) : 0;
  const double iou = call.has(3) && call.inputs[3].size() > 0 ? call.inputs[3].at(0) : 0;
  std::optional<double> threshold;
  if (call.has(4) && call.inputs[4].size() > 0) threshold = call.inputs[4].at(0);
  const bool centre = call.attributes.integer("center_point_box", 0) != 0;
  const Wide corners = widen(boxes), values = widen(scores);
  std::vector<int64_t> selected;
  for (int64_t n = 0; n < batch; ++n) {
    std::vector<Box> own;
    for (int64_t i = 0; i < count; ++i) own.push_back(read_box(corners.data() + (n * count + i) * 4, centre));
    for (int64_t c = 0; c < classes; ++c) {
      for (std::size_t i : suppress(own, values.data() + (n * classes + c) * count, most, iou, threshold)) {
        selected.insert(selected.end(), {n, c, static_cast<int64_t>(i)});
      }
    }
  }
  return selected;
}

Result<std::vector<Tensor>> non_max_suppression(const RefCall& call) {
  HONE_ASSIGN(const std::vector<int64_t> selected, selected_boxes(call));
  return one(Tensor::i64({static_cast<int64_t>(selected.size() / 3), 3}, selected));
}

// The same, with zeros up to as many rows as there can be, and how many are no zeros.
Result<std::vector<Tensor>> bounded_suppression(const RefCall& call) {
  HONE_ASSIGN(std::vector<int64_t> selected, selected_boxes(call));
  const Shape& scores = call.inputs[1].shape();
  const int64_t most =
      call.inputs[2].size() > 0 ? std::clamp<int64_t>(call.inputs[2].int_at(0), 0, scores[2]) : 0;
  const auto found = static_cast<int64_t>(selected.size() / 3);
  const int64_t rows = scores[0] * scores[1] * most;
  HONE_CHECK(checked_element_count(Shape{rows, 3}));
  selected.resize(static_cast<std::size_t>(rows * 3), 0);
  std::vector<Tensor> outputs = one(Tensor::i64({rows, 3}, selected));
  outputs.push_back(Tensor::scalar_i64(found));
  return outputs;
}

Result<std::vector<Tensor>> first_rows(const RefCall& call) {
  HONE_CHECK(expect_inputs(call, 2));
  const Tensor& x = call.inputs[0];
  const int64_t rows = call.inputs[1].size() == 1 ? call.inputs[1].int_at(0) : -1;
  if (x.rank() < 1 || rows < 0 || rows > x.shape()[0])
    return bad_call(call, fmt::format("{} rows of {}", rows, shape_text(x.shape())));
  Shape shape = x.shape();
  shape[0] = rows;
  std::vector<int64_t> source(static_cast<std::size_t>(element_count(shape)));
  std::iota(source.begin(), source.end(), 0);
  return one(gather_elements(x, std::move(shape), source));
}

}  // namespace

void add_detection_kernels(RefTable& table) {
  table.add("RoiAlign", roi_align);
  table.add("hone.RoiAlignGradient", roi_align_gradient);
  table.add("NonMaxSuppression", non_max_suppression);
  table.add("hone.NonMaxSuppression", bounded_suppression);
  table.add("hone.FirstRows", first_rows);
}

}  // namespace hone::kernels::ref
