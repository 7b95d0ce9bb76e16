#!/usr/bin/env python3
"""Tests of python/hone_apply/switching.py: blocks of steps with a change and without it. Needs no PyTorch."""
import importlib
import json
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
switching = importlib.import_module("hone_apply.switching")


class MadeUpProgram:
    """Steps take 10 ms; each change in force takes 4 ms off; the first two steps after a switch take 100 ms more."""

    def __init__(self, order=None, **more):
        self.now, self.on, self.switches, self.told = 0.0, set(), [], []
        self.order = order
        self.since_switch = 10
        self.blocks = switching.Blocks(("tf32", "compile"), self.switch, lambda: self.order, lambda: None,
                                       lambda **entry: self.told.append(entry), clock=lambda: self.now, **more)

    def switch(self, name, on):
        (self.on.add if on else self.on.remove)(name)
        self.since_switch = 0
        self.switches.append((name, on))

    def run(self, steps):
        for _ in range(steps):
            self.now += 0.010 - 0.004 * len(self.on) + (0.1 if self.since_switch < 2 else 0)
            self.since_switch += 1
            self.blocks.step()
        return self

    def blocks_told(self, number=1):
        return [entry for entry in self.told if entry.get("order") == number]


def order(number=1, tried="tf32", in_force=()):
    return {"number": number, "try": tried, "in_force": list(in_force)}


class Blocks(unittest.TestCase):
    def test_nothing_is_switched_before_it_is_ordered_nor_in_the_first_steps(self):
        program = MadeUpProgram(order(), after=20).run(19)
        self.assertEqual((program.switches, program.told), ([], []))
        program = MadeUpProgram(after=20).run(50)
        self.assertEqual((program.switches, program.told), ([], [{"ready": True}]))

    def test_blocks_tell_the_steps_with_and_without_it_but_not_what_a_switch_costs(self):
        told = MadeUpProgram(order(), after=5, seconds=0.1).run(2000).blocks_told()
        self.assertGreater(len(told), 20)
        for entry in told:
            self.assertAlmostEqual(entry["ms"], 6 if entry["on"] else 10)
            self.assertGreaterEqual(entry["steps"] * entry["ms"], 99.9)

    def test_what_else_is_in_force_is_so_in_every_block(self):
        told = MadeUpProgram(order(in_force=["compile", "fused_optimizer"]), after=5, seconds=0.1).run(2000).blocks_told()
        self.assertGreater(len(told), 20)
        for entry in told:
            self.assertAlmostEqual(entry["ms"], 2 if entry["on"] else 6)

    def test_another_order_is_carried_out_when_the_block_has_ended(self):
        program = MadeUpProgram(order(), after=5, seconds=0.1).run(200)
        program.order = order(2, "compile", ["tf32"])
        told = program.run(2000).blocks_told(2)
        self.assertEqual(told[0]["block"], 1)
        for entry in told:
            self.assertAlmostEqual(entry["ms"], 2 if entry["on"] else 6)

    def test_pairs_hold_one_of_each_in_an_order_that_is_drawn(self):
        told = MadeUpProgram(order(), after=5, seconds=0.05).run(3000).blocks_told()
        firsts = set()
        for first, second in zip(told[::2], told[1::2]):
            self.assertEqual(first["block"], second["block"])
            self.assertNotEqual(first["on"], second["on"])
            firsts.add(first["on"])
        self.assertEqual(firsts, {True, False})

    def test_the_first_pair_is_not_told(self):
        self.assertEqual(MadeUpProgram(order(), after=5, seconds=0.05).run(500).blocks_told()[0]["block"], 1)

    def test_long_steps_are_few_in_a_block(self):
        program = MadeUpProgram(order(), after=5, seconds=0.001, fewest_steps=4).run(200)
        self.assertTrue(program.blocks_told())
        self.assertTrue(all(entry["steps"] == 4 for entry in program.blocks_told()))

    def test_steps_that_were_none_are_forgotten(self):
        program = MadeUpProgram(order(), after=5, seconds=0.05).run(300)
        program.blocks.begin_again()
        self.assertEqual(program.on, set())
        told = len(program.told)
        program.run(500)
        self.assertEqual(program.told[told], {"ready": True})
        self.assertEqual(program.told[told + 1]["block"], 1)


class Orders(unittest.TestCase):
    def test_the_latest_that_can_be_read_holds(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "orders.json"
            orders = switching.Orders(str(path))
            self.assertIsNone(orders())
            for number in (1, 2):
                (path.parent / "new").write_text(json.dumps(order(number)))
                (path.parent / "new").rename(path)
                self.assertEqual(orders()["number"], number)
            path.unlink()
            self.assertEqual(orders()["number"], 2)


if __name__ == "__main__":
    unittest.main()
