// hone help, hone completion, hone man: what the program says about itself.
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "apps/command.h"
#include "apps/completion.h"
#include "apps/manual.h"

namespace hone::apps {
namespace {

Status print(const std::string& text) {
  fmt::print("{}", text);
  return {};
}

}  // namespace

void add_about_commands(Program& program) {
  const auto topic = std::make_shared<std::string>();
  // The help of a command that exists has been printed by parse().
  Command help = program.add("help", "what a command takes",
                             [topic, &program] { return program.no_such_command(*topic); });
  help.positional("COMMAND", topic.get(), "the command; without one: all of them");

  const auto shell = std::make_shared<std::string>();
  Command completion = program.add("completion", "a script by which a shell completes commands and options",
                                   [shell, &program]() -> Status {
                                     const std::vector<CommandInfo> commands = program.commands();
                                     return print(*shell == "bash"  ? bash_completion(commands)
                                                  : *shell == "zsh" ? zsh_completion(commands)
                                                                    : fish_completion(commands));
                                   });
  completion.positional("SHELL", shell.get(), "bash, zsh or fish").one_of({"bash", "zsh", "fish"}).required();

  program.add("man", "the manual page, for man(1)",
              [&program]() -> Status { return print(manual_page(program.commands())); });
}

}  // namespace hone::apps
