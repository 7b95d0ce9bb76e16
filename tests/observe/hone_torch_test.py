#!/usr/bin/env python3
"""Tests of python/hone_observe/hone_torch.py that need neither PyTorch nor the library: both are made up here. What needs
them is torch_test.cpp."""
import ctypes
import pathlib
import sys
import threading
import time
import types
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python" / "hone_observe"))
import hone_torch  # noqa: E402


class Library:
    """Keeps what would go into the segment."""

    def __init__(self):
        self.texts = [""]
        self.ranges = []  # (kind, text)
        self.times = []
        self.samples = []  # (thread, texts)
        self.notes = []

    def hone_intern_bytes(self, text, length):
        text = text[:length].decode()
        if text not in self.texts:
            self.texts.append(text)
        return self.texts.index(text)

    def hone_torch_ranges(self, kind, address, count):
        numbers = (ctypes.c_int64 * (3 * count)).from_address(address)
        for i in range(count):
            self.ranges.append((kind, self.texts[numbers[3 * i]]))
            self.times.append((numbers[3 * i + 1], numbers[3 * i + 2]))

    def hone_sample(self, tid, kind, address, count):
        frames = (ctypes.c_uint32 * count).from_address(address)
        self.samples.append((tid, [self.texts[frame] for frame in frames]))

    def hone_note(self, text):
        self.notes.append(text.decode())


class Hook:
    def __init__(self, hooks, function):
        self.hooks, self.function = hooks, function
        hooks.append(function)

    def remove(self):
        self.hooks.remove(self.function)


class Module:
    """torch.nn.Module, as far as global hooks and names of children go."""
    before, after = [], []

    def __init__(self, **children):
        self._modules = children

    def __call__(self, inside=None):
        for hook in list(Module.before):
            hook(self, ())
        self.forward(inside)
        for hook in list(Module.after):
            hook(self, (), None)

    def forward(self, inside):
        for child in self._modules.values():
            if child is not None and not isinstance(child, ModuleList):
                child(inside)
            elif child is not None:
                for one in child._modules.values():
                    one(inside)
        if not self._modules and inside is not None:
            inside()


class ModuleList(Module):
    pass


class ModuleDict(Module):
    pass


class Net(Module):
    pass


def made_up_torch():
    nn = types.SimpleNamespace(ModuleList=ModuleList, ModuleDict=ModuleDict)
    nn.modules = types.SimpleNamespace(module=types.SimpleNamespace(
        register_module_forward_pre_hook=lambda hook: Hook(Module.before, hook),
        register_module_forward_hook=lambda hook: Hook(Module.after, hook)))
    return types.SimpleNamespace(nn=nn)


class ModulesTest(unittest.TestCase):
    def setUp(self):
        self.library = Library()
        self.modules = hone_torch.Modules(made_up_torch(), self.library)

    def tearDown(self):
        self.modules.follow(False)

    def texts(self):
        return [text for _, text in self.library.ranges]

    def test_ranges_have_the_names_within_the_module_around_them(self):
        net = Net(stem=Module(), h=ModuleList(**{"0": Net(up=Module()), "1": Net(up=Module(), none=None)}))
        self.modules.follow(True)
        net()
        self.assertEqual(self.texts(), ["nn.Module: stem", "nn.Module: up", "nn.Module: h.0", "nn.Module: up",
                                        "nn.Module: h.1", "nn.Module: Net"])
        self.assertEqual({kind for kind, _ in self.library.ranges}, {hone_torch.RANGE_MODULE})

    def test_a_module_encloses_those_within_it(self):
        self.modules.follow(True)
        Net(stem=Module())()
        (stem_begin, stem_end), (net_begin, net_end) = self.library.times
        self.assertLessEqual(net_begin, stem_begin)
        self.assertLessEqual(stem_begin, stem_end)
        self.assertLessEqual(stem_end, net_end)

    def test_hooks_are_there_only_while_they_are_wanted(self):
        net = Net()
        for wanted in (False, True, True, False):
            self.modules.follow(wanted)
            self.assertEqual((len(Module.before), len(Module.after)), (1, 1) if wanted else (0, 0))
            net()
        self.assertEqual(self.texts(), ["nn.Module: Net"] * 2)

    def test_what_ended_by_an_exception_does_not_disturb_what_follows(self):
        def fail():
            raise ValueError

        self.modules.follow(True)
        net = Net(stem=Module())
        with self.assertRaises(ValueError):
            net(fail)
        net()
        self.assertEqual(self.texts()[-2:], ["nn.Module: stem", "nn.Module: Net"])
        self.assertEqual(len(self.modules.local.open), 0)

    def test_a_module_that_began_before_the_hooks_is_left_out(self):
        self.modules.follow(False)
        Net(a=Module(), b=Module())(lambda: self.modules.follow(True))
        self.assertNotIn("nn.Module: Net", self.texts())

    def test_programs_that_compile_keep_their_graphs_whole(self):
        sys.modules["torch._dynamo.utils"] = types.SimpleNamespace(counters={"frames": {"total": 3}})
        try:
            self.modules.follow(True)
        finally:
            del sys.modules["torch._dynamo.utils"]
        self.assertEqual(Module.before, [])


class SamplerTest(unittest.TestCase):
    def test_stacks_are_innermost_first_with_lines(self):
        library = Library()
        sampler = hone_torch.Sampler(library)
        end = time.monotonic() + 10
        while not library.samples and time.monotonic() < end:
            time.sleep(0.01)
        sampler.stop()
        sampler.join(10)
        self.assertFalse(sampler.is_alive())
        tid, frames = next(sample for sample in library.samples if sample[0] == threading.main_thread().native_id)
        here = "test_stacks_are_innermost_first_with_lines (%s:" % __file__
        self.assertTrue(any(here in frame for frame in frames), frames)
        self.assertIn("<module>", frames[-1])


class ArmTest(unittest.TestCase):
    def test_a_program_goes_on_where_there_is_nothing_to_arm(self):
        self.assertEqual(hone_torch.arm("/nowhere/libhone_inject.so"), 0)  # no PyTorch
        sys.modules["torch"] = types.ModuleType("torch")
        try:
            self.assertEqual(hone_torch.arm("/nowhere/libhone_inject.so"), 0)  # no library
        finally:
            del sys.modules["torch"]

    def test_deeds_that_a_version_cannot_do_say_so(self):
        deeds = hone_torch.Deeds(types.SimpleNamespace(), Library())
        self.assertEqual([deeds.perform(deed, 0) for deed in range(8)], [-1] * 8)


if __name__ == "__main__":
    unittest.main()
