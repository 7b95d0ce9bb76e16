"""The same random numbers in every run of a program that seeds nothing itself, in each of its ranks others: what it seeds later
holds, as it would."""
import random

from . import log

_seed = None


def begin(seed):
    global _seed
    if seed is None:
        return
    _seed = seed + log.rank()[0]
    random.seed(_seed)


def of_torch(torch):
    if _seed is not None:
        torch.manual_seed(_seed)


def of_numpy(numpy):
    if _seed is not None:
        numpy.random.seed(_seed % 2**32)


HOOKS = {"torch": of_torch, "numpy": of_numpy}

