// What a command takes, as plain data: for what is made of all commands (completion.h, manual.h).
#pragma once

#include <string>
#include <vector>

namespace hone::apps {

struct OptionInfo {
  std::vector<std::string> names;  // "-o", "--out"; of a positional, its one name
  std::string value;               // what it takes: "FILE", "N"; empty: a flag
  std::string help;
  std::string fallback;              // its default, where --help says it
  std::vector<std::string> values;   // all that it takes, where that is a list
  std::vector<std::string> offered;  // what shells complete: those, or the best known of more
  bool needed = false;
};

struct CommandInfo {
  std::string name;
  std::string summary;
  std::vector<std::string>
      forms;  // the ways to write it, where there are several: what stands after its name
  std::vector<OptionInfo> positionals;
  std::vector<OptionInfo> options;
  std::string footer;
};

}  // namespace hone::apps
