// Makes a Trace of what a profile of XLA's tracer says: planes of devices become streams, lines of the host
// threads, instructions of XLA operators with costs, annotated steps steps.
#pragma once

#include <memory>

#include "core/result.h"
#include "trace/import/imported_file.h"
#include "trace/import/xplane/profile.h"

namespace hone::trace::xplane {

class Assembler : public ProfileSink {
 public:
  Assembler();
  ~Assembler() override;

  void begin_plane(const PlaneInfo& plane) override;
  void begin_line(const LineInfo& line) override;
  void add(uint32_t kind_id, const EventKind& kind, int64_t start_ns, int64_t duration_ns,
           std::span<const Stat> stats) override;

  // Errors: no event that takes time. Call once.
  Result<ImportedFile> finish();

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace hone::trace::xplane
