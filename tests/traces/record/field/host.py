"""Field programs whose device waits for the host: launches, waits, input, disk, copies, memory, compilers, Python."""
import collections
import difflib
import os
import random
import tempfile

import numpy
import torch
import torch.nn.functional as F
from torch import nn

from blind.models import Llama, rotary_tables
from device import DRY, GPU, graphed, size, trained
from everyday.host import frozen, pinned
from everyday.models import layers_of
from field.models import ActDenoiser, NeighbourEncoder
from fresh.models import TextEncoder
from models import Gpt
from unseen.models import DiffusionTransformer, convolutions


# --- launch ---

def micro_batches_of_one(repaired):
    """Fine-tunes a classifier of texts, which go through it one by one, their gradients added up, as a script does that
    was written for a device with little memory. Repaired: all at once."""
    texts, length = size(12, 2), size(128, 16)
    model = TextEncoder(size(1024, 32), size(16, 4), size(2, 1), 16384, length, classes=5).to(GPU, torch.bfloat16)
    words = torch.randint(0, 16384, (texts, length), device=GPU).split(texts if repaired else 1)
    labels = torch.randint(0, 5, (texts,), device=GPU).split(texts if repaired else 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=not DRY)

    def step():
        total = torch.zeros((), device=GPU)
        for batch in zip(words, labels):
            loss = model(*batch) / len(words)
            loss.backward()
            total += loss.detach()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return total

    return step


def policy_compiled_without_graphs(repaired):
    """A robot's policy that finds its next acts by denoising them in 28 rounds, compiled as by default, so that the
    host launches every kernel of every round. Repaired: mode="reduce-overhead"."""
    rounds, width = size(28, 3), size(512, 32)
    model = frozen(ActDenoiser(14, width, size(8, 4), size(6, 1)))
    mode = "reduce-overhead" if repaired else None
    fast = torch.compile(model, backend="eager") if DRY else torch.compile(model, mode=mode)
    seen = torch.randn(1, size(48, 4), width, device=GPU, dtype=torch.bfloat16)
    noise = torch.randn(1, size(16, 4), 14, device=GPU, dtype=torch.bfloat16)
    times = torch.linspace(0, 1, rounds, device=GPU, dtype=torch.bfloat16)[:, None]

    def step():
        acts = noise
        for time in times.unbind():
            acts = acts + fast(acts, seen, time) / rounds
        return acts

    return step


# --- host_sync ---

def norms_logged_tensor_by_tensor(repaired):
    """Fine-tunes an encoder, and logs the norm of every weight and its gradient, each read as it is computed.
    Repaired: all norms are computed together and read at once."""
    texts, length = size(32, 2), size(128, 16)
    model = TextEncoder(size(1536, 32), size(16, 4), size(6, 1), 16384, length, classes=5).to(GPU)
    names, parameters = zip(*model.named_parameters())
    words = torch.randint(0, 16384, (texts, length), device=GPU)
    labels = torch.randint(0, 5, (texts,), device=GPU)
    optimizer = torch.optim.AdamW(parameters, lr=1e-4, fused=not DRY)

    def in_turn():
        return {name: (parameter.norm().item(), parameter.grad.norm().item())
                for name, parameter in zip(names, parameters)}

    def at_once():
        norms = torch._foreach_norm([*parameters, *(parameter.grad for parameter in parameters)])
        norms = torch.stack(norms).unflatten(0, (2, -1)).t().tolist()
        return {name: tuple(pair) for name, pair in zip(names, norms)}

    def step():
        with torch.autocast(GPU, dtype=torch.bfloat16):
            loss = model(words, labels)
        loss.backward()
        logged = at_once() if repaired else in_turn()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return logged

    return step


def accepted_in_turn(tokens, meant, drafted, luck):
    """How many drafted tokens stand before the first that does not."""
    for i, token in enumerate(tokens):
        if luck[i] > meant[i, token] / drafted[i, token]:
            return i
    return len(tokens)


def accepted_at_once(tokens, meant, drafted, luck):
    ratios = meant[:-1].gather(1, tokens[:, None]) / drafted.gather(1, tokens[:, None])
    return int((luck <= ratios[:, 0]).cumprod(0).sum())


def drafts_accepted_token_by_token(repaired):
    """Speculative decoding: a small Llama drafts six tokens, a larger one judges them, both in CUDA graphs; how many
    stand is asked token by token. Repaired: for all six at once."""
    ahead, known, vocabulary, rounds = 6, size(128, 8), 8192, size(6, 2)
    small = frozen(Llama(size(512, 32), size(8, 4), size(8, 4), 1, vocabulary))
    large = frozen(Llama(size(2048, 64), size(16, 4), size(16, 4), size(3, 1), vocabulary))
    tables = [rotary_tables(known + ahead, model.size, GPU) for model in (small, large)]
    for model in small, large:
        model.head.weight.mul_(0.2)  # so that most drafts stand, as with two models that learned the same
    words = torch.randint(0, vocabulary, (1, known + ahead), device=GPU)
    drafted, meant = (torch.zeros(ahead + more, vocabulary, device=GPU) for more in (0, 1))

    def draw(chances):
        return (chances / torch.empty_like(chances).exponential_()).argmax(-1)

    def draft_and_judge():
        for i in range(ahead):
            place = known + i
            scores = small(words[:, :place], [table[:place] for table in tables[0]])[0, -1]
            drafted[i] = scores.float().softmax(-1)
            words[0, place] = draw(drafted[i])
        meant.copy_(large(words, tables[1])[0, known - 1:].float().softmax(-1))

    run = graphed(draft_and_judge)
    accepted = accepted_at_once if repaired else accepted_in_turn

    def step():
        made = 0
        for _ in range(rounds):
            run()
            count = accepted(words[0, known:], meant, drafted, torch.rand(ahead, device=GPU))
            chances = meant[count] - drafted[count] if count < ahead else meant[count]
            following = draw(chances.clamp(min=0))
            words[0, :known] = torch.cat((words[0, count + 1:known + count], following[None]))
            made += count + 1
        return made

    return step


def overlaps(some, others):
    """What share of the area of two boxes together is in both, for all pairs."""
    first = torch.maximum(some[:, None, :2], others[:, :2])
    last = torch.minimum(some[:, None, 2:], others[:, 2:])
    both = (last - first).clamp(min=0).prod(-1)
    areas = [(boxes[:, 2:] - boxes[:, :2]).prod(-1) for boxes in (some, others)]
    return both / (areas[0][:, None] + areas[1] - both)


def best_in_turn(boxes):
    """Keeps the first box, drops those that overlap it, and so on with what is left; the best box comes first."""
    left, kept = torch.arange(len(boxes), device=boxes.device), []
    while len(left):
        kept.append(left[0])
        left = left[1:][overlaps(boxes[left[0]][None], boxes[left[1:]])[0] <= 0.4]
    return torch.stack(kept)


def best_at_once(boxes):
    """The same as Cluster-NMS finds it: a box stays if no better box that stays overlaps it, asked again and again."""
    close = overlaps(boxes, boxes).triu(1) > 0.4
    stays = torch.ones(len(boxes), dtype=torch.bool, device=boxes.device)
    for _ in range(20):
        stays = ~(close & stays[:, None]).any(0)
    return stays.nonzero()[:, 0]


def boxes_suppressed_in_a_loop(repaired):
    """Finds objects in a large picture; of boxes that overlap the best is kept, by a loop whose every turn asks the
    device what is left. Repaired: by Cluster-NMS, which asks once."""
    side, channels, most = size(1024, 64), size(256, 8), size(112, 12)
    network = nn.Sequential(nn.Conv2d(3, channels, 4, stride=2, padding=1), nn.ReLU(),
                            convolutions(channels, channels, size(18, 1)), nn.Conv2d(channels, 8, 8, stride=8))
    network = frozen(network).to(memory_format=torch.channels_last)
    picture = torch.randn(1, 3, side, side, device=GPU, dtype=torch.bfloat16)
    picture = picture.contiguous(memory_format=torch.channels_last)
    places = torch.cartesian_prod(*[torch.arange(0, side, 16, device=GPU)] * 2).flip(1).float()
    often = torch.rand(len(places), device=GPU)  # how often there is something at each place

    def step():
        found = network(picture)[0].float().flatten(1)
        order = torch.topk(found[0] + often, most).indices
        middles = places[order] + 16 * found[1:3, order].t()
        halves = side / 20 * found[3:5, order].t().exp()
        boxes = torch.cat((middles - halves, middles + halves), 1)
        kept = best_at_once(boxes) if repaired else best_in_turn(boxes)
        return boxes[kept].tolist()

    return step


# --- input ---

class Neighbours:
    """Who is near whom in a graph: the neighbours of node i begin at begins[i], and are degrees[i] many."""

    def __init__(self, nodes, most):
        draw = numpy.random.default_rng(0)
        self.degrees = draw.integers(1, most, nodes)
        self.begins = numpy.cumsum(self.degrees) - self.degrees
        self.ends = draw.integers(0, nodes, self.degrees.sum())
        self.draw = draw

    def on_host(self, nodes, count):
        picks = self.draw.random((*nodes.shape, count)) * self.degrees[nodes][..., None]
        return self.ends[self.begins[nodes][..., None] + picks.astype(numpy.int64)]

    def move(self):
        self.degrees, self.begins, self.ends = (torch.from_numpy(part).to(GPU)
                                                for part in (self.degrees, self.begins, self.ends))

    def on_device(self, nodes, count):
        picks = torch.rand((*nodes.shape, count), device=GPU, dtype=torch.float64) * self.degrees[nodes][..., None]
        return self.ends[self.begins[nodes][..., None] + picks.long()]


def neighbours_sampled_on_the_host(repaired):
    """Learns from a graph by twenty neighbours of each node and ten of each of those, which the loader draws between
    the steps, on the host. Repaired: drawn on the device, where the features are."""
    nodes, batch, columns = size(400_000, 200), size(2048, 4), size(256, 8)
    graph = Neighbours(nodes, size(48, 6))
    features = torch.randn(nodes, columns, device=GPU, dtype=torch.bfloat16)
    labels = torch.randint(0, 40, (nodes,), device=GPU)
    holder = [None] * 4
    step = trained(NeighbourEncoder(columns, size(768, 16), 40).to(GPU), holder)

    def drawn(chosen):
        chosen = numpy.array(chosen)
        near = graph.on_host(chosen, 20)
        return [torch.from_numpy(part) for part in (chosen, near, graph.on_host(near, 10))]

    draw = torch.utils.data.RandomSampler(range(nodes), replacement=True, num_samples=1 << 22)
    batches = iter(torch.utils.data.DataLoader(range(nodes), batch, sampler=draw, collate_fn=drawn))
    if repaired:
        graph.move()

    def run():
        if repaired:
            chosen = torch.randint(0, nodes, (batch,), device=GPU)
            near = graph.on_device(chosen, 20)
            found = chosen, near, graph.on_device(near, 10)
        else:
            found = [part.to(GPU) for part in next(batches)]
        holder[:] = *(features[part] for part in found), labels[found[0]]
        return step()

    return run


class Critics(nn.Module):
    """Two networks that say how good an act is; the more careful one counts."""

    def __init__(self, sight, acts, wide):
        super().__init__()
        self.both = nn.ModuleList(layers_of(sight + acts, wide, wide, wide, 1) for _ in range(2))

    def forward(self, seen, act):
        x = torch.cat((seen, act), 1)
        return torch.cat([critic(x) for critic in self.both], 1).float()


def transitions_stacked_from_a_deque(repaired):
    """Learns how good acts are from a memory of transitions, which are tuples in a deque; those of a batch are drawn
    and stacked when its step begins. Repaired: the memory is a tensor for each part, on the device."""
    held, batch, sight, acts = size(40_000, 100), size(3072, 8), size(223, 12), size(38, 3)
    draw = numpy.random.default_rng(0)
    parts = [draw.standard_normal((held, columns), dtype=numpy.float32) for columns in (sight, acts, 1, sight)]
    memory = [torch.from_numpy(part).to(GPU) for part in parts] if repaired else collections.deque(zip(*parts))
    critics, slow = (Critics(sight, acts, size(5120, 16)).to(GPU) for _ in range(2))
    slow.requires_grad_(False)
    actor = layers_of(sight, size(512, 16), acts).to(GPU).requires_grad_(False)
    optimizer = torch.optim.Adam(critics.parameters(), lr=3e-4, fused=not DRY)
    chance = random.Random(0)

    def drawn():
        if repaired:
            rows = torch.randint(0, held, (batch,), device=GPU)
            return [part[rows] for part in memory]
        chosen = chance.sample(memory, batch)
        return [torch.from_numpy(numpy.stack(part)).to(GPU) for part in zip(*chosen)]

    def step():
        seen, act, reward, following = drawn()
        with torch.autocast(GPU, dtype=torch.bfloat16):
            best = slow(following, actor(following).tanh()).amin(1, keepdim=True)
            loss = F.mse_loss(critics(seen, act), (reward + 0.99 * best).expand(-1, 2))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        torch._foreach_lerp_(list(slow.parameters()), list(critics.parameters()), 0.005)
        return loss

    return step


# --- io ---

class TokenFile:
    """A file of tokens, mapped anew for each batch; what it left in the cache is dropped, as of a file that is larger
    than memory."""

    def __init__(self, count):
        self.all = numpy.random.default_rng(0).integers(0, 16384, count, dtype=numpy.uint16)
        self.file, self.path = tempfile.mkstemp()
        os.write(self.file, self.all.tobytes())
        os.fsync(self.file)

    def mapped(self):
        os.posix_fadvise(self.file, 0, 0, os.POSIX_FADV_DONTNEED)
        return numpy.memmap(self.path, dtype=numpy.uint16, mode="r")

    def in_memory(self):
        return self.all


def tokens_read_through_a_cold_map(repaired):
    """Trains a GPT by short texts from anywhere in a file of tokens, which is mapped but not in memory, so that each
    waits for the disk. Repaired: the file was read into memory before."""
    texts, length = size(192, 2), size(128, 16)
    tokens = TokenFile(size(1 << 26, 1 << 16))
    tokens_of = tokens.in_memory if repaired else tokens.mapped
    model = Gpt(width=size(512, 48), heads=size(8, 4), layers=size(4, 1), length=length).to(GPU)
    draw, holder = random.Random(0), [None, None]
    step = trained(model, holder)

    def run():
        with torch.profiler.record_function("read_tokens"):
            held = tokens_of()
            starts = [draw.randrange(len(held) - length - 1) for _ in range(texts)]
            found = numpy.stack([held[start:start + length + 1] for start in starts]).astype(numpy.int64)
        words = pinned(torch.from_numpy(found)).to(GPU, non_blocking=True)
        holder[:] = words[:, :-1], words[:, 1:]
        return step()

    return run


# --- host_copy ---

def heatmaps_of(joints, high, wide):
    """For each joint a map of how near its pixels are; joints last."""
    rows, columns = (torch.arange(count, device=joints.device)[:, None] for count in (high, wide))
    by_row, by_column = (torch.exp(-(places - joints[:, None, :, i]) ** 2 / 8)
                         for i, places in enumerate((rows, columns)))
    return by_row[:, :, None] * by_column[:, None]


def heatmaps_sent_whole(repaired):
    """Finds 136 joints of bodies; the maps that it should draw are made by the data set and copied to the device.
    Repaired: where the joints are is copied, and the maps are made there."""
    bodies, high, wide, channels = size(48, 2), size(128, 16), size(96, 12), size(256, 8)
    network = nn.Sequential(nn.Conv2d(3, channels // 2, 3, stride=2, padding=1), nn.ReLU(),
                            nn.Conv2d(channels // 2, channels, 3, stride=2, padding=1), nn.ReLU(),
                            convolutions(channels, channels, size(2, 1)), nn.Conv2d(channels, 136, 1))
    network.to(GPU, memory_format=torch.channels_last)
    pictures = torch.randn(bodies, 3, 4 * high, 4 * wide, device=GPU, dtype=torch.bfloat16)
    pictures = pictures.contiguous(memory_format=torch.channels_last)
    joints = torch.rand(bodies, 136, 2) * torch.tensor([high, wide])
    kept = pinned(joints if repaired else heatmaps_of(joints, high, wide))
    holder = [None]

    def loss_of(wanted):
        return F.mse_loss(network(pictures).permute(0, 2, 3, 1).float(), wanted)

    step = trained(loss_of, holder, torch.optim.Adam(network.parameters(), lr=1e-4, fused=not DRY))

    def run():
        there = kept.to(GPU, non_blocking=True)
        holder[0] = heatmaps_of(there, high, wide) if repaired else there
        return step()

    return run


# --- allocator ---

def memory_flushed_between_stages(repaired):
    """Makes a film from a text: the text is encoded, the film denoised in three rounds, and decoded; after each of
    these unused memory is given back. Repaired: it is kept."""
    width, length, frames = size(2048, 32), size(256, 8), size(8, 2)
    encoder = frozen(TextEncoder(size(1024, 32), size(16, 4), size(4, 1), 16384, length, classes=width))
    denoiser = frozen(DiffusionTransformer(width, heads=size(16, 4), layers=size(2, 1)))
    decoder = frozen(nn.Sequential(nn.Conv2d(width // 16, size(256, 8), 3, padding=1), nn.Upsample(scale_factor=2),
                                   convolutions(size(256, 8), size(256, 8), size(2, 1)),
                                   nn.Conv2d(size(256, 8), 3, 3, padding=1))).to(memory_format=torch.channels_last)
    words = torch.randint(0, 16384, (1, length), device=GPU)
    side = size(32, 4)
    noise = torch.randn(1, frames * side * side, width, device=GPU, dtype=torch.bfloat16)

    def flushed(x):
        if not repaired:
            torch.cuda.empty_cache()
        return x

    def step():
        told, x = flushed(encoder(words)), noise
        for _ in range(3):
            x = flushed(torch.lerp(x, denoiser(x, told), 0.3))
        latents = x.view(frames, side, side, width // 16, 4, 4).permute(0, 3, 1, 4, 2, 5)
        latents = latents.reshape(frames, width // 16, 4 * side, 4 * side).contiguous(memory_format=torch.channels_last)
        return flushed(decoder(latents))

    return step


# --- compile ---

def refreshed_by_name(tracks, seen):
    """What each track looks like, given what was seen of it; `tracks` has a tensor for each track's number."""
    return {number: torch.lerp(look, torch.tanh(now), 0.1)
            for (number, look), now in zip(tracks.items(), seen.unbind())}


def refreshed_in_order(looks, seen):
    return torch.lerp(looks, torch.tanh(seen), 0.1)


def tracks_named_in_compiled_code(repaired):
    """Follows ten things through a film. The compiled function is given a dictionary by their numbers, and is compiled
    anew when one has left and another come. Repaired: given a tensor with a row for each."""
    torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 100_000
    things, width, channels = 10, size(128, 8), size(256, 8)
    network = nn.Sequential(nn.Conv2d(3, channels, 4, stride=4), nn.ReLU(),
                            convolutions(channels, channels, size(20, 1)))
    network = frozen(network).to(memory_format=torch.channels_last)
    frames = torch.randn(things, 3, 4 * width, 4 * width, device=GPU, dtype=torch.bfloat16)
    frames = frames.contiguous(memory_format=torch.channels_last)
    fast = torch.compile(refreshed_in_order if repaired else refreshed_by_name, dynamic=False,
                         backend="eager" if DRY else "inductor")
    looks = torch.zeros(things, channels, width, width, device=GPU, dtype=torch.bfloat16)
    looks = looks.contiguous(memory_format=torch.channels_last)
    numbers, held, count = list(range(things)), [looks if repaired else looks.unbind()], [0]

    def step():
        seen = network(frames)
        if repaired:
            held[0] = fast(held[0], seen)
        else:
            held[0] = list(fast(dict(zip(numbers, held[0])), seen).values())
        numbers[count[0] % things] += things  # one leaves, and its place is taken by the next that comes
        count[0] += 1
        return held[0]

    return step


# --- host_other ---

def answers_judged_before_the_device_works(repaired):
    """Learns by reinforcement from answers that Python compares with the right ones; only then the device finds how
    likely policy and reference hold them. Repaired: Python compares while the device is at work on that."""
    answers, length = size(96, 4), size(160, 12)
    policy, reference = (Llama(width=size(1536, 64), layers=size(2, 1)).to(GPU) for _ in range(2))
    reference.requires_grad_(False)
    tables = rotary_tables(length, policy.size, GPU)
    words = torch.randint(0, 512, (answers, length + 1), device=GPU)
    right = torch.randint(0, 512, (answers, length)).tolist()
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-5, fused=not DRY)

    def judged(said):
        alike = [difflib.SequenceMatcher(None, one, other, False).ratio() for one, other in zip(said, right)]
        alike = torch.tensor(alike).view(-1, 4)
        return ((alike - alike.mean(1, keepdim=True)) / (alike.std(1, keepdim=True) + 1e-4)).flatten()

    def likely(model):
        with torch.autocast(GPU, dtype=torch.bfloat16):
            scores = model(words[:, :-1], tables)
        return -F.cross_entropy(scores.flatten(0, 1), words[:, 1:].flatten(), reduction="none").view(answers, length)

    def step():
        said = words[:, 1:].tolist()
        if repaired:
            own, theirs = likely(policy), likely(reference)
            better = judged(said)
        else:
            better = judged(said)
            own, theirs = likely(policy), likely(reference)
        better = pinned(better).to(GPU, non_blocking=True)
        apart = theirs - own
        loss = (0.04 * (apart.exp() - apart - 1) - own.sub(own.detach()).exp() * better[:, None]).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step


CAUSES = {
    "micro_batches_of_one": "launch",
    "policy_compiled_without_graphs": "launch",
    "norms_logged_tensor_by_tensor": "host_sync",
    "drafts_accepted_token_by_token": "host_sync",
    "boxes_suppressed_in_a_loop": "host_sync",
    "neighbours_sampled_on_the_host": "input",
    "transitions_stacked_from_a_deque": "input",
    "tokens_read_through_a_cold_map": "io",
    "heatmaps_sent_whole": "host_copy",
    "memory_flushed_between_stages": "allocator",
    "tracks_named_in_compiled_code": "compile",
    "answers_judged_before_the_device_works": "host_other",
}
