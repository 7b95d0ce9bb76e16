#include "cuda/context.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/units.h"

namespace hone::cuda {
namespace {

std::string in_units(std::size_t bytes) { return format_bytes(static_cast<double>(bytes)); }

// What there is beside what was asked for; nothing where the driver does not say.
std::string room_text(const Context& context) {
  const auto room = context.room();
  if (!room.ok()) return {};
  return fmt::format("; {} of {} are free", in_units(room->free), in_units(room->total));
}

}  // namespace

Result<ContextPointer> Context::of_device(std::shared_ptr<const Driver> driver, int index) {
  if (index < 0 || index >= driver->devices())
    return not_found(fmt::format("there is no GPU number {}: the driver sees {}", index, driver->devices()));
  std::shared_ptr<Context> context(new Context);
  context->driver_ = std::move(driver);
  context->index_ = index;
  HONE_CHECK(context->look_at_device());
  HONE_CHECK(
      context->check(context->functions().device_primary_ctx_retain(&context->handle_, context->device_),
                     fmt::format("cuDevicePrimaryCtxRetain of GPU {} ({})", index, context->name_)));
  HONE_CHECK(context->make_current());
  return ContextPointer(std::move(context));
}

Status Context::look_at_device() {
  const DriverFunctions& f = functions();
  HONE_CHECK(check(f.device_get(&device_, index_), "cuDeviceGet"));
  std::array<char, 256> name{};
  HONE_CHECK(
      check(f.device_get_name(name.data(), static_cast<int>(name.size()), device_), "cuDeviceGetName"));
  name_.assign(name.data());
  std::array<char, 32> bus{};
  HONE_CHECK(check(f.device_get_pci_bus_id(bus.data(), static_cast<int>(bus.size()), device_),
                   "cuDeviceGetPCIBusId"));
  pci_bus_id_.assign(bus.data());
  int major = 0, minor = 0;
  HONE_CHECK(check(f.device_get_attribute(&major, kComputeCapabilityMajor, device_), "cuDeviceGetAttribute"));
  HONE_CHECK(check(f.device_get_attribute(&minor, kComputeCapabilityMinor, device_), "cuDeviceGetAttribute"));
  HONE_CHECK(
      check(f.device_get_attribute(&multiprocessors_, kMultiprocessors, device_), "cuDeviceGetAttribute"));
  architecture_ = {major * 10 + minor};
  int l2 = 0;
  HONE_CHECK(check(f.device_get_attribute(&l2, kL2Bytes, device_), "cuDeviceGetAttribute"));
  l2_bytes_ = static_cast<std::size_t>(std::max(l2, 0));
  return check(f.device_total_mem(&total_bytes_, device_), "cuDeviceTotalMem");
}

Context::~Context() {
  if (handle_ != nullptr) functions().device_primary_ctx_release(device_);
}

Result<Context::Room> Context::room() const {
  HONE_CHECK(make_current());
  Room room;
  HONE_CHECK(check(functions().mem_get_info(&room.free, &room.total), "cuMemGetInfo"));
  return room;
}

Status Context::make_current() const {
  ContextHandle current = nullptr;
  if (functions().ctx_get_current(&current) == DriverCode::kSuccess && current == handle_) return {};
  return check(functions().ctx_set_current(handle_), "cuCtxSetCurrent");
}

Result<DeviceBlock> allocate(const ContextPointer& context, std::size_t bytes) {
  HONE_CHECK(context->make_current());
  DeviceAddress address = 0;
  const DriverCode code = context->functions().mem_alloc(&address, std::max<std::size_t>(bytes, 1));
  if (code == DriverCode::kOutOfMemory)
    return invalid(
        fmt::format("not enough memory for a block of {} on GPU {} ({}){}; close other programs on it "
                    "(nvidia-smi lists them), or give smaller shapes",
                    in_units(bytes), context->index(), context->name(), room_text(*context)));
  HONE_CHECK(context->check(code, fmt::format("cuMemAlloc of {}", in_units(bytes))));
  return DeviceBlock(context, address);
}

Result<PinnedBlock> allocate_pinned(const ContextPointer& context, std::size_t bytes) {
  HONE_CHECK(context->make_current());
  void* address = nullptr;
  HONE_CHECK(context->check(context->functions().mem_host_alloc(&address, std::max<std::size_t>(bytes, 1), 0),
                            fmt::format("cuMemHostAlloc of {} of page-locked memory", in_units(bytes))));
  return PinnedBlock(context, address);
}

Result<Stream> make_stream(const ContextPointer& context) {
  HONE_CHECK(context->make_current());
  StreamHandle stream = nullptr;
  HONE_CHECK(
      context->check(context->functions().stream_create(&stream, kStreamNonBlocking), "cuStreamCreate"));
  return Stream(context, stream);
}

Result<StreamEvent> make_event(const ContextPointer& context, bool with_timing) {
  HONE_CHECK(context->make_current());
  EventHandle event = nullptr;
  HONE_CHECK(context->check(
      context->functions().event_create(&event, with_timing ? kEventWithTiming : kEventWithoutTiming),
      "cuEventCreate"));
  return StreamEvent(context, event);
}

Result<Module> load_module(const ContextPointer& context, std::span<const char> image) {
  HONE_CHECK(context->make_current());
  ModuleHandle module = nullptr;
  HONE_CHECK(context->check(context->functions().module_load_data(&module, image.data()),
                            fmt::format("cuModuleLoadData of {}", in_units(image.size()))));
  return Module(context, module);
}

Result<FunctionHandle> find_function(const Module& module, const char* name) {
  HONE_CHECK(module.context().make_current());
  FunctionHandle function = nullptr;
  HONE_CHECK(
      module.context().check(module.context().functions().module_get_function(&function, module.get(), name),
                             fmt::format("cuModuleGetFunction of {}", name)));
  return function;
}

Status launch(const Context& context, FunctionHandle function, const LaunchShape& shape, StreamHandle stream,
              std::span<void*> arguments, std::string_view name, Launch when) {
  HONE_CHECK(context.make_current());
  LaunchAttribute early;
  LaunchConfig config{.shared_bytes = shape.shared_bytes, .stream = stream};
  std::copy_n(shape.grid, 3, config.grid);
  std::copy_n(shape.block, 3, config.block);
  if (when == Launch::kEarly) {
    config.attributes = &early;
    config.attribute_count = 1;
  }
  const DriverCode code = context.functions().launch_kernel_ex(&config, function, arguments.data(), nullptr);
  if (code == DriverCode::kSuccess) [[likely]]
    return {};
  return context.check(
      code, fmt::format("cuLaunchKernelEx of {} (grid {}x{}x{}, block {}x{}x{}, {} B shared)", name,
                        shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0], shape.block[1],
                        shape.block[2], shape.shared_bytes));
}

}  // namespace hone::cuda
