#!/usr/bin/env python3
"""Tests of python/hone_observe/marks.py that need neither PyTorch nor the library: which calls of modules are taken for steps."""
import pathlib
import sys
import types
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
from hone_observe import library, marks  # noqa: E402


def new_module_class():
    """torch.nn.Module as far as calls go, another one for each test."""

    class Module:
        def __init__(self, *children):
            self.children = children

        def __call__(self, x):
            for child in self.children:
                x = child(x)
            return x

        def train(self, mode=True):
            for child in self.children:
                child.train(mode)
            return self

        def eval(self):
            return self.train(False)

        def to(self, where):
            for child in self.children:
                child.to(where)
            return self

        def cuda(self):
            return self.to("cuda")

    return Module


def of_torch(base, name):
    """A class of PyTorch's own."""
    return type(name, (base,), {"__module__": "torch.nn.modules.container"})


class Calls(unittest.TestCase):
    def setUp(self):
        self.marks = []
        library.mark = lambda kind, name: self.marks.append((kind, name))
        library.intern = lambda text: text
        marks._names.clear()
        marks._marked.clear()
        marks._wholly_marked.clear()
        marks._outermost.clear()
        marks._calls.clear()
        self.base = new_module_class()
        marks.of_modules(types.SimpleNamespace(Module=self.base))

    def steps(self):
        return [name for kind, name in self.marks if kind == library.MARK_MODULE]

    def test_of_the_programs_own_class_are_steps(self):
        class Net(self.base):
            pass
        net = Net(self.base()).eval()
        net(1)
        net(1)
        self.assertEqual(self.steps(), ["Net", "Net"])

    def test_of_a_model_of_pytorchs_own_class_are_steps(self):
        sequential = of_torch(self.base, "Sequential")
        net = sequential(sequential(), sequential()).eval()
        net(1)
        net(1)
        self.assertEqual(self.steps(), ["Sequential", "Sequential"])

    def test_of_other_objects_of_that_class_are_none(self):
        sequential = of_torch(self.base, "Sequential")
        net, preparation = sequential().eval(), sequential()
        preparation(1)
        net(1)
        self.assertEqual(self.steps(), ["Sequential"])

    def test_of_parts_within_a_model_are_none(self):
        class Net(self.base):
            pass
        sequential = of_torch(self.base, "Sequential")
        part = sequential().eval()
        Net(part).to("cpu")(1)
        self.assertEqual(self.steps(), ["Net"])

    def test_of_a_class_made_of_one_of_pytorchs_are_steps_beside_it(self):
        sequential = of_torch(self.base, "Sequential")
        class Net(sequential):
            pass
        other, net = sequential().eval(), Net(sequential()).eval()
        other(1)
        net(1)
        net(1)
        self.assertEqual(self.steps(), ["Sequential", "Net", "Net"])

    def test_of_what_is_no_network_of_pytorch_are_none(self):
        script = type("ScriptModule", (self.base,), {"__module__": "torch.jit._script"})
        script().eval()(1)
        self.assertEqual(self.steps(), [])


if __name__ == "__main__":
    unittest.main()
