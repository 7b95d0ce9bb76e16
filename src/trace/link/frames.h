// What frames of sampled stacks say: whose code they are, and what all that they call is for. Tables of patterns, so that
// a framework's spelling stands in one place; analysis reads the columns that this fills in.
#pragma once

#include <span>
#include <string_view>

#include "trace/name_patterns.h"
#include "trace/trace.h"

namespace hone::trace::link {

// The tables, for tests. Of files by where they lie, and roles by "file function" of Python and by function of native code.
std::span<const NamePattern<FrameOwner>> frame_owner_table();
std::span<const NamePattern<FrameRole>> python_frame_roles();
std::span<const NamePattern<FrameRole>> native_frame_roles();

FrameOwner frame_owner(FrameKind kind, std::string_view file);
FrameRole frame_role(FrameKind kind, std::string_view function, std::string_view file);

// Fills in owner and role of every frame.
void recognise_frames(Trace& trace);

}  // namespace hone::trace::link
