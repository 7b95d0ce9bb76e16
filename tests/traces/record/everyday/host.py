"""Everyday programs whose device waits for the host: launches, waits, input, disk, copies, memory, compilers,
Python."""
import gc
import os
import random
import tempfile

import numpy
import torch
import torch.nn.functional as F
from torch import nn

from device import DRY, GPU, graphed, size, trained
from everyday.models import (CachedLlama, Discriminator, FrameLabeller, Generator, PatchNetwork, all_of_it, layers_of,
                             patches_of, seen_so_far)
from fresh.models import TextEncoder, Upscaler


def frozen(model):
    """For use only: bf16, no gradients."""
    return model.to(GPU, torch.bfloat16).eval().requires_grad_(False)


def pinned(rows):
    return rows if DRY else rows.pin_memory()


# --- launch ---

class ClickModel(nn.Module):
    """The chance of a click, from many features that are each a number: a table for each, or one for all (`joined`)."""

    def __init__(self, features, values, width, wide, joined):
        super().__init__()
        self.joined = joined
        if joined:
            self.table = nn.Embedding(features * values, width)
            self.register_buffer("starts", torch.arange(features) * values)
        else:
            self.tables = nn.ModuleList(nn.Embedding(values, width) for _ in range(features))
        self.layers = layers_of(features * width, wide, wide, 1)

    def forward(self, clicks):
        if self.joined:
            x = self.table(clicks + self.starts).flatten(1)
        else:
            x = torch.cat([table(clicks[:, i]) for i, table in enumerate(self.tables)], 1)
        return self.layers(x)


def tables_looked_up_one_by_one(repaired):
    """Ranks advertisements by 176 features, each with a small table of its own, one look-up after another.
    Repaired: one table, in which each feature's rows begin where the last one's end."""
    features, values = size(176, 6), size(800, 10)
    model = frozen(ClickModel(features, values, 16, size(3072, 32), joined=repaired))
    clicks = torch.randint(0, values, (size(6144, 8), features), device=GPU)
    return lambda: model(clicks).sigmoid()


def backwards_in_time(rewards, values, ended, discount=0.99, decay=0.95):
    """The generalised advantages of many worlds (time first), from the last move to the first."""
    advantages, last = torch.empty_like(rewards), torch.zeros_like(rewards[0])
    for t in reversed(range(len(rewards))):
        goes_on = 1.0 - ended[t]
        surprise = rewards[t] + discount * values[t + 1] * goes_on - values[t]
        last = surprise + discount * decay * goes_on * last
        advantages[t] = last
    return advantages


def by_doubling(rewards, values, ended, discount=0.99, decay=0.95):
    """The same: sums over two moves from those over one, over four from those over two, and so on."""
    goes_on = 1.0 - ended
    total = rewards + discount * values[1:] * goes_on - values[:-1]
    weight, reach = discount * decay * goes_on, 1
    while reach < len(total):
        total = torch.cat((torch.addcmul(total[:-reach], weight[:-reach], total[reach:]), total[-reach:]))
        weight = torch.cat((weight[:-reach] * weight[reach:], weight[-reach:]))
        reach *= 2
    return total


def advantages_backwards_in_time(repaired):
    """Improves a policy by what 2304 worlds did in 64 moves, whose advantages it sums move by move.
    Repaired: sums over twice as many moves at a time."""
    moves, worlds, inner = size(64, 6), size(2304, 8), size(512, 16)
    policy = layers_of(48, inner, inner, 9).to(GPU)
    sight = torch.randn(moves + 1, worlds, 48, device=GPU)
    acts = torch.randint(0, 8, (moves, worlds, 1), device=GPU)
    rewards, ended = torch.randn(moves, worlds, device=GPU), (torch.rand(moves, worlds, device=GPU) < 0.01).float()
    advantages_of = by_doubling if repaired else backwards_in_time

    def loss_of(sight, acts):
        said = policy(sight).float()
        values = said[..., 8]
        advantages = advantages_of(rewards, values.detach(), ended)
        chances = said[:-1, :, :8].log_softmax(-1).gather(-1, acts)[..., 0]
        wanted = advantages + values[:-1].detach()
        return -(advantages * chances).mean() + 0.5 * F.mse_loss(values[:-1], wanted)

    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4, fused=not DRY)
    return trained(loss_of, (sight, acts), optimizer)


def chosen_for_one(scores, said, penalty, warmth, least):
    """One request's next token: what it said is less likely, and what is unlikely never comes."""
    again = scores.gather(0, said)
    scores = scores.scatter(0, said, torch.where(again < 0, again * penalty, again / penalty))
    chances = (scores / warmth).softmax(-1)
    chances = chances.masked_fill(chances < least * chances.max(), 0.0)
    return (chances / torch.empty_like(chances).exponential_()).argmax()


def chosen_for_all(scores, said, penalty, warmth, least):
    again = scores.gather(1, said)
    scores = scores.scatter(1, said, torch.where(again < 0, again * penalty, again / penalty))
    chances = (scores / warmth).softmax(-1)
    chances = chances.masked_fill(chances < least * chances.amax(1, keepdim=True), 0.0)
    return (chances / torch.empty_like(chances).exponential_()).argmax(1)


def requests_sampled_one_by_one(repaired):
    """Serves 36 requests with wishes of their own by a CUDA graph of one token, and draws the token of each in turn.
    Repaired: their wishes are columns, and all tokens are drawn at once."""
    requests = size(36, 3)
    model = CachedLlama(requests, size(384, 16), size(1536, 32), size(12, 4), size(6, 1), 4096, seen_so_far)
    scores = torch.zeros(requests, 4096, device=GPU)
    said = torch.randint(0, 4096, (requests, 48), device=GPU)
    draw = random.Random(0)
    wishes = [(1 + 0.2 * draw.random(), 0.6 + 0.6 * draw.random(), 0.01 + 0.05 * draw.random())
              for _ in range(requests)]
    columns = torch.tensor(wishes, device=GPU).t()[..., None]
    run = graphed(lambda: scores.copy_(model.scores()))

    def step():
        run()
        if repaired:
            tokens = chosen_for_all(scores, said, *columns)
        else:
            tokens = torch.stack([chosen_for_one(scores[i], said[i], *wishes[i]) for i in range(requests)])
        model.token.copy_(tokens[:, None])
        said.copy_(torch.cat((said[:, 1:], tokens[:, None]), 1))
        return tokens.tolist()

    return step


# --- host_sync ---

def each_request_asked_whether_it_ended(repaired):
    """Serves 144 requests by a CUDA graph of one token, then asks the device for each one's token and its chance.
    Repaired: for all of them at once."""
    requests, end = size(144, 3), 7
    model = CachedLlama(requests, size(512, 16), size(2048, 32), size(16, 4), size(7, 1), 8192, all_of_it)
    chances, tokens = torch.zeros(requests, device=GPU), torch.zeros(requests, dtype=torch.long, device=GPU)

    def following():
        best = model.scores().float().softmax(-1).max(-1)
        chances.copy_(best.values)
        tokens.copy_(best.indices)
        model.token.copy_(best.indices[:, None])

    run = graphed(following)

    def step():
        run()
        if repaired:
            answers = zip(tokens.tolist(), chances.tolist())
        else:
            answers = ((tokens[i].item(), chances[i].item()) for i in range(requests))
        ended = [i for i, (token, chance) in enumerate(answers) if token == end or chance > 0.999]
        return ended

    return step


def silence_cut_sound_by_sound(repaired):
    """Trains on sounds of different length; what lies behind the end of each is cleared in a loop over the batch, whose
    lengths are on the device. Repaired: by one comparison."""
    sounds, frames, bands = size(64, 3), size(256, 16), 80
    model = FrameLabeller(bands, size(512, 32), size(4, 1), 128).to(GPU)
    heard = torch.randn(sounds, frames, bands, device=GPU)
    said = torch.randint(0, 128, (sounds, frames), device=GPU)
    lengths = torch.randint(frames // 2, frames, (sounds,), device=GPU)
    holder = [None, None]
    step = trained(model, holder)

    def cut_in_turn(x, labels):
        for i in range(sounds):
            x[i, lengths[i]:] = 0
            labels[i, lengths[i]:] = -100

    def cut_at_once(x, labels):
        beyond = torch.arange(frames, device=GPU) >= lengths[:, None]
        x.masked_fill_(beyond[..., None], 0)
        labels.masked_fill_(beyond, -100)

    def run():
        holder[:] = heard.clone(), said.clone()
        (cut_at_once if repaired else cut_in_turn)(*holder)
        return step()

    return run


# --- input ---

class Customers(torch.utils.data.Dataset):
    """A table of numbers and what each row's customer did; one row, or all rows of a list."""

    def __init__(self, count, columns):
        draw = numpy.random.default_rng(0)
        self.rows = draw.standard_normal((count, columns), dtype=numpy.float32)
        self.left = draw.integers(0, 2, count).astype(numpy.float32)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return torch.as_tensor(self.rows[index]), torch.as_tensor(self.left[index])


class Churn(nn.Module):
    def __init__(self, columns, wide):
        super().__init__()
        self.layers = layers_of(columns, wide, wide, wide, wide, 1)

    def forward(self, rows, left):
        return F.binary_cross_entropy_with_logits(self.layers(rows)[:, 0].float(), left)


def rows_fetched_one_by_one(repaired):
    """Learns from a table which lies in memory; the loader fetches row by row and stacks them.
    Repaired: it asks for all rows of a batch at once."""
    columns, batch, count = size(160, 12), size(1280, 8), size(200_000, 200)
    data = Customers(count, columns)
    draw = torch.utils.data.RandomSampler(data, replacement=True, num_samples=1 << 22)
    if repaired:
        together = torch.utils.data.BatchSampler(draw, batch, drop_last=True)
        loader = torch.utils.data.DataLoader(data, sampler=together, batch_size=None, pin_memory=not DRY)
    else:
        loader = torch.utils.data.DataLoader(data, sampler=draw, batch_size=batch, pin_memory=not DRY)
    batches = iter(loader)
    holder = [None, None]
    step = trained(Churn(columns, size(6144, 32)).to(GPU), holder)

    def run():
        holder[:] = (part.to(GPU, non_blocking=True) for part in next(batches))
        return step()

    return run


def made_small(pictures, noise):
    """What a cheap camera would have seen: half the size, with noise, in steps of a byte."""
    small = F.interpolate(pictures, scale_factor=0.5, mode="bicubic", antialias=True)
    return ((small + 0.03 * noise).clamp(0, 1) * 255).round() / 255


def pictures_made_small_on_the_host(repaired):
    """Learns to enlarge pictures; the small ones are made of the large ones on the host, between the steps.
    Repaired: the large ones are copied, and made small on the device."""
    batch, side = size(16, 2), size(288, 32)
    model = Upscaler(size(64, 8), size(4, 1)).to(GPU, memory_format=torch.channels_last)
    large = [pinned(torch.rand(batch, 3, side, side)) for _ in range(3)]
    holder, count = [None, None], [0]

    def loss_of(small, large):
        return F.l1_loss(model(small), large)

    step = trained(loss_of, holder, torch.optim.Adam(model.parameters(), lr=1e-4, fused=not DRY))

    def run():
        count[0] = (count[0] + 1) % 3
        here = large[count[0]]
        there = here.to(GPU, non_blocking=True)
        source = there if repaired else here
        small = made_small(source, torch.randn(batch, 3, side // 2, side // 2, device=source.device))
        holder[0] = small.to(GPU).contiguous(memory_format=torch.channels_last)
        holder[1] = there
        return step()

    return run


# --- io ---

class Sensors:
    """A file of long channels, one after another, as a recorder leaves them; pieces of some are read, past the cache,
    as of a file that is larger than memory."""

    def __init__(self, channels, length):
        self.length, self.channels = length, channels
        draw = numpy.random.default_rng(0)
        self.all = draw.standard_normal((channels, length), dtype=numpy.float32)
        handle, path = tempfile.mkstemp()
        with os.fdopen(handle, "wb") as file:
            file.write(self.all.tobytes())
            file.flush()
            os.fsync(file.fileno())
        self.file = os.open(path, os.O_RDONLY)

    def from_disk(self, channel, start, count):
        where = 4 * (channel * self.length + start)
        os.posix_fadvise(self.file, where, 4 * count, os.POSIX_FADV_DONTNEED)
        return numpy.frombuffer(os.pread(self.file, 4 * count, where), dtype=numpy.float32)

    def from_memory(self, channel, start, count):
        return self.all[channel, start:start + count]


def sensors_read_piece_by_piece(repaired):
    """Forecasts a machine's sensors; the pieces of a batch are read from the disk in turn when the batch is due.
    Repaired: the file was read into memory before."""
    pieces, length, patch = size(96, 4), size(4096, 128), size(32, 8)
    ahead = size(128, 8)
    sensors = Sensors(24, size(1 << 18, 1 << 12))
    read = sensors.from_memory if repaired else sensors.from_disk
    model = PatchNetwork(patch, size(640, 16), size(10, 2), size(4, 1), ahead).to(GPU)
    draw, holder = random.Random(0), [None, None]

    def loss_of(past, following):
        return F.mse_loss(model(past).float(), following)

    step = trained(loss_of, holder, torch.optim.AdamW(model.parameters(), lr=1e-4, fused=not DRY))

    def run():
        with torch.profiler.record_function("load_windows"):
            found = [read(draw.randrange(24), draw.randrange(sensors.length - length - ahead), length + ahead)
                     for _ in range(pieces)]
        windows = pinned(torch.from_numpy(numpy.stack(found))).to(GPU, non_blocking=True)
        holder[:] = windows[:, :length].unflatten(1, (-1, patch)), windows[:, length:]
        return step()

    return run


# --- host_copy ---

def films_sent_as_floats(repaired):
    """Says what happens in films, which go to the device as f32; repaired: as the bytes they were, widened there."""
    films, frames, side = size(16, 1), size(32, 4), size(224, 32)
    kept = torch.randint(0, 256, (films, frames, 3, side, side), dtype=torch.uint8)
    kept = pinned(kept if repaired else kept.float() / 255)
    model = frozen(PatchNetwork(4 * 3 * 16 * 16, size(768, 16), size(12, 2), size(4, 1), 400))

    def step():
        seen = kept.to(GPU, non_blocking=True).to(torch.bfloat16)
        return model(patches_of(seen / 255 if repaired else seen, 4, 16))

    return step


# --- allocator ---

def gan_gives_memory_back_between_turns(repaired):
    """A GAN that gives unused memory back before either of the two learns; repaired: keeps it."""
    pictures, channels = size(256, 2), size((512, 256, 128, 64), (16, 8))
    generator, discriminator = Generator(128, channels).to(GPU), Discriminator(channels[:0:-1]).to(GPU)
    for part in generator, discriminator:
        part.to(memory_format=torch.channels_last)
    side = 8 << (len(channels) - 1)
    real = torch.rand(pictures, 3, side, side, device=GPU).contiguous(memory_format=torch.channels_last)
    optimizers = [torch.optim.Adam(part.parameters(), lr=2e-4, betas=(0.5, 0.999), fused=not DRY)
                  for part in (generator, discriminator)]

    def turn(loss_of, optimizer):
        if not repaired:
            torch.cuda.empty_cache()
        with torch.autocast(GPU, dtype=torch.bfloat16):
            loss = loss_of(generator(torch.randn(pictures, 128, device=GPU)))
        loss.backward()
        optimizer.step()
        for each in optimizers:
            each.zero_grad(set_to_none=True)

    def told_apart(made):
        return (F.relu(1 - discriminator(real)) + F.relu(1 + discriminator(made.detach()))).mean()

    def step():
        turn(told_apart, optimizers[1])
        turn(lambda made: -discriminator(made).mean(), optimizers[0])

    return step


# --- compile ---

def joined_if_there(parts, gains, there):
    """`there` says of each sensor whether it was worn; to the compiler they are constants."""
    return sum(torch.tanh(part * gain) for part, gain, worn in zip(parts, gains.unbind(), there) if worn)


def joined_by_weight(parts, gains, there):
    return sum(worn * torch.tanh(part * gain) for part, gain, worn in zip(parts, gains.unbind(), there.unbind()))


def absent_sensors_in_compiled_code(repaired):
    """Joins what fourteen sensors say; the compiled function is told by Python which were worn, and is compiled anew
    for each combination. Repaired: told by a tensor."""
    torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 100_000
    rows, width, sensors = size(12_288, 8), size(1024, 16), 14
    parts = [torch.randn(rows, width, device=GPU, dtype=torch.bfloat16) for _ in range(sensors)]
    gains = torch.ones(sensors, width, device=GPU, dtype=torch.bfloat16)
    model = frozen(layers_of(width, *[4 * width] * size(6, 1), 12))
    fast = torch.compile(joined_by_weight if repaired else joined_if_there, dynamic=False,
                         backend="eager" if DRY else "inductor")
    combinations = iter(random.Random(0).sample(range(1, 1 << sensors), (1 << sensors) - 1))

    def step():
        held = next(combinations)
        there = tuple(held >> i & 1 == 1 for i in range(sensors))
        if repaired:
            there = pinned(torch.tensor(there, dtype=torch.bfloat16)).to(GPU, non_blocking=True)
        return model(fast(parts, gains, there))

    return step


# --- host_other ---

def garbage_collected_each_step(repaired):
    """Fine-tunes a classifier of texts, and has Python look for garbage after every step, lest memory run out.
    Repaired: Python does so when it sees fit."""
    texts, length = size(160, 2), size(256, 16)
    model = TextEncoder(size(1024, 32), size(16, 4), size(6, 1), 16384, length, classes=7).to(GPU)
    ids = torch.randint(0, 16384, (texts, length), device=GPU)
    step = trained(model, (ids, torch.randint(0, 7, (texts,), device=GPU)))

    def run():
        loss = step()
        if not repaired:
            gc.collect()
        return loss

    return run


CAUSES = {
    "tables_looked_up_one_by_one": "launch",
    "advantages_backwards_in_time": "launch",
    "requests_sampled_one_by_one": "launch",
    "each_request_asked_whether_it_ended": "host_sync",
    "silence_cut_sound_by_sound": "host_sync",
    "rows_fetched_one_by_one": "input",
    "pictures_made_small_on_the_host": "input",
    "sensors_read_piece_by_piece": "io",
    "films_sent_as_floats": "host_copy",
    "gan_gives_memory_back_between_turns": "allocator",
    "absent_sensors_in_compiled_code": "compile",
    "garbage_collected_each_step": "host_other",
}
