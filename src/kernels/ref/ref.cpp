#include "kernels/ref/ref.h"

#include <stdexcept>

namespace hone::kernels::ref {

void RefTable::add(std::string_view op, RefKernel kernel) {
  if (!kernels_.emplace(std::string(op), kernel).second) {
    throw std::logic_error("two reference kernels for operator " + std::string(op));
  }
}

RefKernel RefTable::find(std::string_view op) const {
  auto it = kernels_.find(op);
  return it == kernels_.end() ? nullptr : it->second;
}

std::vector<std::string> RefTable::names() const {
  std::vector<std::string> names;
  for (const auto& [name, kernel] : kernels_) names.push_back(name);
  return names;
}

const RefTable& ref_table() {
  static const RefTable table = [] {
    RefTable t;
    add_pointwise_kernels(t);
    add_reduction_kernels(t);
    add_movement_kernels(t);
    add_shape_kernels(t);
    add_matrix_kernels(t);
    add_convolution_kernels(t);
    add_normalization_kernels(t);
    add_recurrent_kernels(t);
    add_vision_kernels(t);
    add_signal_kernels(t);
    add_random_kernels(t);
    add_loss_kernels(t);
    add_string_kernels(t);
    add_optimizer_kernels(t);
    return t;
  }();
  return table;
}

}  // namespace hone::kernels::ref
