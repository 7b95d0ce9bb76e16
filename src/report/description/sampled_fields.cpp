// Devices whose hardware counters were sampled over time.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "report/description/analysis.h"
#include "report/description/grids.h"
#include "report/sampled_words.h"

namespace hone::report {

using analyze::Analysis, analyze::SampledDevice, analyze::SampledFigure;

const Fields<SampledFigure>& sampled_figure_fields() {
  using Row = SampledFigure;
  static const Fields<Row> fields = {
      {"name", Unit::kText, "`sm_active`, `dram_read`", &Row::name},
      Field<Row>("label", Unit::kText, "the name for people", &Row::label).show({.heading = "counter"}),
      {"unit", Unit::kText, "`%`, `B/s`, `Hz`", &Row::unit},
      Field<Row>("mean", Unit::kNumber, "over the sampled steps, in `unit`", &Row::mean)
          .show({.heading = "mean",
                 .narrow = "mean",
                 .text = [](const Row& row, const Analysis&) { return sampled_text(row, row.mean); }}),
      Field<Row>("most", Unit::kNumber, "of any sample", &Row::most)
          .show({.heading = "most",
                 .narrow = "most",
                 .text = [](const Row& row, const Analysis&) { return sampled_text(row, row.most); }}),
      Field<Row>(
          "profile", Unit::kList,
          "the course of a step: its hundredths, each the mean over all sampled steps; empty: steps are "
          "not known",
          &Row::profile)
          .show({.heading = "over the step",
                 .kind = ColumnKind::kText,
                 .text = [](const Row& row, const Analysis&) { return course_text(row); }}),
  };
  return fields;
}

const Fields<SampledDevice>& sampled_device_fields() {
  using Row = SampledDevice;
  static const Fields<Row> fields = {
      {"rank", Unit::kInteger, "whose device it is", &Row::rank},
      {"device", Unit::kInteger, "as its process counts", &Row::device},
      {"samples", Unit::kNumber, "that were taken", &Row::samples},
      {"interval_us", Unit::kUs, "from sample to sample", &Row::interval_us},
      {"steps", Unit::kNumber, "that means are over; 0: not known, they are over all samples", &Row::steps},
      {"step_ms", Unit::kMs, "their mean", &Row::step_ms},
      table_field("counters", "sampled_counters", "what was sampled", sampled_figure_fields(), &Row::figures),
  };
  return fields;
}

Grid sampled_grid(const Analysis& analysis, const SampledDevice& device, Form form) {
  return make_grid(sampled_figure_fields(), told_figures(device), analysis, form);
}

}  // namespace hone::report
