// The course of a device's memory, event by event, as most of the time nothing happens: tensors as an area, what the allocator has of the device as a line above it.
#pragma once

#include "analyze/memory/memory_findings.h"
#include "report/svg/chart.h"

namespace hone::report::svg {

// Empty where there are fewer than two moments to draw.
Markup memory_course(const analyze::DeviceMemory& device, const Canvas& canvas);

}  // namespace hone::report::svg
