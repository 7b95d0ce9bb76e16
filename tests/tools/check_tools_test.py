"""The checks of tools/ on small made-up source trees: they must find what they are for."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CRASHED = {}  # what a test program says that ends before it has said anything


def load(name):
    """Imports a script of tools/ that has no .py suffix."""
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(ROOT / "tools" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class TreeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


class CheckLayering(TreeTest):
    def problems(self):
        return [problem for _, _, problem in load("check-layering").violations(self.root)]

    def test_rooms_know_only_the_rooms_below_them(self):
        for room in ("timeline", "host", "busy"):
            self.write(f"src/analyze/device/{room}/a.h", "")
        self.write("src/analyze/device/busy/b.cpp", '#include "analyze/device/host/a.h"\n')
        self.assertEqual(self.problems(), [])
        self.write("src/analyze/device/host/b.cpp", '#include "analyze/device/busy/a.h"\n')
        self.assertEqual(len(self.problems()), 1)
        self.assertIn("may not include 'busy'", self.problems()[0])
        self.write("src/analyze/device/host/b.cpp", "")
        self.write("src/analyze/device/host/b_test.cpp", '#include "analyze/device/busy/a.h"\n')
        self.assertEqual(self.problems(), [])

    def test_allowed_includes_pass(self):
        self.write("src/core/a.h", "#include <vector>\n")
        self.write("src/graph/b.cpp", '#include "core/a.h"\n#include "vendor/x.h"\n')
        self.assertEqual(self.problems(), [])

    def test_upward_and_sideways_includes_are_found(self):
        self.write("src/graph/g.h", "")
        self.write("src/trace/t.h", "")
        self.write("src/core/a.cpp", '#include "graph/g.h"\n')
        self.write("src/analyze/b.cpp", '  #  include "graph/g.h"\n')
        self.write("src/kernels/c.h", '#include "graph/g.h"\n#include "trace/t.h"\n')
        self.assertEqual(len(self.problems()), 4)
        self.assertIn("'core' may not include 'graph'", self.problems())

    def test_sources_relative_paths_and_missing_files_are_found(self):
        self.write("src/core/a.cpp", '#include "core/b.cpp"\n#include "b.h"\n#include "core/none.h"\n')
        self.write("src/core/b.cpp", "")
        self.write("src/core/b.h", "")
        self.assertEqual(len(self.problems()), 3)

    def test_an_unknown_folder_is_found(self):
        self.write("src/core/a.h", "")
        self.write("src/utils/u.cpp", '#include "core/a.h"\n')
        self.assertIn("folder 'utils' is not in the list", self.problems()[0])

    def test_modules_of_python_import_each_other_in_no_circle(self):
        tool = load("check-layering")
        self.write("python/hone/__init__.py", "from .a import x\n")
        self.write("python/hone/a.py", "def f():\n    from . import Error, b\n")
        self.write("python/hone/b.py", "from .inner import c\nfrom . import gate\n")
        self.write("python/hone/inner/__init__.py", "")
        self.write("python/hone/inner/c.py", "from .d import y\nfrom .. import Error\n")
        self.write("python/hone/inner/d.py", "")
        self.assertEqual(list(tool.python_circles(self.root)), [])
        self.write("python/hone/inner/d.py", "if TYPE_CHECKING:\n    from ..a import f\n")
        self.assertEqual(list(tool.python_circles(self.root)), [("hone", ["a", "b", "inner.c", "inner.d", "a"])])

    def test_a_paid_debt_must_be_struck_off(self):
        tool = load("check-layering")
        tool.DEBTS = {("core/a.cpp", "graph/g.h"): "an example"}
        self.write("src/core/a.cpp", "")
        self.assertEqual(len(list(tool.stale_debts(self.root))), 1)


class CheckNames(TreeTest):
    def clashes(self):
        return [(place, word) for place, word, _ in load("check-names").clashes(self.root)]

    def write_pair(self, first, second, name="src/core/b.cpp"):
        self.write("src/core/a.cpp", f"namespace hone {{\nnamespace {{\n\n{first}\n\n}}  // namespace\n}}  // namespace hone\n")
        self.write(name, f"namespace hone {{\nnamespace {{\n\n{second}\n\n}}  // namespace\n}}  // namespace hone\n")

    def test_names_that_meet_in_a_batch_are_found(self):
        for first, second, word in (
            ("class Finder {", "struct Finder {", "Finder"),
            ("constexpr int kMost = 3;  // of them", "const double kMost[] = {1, 2};", "kMost"),
            ("bool is_wide(const Type& type,\n             int bits) {", "bool is_wide(const Type& t, int n = 1) { return n > 1; }", "is_wide"),
            ("using Names = std::set<int>;", "using Names = std::vector<int>;", "Names"),
            ("using Names = std::set<int>;", "struct Names {};", "Names"),
            ("Works made(int rows = 3) {", "Works made(std::string text = {}) {", "made"),
            ("Works made() {", "Works made(std::string text = {}, int rows = 3) {", "made"),
            # An overload alone is no clash, but the name of one of two says nothing (the table of kernels).
            ("void softmax(double* row, int count) {", "void softmax(Line line) {\n}\nvoid add(Table& table) {\n"
             "  table.add(\"Softmax\", along_axis<softmax>);\n}", "softmax"),
            ("void gather(Run run) {\n  (wide ? scatter : gather)(run);", "int gather(Call call) {", "gather"),
        ):
            self.write_pair(first, second)
            self.assertEqual(self.clashes(), [("src/core/b.cpp:4", word)], first)

    def test_overloads_and_equal_aliases_pass(self):
        for first, second in (
            ("int size_of(int a) {", "int size_of(double a) {"),
            ("int size_of(int a, int b) {", "int size_of(int a, int b, int c, int d = 2) {"),
            ('int size_of(int a) {  // as add(size_of)\n  say("(size_of)");\n  return size_of(double{a});', "int size_of(double a) {"),
            ("using Names = std::set<int>;", "using Names = std::set<int>;"),
            ("namespace fs = std::filesystem;", "namespace fs = std::filesystem;"),
            ('constexpr char kSheet[] = R"css(\ntable{color:red}\n)css";', "void table(int rows) {"),
        ):
            self.write_pair(first, second)
            self.assertEqual(self.clashes(), [], first)

    def test_what_a_header_of_the_library_defines_is_taken(self):
        self.write("src/core/c.h", "namespace hone {\nstruct Declared;\nenum class At : uint8_t { kFront };\n"
                                 "int size_of(int a);\n}  // namespace hone\n")
        self.write_pair("enum class At : uint8_t { kFront };", "struct Declared {};")
        self.assertEqual(self.clashes(), [("src/core/a.cpp:4", "At")])
        self.write_pair("int size_of(double a) {", "struct Declared {};")  # would hide the header's in its batch
        self.assertEqual(self.clashes(), [("src/core/a.cpp:4", "size_of")])

    def test_what_a_header_of_a_suite_defines_is_taken_there(self):
        self.write("tests/training/step.h", "namespace hone {\nconstexpr int kHidden = 9;\n}  // namespace hone\n")
        self.write_pair("int a;", "constexpr int kBatch = 2, kHidden = 6;", "tests/training/b_test.cpp")
        self.assertEqual(self.clashes(), [("tests/training/b_test.cpp:4", "kHidden")])
        self.write("tests/training/b_test.cpp", "")
        self.write_pair("int a;", "constexpr int kHidden = 6;", "tests/passes/b_test.cpp")
        self.assertEqual(self.clashes(), [])

    def test_files_of_different_programs_never_meet(self):
        for other in ("src/graph/b.cpp", "src/core/b_test.cpp", "src/core/b_fuzz.cpp"):
            self.write_pair("class Finder {", "class Finder {", other)
            self.assertEqual(self.clashes(), [], other)


class TestCuda(TreeTest):
    """Over programs that answer as GoogleTest's do."""

    def setUp(self):
        super().setUp()
        self.tool = load("test-cuda")
        self.said = io.StringIO()
        for redirect in (contextlib.redirect_stdout(self.said), contextlib.redirect_stderr(self.said)):
            redirect.__enter__()
            self.addCleanup(redirect.__exit__, None, None, None)

    def program(self, name, listed, results, status=0):
        tests = [{"name": test, "result": "SKIPPED" if failure == "skipped" else "COMPLETED",
                  "failures": [{"failure": failure}] if failure not in (None, "skipped") else []}
                 for test, failure in results.items()]
        said = json.dumps({"testsuites": [{"name": "Gpu/Plans", "testsuite": tests}]})
        self.write(f"build/{name}", f"""#!/bin/sh
case "$*" in
  *--gtest_list_tests*) printf '{listed}' ;;
  *) for word; do case $word in --gtest_output=json:*) {'echo crashed >&2; exit 139' if results is CRASHED else f"printf '%s' '{said}'"} >"${{word#*json:}}" ;; esac; done ;;
esac
exit {status}
""")
        (self.root / "build" / name).chmod(0o755)

    def run_all(self):
        status = self.tool.run(self.root / "build", self.root / "out.json", "abc")
        return status, json.loads((self.root / "out.json").read_text()) if (self.root / "out.json").exists() else None

    def test_counts_what_passed_failed_and_was_skipped(self):
        self.program("test_a", "Gpu/Plans.\\n  Run/cuda\\n", {"Run/cuda": None, "Two/cuda": "off by 1", "Odd/cuda": "skipped"}, 1)
        self.program("test_b", "", {})
        status, result = self.run_all()
        self.assertEqual((status, result["passed"], result["failed"], result["skipped"]), (1, 1, 1, 1))
        self.assertEqual(result["failures"], {"test_a Gpu/Plans.Two/cuda": "off by 1"})

    def test_parts_side_by_side_count_together(self):
        self.program("test_a", "Gpu/Plans.\\n  Run/cuda\\n  Two/cuda\\n", {"Run/cuda": None})
        self.assertEqual(self.tool.run(self.root / "build", self.root / "out.json", "abc", jobs=8), 0)
        self.assertEqual(json.loads((self.root / "out.json").read_text())["passed"], 2)  # each part says one

    def test_a_program_that_crashes_is_a_failure(self):
        self.program("test_a", "Gpu/Plans.\\n  Run/cuda\\n", CRASHED, 139)
        status, result = self.run_all()
        self.assertEqual((status, result["failed"]), (1, 1))
        self.assertIn("crashed", result["failures"]["test_a"])

    def test_where_no_test_finds_a_gpu_nothing_is_written(self):
        self.program("test_a", "", {})
        self.assertEqual(self.run_all(), (1, None))

    def test_a_kept_result_is_refused_once_the_sources_differ(self):
        kept = self.root / "kept.json"
        self.assertEqual(self.tool.check(self.root, kept), 0)  # none is kept: said, and no fault
        self.write("src/cuda/driver.cpp", "int a;")
        self.write("src/cuda/driver_test.cpp", "int t;")
        result = {"commit": "abc", "sources": self.tool.sources_hash(self.root), "passed": 3, "failed": 0, "device": "a GPU"}
        kept.write_text(json.dumps(result))
        self.assertEqual(self.tool.check(self.root, kept), 0)
        self.write("src/cuda/driver_test.cpp", "int other;")  # what a GPU runs is the same
        self.assertEqual(self.tool.check(self.root, kept), 0)
        self.write("src/cuda/driver.cpp", "int b;")
        self.assertEqual(self.tool.check(self.root, kept), 1)
        kept.write_text(json.dumps(result | {"sources": self.tool.sources_hash(self.root), "failed": 1}))
        self.assertEqual(self.tool.check(self.root, kept), 1)


class CheckSize(TreeTest):
    def test_only_long_files_fail(self):
        tool = load("check-size")
        self.write("src/core/a.cpp", "\n" * 800)
        self.assertEqual(tool.main([self.root]), 0)
        self.write("src/core/b.cpp", "\n" * 801)
        self.assertEqual(tool.main([self.root]), 1)


class CheckDocs(TreeTest):
    def test_only_links_to_missing_files_fail(self):
        tool = load("check-docs")
        self.write("docs/there.md", "# here\n")
        self.write("README.md", "[a](docs/there.md#x) [b](https://x.y) [c](#d) `[e](f)`\n```\n[g](h)\n```\n")
        self.assertEqual(list(tool.broken_links(self.root)), [])
        self.write("docs/there.md", "[up](../nowhere.md)\n")
        self.assertEqual(list(tool.broken_links(self.root)), [("docs/there.md", "../nowhere.md")])


if __name__ == "__main__":
    unittest.main()
