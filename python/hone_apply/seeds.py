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


def draws_otherwise(torch, module):
    """What the log is told of a change after which dropout draws in another order: compiled, over elements that lie otherwise, or within
    another implementation of attention."""
    dropout = torch.nn.modules.dropout._DropoutNd
    drawn = any(isinstance(each, dropout) and each.p > 0 and each.training for each in module.modules())
    return {"draws": True} if drawn else {}


HOOKS = {"torch": of_torch, "numpy": of_numpy}

