"""Fresh programs whose device waits for the host: launches, waits, input, disk, copies, memory, compilers, Python."""
import collections
import os
import random
import tempfile
import time
import zlib

import numpy
import torch
import torch.nn.functional as F
from torch import nn

from device import DRY, GPU, size, trained
from fresh.models import (Denoiser, EncoderBlock, HeadsAtOnce, HeadsInTurn, PointNet, SceneLabeller, TextEncoder,
                          Upscaler, residual_stages)
from unseen.models import convolutions


def on_device(model):
    """For use only: bf16, channels last, no gradients."""
    return model.to(GPU, torch.bfloat16, memory_format=torch.channels_last).eval().requires_grad_(False)


def pictures_on_device(count, side, channels=3):
    pictures = torch.randn(count, channels, side, side, device=GPU, dtype=torch.bfloat16)
    return pictures.contiguous(memory_format=torch.channels_last)


# --- launch ---

def heads_one_by_one(repaired):
    """Attention as a list of heads, each with its own small layers; repaired: one product for all heads."""
    model = TextEncoder(size(512, 64), 8, size(5, 1), 8192, size(256, 16),
                        attention=HeadsAtOnce if repaired else HeadsInTurn)
    model.to(GPU, torch.bfloat16).requires_grad_(False)
    ids = torch.randint(0, 8192, (size(24, 2), size(256, 16)), device=GPU)
    return lambda: model(ids)


def cropped_one_by_one(features, boxes):
    """Seven by seven features of each box, from its corner pixels to its corner pixels."""
    crops = []
    for i, own in enumerate(boxes.tolist()):
        for left, top, right, bottom in own:
            crop = features[i:i + 1, :, top:bottom + 1, left:right + 1]
            crops.append(F.interpolate(crop, size=(7, 7), mode="bilinear", align_corners=True))
    return torch.cat(crops)


def cropped_at_once(features, boxes):
    pictures, channels, height, width = features.shape
    boxes = boxes.to(features.device, non_blocking=True).float()
    along = torch.linspace(0, 1, 7, device=features.device)
    across = boxes[..., 0:1] + along * (boxes[..., 2:3] - boxes[..., 0:1])
    down = boxes[..., 1:2] + along * (boxes[..., 3:4] - boxes[..., 1:2])
    across, down = 2 * across / (width - 1) - 1, 2 * down / (height - 1) - 1
    grid = torch.stack((across[:, :, None].expand(-1, -1, 7, -1), down[..., None].expand(-1, -1, -1, 7)), -1)
    crops = F.grid_sample(features, grid.flatten(1, 2), align_corners=True)
    return crops.unflatten(2, (-1, 7)).transpose(1, 2).reshape(-1, channels, 7, 7)


def boxes_cropped_one_by_one(repaired):
    """A second stage of a detector that cuts out and resizes box by box; repaired: samples all boxes at once."""
    widths, side = size((64, 128, 256), (8, 8, 16)), size(448, 128)
    backbone, head = on_device(residual_stages(widths)), nn.Sequential(
        nn.Flatten(), nn.Linear(49 * widths[-1], size(1024, 16)), nn.ReLU(), nn.Linear(size(1024, 16), 91))
    head.to(GPU, torch.bfloat16).requires_grad_(False)
    pictures = pictures_on_device(size(8, 2), side)
    corners = torch.randint(0, side // 8 - 12, (pictures.shape[0], 16, 2))
    boxes = torch.cat((corners, corners + torch.randint(4, 12, corners.shape)), -1)
    boxes = boxes if DRY else boxes.pin_memory()
    crop = cropped_at_once if repaired else cropped_one_by_one
    return lambda: head(crop(backbone(pictures).float(), boxes).bfloat16())


# --- host_sync ---

def iou_class_by_class(repaired):
    """Measures how well a picture's classes are found, and reads two numbers a class; repaired: reads them later."""
    classes, side = 27, size(320, 16)
    model = on_device(SceneLabeller(size(128, 8), size(9, 2), classes))
    pictures = pictures_on_device(size(8, 1), side)
    meant = torch.randint(0, classes, (pictures.shape[0], side, side), device=GPU)
    number = (lambda x: x) if repaired else (lambda x: x.item())
    seen = collections.deque(maxlen=100)

    def step():
        said = model(pictures).argmax(1)
        scores = []
        for i in range(classes):
            both = ((said == i) & (meant == i)).sum()
            either = ((said == i) | (meant == i)).sum()
            scores.append((number(both) + 1) / (number(either) + 1))
        seen.append(torch.stack(scores) if repaired else sum(scores) / classes)

    return step


def sampler_reads_its_schedule(repaired):
    """Samples from a diffusion model with a schedule on the device, read number by number in every round.
    Repaired: read once, before."""
    rounds = 12
    model = on_device(Denoiser(size(192, 8), size(3, 1)))
    signal = torch.linspace(0.02, 0.998, rounds + 1, device=GPU)
    times = torch.linspace(980, 0, rounds + 1, device=GPU)
    schedule = torch.stack((times, signal.sqrt(), (1 - signal).sqrt()), 1)
    known = schedule.tolist()
    noise = pictures_on_device(size(8, 1), size(64, 8), 4)

    def numbers(i):
        return known[i] if repaired else [schedule[i, j].item() for j in range(3)]

    def step():
        x = noise
        for i in range(rounds):
            time, kept, noised = numbers(i)
            _, kept_after, noised_after = numbers(i + 1)
            said = model(x, time)
            clean = (x - noised * said) / kept
            x = kept_after * clean + noised_after * said
        return x

    return step


# --- input ---

def pieces_of(word, vocabulary):
    """The longest known piece, then the longest of what is left, as WordPiece cuts."""
    start, found = 0, []
    while start < len(word):
        end = len(word)
        while word[start:end] not in vocabulary and end > start + 1:
            end -= 1
        found.append(vocabulary.get(word[start:end], 1))
        start = end
    return found


class Reviews(torch.utils.data.Dataset):
    """Texts that are cut into tokens whenever they are asked for, or once before (`ready`)."""

    def __init__(self, count, length, ready):
        draw = random.Random(0)
        letters = "etaoinshrdlucmfwyp"
        pieces = list(letters) + ["".join(draw.choices(letters, k=draw.randint(2, 5))) for _ in range(6000)]
        self.vocabulary = {piece: 2 + i for i, piece in enumerate(pieces)}
        words = ["".join(draw.choices(letters, k=draw.randint(3, 11))) for _ in range(4000)]
        self.texts = [" ".join(draw.choices(words, k=length)) for _ in range(count)]
        self.length = length
        self.kept = [self.tokens(text) for text in self.texts] if ready else None

    def tokens(self, text):
        ids = []
        for word in text.lower().split():
            ids.extend(pieces_of(word, self.vocabulary))
        ids = ids[:self.length] + [0] * (self.length - len(ids))
        return torch.tensor(ids)

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        index %= len(self.texts)
        return self.kept[index] if self.kept else self.tokens(self.texts[index])


def reviews_tokenised_in_the_loop(repaired):
    """Fine-tunes a classifier on texts that the data set cuts into tokens as it goes; repaired: cut once, before."""
    length, batch = size(192, 16), size(32, 2)
    model = TextEncoder(size(512, 32), 8, size(4, 1), 8192, length, classes=5).to(GPU)
    labels = torch.randint(0, 5, (batch,), device=GPU)
    holder = [None, labels]
    step = trained(model, holder)
    loader = torch.utils.data.DataLoader(Reviews(size(400, 10), length, ready=repaired), batch_size=batch,
                                         pin_memory=not DRY)
    batches = iter(loader)

    def run():
        holder[0] = next(batches).to(GPU, non_blocking=True)
        return step()

    return run


class Clips(torch.utils.data.Dataset):
    """Eight frames of a film each, unpacked, cut to size at random, mirrored, and changed in colour."""

    def __init__(self, side):
        draw = numpy.random.default_rng(0)
        coarse = draw.integers(0, 256, (24, 8, side // 16, side // 16, 3), dtype=numpy.uint8)
        self.side = side
        self.packed = [zlib.compress(clip.repeat(16, 1).repeat(16, 2).tobytes(), 1) for clip in coarse]

    def __len__(self):
        return 1 << 20

    def __getitem__(self, index):
        draw = numpy.random.default_rng(index)
        frames = numpy.frombuffer(zlib.decompress(self.packed[index % len(self.packed)]), dtype=numpy.uint8)
        frames = frames.reshape(8, self.side, self.side, 3)
        left, top = draw.integers(0, self.side // 8, 2)
        cut = self.side - self.side // 8
        frames = frames[:, top:top + cut, left:left + cut]
        frames = frames if draw.random() < 0.5 else frames[:, :, ::-1]
        changed = numpy.clip((frames.astype(numpy.float32) - 128) * draw.uniform(0.8, 1.2) + 128, 0, 255)
        return torch.from_numpy(changed.astype(numpy.uint8).transpose(0, 3, 1, 2).copy())


def clips_unpacked_by_two_workers(repaired):
    """A network for films fed by two workers that cannot keep up; repaired: by twelve."""
    side, clips = size(128, 32), size(20, 2)
    widths = size((64, 128, 256), (8, 8, 16))
    features = residual_stages(widths).to(GPU, memory_format=torch.channels_last)
    head = nn.Linear(widths[-1], 400).to(GPU)
    labels = torch.randint(0, 400, (clips,), device=GPU)
    optimizer = torch.optim.SGD([*features.parameters(), *head.parameters()], lr=1e-3, momentum=0.9, fused=not DRY)
    loader = torch.utils.data.DataLoader(Clips(side), batch_size=clips, num_workers=size(12 if repaired else 2, 1),
                                         pin_memory=not DRY, prefetch_factor=2)
    batches = iter(loader)

    def step():
        frames = next(batches).to(GPU, non_blocking=True).flatten(0, 1)
        with torch.autocast(GPU, dtype=torch.bfloat16):
            x = features((frames.bfloat16() / 255).contiguous(memory_format=torch.channels_last))
            loss = F.cross_entropy(head(x.mean((2, 3))).view(clips, 8, -1).mean(1), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step


# --- host_copy ---

def bands_copied_unpinned(repaired):
    """Satellite pictures of thirteen bands copied from ordinary memory when their step begins.
    Repaired: from pinned memory, a step ahead."""
    batch, side, wide = size(16, 1), size(256, 16), size(256, 8)
    kept = torch.randn(3 * batch, 13, side, side)
    if repaired and not DRY:
        kept = kept.pin_memory()
    model = nn.Sequential(nn.Conv2d(13, wide, 4, stride=4), convolutions(wide, wide, size(8, 1)),
                          nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(wide, 10))
    model.to(GPU, memory_format=torch.channels_last)
    labels = torch.randint(0, 10, (batch,), device=GPU)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=not DRY)
    side_stream = None if DRY else torch.cuda.Stream()
    count, ahead = [0], [None]

    def following():
        count[0] = (count[0] + 1) % 3
        return kept[batch * count[0]:batch * (count[0] + 1)].to(GPU, non_blocking=repaired)

    def fetch_ahead():
        side_stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side_stream):
            ahead[0] = following()

    def fetched():
        if not repaired or DRY:
            return following()
        if ahead[0] is None:
            fetch_ahead()
        torch.cuda.current_stream().wait_stream(side_stream)
        bands = ahead[0]
        bands.record_stream(torch.cuda.current_stream())
        fetch_ahead()
        return bands

    def step():
        with torch.autocast(GPU, dtype=torch.bfloat16):
            bands = fetched().to(torch.bfloat16, memory_format=torch.channels_last)
            loss = F.cross_entropy(model(bands), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step


# --- io ---

class SpeakerNetwork(nn.Module):
    """Who speaks: frames of sound through linear layers and an encoder."""

    def __init__(self, width, layers, frame=320):
        super().__init__()
        self.frame, self.first = frame, nn.Linear(frame, width)
        self.blocks = nn.Sequential(*[EncoderBlock(width, 8) for _ in range(layers)])
        self.head = nn.Linear(width, 64)

    def forward(self, sounds, speakers):
        x = self.first(sounds.float().unflatten(1, (-1, self.frame)) / 32768)
        return F.cross_entropy(self.head(self.blocks(x).mean(1)), speakers)


def read_past_the_cache(path):
    """What a file holds, from the disk itself, as of a data set that is larger than memory."""
    handle = os.open(path, os.O_RDONLY)
    os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
    found = os.read(handle, os.fstat(handle).st_size)
    os.close(handle)
    return numpy.frombuffer(found, dtype=numpy.int16)


def recordings_opened_one_by_one(repaired):
    """Each sound of a batch is a file, opened and read in turn when the batch is due; repaired: kept in memory."""
    batch, length = size(32, 2), size(64_000, 3_200)
    model = SpeakerNetwork(size(1024, 16), size(3, 1)).to(GPU)
    holder = [None, torch.randint(0, 64, (batch,), device=GPU)]
    step = trained(model, holder)
    folder = tempfile.mkdtemp()
    draw, paths = numpy.random.default_rng(0), []
    for i in range(3 * batch):
        paths.append(os.path.join(folder, f"{i}.pcm"))
        with open(paths[-1], "wb") as file:
            file.write(draw.integers(-30_000, 30_000, length, dtype=numpy.int16).tobytes())
            file.flush()
            os.fsync(file.fileno())
    kept = {path: numpy.fromfile(path, dtype=numpy.int16) for path in paths}
    read = kept.get if repaired else read_past_the_cache
    count = [0]

    def run():
        count[0] = (count[0] + 1) % 3
        with torch.profiler.record_function("read_recordings"):
            sounds = [read(path) for path in paths[batch * count[0]:batch * (count[0] + 1)]]
        holder[0] = torch.from_numpy(numpy.stack(sounds)).to(GPU)
        return step()

    return run


# --- allocator ---

def memory_emptied_after_each_tile(repaired):
    """Enlarges a picture tile by tile, and gives the memory back after each, lest there be too little.
    Repaired: leaves it with PyTorch."""
    model = on_device(Upscaler(size(128, 8), size(8, 1)))
    tiles = [pictures_on_device(1, size(384, 16)) for _ in range(6)]

    def step():
        enlarged = []
        for tile in tiles:
            enlarged.append(model(tile))
            if not repaired:
                torch.cuda.empty_cache()
        return torch.cat(enlarged)

    return step


# --- compile ---

def softly_chosen(logits, codes, temperature):
    return (logits.float() / temperature).softmax(-1).to(codes.dtype) @ codes


def temperature_in_compiled_code(repaired):
    """Codes of pictures, chosen at a temperature that falls; a Python number, for each of which is compiled anew.
    Repaired: a tensor."""
    torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 100_000
    wide, count = size(256, 8), size(2048, 16)
    encoder = on_device(nn.Sequential(nn.Conv2d(3, wide, 8, stride=8), convolutions(wide, wide, size(10, 1)),
                                      nn.Conv2d(wide, count, 1)))
    codes = torch.randn(count, wide, device=GPU, dtype=torch.bfloat16)
    pictures = pictures_on_device(size(64, 1), size(256, 16))
    fast = torch.compile(softly_chosen, dynamic=False, backend="eager" if DRY else "inductor")
    held, calls = torch.ones((), device=GPU), [0]

    def step():
        calls[0] += 1
        temperature = 1.0 / (1.0 + 1e-3 * calls[0])
        logits = encoder(pictures).permute(0, 2, 3, 1).flatten(0, 2)
        return fast(logits, codes, held.fill_(temperature) if repaired else temperature)

    return step


# --- host_other ---

def smoothed(seconds, held=None):
    """The moving average that a display of progress shows."""
    for taken in seconds:
        held = taken if held is None else 0.98 * held + 0.02 * taken
    return held


def progress_smoothed_anew_each_step(repaired):
    """Shows after every step how long steps take, by the average of all steps so far, from the first of the day on.
    Repaired: by the last average and the last step."""
    clouds, points = size(64, 2), size(2048, 32)
    model = PointNet(size((128, 256, 512, 1024), (8, 16))).to(GPU)
    step = trained(model, (torch.randn(clouds, points, 3, device=GPU), torch.randint(0, 40, (clouds,), device=GPU)))
    draw = random.Random(0)
    taken = [0.005 + 0.001 * draw.random() for _ in range(size(200_000, 200))]
    shown, last = [smoothed(taken)], [time.perf_counter()]

    def run():
        loss = step()
        now = time.perf_counter()
        taken.append(now - last[0])
        last[0] = now
        shown[0] = smoothed(taken[-1:], shown[0]) if repaired else smoothed(taken)
        return loss

    return run


CAUSES = {
    "heads_one_by_one": "launch",
    "boxes_cropped_one_by_one": "launch",
    "iou_class_by_class": "host_sync",
    "sampler_reads_its_schedule": "host_sync",
    "reviews_tokenised_in_the_loop": "input",
    "clips_unpacked_by_two_workers": "input",
    "bands_copied_unpinned": "host_copy",
    "recordings_opened_one_by_one": "io",
    "memory_emptied_after_each_tile": "allocator",
    "temperature_in_compiled_code": "compile",
    "progress_smoothed_anew_each_step": "host_other",
}
