// AffineGrid. GridSample is in grid_sample.cpp, Resize in resize.cpp, regions of interest in detection.cpp.
#include <fmt/core.h>

#include "kernels/ref/parts.h"
#include "kernels/ref/wide.h"

namespace hone::kernels::ref {
namespace {

// The grid that GridSample reads, of the affine maps `theta` [N, axes, axes + 1].
Result<std::vector<Tensor>> affine_grid(const RefCall& call) {
  const Tensor& theta = call.inputs[0];
  const std::vector<int64_t> size = call.inputs[1].to_ints();
  if (size.size() != 4 && size.size() != 5) return invalid("size needs 4 values (2-D) or 5 (3-D)");
  const auto axes = static_cast<int64_t>(size.size()) - 2;
  HONE_CHECK(expect_shape(theta, {size[0], axes, axes + 1}, "theta"));
  const bool align = call.attributes.integer("align_corners", 0) != 0;
  Shape output{size[0]};
  output.insert(output.end(), size.begin() + 2, size.end());
  const Shape places(output.begin() + 1, output.end());
  output.push_back(axes);
  HONE_ASSIGN(const int64_t total, checked_element_count(output));
  const Wide matrix = widen(theta);
  Wide y;
  y.reserve(static_cast<std::size_t>(total));
  for (int64_t n = 0; n < size[0] && total > 0; ++n) {
    std::vector<int64_t> place(places.size(), 0);
    do {
      for (int64_t row = 0; row < axes; ++row) {
        const double* m = matrix.data() + (n * axes + row) * (axes + 1);
        double sum = m[axes];
        for (int64_t k = 0; k < axes; ++k) {  // column k multiplies x, y, z: the last axis first
          const auto axis = static_cast<std::size_t>(axes - 1 - k);
          const auto extent = static_cast<double>(places[axis]);
          const auto i = static_cast<double>(place[axis]);
          const double at = align ? (extent > 1 ? 2 * i / (extent - 1) - 1 : -1) : (2 * i + 1) / extent - 1;
          sum += m[k] * at;
        }
        y.push_back(sum);
      }
    } while (next_index(place, places));
  }
  return one(rounded(theta.dtype(), output, std::move(y)));
}

}  // namespace

void add_vision_kernels(RefTable& table) {
  table.add("AffineGrid", affine_grid);
  add_grid_sample_kernels(table);
  add_resize_kernels(table);
  add_detection_kernels(table);
}

}  // namespace hone::kernels::ref
