// The manual page, hone(1), made of what the commands declare.
#pragma once

#include <span>
#include <string>

#include "apps/command_info.h"

namespace hone::apps {

std::string manual_page(std::span<const CommandInfo> commands);

}  // namespace hone::apps
