// hone conformance: ONNX's backend tests on this machine.
#include "lab/conformance/conformance.h"

#include <map>
#include <memory>

#include <fmt/format.h>

#include "apps/command.h"
#include "apps/model_options.h"
#include "core/file.h"
#include "plugin/plugin.h"
#include "runtime/make_provider.h"

namespace hone::apps {
namespace {

struct ConformanceOptions {
  std::string folder;
  std::string json;
  std::string filter;
  std::string device = kAnyDevice;
  std::vector<std::string> plugins;
  bool optimise = false;
  bool list_unsupported = false;
};

void print_summary(const lab::ConformanceReport& report, bool list_unsupported) {
  std::map<std::string, int> reasons;
  for (const lab::ConformanceTest& test : report.tests) {
    if (test.status == lab::ConformanceStatus::kFailed)
      fmt::print("failed       {}: {}\n", test.name, test.detail);
    if (test.status == lab::ConformanceStatus::kUnsupported) {
      const std::size_t at = test.detail.find("unsupported: ");
      ++reasons[at == std::string::npos ? test.detail : test.detail.substr(at + 13)];
      if (list_unsupported) fmt::print("unsupported  {}: {}\n", test.name, test.detail);
    }
  }
  for (const auto& [reason, count] : reasons) fmt::print("unsupported  {:4} × {}\n", count, reason);
  fmt::print("{} passed, {} failed, {} unsupported\n", report.passed, report.failed, report.unsupported);
}

Status run_conformance(ConformanceOptions options, Program& program) {
  HONE_CHECK(settle_device(&options.device));
  HONE_ASSIGN(const auto provider, runtime::make_provider(options.device));
  ProgressBar bar("conformance");
  lab::ConformanceOptions conformance;
  conformance.filter = options.filter;
  conformance.optimise = options.optimise;
  HONE_ASSIGN(conformance.operators, plugin::load_plugins(options.plugins));
  conformance.progress = [&](double fraction, const std::string& test) {
    bar.update(fraction, test);
    return !interrupted();
  };
  HONE_ASSIGN(const lab::ConformanceReport report,
              lab::run_conformance(options.folder, *provider, conformance));
  if (!options.json.empty()) HONE_CHECK(write_file(options.json, lab::conformance_json(report)));
  print_summary(report, options.list_unsupported);
  if (report.failed > 0) program.exit_code = 1;
  return {};
}

}  // namespace

void add_conformance_command(Program& program) {
  auto options = std::make_shared<ConformanceOptions>();
  Command command = program.add("conformance", "run ONNX backend tests (laid out as in the onnx package)",
                                [options, &program] { return run_conformance(*options, program); });
  command
      .positional("DIR", &options->folder,
                  "the tests: onnx/backend/test/data, one kind's folder, or one test's")
      .required();
  command.option("--filter TEXT", &options->filter, "only tests whose name contains this");
  add_device_to(command, &options->device);
  add_plugins_to(command, &options->plugins);
  command.flag("--optimise", &options->optimise, "run the models through the pass pipeline first");
  command.flag("--list-unsupported", &options->list_unsupported, "name every unsupported test");
  command.option("--json FILE", &options->json, "write the results here as JSON").written();
}

}  // namespace hone::apps
