"""Unseen programs whose device waits for the host: launches, waits, input, disk, copies, memory, compilers, Python."""
import contextlib
import ctypes
import itertools
import os
import tempfile

import torch
import torch.nn.functional as F
from torch import nn

from blind.models import Llama, Vit, VitBlock, rotary_tables
from device import DRY, GPU, compiled, graphed, size, trained, wait
from unseen.models import Adapted, ConvNextBlock, Experts, convolutions


def text_of(model, batch, length):
    """Random tokens, the tables of a Llama's places, and the tokens that follow."""
    ids = torch.randint(0, model.tokens.num_embeddings, (batch, length + 1), device=GPU)
    return ids[:, :-1].contiguous(), rotary_tables(length, model.size, GPU), ids[:, 1:].contiguous()


# --- launch ---

def following_state(state, force):
    """Many carts that balance poles, a fiftieth of a second later."""
    x, speed, angle, turning = state.unbind(1)
    sin, cos = angle.sin(), angle.cos()
    push = (10.0 * force.tanh() + 0.05 * turning.square() * sin) / 1.1
    turned = (9.8 * sin - cos * push) / (0.5 * (4.0 / 3.0 - 0.1 * cos.square() / 1.1))
    pushed = push - 0.05 * turned * cos / 1.1
    moved = torch.stack((x + 0.02 * speed, speed + 0.02 * pushed, angle + 0.02 * turning, turning + 0.02 * turned), 1)
    fallen = (moved[:, 0].abs() > 2.4) | (moved[:, 2].abs() > 0.21)
    return torch.where(fallen[:, None], 0.01 * moved, moved), 1.0 - fallen.float()


def rollout_move_by_move(repaired):
    """Lets a policy act in simulated worlds, every small operation launched; repaired: a CUDA graph of one move."""
    torch.set_float32_matmul_precision("high")
    worlds, moves, inner = size(8192, 8), size(32, 4), size(256, 16)
    policy = nn.Sequential(nn.Linear(4, inner), nn.Tanh(), nn.Linear(inner, inner), nn.Tanh(), nn.Linear(inner, 1))
    optimizer = torch.optim.Adam(policy.to(GPU).parameters(), lr=1e-4, fused=not DRY)
    state = torch.zeros(worlds, 4, device=GPU)
    place = torch.zeros(1, dtype=torch.long, device=GPU)
    noise, forces, rewards = (torch.zeros(moves, worlds, device=GPU) for _ in range(3))
    states = torch.zeros(moves, worlds, 4, device=GPU)
    apart = torch.arange(moves, device=GPU)[None] - torch.arange(moves, device=GPU)[:, None]
    discounts = torch.where(apart >= 0, 0.99 ** apart.clamp(min=0), 0.0)

    @torch.no_grad()
    def move():
        force = policy(state).squeeze(1) + 0.3 * noise.index_select(0, place).squeeze(0)
        moved, reward = following_state(state, force)
        states.index_copy_(0, place, state[None])
        forces.index_copy_(0, place, force[None])
        rewards.index_copy_(0, place, reward[None])
        state.copy_(moved)
        place.add_(1)

    run = graphed(move) if repaired else move

    def step():
        state.normal_(std=0.05)
        noise.normal_()
        place.zero_()
        for _ in range(moves):
            run()
        returns = discounts @ rewards
        gain = (returns - returns.mean()) / (returns.std() + 1e-6)
        loss = ((forces - policy(states).squeeze(2)).square() * gain).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step


def tiles_one_by_one(repaired):
    """Segments a picture tile by tile, then runs a network on the whole of it; repaired: the tiles are a batch."""
    side, tile, wide = size(192, 64), 32, size(512, 16)
    fine = nn.Sequential(convolutions(3, 32, 5), nn.Conv2d(32, 8, 1))
    coarse = nn.Sequential(nn.Conv2d(3, wide, 2, stride=2), convolutions(wide, wide, size(8, 1)),
                           nn.Conv2d(wide, 8, 1), nn.Upsample(scale_factor=2))
    for part in fine, coarse:
        part.to(GPU, torch.bfloat16, memory_format=torch.channels_last).requires_grad_(False)
    picture = torch.randn(1, 3, side, side, device=GPU, dtype=torch.bfloat16)
    count = side // tile

    def in_one_batch():
        tiles = picture.view(3, count, tile, count, tile).permute(1, 3, 0, 2, 4).reshape(-1, 3, tile, tile)
        scores = fine(tiles.contiguous(memory_format=torch.channels_last))
        return scores.view(count, count, 8, tile, tile).permute(2, 0, 3, 1, 4).reshape(1, 8, side, side)

    def one_by_one():
        scores = torch.empty(1, 8, side, side, device=GPU, dtype=torch.bfloat16)
        for top, left in itertools.product(range(0, side, tile), repeat=2):
            part = picture[:, :, top:top + tile, left:left + tile].contiguous(memory_format=torch.channels_last)
            scores[:, :, top:top + tile, left:left + tile] = fine(part)
        return scores

    segment = in_one_batch if repaired else one_by_one
    return lambda: segment() + coarse(picture.contiguous(memory_format=torch.channels_last))


# --- host_sync ---

def experts_counted_on_the_host(repaired):
    """A mixture of experts whose groups' ends are summed up in Python; repaired: on the device."""
    tokens, width, hidden, count = size(8192, 64), size(1024, 32), size(2048, 32), 8
    largest_share = [0.0]

    def ends_by_python(counts):
        held = counts.tolist()
        largest_share[0] = max(held) / sum(held)
        return torch.tensor(list(itertools.accumulate(held)), dtype=torch.int32, device=GPU)

    def ends_on_device(counts):
        return counts.cumsum(0).to(torch.int32)

    ends_of = ends_on_device if repaired else ends_by_python
    layers = nn.Sequential(*[Experts(width, hidden, count, ends_of) for _ in range(size(16, 2))])
    layers.to(GPU, torch.bfloat16).requires_grad_(False)
    x = torch.randn(tokens, width, device=GPU, dtype=torch.bfloat16)
    return lambda: layers(x)


def answers_handed_over_token_by_token(repaired):
    """Serves sixteen requests by a CUDA graph of one token, and hands every token and its chance to Python at once.
    Repaired: hands them over after the last."""
    requests, length, moves, layers = 16, size(512, 32), size(32, 4), 2
    model = Llama(width=size(1024, 64), heads=8, layers=layers).to(GPU, torch.bfloat16).requires_grad_(False)
    cos, sin = rotary_tables(length, model.size, GPU)
    caches = [[torch.zeros(requests, 4, length, model.size, device=GPU, dtype=torch.bfloat16) for _ in range(2)]
              for _ in range(layers)]
    token = torch.zeros(requests, 1, dtype=torch.long, device=GPU)
    place = torch.zeros(1, dtype=torch.long, device=GPU)
    places = torch.arange(length, device=GPU)
    chance = torch.zeros(requests, 1, device=GPU)
    tokens = torch.zeros(length, requests, dtype=torch.long, device=GPU)
    chances = torch.zeros(length, requests, device=GPU)

    def following():
        x = model.tokens(token)
        seen = (places <= place)[None, None, None]
        for block, (keys, values) in zip(model.blocks, caches):
            q, k, v = block.heads_of(x, (cos[place], sin[place]))
            keys.index_copy_(2, place, k)
            values.index_copy_(2, place, v)
            y = F.scaled_dot_product_attention(q, keys, values, attn_mask=seen, enable_gqa=True)
            x = block.after_attention(x, y)
        best = model.head(model.norm(x))[:, -1].float().log_softmax(-1).max(-1, keepdim=True)
        chance.copy_(best.values)
        token.copy_(best.indices)
        tokens.index_copy_(0, place, token.t())
        chances.index_copy_(0, place, chance.t())
        place.add_(1)

    run = graphed(following)

    def step():
        said = [[] for _ in range(requests)]
        place.zero_()
        for _ in range(moves):
            run()
            if not repaired:
                for sentence, word, sure in zip(said, token.flatten().tolist(), chance.flatten().tolist()):
                    sentence.append((word, sure))
        if repaired:
            for words, sures in zip(tokens[:moves].tolist(), chances[:moves].tolist()):
                for sentence, word, sure in zip(said, words, sures):
                    sentence.append((word, sure))
        return said

    return step


# --- input ---

def loader_begun_each_step(repaired):
    """Takes each batch by next(iter(loader)), which shuffles the whole data set anew; repaired: from one iterator."""
    model = Llama(width=size(1024, 64), layers=size(4, 1)).to(GPU)
    rows, length = size(600_000, 600), 128
    kept = torch.randint(0, 8192, (rows, length + 1), dtype=torch.int16)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(kept), batch_size=size(64, 2), shuffle=True)
    batches = itertools.chain.from_iterable(itertools.repeat(loader))
    holder = [None, rotary_tables(length, model.size, GPU), None]
    step = trained(model, holder)

    def run():
        text, = next(batches) if repaired else next(iter(loader))
        text = text.to(GPU).long()
        holder[0], holder[2] = text[:, :-1].contiguous(), text[:, 1:].contiguous()
        return step()

    return run


# --- io ---

def shards_flushed_each_step(repaired):
    """Writes the features of each batch of pictures to two files and waits for the disk.
    Repaired: every thousandth step."""
    model = Vit(layers=size(6, 1)).to(GPU, torch.bfloat16).requires_grad_(False)
    images = torch.randn(size(128, 2), 3, 224, 224, device=GPU, dtype=torch.bfloat16)
    kept = torch.empty(images.shape[0], 8, 768, pin_memory=not DRY)
    folder = tempfile.mkdtemp()
    files = [open(os.path.join(folder, f"features{i}.bin"), "wb") for i in range(2)]
    count = [0]

    def write():
        wait()
        for file, rows in zip(files, kept.numpy().reshape(2, -1)):
            file.seek(0)
            file.write(rows.data)
            file.flush()
            os.fsync(file.fileno())

    def step():
        x = model.patches(images).flatten(2).transpose(1, 2) + model.places
        x = model.norm(model.blocks(x))[:, :192]
        kept.copy_(x.unflatten(1, (8, 24)).mean(2), non_blocking=True)
        count[0] += 1
        if count[0] % (1000 if repaired else 1) == 0:
            with torch.profiler.record_function("write_shard"):
                write()

    return step


# --- host_copy ---

def activations_kept_on_the_host(repaired):
    """A ConvNeXt whose first stage keeps its activations in host memory until backward; repaired: on the device."""
    width = size(512, 8)
    near = nn.Sequential(ConvNextBlock(width), ConvNextBlock(width))
    far = nn.Sequential(nn.Conv2d(width, 2 * width, 2, stride=2),
                        *[ConvNextBlock(2 * width) for _ in range(size(6, 1))])
    for part in near, far:
        part.to(GPU, memory_format=torch.channels_last)
    pictures = torch.randn(16, width, size(28, 4), size(28, 4), device=GPU)
    pictures = pictures.contiguous(memory_format=torch.channels_last)
    parameters = [*near.parameters(), *far.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=1e-4, fused=not DRY)

    def step():
        kept = contextlib.nullcontext() if repaired else torch.autograd.graph.save_on_cpu(pin_memory=not DRY)
        with torch.autocast(GPU, dtype=torch.bfloat16):
            with kept:
                x = near(pictures)
            loss = far(x).float().square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step


# --- allocator ---

class Workspace:
    """Memory straight from CUDA, as an operator with an interface in C takes it for a call."""

    def __init__(self, runtime, rows, columns):
        self.runtime, self.pointer = runtime, ctypes.c_void_p()
        if runtime.cudaMalloc(ctypes.byref(self.pointer), ctypes.c_size_t(2 * rows * columns)) != 0:
            raise MemoryError(f"cudaMalloc of {2 * rows * columns} bytes")
        self.__cuda_array_interface__ = {"shape": (rows, columns), "typestr": "<f2", "version": 2,
                                         "data": (self.pointer.value, False)}

    def free(self):
        self.runtime.cudaFree(self.pointer)


def workspace_of_its_own(repaired):
    """An operator that takes its workspace from CUDA and gives it back in every call; repaired: from PyTorch."""
    rows, width = size(8192, 16), size(1024, 16)
    ups = [torch.randn(width, 4 * width, device=GPU, dtype=torch.float16) * 0.02 for _ in range(12)]
    downs = [torch.randn(4 * width, width, device=GPU, dtype=torch.float16) * 0.02 for _ in range(12)]
    x = torch.randn(rows, width, device=GPU, dtype=torch.float16)
    own = not repaired and not DRY
    runtime = ctypes.CDLL(f"libcudart.so.{torch.version.cuda.split('.')[0]}") if own else None

    def multiplied(y, up, down, hidden):
        torch.mm(y, up, out=hidden)
        return torch.relu_(hidden) @ down

    def operator(y, up, down):
        if not own:
            return multiplied(y, up, down, torch.empty(rows, 4 * width, device=GPU, dtype=torch.float16))
        workspace = Workspace(runtime, rows, 4 * width)
        y = multiplied(y, up, down, torch.as_tensor(workspace, device=GPU))
        workspace.free()
        return y

    def step():
        y = x
        for up, down in zip(ups, downs):
            y = operator(y, up, down)
        return y

    return step


# --- compile ---

def smoothed_loss(logits, targets, tags):
    """`tags` are for the log; to the compiler they are constants."""
    logs = logits.float().log_softmax(-1)
    right = logs.gather(-1, targets[:, None])[:, 0]
    loss = -0.9 * right.mean() - 0.1 * logs.mean()
    return loss if tags["step"] else loss * 0


def tags_in_compiled_loss(repaired):
    """Trains adapters of a Llama; the compiled loss is told the name of the step, and is compiled anew for each.
    Repaired: the name is always the same."""
    torch._dynamo.config.recompile_limit = torch._dynamo.config.accumulated_recompile_limit = 100_000
    model = Llama(width=size(2048, 64), heads=16, layers=size(4, 1)).to(GPU, torch.bfloat16).requires_grad_(False)
    for block in model.blocks:
        block.qkv, block.down = Adapted(block.qkv), Adapted(block.down)
    model.to(GPU, torch.bfloat16)
    ids, tables, targets = text_of(model, size(8, 1), size(1024, 16))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-4, fused=not DRY)
    fast = compiled(smoothed_loss)
    count = [0]

    def step():
        count[0] += 1
        tags = {"step": "train" if repaired else f"train/{count[0]}"}
        loss = fast(model(ids, tables).flatten(0, 1), targets.flatten(), tags)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss

    return step


# --- host_other ---

def matched_in_python(costs):
    """Gives each object of each picture, in order, the cheapest box that is not taken."""
    taken = []
    for rows in costs:
        free, own = set(range(len(rows[0]))), []
        for row in rows:
            best = min(free, key=row.__getitem__)
            free.remove(best)
            own.append(best)
        taken.append(own)
    return taken


def matched_on_device(costs):
    left, taken = costs.clone(), []
    for i in range(costs.shape[1]):
        best = left[:, i].argmin(-1)
        left.scatter_(2, best[:, None, None].expand(-1, left.shape[1], 1), float("inf"))
        taken.append(best)
    return torch.stack(taken, 1)


class Detector(nn.Module):
    def __init__(self, width, layers):
        super().__init__()
        self.blocks = nn.Sequential(*[VitBlock(width, 8) for _ in range(layers)])
        self.places = nn.Linear(width, 4)

    def forward(self, x, boxes, match):
        said = self.places(self.blocks(x)[:, :100]).float().sigmoid()
        with torch.no_grad():
            costs = torch.cdist(boxes, said, p=1.0)
            taken = match(costs)
        return F.l1_loss(said.gather(1, taken[:, :, None].expand(-1, -1, 4)), boxes)


def matches_in_python(repaired):
    """A detector that matches boxes with objects in Python between forward and backward; repaired: on the device."""
    width, pictures = size(768, 32), size(32, 2)

    def by_python(costs):
        return torch.tensor(matched_in_python(costs.tolist()), device=GPU)

    model = Detector(width, size(4, 1)).to(GPU)
    x = torch.randn(pictures, size(400, 100), width, device=GPU)
    boxes = torch.rand(pictures, 24, 4, device=GPU)
    return trained(model, (x, boxes, matched_on_device if repaired else by_python))


CAUSES = {
    "rollout_move_by_move": "launch",
    "tiles_one_by_one": "launch",
    "experts_counted_on_the_host": "host_sync",
    "answers_handed_over_token_by_token": "host_sync",
    "loader_begun_each_step": "input",
    "shards_flushed_each_step": "io",
    "activations_kept_on_the_host": "host_copy",
    "workspace_of_its_own": "allocator",
    "tags_in_compiled_loss": "compile",
    "matches_in_python": "host_other",
}
