"""Fresh programs whose device is busy with work it need not do or does badly, and one where nothing is wrong."""
import torch
import torch.nn.functional as F
from torch import nn

from device import DRY, GPU, compiled, size, trained
from fresh.models import FaceNetwork, Hourglass, NextItem, TextEncoder
from models import Gpt
from unseen.models import convolutions


# --- precision ---

def evaluates_without_autocast(repaired):
    """Trains in bf16 by autocast, and evaluates between in f32, without; repaired: evaluates under autocast too."""
    length, classes = size(256, 16), size(4096, 16)
    model = TextEncoder(size(768, 48), 12, size(3, 1), 16384, length, classes, of_tokens=True).to(GPU)
    ids = torch.randint(0, 16384, (size(96, 2), length), device=GPU)
    labels = torch.randint(0, classes, ids.shape, device=GPU)
    learned, held = size(32, 1), size(64, 1)
    step = trained(model, (ids[:learned], labels[:learned]))

    def run():
        step()
        with torch.no_grad(), torch.autocast(GPU, dtype=torch.bfloat16, enabled=repaired):
            return model(ids[-held:], labels[-held:])

    return run


def class_scores_in_f32(repaired):
    """Trains a recogniser of faces under autocast, whose scores for many people are computed in f32 to be safe.
    Repaired: as autocast does."""
    faces, people = size(2048, 4), size(65536, 64)
    pictures = torch.randn(faces, 3, 48, 48, device=GPU).contiguous(memory_format=torch.channels_last)
    model = FaceNetwork(size(128, 8), size(512, 16), people, wide=not repaired)
    model.to(GPU, memory_format=torch.channels_last)
    return trained(model, (pictures, torch.randint(0, people, (faces,), device=GPU)))


# --- layout ---

def joints_channels_first(repaired):
    """Finds the joints of bodies in half precision with the channels first; repaired: with the channels last."""
    memory = torch.channels_last if repaired else torch.contiguous_format
    torch.backends.cudnn.benchmark = True
    half = size(torch.float16, torch.bfloat16)
    model = Hourglass(size(96, 8)).to(GPU, half, memory_format=memory).requires_grad_(False)
    bodies = torch.randn(size(128, 1), 3, size(256, 16), size(192, 16), device=GPU, dtype=half)
    bodies = bodies.contiguous(memory_format=memory)
    return lambda: model(bodies)


# --- avoidable_traffic ---

def by_one_hot(ids, table):
    return F.one_hot(ids, table.shape[0]).to(table.dtype) @ table


def embedding_by_one_hot(repaired):
    """Looks words up by a product with rows of one one and many zeros; repaired: F.embedding."""
    words, length = size(28672, 64), size(256, 16)
    model = TextEncoder(size(384, 32), size(6, 4), size(4, 1), words, length,
                        look_up=F.embedding if repaired else by_one_hot)
    model.to(GPU, torch.bfloat16).requires_grad_(False)
    ids = torch.randint(0, words, (size(128, 2), length), device=GPU)
    return lambda: model(ids)


def focal_loss(logits, wanted):
    """Cross entropy of yes and no that counts for less where the network is sure."""
    chance = torch.sigmoid(logits.float())
    loss = -(wanted * torch.log(chance + 1e-8) + (1 - wanted) * torch.log(1 - chance + 1e-8))
    right = wanted * chance + (1 - wanted) * (1 - chance)
    weight = 0.25 * wanted + 0.75 * (1 - wanted)
    return (weight * (1 - right) ** 2.0 * loss).mean()


class DenseDetector(nn.Module):
    """The head of RetinaNet: for each place and shape of box, and for each class, yes or no."""

    def __init__(self, channels, layers, answers, loss):
        super().__init__()
        self.layers, self.loss = convolutions(channels, channels, layers), loss
        self.answers = nn.Conv2d(channels, answers, 3, padding=1)

    def forward(self, features, wanted):
        return self.loss(self.answers(self.layers(features)), wanted)


def focal_loss_by_hand(repaired):
    """A dense detector whose focal loss is written out operator by operator; repaired: the same, compiled."""
    channels, answers, side = size(256, 8), size(240, 12), size(64, 8)
    model = DenseDetector(channels, size(3, 1), answers, compiled(focal_loss) if repaired else focal_loss)
    model.to(GPU, memory_format=torch.channels_last)
    features = torch.randn(size(32, 1), channels, side, side, device=GPU)
    wanted = (torch.rand(features.shape[0], answers, side, side, device=GPU) < 0.01).float()
    return trained(model, [part.contiguous(memory_format=torch.channels_last) for part in (features, wanted)])


# --- kernel_inefficiency ---

def vocabulary_not_padded(repaired):
    """A GPT with the 50257 tokens of GPT-2, so that rows of scores begin anywhere; repaired: padded to 50304."""
    length = size(512, 16)
    model = Gpt(width=size(1024, 32), heads=size(16, 4), layers=size(2, 1), length=length,
                vocabulary=size(50304, 64) if repaired else size(50257, 61)).to(GPU)
    ids = torch.randint(0, size(50257, 61), (size(16, 1), length + 1), device=GPU)
    return trained(model, (ids[:, :-1].contiguous(), ids[:, 1:].contiguous()))


def by_brackets(ids, table):
    return table[ids]


def items_looked_up_by_brackets(repaired):
    """A recommender that looks items up by table[numbers], whose gradient adds up one by one what is for the same item;
    most often that which fills short histories. Repaired: F.embedding."""
    people, length, items = size(80, 2), size(200, 16), size(50_000, 100)
    model = NextItem(items, size(256, 16), length, F.embedding if repaired else by_brackets).to(GPU)
    lengths = torch.randint(length // 4, length, (people, 1), device=GPU)
    there = torch.arange(length, device=GPU) >= length - lengths
    bought, following, others = (torch.randint(1, items, (people, length), device=GPU) * there for _ in range(3))
    return trained(model, (bought, following, others))


# --- healthy ---

def healthy_embedder(repaired):
    """Nothing planted: compiled vectors of many texts, whose tokens come from pinned memory. The repaired form is the
    same program."""
    length = size(512, 16)
    model = TextEncoder(size(1536, 32), size(12, 4), size(4, 1), 16384, length, classes=256)
    model.to(GPU, torch.bfloat16).requires_grad_(False)
    kept = torch.randint(0, 16384, (size(64, 2), length))
    kept = kept if DRY else kept.pin_memory()
    run = compiled(model)
    return lambda: run(kept.to(GPU, non_blocking=True))


CAUSES = {
    "evaluates_without_autocast": "precision",
    "class_scores_in_f32": "precision",
    "joints_channels_first": "layout",
    "embedding_by_one_hot": "avoidable_traffic",
    "focal_loss_by_hand": "avoidable_traffic",
    "vocabulary_not_padded": "kernel_inefficiency",
    "items_looked_up_by_brackets": "kernel_inefficiency",
    "healthy_embedder": "healthy",
}
