#!/usr/bin/env python3
"""Times decoding and augmenting TIFF images beside PyTorch's DataLoader with tifffile and torchvision, in turn.

Usage: compare.py --hone build/bench_loader -o OUT.json [--rounds 9] [--folder DIR]

Run it in a Python that has requirements.txt. Makes 128 pairs of image (16 bit, 512 x 512) and mask (8 bit) once, with
and without compression. Each round both give the same epochs of batches, one after the other, so that what else the
machine does meets both. Wall time is what training waits for; CPU time hardly depends on what else runs.
"""
import argparse
import datetime
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import tifffile
import torch
import torchvision
from torch.utils.data import DataLoader, Dataset
from torchvision import tv_tensors
from torchvision.transforms import v2

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "peers"))
import paired  # noqa: E402

PAIRS, SIZE, BATCH, CROP, WORKERS = 128, 512, 16, 256, 2
EPOCHS = {"crop": 2, "affine": 2, "elastic": 1}  # a round; torchvision takes a third of a second for a bend


def make_files(folder, compression):
    """Cells as soft discs on noise: for compression it matters that the pixels are like a camera's."""
    if (folder / "masks" / f"cell{PAIRS - 1:03}.tif").exists():
        return
    (folder / "images").mkdir(parents=True, exist_ok=True)
    (folder / "masks").mkdir(exist_ok=True)
    generator = np.random.default_rng(1)
    ys, xs = np.mgrid[:SIZE, :SIZE]
    for number in range(PAIRS):
        image = np.full((SIZE, SIZE), 400.0)
        mask = np.zeros((SIZE, SIZE), np.uint8)
        for y, x, radius in zip(*generator.uniform(0, SIZE, (2, 25)), generator.uniform(10, 30, 25)):
            inside = np.hypot(ys - y, xs - x) < radius
            image[inside] += 2000
            mask[inside] = 1
        image = generator.poisson(image).astype(np.uint16)
        tifffile.imwrite(folder / "images" / f"cell{number:03}.tif", image, compression=compression)
        tifffile.imwrite(folder / "masks" / f"cell{number:03}.tif", mask, compression=compression)


class Noise(torch.nn.Module):
    def forward(self, image, mask):
        return image + 0.02 * torch.randn_like(image), mask


class Pairs(Dataset):
    def __init__(self, folder, augment):
        self.images = sorted((folder / "images").iterdir())
        self.masks = sorted((folder / "masks").iterdir())
        # The crop comes first, so that all else has a quarter of the pixels to do: the fastest order there is, at the
        # price of empty corners, which hone does not have.
        steps = [v2.RandomCrop(CROP), v2.RandomHorizontalFlip(), v2.RandomVerticalFlip()]
        if augment != "crop":
            steps.append(v2.RandomAffine(180, scale=(1 / 1.1, 1.1), interpolation=v2.InterpolationMode.BILINEAR))
        if augment == "elastic":
            steps.append(v2.ElasticTransform(alpha=100.0, sigma=8.0))
        self.move = v2.Compose(steps)
        self.change = augment != "crop"
        self.jitter = v2.ColorJitter(brightness=0.1, contrast=0.2)
        self.noise = Noise()

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image = torch.from_numpy(tifffile.imread(self.images[index]))[None].to(torch.float32).mul_(1 / 65535)
        mask = torch.from_numpy(tifffile.imread(self.masks[index]))[None]
        image, mask = self.move(tv_tensors.Image(image), tv_tensors.Mask(mask))
        if self.change:
            image, mask = self.noise(self.jitter(image), mask)
        return image, mask


def cpu_of(processes):
    """CPU seconds so far of this process and of DataLoader's workers, which are alive."""
    ticks = os.sysconf("SC_CLK_TCK")
    own = resource.getrusage(resource.RUSAGE_SELF)
    total = own.ru_utime + own.ru_stime
    for process in processes:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += (int(fields[11]) + int(fields[12])) / ticks
    return total


class Peer:
    def __init__(self, folder, augment):
        self.epochs = EPOCHS[augment]
        self.loader = DataLoader(Pairs(folder, augment), batch_size=BATCH, shuffle=True, drop_last=True, num_workers=WORKERS,
                                 persistent_workers=True, prefetch_factor=2)
        self.measure()  # starts the workers and warms the page cache

    def measure(self):
        iterator = iter(self.loader)
        workers = iterator._workers
        cpu, start, samples = cpu_of(workers), time.perf_counter(), 0
        for epoch in range(self.epochs):
            if epoch:
                iterator = iter(self.loader)
            for images, _ in iterator:
                samples += len(images)
        return {"samples": samples, "seconds": time.perf_counter() - start, "cpu_seconds": cpu_of(workers) - cpu}


def measure_hone(program, folder, augment):
    line = subprocess.run([program, "--folder", folder, "--augment", augment, "--batch", str(BATCH), "--crop", str(CROP),
                           "--workers", str(WORKERS), "--epochs", str(EPOCHS[augment])], check=True, capture_output=True, text=True)
    return json.loads(line.stdout)


def per_sample_ms(results, key):
    return [1000 * one[key] / one["samples"] for one in results]


def spread(values):
    return {"median": round(float(np.median(values)), 4), "low": round(min(values), 4), "high": round(max(values), 4)}


def compare(program, folder, augment, rounds):
    peer = Peer(folder, augment)
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(measure_hone(program, folder, augment))
        theirs.append(peer.measure())
    result = {"augment": augment}
    for key, name in (("seconds", "wall_ms_per_sample"), ("cpu_seconds", "cpu_ms_per_sample")):
        mine, other = per_sample_ms(ours, key), per_sample_ms(theirs, key)
        result[name] = {"hone": spread(mine), "pytorch": spread(other), "ratio": paired.ratio(other, mine)}
    for stage in ("read", "decode", "augment", "assemble"):
        result[f"hone_{stage}_ms_per_sample"] = spread([one[f"{stage}_ms"] / one["samples"] for one in ours])
    return result


def cpu_name():
    lines = [line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")]
    return f"{lines[0].split(':')[1].strip()}, {os.cpu_count()} cores"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hone", default="build/bench_loader")
    parser.add_argument("--folder", default="out/bench-data", type=Path)
    parser.add_argument("--rounds", default=9, type=int)
    parser.add_argument("-o", "--out", required=True, type=Path)
    options = parser.parse_args()
    report = {"schema": 1, "date": datetime.date.today().isoformat(), "machine": cpu_name(),
              "command": "bench/data/compare.py", "rounds": options.rounds,
              "versions": {"python": platform.python_version(), "torch": torch.__version__,
                           "torchvision": torchvision.__version__, "tifffile": tifffile.__version__},
              "work": f"{PAIRS} pairs of {SIZE} x {SIZE} TIFF, 16-bit image and 8-bit mask; batches of {BATCH}, crops of {CROP}; "
                      f"{WORKERS} workers each",
              "ratio": "PyTorch's time over hone's, round by round: above 1, hone is faster", "results": []}
    load = []
    for compression, augment in ((None, "crop"), (None, "affine"), ("zlib", "crop"), ("zlib", "affine"), (None, "elastic")):
        folder = options.folder / (compression or "raw")
        make_files(folder, compression)
        load.append(os.getloadavg()[0])
        report["results"].append({"compression": compression or "none", **compare(options.hone, folder, augment, options.rounds)})
        print(json.dumps(report["results"][-1]), flush=True)
    report["load_average_before"] = spread(load)
    options.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
