// The program: declares the subcommands, parses the command line, runs the chosen one, and turns an error
// into one line.
#include <cstdio>
#include <exception>
#include <new>

#include <fmt/format.h>

#include "apps/command.h"
#include "apps/help.h"
#include "core/version.h"
#include "report/text.h"

int main(int argc, char** argv) {
  using namespace hone;
  apps::Program program;
  program.app.name("hone");
  program.app.formatter(apps::help_formatter());
  program.app.set_version_flag("--version", fmt::format("hone {}", kVersion));
  program.app.require_subcommand(1);
  program.app.fallthrough(false);
  for (int i = 0; i < argc; ++i)
    program.command_line += (i > 0 ? " " : "") + std::string(i > 0 ? argv[i] : "hone");
  apps::add_lab_command(program);
  apps::add_explain_command(program);
  apps::add_compare_command(program);
  apps::add_ceilings_command(program);
  apps::add_bench_command(program);
  apps::add_show_command(program);
  apps::add_optimize_command(program);
  apps::add_run_command(program);
  apps::add_conformance_command(program);
  apps::add_zoo_command(program);

  try {
    program.app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return program.app.exit(error);  // --help, --version
    fmt::print(stderr, "hone: {}\n", apps::usage_error(program.app, error, argc, argv));
    return 2;
  }
  apps::watch_interrupts();
  try {
    Status status = apps::check_json_path(program.app);
    if (status.ok()) status = program.chosen();
    if (!status.ok()) {
      // One line, whatever is in the names of a hostile model.
      fmt::print(stderr, "hone: {}\n", report::clean_utf8(status.error().message));
      return status.error().code == ErrorCode::kCancelled ? 130 : 1;
    }
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "hone: not enough memory for this model and these shapes\n");
    return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "hone: internal error (please report it): {}\n", error.what());
    return 70;
  }
  return program.exit_code;
}
