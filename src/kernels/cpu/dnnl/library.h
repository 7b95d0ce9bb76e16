// The seam to oneDNN: what differs between its API versions 2.6 and 3.x is here and nowhere else, so that
// every other file of this folder compiles against both. Included by this folder's sources only, never by its
// headers. Version 2 describes an operation first and derives a primitive descriptor from it; version 3 has
// one step.
#pragma once

#include <string>
#include <utility>

#include <dnnl.hpp>

#include "core/dtype.h"
#include "core/layout.h"
#include "core/result.h"
#include "core/shape.h"

namespace hone::kernels::onednn {

using dnnl::algorithm;
using Dims = dnnl::memory::dims;
using MemoryDesc = dnnl::memory::desc;

// Strides and paddings of a window operation, in the library's convention: a dilation of 0 means none.
struct Window {
  Dims strides;
  Dims kernel;
  Dims dilations;
  Dims pads_begin;
  Dims pads_end;
};

// Each function below builds the primitive descriptor of an operation and returns use(descriptor). The
// descriptor is empty (operator bool is false) where the library has no implementation at all. A callback,
// because version 2 walks on to the next implementation through a pointer to the operation's description,
// which must still be alive then.
struct Tensors {
  MemoryDesc src, weights, bias, dst;  // bias: empty for none
};

#if DNNL_VERSION_MAJOR >= 3

template <typename Use>
auto with_convolution(const dnnl::engine& engine, algorithm how, const Tensors& tensors, const Window& window,
                      const dnnl::primitive_attr& attributes, const Use& use) {
  dnnl::convolution_forward::primitive_desc found(
      engine, dnnl::prop_kind::forward_inference, how, tensors.src, tensors.weights, tensors.bias,
      tensors.dst, window.strides, window.dilations, window.pads_begin, window.pads_end, attributes, true);
  return use(found);
}

template <typename Use>
auto with_deconvolution(const dnnl::engine& engine, algorithm how, const Tensors& tensors,
                        const Window& window, const dnnl::primitive_attr& attributes, const Use& use) {
  dnnl::deconvolution_forward::primitive_desc found(
      engine, dnnl::prop_kind::forward_inference, how, tensors.src, tensors.weights, tensors.bias,
      tensors.dst, window.strides, window.dilations, window.pads_begin, window.pads_end, attributes, true);
  return use(found);
}

template <typename Use>
auto with_matmul(const dnnl::engine& engine, const Tensors& tensors, const dnnl::primitive_attr& attributes,
                 const Use& use) {
  dnnl::matmul::primitive_desc found(engine, tensors.src, tensors.weights, tensors.bias, tensors.dst,
                                     attributes, true);
  return use(found);
}

// `tensors.weights` and `tensors.dst` are those of the gradients; `weights` those of the convolution itself.
template <typename Use>
auto with_convolution_backward_weights(const dnnl::engine& engine, const Tensors& tensors,
                                       const MemoryDesc& weights, const Window& window,
                                       const dnnl::primitive_attr& attributes, const Use& use) {
  const auto how = algorithm::convolution_direct;
  const dnnl::convolution_forward::primitive_desc hint(
      engine, dnnl::prop_kind::forward_training, how, tensors.src, weights, tensors.dst, window.strides,
      window.dilations, window.pads_begin, window.pads_end, {}, true);
  dnnl::convolution_backward_weights::primitive_desc found;
  if (hint)
    found = dnnl::convolution_backward_weights::primitive_desc(
        engine, how, tensors.src, tensors.weights, tensors.dst, window.strides, window.dilations,
        window.pads_begin, window.pads_end, hint, attributes, true);
  return use(found);
}

using PoolingPrimitive = dnnl::pooling_forward;

template <typename Use>
auto with_pooling(const dnnl::engine& engine, algorithm how, const Tensors& tensors, const Window& window,
                  const dnnl::primitive_attr& attributes, const Use& use) {
  PoolingPrimitive::primitive_desc found(engine, dnnl::prop_kind::forward_inference, how, tensors.src,
                                         tensors.dst, window.strides, window.kernel, window.dilations,
                                         window.pads_begin, window.pads_end, attributes, true);
  return use(found);
}

inline void append_eltwise(dnnl::post_ops& ops, algorithm how, float alpha, float beta) {
  ops.append_eltwise(how, alpha, beta);
}

inline void append_hard_swish(dnnl::post_ops& ops) {
  ops.append_eltwise(algorithm::eltwise_hardswish, 1.0F / 6, 0.5F);
}

#else

template <typename Use>
auto with_convolution(const dnnl::engine& engine, algorithm how, const Tensors& tensors, const Window& window,
                      const dnnl::primitive_attr& attributes, const Use& use) {
  const dnnl::convolution_forward::desc operation(dnnl::prop_kind::forward_inference, how, tensors.src,
                                                  tensors.weights, tensors.bias, tensors.dst, window.strides,
                                                  window.dilations, window.pads_begin, window.pads_end);
  dnnl::convolution_forward::primitive_desc found(operation, attributes, engine, true);
  return use(found);
}

template <typename Use>
auto with_deconvolution(const dnnl::engine& engine, algorithm how, const Tensors& tensors,
                        const Window& window, const dnnl::primitive_attr& attributes, const Use& use) {
  const dnnl::deconvolution_forward::desc operation(
      dnnl::prop_kind::forward_inference, how, tensors.src, tensors.weights, tensors.bias, tensors.dst,
      window.strides, window.dilations, window.pads_begin, window.pads_end);
  dnnl::deconvolution_forward::primitive_desc found(operation, attributes, engine, true);
  return use(found);
}

template <typename Use>
auto with_matmul(const dnnl::engine& engine, const Tensors& tensors, const dnnl::primitive_attr& attributes,
                 const Use& use) {
  const dnnl::matmul::desc operation(tensors.src, tensors.weights, tensors.bias, tensors.dst);
  dnnl::matmul::primitive_desc found(operation, attributes, engine, true);
  return use(found);
}

template <typename Use>
auto with_convolution_backward_weights(const dnnl::engine& engine, const Tensors& tensors,
                                       const MemoryDesc& weights, const Window& window,
                                       const dnnl::primitive_attr& attributes, const Use& use) {
  const auto how = algorithm::convolution_direct;
  const dnnl::convolution_forward::desc forward(dnnl::prop_kind::forward_training, how, tensors.src, weights,
                                                tensors.dst, window.strides, window.dilations,
                                                window.pads_begin, window.pads_end);
  const dnnl::convolution_forward::primitive_desc hint(forward, engine, true);
  const dnnl::convolution_backward_weights::desc operation(how, tensors.src, tensors.weights, tensors.dst,
                                                           window.strides, window.dilations,
                                                           window.pads_begin, window.pads_end);
  dnnl::convolution_backward_weights::primitive_desc found;
  if (hint) found = {operation, attributes, engine, hint, true};
  return use(found);
}

using PoolingPrimitive = dnnl::pooling_v2_forward;

template <typename Use>
auto with_pooling(const dnnl::engine& engine, algorithm how, const Tensors& tensors, const Window& window,
                  const dnnl::primitive_attr& attributes, const Use& use) {
  const PoolingPrimitive::desc operation(dnnl::prop_kind::forward_inference, how, tensors.src, tensors.dst,
                                         window.strides, window.kernel, window.dilations, window.pads_begin,
                                         window.pads_end);
  PoolingPrimitive::primitive_desc found(operation, attributes, engine, true);
  return use(found);
}

inline void append_eltwise(dnnl::post_ops& ops, algorithm how, float alpha, float beta) {
  ops.append_eltwise(1.0F, how, alpha, beta);
}

inline void append_hard_swish(dnnl::post_ops& ops) {
  ops.append_eltwise(1.0F, algorithm::eltwise_hardswish, 0, 0);
}

#endif

inline std::size_t bytes_of(const MemoryDesc& desc) { return desc.get_size(); }

// f32 and bf16 are what products take; anything else is a bug of the caller's.
dnnl::memory::data_type library_type(DType dtype);

// Tensor of logical `shape` (N, C, spatial…) in `layout`; an error where the library has no such format.
Result<MemoryDesc> memory_desc(const Shape& shape, Layout layout, DType dtype = DType::kF32);
// Tensor with strides in elements.
MemoryDesc strided_desc(const Shape& shape, const Shape& strides, DType dtype = DType::kF32);
// Row-major.
MemoryDesc plain_desc(const Shape& shape, DType dtype = DType::kF32);
// Tensor whose format the library may choose.
MemoryDesc any_desc(const Shape& shape, DType dtype = DType::kF32);

// Whether there are kernels for factors of `dtype` that give `result`; `what` as below.
Status check_types(const std::string& what, DType dtype, DType result);

// An exception of the library as an Error; `what` says what was being done ("convolution 64x56x56 …").
Error library_error(const std::string& what, const dnnl::error& error);

// Steps `desc` (as it stands after creation) to the implementation called `name`; "" stops at the first that
// `accept(name)` lets pass. False if there is none.
template <typename PrimitiveDesc, typename Accept>
bool select_implementation(PrimitiveDesc& desc, const std::string& name, const Accept& accept) {
  if (!desc) return false;
  do {
    const std::string found = desc.impl_info_str();
    if ((name.empty() || name == found) && accept(found)) return true;
  } while (desc.next_impl());
  return false;
}

template <typename PrimitiveDesc>
bool select_implementation(PrimitiveDesc& desc, const std::string& name) {
  return select_implementation(desc, name, [](const std::string&) { return true; });
}

// The names of all implementations of `desc` except the library's plain reference loops and, where there is
// anything wider, its SSE kernels.
template <typename PrimitiveDesc>
std::vector<std::string> implementations(PrimitiveDesc& desc) {
  std::vector<std::string> names;
  if (!desc) return names;
  do {
    const std::string name = desc.impl_info_str();
    // Version 2 names one again where its primitive cache answers.
    const bool again = std::find(names.begin(), names.end(), name) != names.end();
    const bool narrow = name.ends_with("sse41") && !names.empty();
    if (!again && !narrow && !name.starts_with("ref")) names.push_back(name);
  } while (desc.next_impl());
  return names;
}

}  // namespace hone::kernels::onednn
