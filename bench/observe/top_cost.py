#!/usr/bin/env python3
"""What hone top itself takes: its share of one core on a full screen at an interval of one second, beside as many idle
processes as are asked for.

Usage: bench/observe/top_cost.py [--processes 500] [--seconds 20] [--interval 1] [HONE]
"""
import argparse
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time


def cpu_ns(pid):
    """CPU time of all its threads."""
    tasks = f"/proc/{pid}/task"
    return sum(int(open(f"{tasks}/{task}/schedstat", encoding="ascii").read().split()[0]) for task in os.listdir(tasks))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--interval", default="1")
    parser.add_argument("hone", nargs="?", default="build/hone")
    options = parser.parse_args()
    idle = [subprocess.Popen(["sleep", "3600"]) for _ in range(options.processes)]
    try:
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ["TERM"] = "xterm"
            os.execv(options.hone, ["hone", "top", "--interval", options.interval])
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 160, 0, 0))
        shown, begin, settled = 0, None, time.monotonic() + 3
        while begin is None or time.monotonic() < begin[0] + options.seconds:
            if select.select([terminal], [], [], 0.1)[0]:
                shown += len(os.read(terminal, 65536))
            if begin is None and time.monotonic() > settled:
                begin = (time.monotonic(), cpu_ns(pid), shown)
        seconds = time.monotonic() - begin[0]
        share = (cpu_ns(pid) - begin[1]) * 1e-9 / seconds
        all_processes = sum(name.isdigit() for name in os.listdir("/proc"))
        print(f"{100 * share:.2f} % of one core, {all_processes} processes, an interval of {options.interval} s; "
              f"{(shown - begin[2]) / seconds / 1000:.1f} kB/s to the terminal")
        os.write(terminal, b"q")
        os.waitpid(pid, 0)
    finally:
        for process in idle:
            process.kill()


if __name__ == "__main__":
    main()
