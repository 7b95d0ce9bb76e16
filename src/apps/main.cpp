// The program: lists the subcommands, runs the chosen one, and turns an error into one line.
#include <cstdio>
#include <exception>
#include <new>
#include <optional>

#include <fmt/format.h>

#include "apps/command.h"
#include "core/memory_budget.h"
#include "core/replace_operator_new.h"
#include "report/text.h"

int main(int argc, char** argv) {
  using namespace hone;
  apps::open_standard_streams();
  apps::Program program(argc, argv);
  apps::add_lab_command(program);
  apps::add_profile_command(program);
  apps::add_explain_command(program);
  apps::add_compare_command(program);
  apps::add_top_command(program);
  apps::add_ceilings_command(program);
  apps::add_bench_command(program);
  apps::add_show_command(program);
  apps::add_optimize_command(program);
  apps::add_train_command(program);
  apps::add_run_command(program);
  apps::add_conformance_command(program);
  apps::add_zoo_command(program);
  apps::add_about_commands(program);

  if (const std::optional<int> status = program.parse()) return *status;
  apps::watch_signals();
  apps::set_default_memory_budget();
  try {
    Status status = program.run();
    const bool ran = status.ok();
    if (ran) status = apps::flush_output();
    if (!status.ok()) {
      // One line, whatever is in the names of a hostile model.
      apps::say(fmt::format("hone: {}\n", report::clean_utf8(status.error().message)));
      // Who reads the output often ends by the same interrupt.
      return apps::interrupted() && ran ? apps::interrupted_status() : apps::exit_status(status.error());
    }
  } catch (const OverMemoryBudget& error) {
    apps::say(fmt::format("hone: {}\n", error.what()));
    return 1;
  } catch (const std::bad_alloc&) {
    apps::say("hone: not enough memory for this model and these shapes\n");
    return 1;
  } catch (const std::exception& error) {
    if (const Status printed = apps::flush_output(); !printed.ok()) {
      apps::say(fmt::format("hone: {}\n", printed.error().message));
      return apps::interrupted() ? apps::interrupted_status() : 1;
    }
    apps::say(fmt::format("hone: internal error (please report it): {}\n", error.what()));
    return 70;
  }
  return program.exit_code;
}
