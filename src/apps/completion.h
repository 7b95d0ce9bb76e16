// Completion scripts of shells, made of what the commands declare: nothing is listed a second time.
#pragma once

#include <span>
#include <string>

#include "apps/command_info.h"

namespace hone::apps {

std::string bash_completion(std::span<const CommandInfo> commands);
std::string zsh_completion(std::span<const CommandInfo> commands);
std::string fish_completion(std::span<const CommandInfo> commands);

}  // namespace hone::apps
