"""Field programs on two GPUs, a rank a process."""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.parallel import DistributedDataParallel

from device import DRY, GPU, size, trained
from everyday.models import PatchNetwork


# --- comm ---

class Perceptron(nn.Module):
    """Large layers, each added to what it was given, with bf16 weights and gradients, sharded over both ranks."""

    def __init__(self, width, layers):
        super().__init__()
        with torch.device(GPU):
            self.layers = nn.ModuleList(
                nn.Sequential(nn.Linear(width, 4 * width, bias=False), nn.GELU(),
                              nn.Linear(4 * width, width, bias=False)) for _ in range(layers))
        for part in (*self.layers, self):
            fully_shard(part, mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))

    def forward(self, x):
        for layer in self.layers:
            x = F.rms_norm(x + layer(x), x.shape[-1:])
        return x


def weights_gathered_for_every_token(repaired):
    """Makes six tokens by a model whose layers are sharded over both ranks for training, and gathered anew for each
    token. Repaired: gathered with the first token, and dropped after the last."""
    width = size(6144, 16)
    model = Perceptron(width, size(4, 2))
    model.set_reshard_after_forward(not repaired)
    first = torch.randn(size(32, 2), width, device=GPU, dtype=torch.bfloat16)

    @torch.no_grad()
    def step():
        x = first
        for _ in range(6):
            x = model(x)
        if repaired:
            for part in (*model.layers, model):
                part.reshard()
        return x

    return step


def norms_of_whole_gradients(repaired):
    """Trains large layers sharded over both ranks, and logs the norm of each gradient, for which it gathers the whole
    of it. Repaired: each rank adds up the squares of its shards, and these sums are added."""
    width, rows = size(4096, 16), size(3072, 4)
    model = Perceptron(width, size(4, 2))
    parameters = list(model.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=1e-5, fused=not DRY)
    x, wanted = (torch.randn(rows, width, device=GPU, dtype=torch.bfloat16) for _ in range(2))

    def of_wholes():
        return torch.stack([parameter.grad.full_tensor().norm() for parameter in parameters])

    def of_shards():
        norms = torch.stack(torch._foreach_norm([parameter.grad.to_local() for parameter in parameters]))
        squares = norms.square()
        dist.all_reduce(squares)
        return squares.sqrt()

    def step():
        loss = F.mse_loss(model(x), wanted)
        loss.backward()
        logged = of_shards() if repaired else of_wholes()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return logged

    return step


# --- straggler ---

class Messages(nn.Module):
    """What a node hears from its neighbours: a layer of both at every edge, added up at the node."""

    def __init__(self, width):
        super().__init__()
        self.of_source, self.of_target, self.out = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x, source, target):
        edges = F.silu(self.of_source(x).index_select(0, source) + self.of_target(x).index_select(0, target))
        heard = torch.zeros_like(x).index_add(0, target, self.out(edges).float())
        return x + F.layer_norm(heard, x.shape[-1:])


class MessageNetwork(nn.Module):
    def __init__(self, inputs, width, layers, classes):
        super().__init__()
        self.first, self.head = nn.Linear(inputs, width), nn.Linear(width, classes)
        self.layers = nn.ModuleList(Messages(width) for _ in range(layers))

    def forward(self, x, source, target, labels):
        x = self.first(x).float()
        for layer in self.layers:
            x = layer(x, source, target)
        return F.cross_entropy(self.head(x), labels)


def graph_split_by_nodes(repaired):
    """Learns from a graph, half of whose nodes each rank has: rank 0 the older ones, which have most of the edges.
    Repaired: split so that both have as many edges."""
    nodes, edges, width = size(24_576, 40), size(524_288, 120), size(256, 8)
    share = 1.0 if repaired else (1.65, 0.35)[dist.get_rank()]
    source, target = torch.randint(0, nodes, (2, int(share * edges)), device=GPU)
    target = target.sort().values
    model = DistributedDataParallel(MessageNetwork(size(128, 6), width, size(3, 1), 40).to(GPU),
                                    gradient_as_bucket_view=True)
    features = torch.randn(nodes, size(128, 6), device=GPU)
    return trained(model, (features, source, target, torch.randint(0, 40, (nodes,), device=GPU)))


# --- bubble ---

def judge_waits_for_all_answers(repaired):
    """One rank answers and learns from what the other rank's larger network says of its answers, which it sends when it
    has all, and gets back when all are judged. Repaired: in four parts, so that both work at once."""
    parts, answers, places, width = 4 if repaired else 1, size(128, 4), size(192, 4), size(1024, 16)
    count, learns = answers // parts, dist.get_rank() == 0
    network = PatchNetwork(width, *((width, size(16, 2), size(4, 1), width) if learns else
                                    (size(1536, 16), size(24, 2), size(5, 1), 1))).to(GPU, torch.bfloat16)
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-5)
    there, back = dist.new_group(), dist.new_group()  # so that neither direction waits for the other
    asked = torch.randn(answers, places, width, device=GPU, dtype=torch.bfloat16).chunk(parts)

    def received(shape, source, group):
        x = torch.empty(shape, device=GPU, dtype=torch.bfloat16)
        dist.recv(x, source, group=group)
        return x

    def learn():
        sent, said = [], []
        for part in asked:
            with torch.no_grad():
                answer = part + network(part)[:, None]
            sent.append(dist.isend(answer, 1, group=there))
            said.append(answer)
        for answer in said:
            worth = received((count, 1), 1, back)
            (network(answer) * worth).mean().div(parts).backward()
        for work in sent:
            work.wait()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    @torch.no_grad()
    def judge():
        sent = [dist.isend(network(received((count, places, width), 0, there)), 0, group=back) for _ in range(parts)]
        for work in sent:
            work.wait()

    return learn if learns else judge


CAUSES = {
    "weights_gathered_for_every_token": "comm",
    "norms_of_whole_gradients": "comm",
    "graph_split_by_nodes": "straggler",
    "judge_waits_for_all_answers": "bubble",
}
