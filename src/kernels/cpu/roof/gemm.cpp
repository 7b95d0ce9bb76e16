#include "kernels/cpu/roof/gemm.h"

#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <oneapi/dnnl/dnnl.hpp>

namespace hone::kernels::roof {
namespace {

using Type = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

struct Types {
  Type source, weights, result;
};

Result<Types> types_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return Types{Type::f32, Type::f32, Type::f32};
    case DType::kBF16:
      return Types{Type::bf16, Type::bf16, Type::f32};
    case DType::kI8:
      return Types{Type::u8, Type::s8, Type::s32};
    default:
      return unsupported(fmt::format("matrix product probe: no {} product in oneDNN", dtype_name(dtype)));
  }
}

// oneDNN 3 describes a primitive in one step, 2 in two.
dnnl::matmul::primitive_desc describe(const dnnl::engine& engine, const dnnl::memory::desc& source,
                                      const dnnl::memory::desc& weights, const dnnl::memory::desc& result) {
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::matmul::primitive_desc(engine, source, weights, result);
#else
  return dnnl::matmul::primitive_desc(dnnl::matmul::desc(source, weights, result), engine);
#endif
}

// Random contents: power draw, and with it the clock frequency, depends on the data; zeros would flatter.
// Small integers, as bytes of each type, so that nothing overflows.
void fill(dnnl::memory& memory, Type type) {
  std::mt19937 random(1);
  const std::size_t bytes = memory.get_desc().get_size();
  auto* data = static_cast<unsigned char*>(memory.get_data_handle());
  const auto put = [&](auto make) {
    using Value = decltype(make());
    for (std::size_t at = 0; at + sizeof(Value) <= bytes; at += sizeof(Value)) {
      const Value value = make();
      std::memcpy(data + at, &value, sizeof(Value));
    }
  };
  const auto uniform = [&] { return static_cast<float>(random() >> 8) * 0x1p-24f - 0.5f; };
  if (type == Type::f32)
    put(uniform);
  else if (type == Type::bf16)
    put([&] { return f32_to_bf16(uniform()); });
  else
    put([&] { return static_cast<unsigned char>(random() & 127); });
}

}  // namespace

struct GemmProbe::State {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  dnnl::memory source, weights, result;
  dnnl::matmul primitive;
  double operations = 0;
  std::string implementation;
};

GemmProbe::GemmProbe(std::unique_ptr<State> state) : state_(std::move(state)) {}
GemmProbe::~GemmProbe() = default;
GemmProbe::GemmProbe(GemmProbe&&) noexcept = default;
GemmProbe& GemmProbe::operator=(GemmProbe&&) noexcept = default;

Result<GemmProbe> GemmProbe::create(DType dtype, int64_t n) {
  HONE_ASSIGN(const Types types, types_of(dtype));
  try {
    auto state = std::make_unique<State>();
    const dnnl::memory::dims extents = {n, n};
    const auto descriptor = describe(state->engine, {extents, types.source, Tag::any},
                                     {extents, types.weights, Tag::any}, {extents, types.result, Tag::any});
    state->implementation = descriptor.impl_info_str();
    if (state->implementation.find("ref") != std::string::npos)
      return unsupported(fmt::format(
          "matrix product probe: oneDNN has only a reference {} product on this CPU", dtype_name(dtype)));
    state->source = dnnl::memory(descriptor.src_desc(), state->engine);
    state->weights = dnnl::memory(descriptor.weights_desc(), state->engine);
    state->result = dnnl::memory(descriptor.dst_desc(), state->engine);
    fill(state->source, types.source);
    fill(state->weights, types.weights);
    state->primitive = dnnl::matmul(descriptor);
    state->operations = 2.0 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
    return GemmProbe(std::move(state));
  } catch (const dnnl::error& error) {
    return unsupported(fmt::format("matrix product probe, {}: oneDNN: {}", dtype_name(dtype), error.what()));
  }
}

Status GemmProbe::run() {
  try {
    state_->primitive.execute(state_->stream, {{DNNL_ARG_SRC, state_->source},
                                               {DNNL_ARG_WEIGHTS, state_->weights},
                                               {DNNL_ARG_DST, state_->result}});
    state_->stream.wait();
    return {};
  } catch (const dnnl::error& error) {
    return io_error(fmt::format("matrix product probe: oneDNN: {}", error.what()));
  }
}

double GemmProbe::operations() const { return state_->operations; }
const std::string& GemmProbe::implementation() const { return state_->implementation; }

std::string dnnl_version_text() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

}  // namespace hone::kernels::roof
