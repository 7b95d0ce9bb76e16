#!/usr/bin/env python3
"""Makes a large trace of a real one: its events again and again, later each time, with ids of their own.

Usage: inflate.py TRACE.json[.gz] OUT.json[.gz|.zst] --size BYTES

The copies differ as steps of a long recording do: times, correlation ids, external ids, sequence numbers and
the numbers of steps go on; names, shapes and everything else repeat.
"""
import argparse
import gzip
import re
import subprocess
import sys
from pathlib import Path

# What goes on from copy to copy: the key as it stands in the text, and by what its number grows a copy.
SHIFTED = re.compile(
    rb'("ts": |"External id": ?|"correlation": ?|"Sequence number": ?|"Ev Idx": ?|"Record function id": ?'
    rb'|"ph": "[sf]", "id": |ProfilerStep#)(\d+)')


def read(path):
    data = Path(path).read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def split(text):
    """The text before the first event, the events with what separates them, the text after the last."""
    begin = text.index(b"[", text.index(b'"traceEvents"')) + 1
    end = text.rindex(b"]")
    return text[:begin], text[begin:end].rstrip(), text[end:]


def pieces_of(events):
    """[text, (number, is a time), text, …]: what is copied as it stands, and what grows."""
    result, at = [], 0
    for match in SHIFTED.finditer(events):
        key, number = match.group(1), int(match.group(2))
        result.append(events[at:match.start(2)])
        if key.startswith(b'"Record function') and number == 0:
            result.append(None)
        else:
            result.append((number, key == b'"ts": '))
        at = match.end(2)
    return result, events[at:]


def extent_us(pieces, events):
    """From the first event to the end of the last: copies must not overlap."""
    times = [piece[0] for piece in pieces[1::2] if piece and piece[1]]
    longest = max(float(text) for text in re.findall(rb'"dur": ([0-9.]+)', events))
    return int(max(times) - min(times) + min(longest, 1e6)) + 100


def copy_of(pieces, tail, index, extent, ids):
    out = []
    for piece in pieces:
        if isinstance(piece, tuple):
            out.append(b"%d" % (piece[0] + index * (extent if piece[1] else ids)))
        else:
            out.append(piece if piece is not None else b"0")
    return b"".join(out) + tail


def writer_of(path):
    if path.endswith(".gz"):
        return subprocess.Popen(["gzip", "-c", "-6"], stdin=subprocess.PIPE, stdout=open(path, "wb"))
    if path.endswith(".zst"):
        return subprocess.Popen(["zstd", "-q", "-c", "-3"], stdin=subprocess.PIPE, stdout=open(path, "wb"))
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("trace")
    parser.add_argument("out")
    parser.add_argument("--size", type=float, required=True, help="bytes before compression")
    options = parser.parse_args()
    head, events, foot = split(read(options.trace))
    pieces, tail = pieces_of(events)
    extent = extent_us(pieces, events)
    ids = 1 + max(piece[0] for piece in pieces[1::2] if piece and not piece[1])
    packer = writer_of(options.out)
    out = packer.stdin if packer else open(options.out, "wb")
    out.write(head)
    written, index = len(head), 0
    while written < options.size:
        text = (b"," if index else b"") + copy_of(pieces, tail, index, extent, ids)
        out.write(text)
        written += len(text)
        index += 1
    out.write(b"\n  " + foot)
    out.close()
    if packer and packer.wait() != 0:
        sys.exit("the packer failed")
    print(f"{options.out}: {index} copies, {written + len(foot)} bytes before compression")


if __name__ == "__main__":
    main()
