// A profile of XLA's tracer as a decoder hands it over, whatever it was written as (XPlane, or the JSON of
// TensorBoard's trace viewer): planes of lines of events, each with named stats. Names are those of
// xla/tsl/profiler/utils/xplane_schema.cc.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace hone::trace::xplane {

// The stats that mean something to hone.
enum class StatName : uint8_t {
  kOther,
  kBytesAccessed,
  kComputeMajor,
  kComputeMinor,
  kConsumerType,
  kCoreCount,
  kCorrelationId,
  kDeviceName,
  kDeviceType,
  kEagerOp,
  kFlops,
  kGraphNode,
  kHloCategory,
  kHloModule,
  kHloOp,
  kHloProto,
  kIsFunction,
  kJaxVersion,
  kKernelDetails,
  kMemcpyDetails,
  kMemorySize,
  kMemsetDetails,
  kProcessId,
  kProducerType,
  kProfileStart,
  kProgramId,
  kRunId,
  kShape,
  kSource,
  kStepNumber,
  kTfFunctionCall,
  kTfOp,
};
StatName stat_name(std::string_view name);

struct Stat {
  StatName name = StatName::kOther;
  bool is_real = false;
  int64_t integer = 0;
  double real = 0;
  std::string_view text;  // of texts, and of bytes

  double number() const { return is_real ? real : static_cast<double>(integer); }
};

// The stat of that name, the last of several; null: none.
const Stat* find_stat(std::span<const Stat> stats, StatName name);

// What all events of one kind share.
struct EventKind {
  std::string_view name;
  std::string_view display;  // empty: as `name`
  std::vector<Stat> stats;
};

struct PlaneInfo {
  std::string_view name;  // "/device:GPU:0"
  std::vector<Stat> stats;
  std::span<const EventKind> kinds = {};  // all that the plane has, also those without events
};

struct LineInfo {
  int64_t id = 0;
  std::string_view name;  // "Stream #13(MemcpyH2D,Compute)", "python"
};

// Events of one line come one after the other. Texts last as long as the sink; what holds them lasts until the
// call returns, kinds until the next plane.
class ProfileSink {
 public:
  virtual ~ProfileSink() = default;
  virtual void begin_plane(const PlaneInfo& plane) = 0;
  virtual void begin_line(const LineInfo& line) = 0;
  // Nanoseconds on the profile's clock. `kind_id` tells kinds of the plane apart.
  virtual void add(uint32_t kind_id, const EventKind& kind, int64_t start_ns, int64_t duration_ns,
                   std::span<const Stat> stats) = 0;
};

}  // namespace hone::trace::xplane
