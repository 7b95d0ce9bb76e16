// The HTML report in a real browser: Chromium renders it at phone and desk width in both themes and says what
// it sees. Skipped where Chromium is not installed (CI installs it).
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/file.h"
#include "report/fabricate_device.h"
#include "report/fabricate_program.h"
#include "report/fabricate_report.h"
#include "report/html.h"

namespace hone::report {
namespace {

std::string find_chromium() {
  for (const char* path : {"/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"})
    if (std::filesystem::exists(path)) return path;
  return "";
}

std::string output_of(const std::string& command) {
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string output;
  std::array<char, 4096> chunk;
  while (pipe != nullptr) {
    std::size_t length = fread(chunk.data(), 1, chunk.size(), pipe.get());
    if (length == 0) break;
    output.append(chunk.data(), length);
  }
  return output;
}

// Runs in a page that holds the report in a frame of the wanted width (a headless window cannot be as narrow
// as a phone) and writes its findings into its own title. What would be wrong on a phone: anything reaching
// out of the frame; what in any theme: text in the colour of its background; texts of a chart that lie on
// each other.
constexpr const char* kProbe = R"js(
var faults = [];
function fault(text) { if (faults.length < 20) faults.push(text); }
function visible(node) { var b = node.getBoundingClientRect(); return b.width > 0 && b.height > 0; }
window.addEventListener('load', function () {
  var frame = document.getElementById('page'), inside = frame.contentWindow, page = frame.contentDocument;
  if (page.documentElement.scrollWidth > WIDTH) fault('scrolls sideways: ' + page.documentElement.scrollWidth);
  page.querySelectorAll('main *').forEach(function (node) {
    var box = node.getBoundingClientRect();
    if (visible(node) && (box.right > WIDTH + 1 || box.left < -1))
      fault('reaches out: ' + node.tagName + '.' + (node.getAttribute('class') || '') + ' ' + box.left + '..' + box.right);
  });
  page.querySelectorAll('svg.chart').forEach(function (chart) {
    var texts = Array.from(chart.querySelectorAll('text')).filter(visible);
    texts.forEach(function (a, i) {
      // Names on slanted roofs have boxes larger than themselves.
      if (a.closest('g[transform]')) return;
      texts.slice(i + 1).forEach(function (b) {
        if (b.closest('g[transform]')) return;
        var p = a.getBoundingClientRect(), q = b.getBoundingClientRect();
        if (p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 3 && q.top < p.bottom - 3)
          fault('texts overlap: "' + a.textContent + '" and "' + b.textContent + '"');
      });
    });
  });
  function middle(node) { var b = node.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; }
  page.querySelectorAll('svg text.rank').forEach(function (rank) {
    var at = middle(rank), chart = rank.closest('svg'), scale = chart.clientWidth / chart.viewBox.baseVal.width;
    if (visible(rank) && !Array.from(rank.closest('svg').querySelectorAll('circle.after')).some(function (point) {
      var c = middle(point); return Math.hypot(c[0] - at[0], c[1] - at[1]) < 18 * scale; }))
      fault('rank ' + rank.textContent + ' stands beside no point');
  });
  // A row of numbers that a phone shows without columns is a line, or two where it is long.
  if (WIDTH < 720) page.querySelectorAll('table.cards tr').forEach(function (row) {
    var tops = {}, numbers = Array.from(row.querySelectorAll('td.n')).filter(visible);
    numbers.forEach(function (cell) { tops[Math.round(cell.getBoundingClientRect().top / 8)] = 1; });
    if (numbers.length <= 4 && Object.keys(tops).length > 2) fault('numbers stack: ' + row.textContent.slice(0, 60));
  });
  var body = inside.getComputedStyle(page.body);
  var light = function (color) { return color.match(/[\d.]+/g).slice(0, 3).reduce(function (s, v) { return s + +v; }, 0); };
  var dark = light(body.backgroundColor) < 200, wanted = 'THEME' === 'dark';
  if (dark !== wanted) fault('not in the ' + 'THEME' + ' theme');
  if (Math.abs(light(body.color) - light(body.backgroundColor)) < 380) fault('text hardly differs from its background');
  if (page.getElementById('tip') === null) fault('the script did not run to its end');
  if (page.querySelectorAll('img, iframe, object, embed').length) fault('foreign elements');
  document.title = 'probe ' + (faults.length ? 'FAULTS ' + faults.join(' | ') : 'clean');
});
)js";

// Uses the timeline as a reader would: zooms and pans by keys, wheel and drag, clicks a launch, searches.
constexpr const char* kTimelineProbe = R"js(
var faults = [];
function fault(text) { faults.push(text); }
window.addEventListener('load', function () {
  var frame = document.getElementById('page'), inside = frame.contentWindow, page = frame.contentDocument;
  var canvas = page.querySelector('#step-lanes canvas');
  if (!canvas) { document.title = 'probe no canvas'; return; }
  if (!page.getElementById('static-lanes').hidden) fault('the static strip still shows');
  function view() { return [+canvas.dataset.from, +canvas.dataset.to]; }
  function key(name) { canvas.dispatchEvent(new inside.KeyboardEvent('keydown', { key: name, bubbles: true, cancelable: true })); }
  function pointer(type, x, y, shift) {
    var box = canvas.getBoundingClientRect();
    canvas.dispatchEvent(new inside.PointerEvent(type, { clientX: box.left + x, clientY: box.top + y, pointerId: 1, bubbles: true, shiftKey: !!shift }));
  }
  var whole = view(), launch = null, steps = [
    function () { if (+canvas.dataset.drawn < 100) fault('only ' + canvas.dataset.drawn + ' bars'); key('+'); },
    function () { if (!(view()[1] - view()[0] < (whole[1] - whole[0]) * 0.8)) fault('+ does not zoom'); key('w'); key('w'); },
    function () { launch = view(); key('ArrowRight'); },
    function () { if (!(view()[0] > launch[0])) fault('arrows do not pan'); launch = view(); pointer('pointerdown', 200, 60); pointer('pointermove', 150, 60); pointer('pointerup', 150, 60); },
    function () { if (!(view()[0] > launch[0])) fault('drag does not pan'); canvas.focus(); launch = view();
      canvas.dispatchEvent(new inside.WheelEvent('wheel', { deltaY: -300, clientX: 300, clientY: 100, bubbles: true, cancelable: true })); },
    function () { if (!(view()[1] - view()[0] < launch[1] - launch[0])) fault('the wheel does not zoom'); key('0'); },
    function () { if (view()[0] !== whole[0] || view()[1] !== whole[1]) fault('0 does not fit'); canvas.blur();
      canvas.dispatchEvent(new inside.WheelEvent('wheel', { deltaY: -300, clientX: 300, clientY: 100, bubbles: true, cancelable: true })); },
    function () { if (view()[1] !== whole[1]) fault('the wheel zooms without being asked');
      var search = page.querySelector('#step-lanes input');
      search.value = 'cudaLaunch';
      search.dispatchEvent(new inside.Event('input'));
      search.dispatchEvent(new inside.KeyboardEvent('keydown', { key: 'Enter', cancelable: true })); },
    function () { if (canvas.dataset.matches !== '192') fault('found ' + canvas.dataset.matches);
      var text = page.querySelector('.lanes-detail').textContent;
      if (text.indexOf('cudaLaunchKernel') < 0 || text.indexOf('linked: ') < 0) fault('a launch does not lead to its kernel: ' + text);
      key('0');
      for (var y = 20; y < canvas.clientHeight; y += 4) for (var x = 8; x < 24; x += 2) { pointer('pointermove', x, y); if (page.getElementById('tip').textContent.indexOf('layer_norm_kernel') >= 0) return; }
      fault('hovering shows nothing'); },
    function () { key('Escape'); },
    function () { if (canvas.dataset.chosen !== '-1') fault('Escape does not clear');
      pointer('pointerdown', 0, 60, true); pointer('pointermove', canvas.clientWidth, 60, true); pointer('pointerup', canvas.clientWidth, 60, true); },
    function () { var text = page.querySelector('.lanes-detail').textContent;
      if (view()[1] !== whole[1]) fault('selecting pans');
      if (text.indexOf('selected') < 0 || text.indexOf('busy') < 0 || text.indexOf('kernel') < 0 || text.indexOf('idle: ') < 0) fault('no sums of a selected stretch: ' + text); }
  ];
  (function next() {
    if (!steps.length) { document.title = 'probe ' + (faults.length ? 'FAULTS ' + faults.join(' | ') : 'clean'); return; }
    steps.shift()();
    setTimeout(next, 60);
  })();
});
)js";

// Follows a line of evidence into the timeline, and looks at what the device waited for.
constexpr const char* kPlaceProbe = R"js(
var faults = [];
function fault(text) { faults.push(text); }
window.addEventListener('load', function () {
  var frame = document.getElementById('page'), inside = frame.contentWindow, page = frame.contentDocument;
  var canvas = page.querySelector('#step-lanes canvas'), link = page.querySelector('.finding a.place');
  if (!canvas || !link) { document.title = 'probe no link'; return; }
  var whole = +canvas.dataset.to - +canvas.dataset.from;
  function near(x, y) {
    var box = canvas.getBoundingClientRect();
    canvas.dispatchEvent(new inside.PointerEvent('pointermove', { clientX: box.left + x, clientY: box.top + y, pointerId: 1, bubbles: true }));
    return page.getElementById('tip').hidden ? '' : page.getElementById('tip').textContent;
  }
  var steps = [
    function () { if (link.textContent !== 'aten::item' || link.tabIndex !== 0) fault('no link for the keyboard: ' + link.textContent); link.click(); },
    function () {
      if (canvas.dataset.marked !== '0 250000') fault('marks ' + canvas.dataset.marked);
      if (!(+canvas.dataset.to - +canvas.dataset.from < whole * 0.5)) fault('does not zoom');
      if (page.activeElement !== canvas) fault('the keyboard stays behind');
      var box = canvas.getBoundingClientRect();
      if (box.bottom < 0 || box.top > inside.innerHeight) fault('the timeline is not in sight: ' + box.top);
      var text = page.querySelector('.lanes-detail').textContent;
      if (text.indexOf('idle: host sync') !== 0 || text.indexOf('aten::item') < 0) fault('says ' + text);
      var seen = {};
      for (var y = 20; y < canvas.clientHeight; y += 6) for (var x = 2; x < canvas.clientWidth; x += 6) seen[near(x, y).split(',')[0]] = 1;
      if (!seen['idle: host sync'] || !seen['idle: launch'] || !seen['idle: I/O']) fault('gaps say nothing: ' + Object.keys(seen).join(' '));
      canvas.dispatchEvent(new inside.KeyboardEvent('keydown', { key: 'Escape', bubbles: true, cancelable: true })); },
    function () { if (canvas.dataset.marked !== '') fault('Escape leaves the mark'); }
  ];
  (function next() {
    if (!steps.length) { document.title = 'probe ' + (faults.length ? 'FAULTS ' + faults.join(' | ') : 'clean'); return; }
    steps.shift()();
    setTimeout(next, 60);
  })();
});
)js";

// Sorts the kernels and the operators by their headings as a keyboard does, and follows the contents.
constexpr const char* kTableProbe = R"js(
var faults = [];
function fault(text) { faults.push(text); }
window.addEventListener('load', function () {
  var page = document.getElementById('page').contentDocument;
  function values(table, column) {
    return Array.from(table.querySelectorAll('tr.main, tr.single')).map(function (row) {
      return row.cells[column].textContent.replace(/^[^\d]*/, ''); });
  }
  function head(table, name) {
    return Array.from(table.querySelectorAll('th')).find(function (th) { return th.textContent === name; });
  }
  function press(table, name) {
    var button = head(table, name).querySelector('button');
    if (!button || button.tabIndex !== 0) { fault(name + ' is no button for the keyboard'); return; }
    button.click();
  }
  var kernels = page.querySelector('#kernels table'), launches = head(kernels, 'launches').cellIndex;
  var before = values(kernels, launches).join();
  press(kernels, 'launches');
  var down = values(kernels, launches).map(parseFloat);
  if (down.some(function (v, i) { return i > 0 && v > down[i - 1]; })) fault('not downwards: ' + down);
  if (head(kernels, 'launches').getAttribute('aria-sort') !== 'descending') fault('does not say how it is sorted');
  press(kernels, 'launches');
  var up = values(kernels, launches).map(parseFloat);
  if (up.some(function (v, i) { return i > 0 && v < up[i - 1]; })) fault('not upwards: ' + up);
  press(kernels, 'launches');
  if (values(kernels, launches).join() !== before) fault('the order of the page does not come back');
  var top = page.querySelector('#top table');
  press(top, 'operator');
  top.querySelectorAll('tr.main').forEach(function (row) {
    if (!row.nextElementSibling || row.nextElementSibling.className !== 'why') fault('a reason lost its row');
  });
  var links = page.querySelectorAll('nav.contents a');
  if (links.length < 5) fault('only ' + links.length + ' contents');
  links.forEach(function (link) {
    if (!page.getElementById(link.getAttribute('href').slice(1))) fault(link.textContent + ' leads nowhere');
  });
  document.title = 'probe ' + (faults.length ? 'FAULTS ' + faults.join(' | ') : 'clean');
});
)js";

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

class InChromium : public testing::Test {
 protected:
  void SetUp() override {
    chromium_ = find_chromium();
    if (chromium_.empty()) GTEST_SKIP() << "Chromium is not installed";
    folder_ = std::filesystem::path(testing::TempDir()) /
              fmt::format("hone_browser_{}", testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void expect_sound(const std::string& html, int width, const std::string& theme) {
    expect_clean(html, kProbe, width, theme);
  }

  void expect_clean(const std::string& html, const std::string& script, int width, const std::string& theme) {
    ASSERT_TRUE(write_file(folder_ / "report.html", html).ok());
    std::string probe = replaced(replaced(script, "WIDTH", std::to_string(width)), "THEME", theme);
    std::string wrapper = fmt::format(
        "<!DOCTYPE html><title>probe</title><script>{}</script>"
        "<iframe id=\"page\" src=\"report.html\" style=\"border:0;width:{}px;height:6000px\"></iframe>",
        probe, width);
    ASSERT_TRUE(write_file(folder_ / "probe.html", wrapper).ok());
    std::string command = fmt::format(
        "'{}' --headless=new --no-sandbox --disable-gpu --allow-file-access-from-files --hide-scrollbars "
        "--enable-logging=stderr --v=0 --user-data-dir='{}' --blink-settings=preferredColorScheme={} "
        "--virtual-time-budget=4000 --window-size=1400,1000 --dump-dom 'file://{}' 2>'{}'",
        chromium_, (folder_ / "profile").string(), theme == "dark" ? 0 : 1, (folder_ / "probe.html").string(),
        (folder_ / "log").string());
    std::string dom = output_of(command);
    std::size_t begin = dom.find("<title>"), end = dom.find("</title>");
    ASSERT_NE(end, std::string::npos) << "Chromium printed no page";
    EXPECT_EQ(dom.substr(begin + 7, end - begin - 7), "probe clean") << "at " << width << ", " << theme;
    auto log = read_file(folder_ / "log");
    ASSERT_TRUE(log.ok());
    EXPECT_EQ(log->find("CONSOLE"), std::string::npos) << *log;
  }

  std::string chromium_;
  std::filesystem::path folder_;
};

TEST_F(InChromium, TheLabReportIsSoundOnPhonesAndDesksInBothThemes) {
  std::string html = lab_html(fabricate::resnet_report());
  for (const char* theme : {"light", "dark"})
    for (int width : {390, 1280}) expect_sound(html, width, theme);
}

TEST_F(InChromium, TheExplanationIsSoundToo) {
  analyze::LabReport report = fabricate::resnet_report();
  std::string html = explain_html(report.baseline, report.roofs);
  expect_sound(html, 390, "light");
  expect_sound(html, 1280, "dark");
}

TEST_F(InChromium, TheExplanationOfADevicesTraceIsSoundOnPhonesAndDesksInBothThemes) {
  std::string html = explain_html(fabricate::device_analysis(), fabricate::device_roofs());
  for (const char* theme : {"light", "dark"})
    for (int width : {390, 1280}) expect_sound(html, width, theme);
}

TEST_F(InChromium, TheReportOfAProgramIsSoundOnPhonesAndDesksInBothThemes) {
  const std::string html = program_html(fabricate::program_report());
  expect_sound(html, 390, "dark");
  expect_sound(html, 1280, "light");
}

TEST_F(InChromium, TheComparisonIsSoundToo) {
  analyze::LabReport lab = fabricate::resnet_report();
  expect_sound(compare_html(analyze::compare(lab.baseline, lab.optimised)), 390, "dark");
  analyze::Analysis slower = fabricate::device_analysis();
  slower.operators[1].samples_ms.assign(9, 6.0);
  expect_sound(compare_html(analyze::compare(fabricate::hostile_device_analysis(), slower)), 390, "light");
  for (const int width : {500, 1280})
    expect_sound(compare_html(analyze::compare(fabricate::device_analysis(), slower)), width, "dark");
}

// From an operator that hardly computes to one under the name of its roof; one too slow to be drawn.
TEST_F(InChromium, ARooflineOfManyDecadesKeepsItsNamesApart) {
  analyze::Analysis analysis = fabricate::device_analysis();
  const auto set = [&](std::size_t i, double intensity, double rate) {
    analysis.roofline.at(i).intensity = analysis.top.at(i).intensity = intensity;
    analysis.roofline.at(i).flops_per_second = rate;
    analysis.roofline.at(i).roof = "bf16 compute";
    analysis.top.at(i).executed_flops = rate * analysis.top.at(i).ms * 1e-3;
    analysis.top.at(i).bytes = 1;
  };
  set(0, 900, 770e12);
  set(1, 2e-6, 5e10);
  set(2, 3, 1e8);
  const std::string html = explain_html(analysis, fabricate::device_roofs());
  for (const int width : {390, 500, 1280}) expect_sound(html, width, "light");
}

TEST_F(InChromium, TheTimelineAnswersMouseAndKeyboard) {
  std::string html = explain_html(fabricate::device_analysis(), fabricate::device_roofs());
  expect_clean(html, kTimelineProbe, 1280, "light");
}

TEST_F(InChromium, HeadingsSortTheirTablesAndTheContentsLeadToTheSections) {
  expect_clean(explain_html(fabricate::device_analysis(), fabricate::device_roofs()), kTableProbe, 1280,
               "light");
}

TEST_F(InChromium, EvidenceLeadsToItsPlaceInTheTimeline) {
  const std::string html = explain_html(fabricate::device_analysis(), fabricate::device_roofs());
  for (const char* theme : {"light", "dark"}) expect_clean(html, kPlaceProbe, 1280, theme);
  expect_clean(html, kPlaceProbe, 390, "light");
}

TEST_F(InChromium, HostileNamesOfATraceNeitherRunNorBreakThePage) {
  std::string html = explain_html(fabricate::hostile_device_analysis(), fabricate::device_roofs());
  expect_sound(html, 390, "dark");
  expect_sound(html, 1280, "light");
}

TEST_F(InChromium, HostileNamesNeitherRunNorBreakThePage) {
  std::string html = lab_html(fabricate::hostile_report());
  expect_sound(html, 390, "dark");
  expect_sound(html, 1280, "light");
}

}  // namespace
}  // namespace hone::report
