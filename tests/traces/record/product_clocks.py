"""What one matrix product reaches by what its numbers are, and at which clock: roofs are measured with random numbers in
long runs, where the limit of power holds the clock below its highest. product_clocks.py FILE.json, on one GPU.

The product is the gradient of GPT-2's vocabulary weights, bf16. Each is timed after pauses, several in a row, and for
1.2 s without one, while the clock and the power are read.
"""
import json
import statistics
import subprocess
import sys
import time

import torch

TOKENS, VOCABULARY, WIDTH = 16384, 50304, 768
FLOPS = 2 * TOKENS * VOCABULARY * WIDTH


def now():
    query = ["nvidia-smi", "--query-gpu=clocks.sm,power.draw", "--format=csv,noheader,nounits"]
    clock, power = subprocess.run(query, capture_output=True, text=True).stdout.splitlines()[0].split(",")
    return float(clock), float(power)


def one_by_one(a, b, pause_s):
    rates = []
    for _ in range(8):
        time.sleep(pause_s)
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        torch.mm(a, b)
        end.record()
        torch.cuda.synchronize()
        rates.append(FLOPS / start.elapsed_time(end) * 1e-9)
    return {"median": statistics.median(rates), "low": min(rates), "high": max(rates)}


def sustained(a, b):
    begin, products, seen = time.time(), 0, []
    while time.time() - begin < 1.2:
        for _ in range(100):
            torch.mm(a, b)
        products += 100
        seen.append(now())
        torch.cuda.synchronize()
    clocks, powers = zip(*seen)
    return {"tflops": FLOPS * products / (time.time() - begin) * 1e-12, "clock_mhz": statistics.median(clocks),
            "power_w": statistics.median(powers)}


def gradient(spread):
    """Of cross-entropy by logits of that standard deviation."""
    rows = []
    for _ in range(TOKENS // 2048):
        chances = torch.softmax(spread * torch.randn(2048, VOCABULARY, device="cuda"), 1)
        chances[torch.arange(2048), torch.randint(0, VOCABULARY, (2048,), device="cuda")] -= 1
        rows.append((chances / TOKENS).bfloat16())
    return torch.cat(rows)


def main():
    torch.manual_seed(0)
    hidden = torch.nn.functional.layer_norm(torch.randn(TOKENS, WIDTH, device="cuda"), (WIDTH,)).bfloat16()
    empty = torch.empty(TOKENS, VOCABULARY, device="cuda", dtype=torch.bfloat16)
    rows = []
    for name, make in (("random", empty.normal_), ("gradient, logits of 0.5", lambda: gradient(0.5)),
                       ("gradient, logits of 0.05", lambda: gradient(0.05)), ("zeros", empty.zero_)):
        numbers = make().t()
        torch.mm(numbers, hidden)
        rows.append({"numbers": name, "after_a_pause_tflops": one_by_one(numbers, hidden, 0.03),
                     "in_a_row_tflops": one_by_one(numbers, hidden, 0), "sustained": sustained(numbers, hidden)})
        print(rows[-1], flush=True)
    found = {"device": torch.cuda.get_device_name(), "torch": torch.__version__, "products": rows}
    with open(sys.argv[1], "w") as file:
        file.write(json.dumps(found, indent=1) + "\n")


main()
