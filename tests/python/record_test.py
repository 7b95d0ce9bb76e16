"""hone.record() and the callbacks of trainers: with a recorder that only counts, and in programs on PyTorch (HONE_TEST_PYTHON). Where
there is no PyTorch for this version of Python, the latter say that they were not run."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time
import types

import pytest
from conftest import FAULT

import hone
from hone import _record_steps, _recorders

HERE = pathlib.Path(__file__).resolve().parent


class Counting:
    """Stands for a profiler: what it writes is a recording of the repository."""

    def __init__(self, log):
        self.log = log
        self.mark = None

    def on_steps(self, mark):
        self.mark = mark
        return lambda: self.log.append("unhooked")

    def begin(self, marked):
        self.log.append("begin marked" if marked else "begin")

    def step_ended(self):
        self.log.append("step")

    def end(self, whole):
        self.log.append("end" if whole else "end within a step")

    def now(self):
        return len(self.log)

    def ms_between(self, first, second):
        return 1.0

    def write(self, folder, rank, steps):
        self.steps = steps
        path = os.path.join(folder, "rank%d.json.gz" % rank)
        shutil.copy(FAULT, path)
        return path

    def rank(self):
        return None


@pytest.fixture
def counting(monkeypatch):
    recorder = Counting([])
    monkeypatch.setattr(_record_steps, "recorder_here", lambda stacks: recorder)
    return recorder


def test_steps_that_the_program_ends(counting):
    with hone.record(steps=3, warmup=2) as recording:
        for _ in range(9):
            recording.step()
    assert counting.log == ["begin marked", "step", "step", "end", "unhooked"]
    assert recording.done
    assert recording.explain().verdict == "layout"


def test_steps_around_those_that_are_recorded_are_timed_but_not_the_first_ones(counting):
    with hone.record(steps=3, warmup=8) as recording:
        for _ in range(14):
            recording.step()
    assert {name: len(times) for name, times in counting.steps.items()} == {
        "untouched_ms": 5, "recorded_ms": 3, "left_alone_ms": 2}
    assert recording.unrecorded_ms == 1


def test_steps_of_optimizers_are_those_of_the_first(counting):
    first, second = object(), object()
    with hone.record(steps=2, warmup=2) as recording:
        for _ in range(2):
            counting.mark(first)
            counting.mark(second)
        assert counting.log == ["begin marked"]
        counting.mark(second)
        counting.mark(second)
        assert counting.log == ["begin marked"]
        counting.mark(first)
        counting.mark(first)
    assert counting.log == ["begin marked", "step", "end", "unhooked"]


def test_the_program_knows_better_than_its_optimizer(counting):
    with hone.record(steps=2, warmup=2) as recording:
        for _ in range(5):
            counting.mark(counting)
            recording.step()
    assert counting.log == ["begin marked", "step", "end", "unhooked"]


def test_the_whole_block(counting):
    with hone.record(steps=None) as recording:
        assert counting.log == ["begin"]
    assert counting.log == ["begin", "unhooked", "end within a step"] and recording.path


def test_too_few_steps_are_a_warning_and_then_an_error(counting):
    with pytest.warns(UserWarning, match="2 steps ended within the block, and the first 8 are left alone"):
        with hone.record() as recording:
            recording.step()
            recording.step()
    with pytest.raises(hone.Error, match="nothing was recorded: 2 steps ended"):
        recording.explain()


def test_a_block_that_raises_keeps_what_was_recorded(counting):
    with pytest.raises(KeyError):
        with hone.record(steps=5, warmup=1) as recording:
            recording.step()
            recording.step()
            raise KeyError
    assert counting.log[-1] == "end within a step" and recording.path


def test_one_recording_at_a_time_and_each_once(counting):
    with hone.record(steps=1, warmup=0) as recording:
        with pytest.raises(hone.Error, match="one at a time"):
            with hone.record():
                pass
        recording.step()
    with pytest.raises(hone.Error, match="has been used"):
        recording.__enter__()
    with hone.record(steps=1, warmup=0) as again:
        again.step()
    assert again.path != recording.path
    with pytest.raises(hone.Error, match="has not begun"):
        hone.record().step()


def test_a_recording_that_nobody_ended_stands_in_nobodys_way(counting):
    forgotten = hone.record().__enter__()
    del forgotten
    with hone.record(steps=1, warmup=0) as recording:
        recording.step()
    assert recording.path


def test_files_go_with_the_recording_or_stay_where_they_were_asked_for(counting, tmp_path):
    with hone.record(steps=1, warmup=0, out=tmp_path / "runs") as kept:
        kept.step()
    with hone.record(steps=1, warmup=0) as passing:
        passing.step()
    assert kept.path == str(tmp_path / "runs" / "rank0.json.gz")
    path = passing.path
    child = os.fork()
    if child == 0:
        del passing
        os._exit(0)
    os.waitpid(child, 0)
    assert os.path.exists(path)
    del passing
    assert not os.path.exists(path) and os.path.exists(kept.path)


def test_a_recorder_that_fails_does_not_harm_the_program(counting):
    def fail(marked):
        raise RuntimeError("CUPTI is taken")
    counting.begin = fail
    with pytest.warns(UserWarning, match="CUPTI is taken"):
        with hone.record(warmup=1) as recording:
            for _ in range(9):
                recording.step()
    with pytest.raises(hone.Error, match="CUPTI is taken"):
        recording.explain()


def test_without_pytorch_and_jax_it_says_what_records_other_programs():
    assert "torch" not in sys.modules and "jax" not in sys.modules
    with pytest.raises(hone.Error, match="hone profile -- python"):
        with hone.record():
            pass


@pytest.fixture
def trainers(monkeypatch):
    """Stand for Hugging Face's and Lightning's packages, which the callbacks derive from."""
    for name, attribute in (("transformers", "TrainerCallback"), ("pytorch_lightning.callbacks", "Callback")):
        module = types.ModuleType(name)
        setattr(module, attribute, type(attribute, (), {}))
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "pytorch_lightning", types.ModuleType("pytorch_lightning"))
    monkeypatch.setitem(sys.modules, "lightning.pytorch.callbacks", None)
    yield
    for name in ("transformers", "lightning"):
        sys.modules.pop("hone.integrations." + name, None)
    for name in ("HuggingFaceCallback", "LightningCallback"):
        hone.__dict__.pop(name, None)


def run_hugging_face(callback, folder, steps, first=True):
    args, state = types.SimpleNamespace(output_dir=str(folder)), types.SimpleNamespace(is_world_process_zero=first)
    callback.on_train_begin(args, state, None, model=None)
    for _ in range(steps):
        callback.on_step_end(args, state, None, model=None)
    callback.on_train_end(args, state, None, model=None)


def test_the_callback_of_hugging_face(trainers, counting, tmp_path, capsys):
    run_hugging_face(hone.HuggingFaceCallback(steps=3, warmup=2), tmp_path, 20)
    said = capsys.readouterr().out
    assert said.startswith("hone: Layout is the largest recoverable cost") and "explain.html" in said
    assert (tmp_path / "hone" / "explain.html").exists() and (tmp_path / "hone" / "recorded" / "rank0.json.gz").exists()
    assert counting.log == ["begin marked", "step", "step", "end", "unhooked"]


def test_callbacks_never_end_a_training(trainers, counting, tmp_path, capsys):
    callback = hone.HuggingFaceCallback(steps=3, warmup=10)
    run_hugging_face(callback, tmp_path, 4)
    assert "the first 10 are left alone" in capsys.readouterr().out
    callback.on_train_begin(types.SimpleNamespace(output_dir=str(tmp_path)), types.SimpleNamespace(is_world_process_zero=True), None)
    run_hugging_face(callback, tmp_path, 20)  # the training before ended by an exception
    assert "Layout" in capsys.readouterr().out
    run_hugging_face(hone.HuggingFaceCallback(), tmp_path / "other", 20, first=False)
    assert capsys.readouterr().out == "" and (tmp_path / "other" / "hone" / "recorded" / "rank0.json.gz").exists()
    assert not (tmp_path / "other" / "hone" / "explain.html").exists()
    run_hugging_face(hone.HuggingFaceCallback(), tmp_path / "long", 40, first=False)
    assert (tmp_path / "long" / "hone" / "recorded" / "rank0.json.gz").exists()
    (tmp_path / "file").write_text("")
    run_hugging_face(hone.HuggingFaceCallback(out=str(tmp_path / "file")), tmp_path, 20)
    assert "hone: not recorded: " in capsys.readouterr().out


def test_the_callback_of_lightning(trainers, counting, tmp_path, capsys):
    callback = hone.LightningCallback(steps=2, warmup=1)
    trainer = types.SimpleNamespace(default_root_dir=str(tmp_path), is_global_zero=True)
    callback.on_train_start(trainer, None)
    for batch in range(2):
        callback.on_train_batch_end(trainer, None, None, None, batch)
    callback.on_exception(trainer, None, ValueError())
    assert "Layout" in capsys.readouterr().out
    callback.on_train_end(trainer, None)
    assert capsys.readouterr().out == ""


def python_with_torch():
    """None: there is none that can load this package's native module."""
    candidate = os.environ.get("HONE_TEST_PYTHON", sys.executable)
    ran = subprocess.run([candidate, "-c", "import sys, torch; print(sys.version_info[:2])"], capture_output=True, text=True)
    return candidate if ran.returncode == 0 and ran.stdout.strip() == str(sys.version_info[:2]) else None


def test_a_recording_tells_whether_its_thread_had_a_cpu():
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cpus)})
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]  # on that CPU, as their parent
    try:
        watch = _recorders.HostWatch()
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            pass
        watch.end()
    finally:
        os.sched_setaffinity(0, cpus)
        for each in spinning:
            each.kill()
            each.wait()
    assert watch.told["seconds"] >= 0.5
    assert watch.told["in_line_s"] > 0.2 * watch.told["seconds"]


def test_a_program_on_pytorch(tmp_path, capsys):
    interpreter = python_with_torch()
    if interpreter is None:
        with capsys.disabled():
            print("\nNOT RUN: a program on PyTorch: there is none for Python %d.%d here (HONE_TEST_PYTHON)" % sys.version_info[:2])
        return
    site = tmp_path / "site"  # the package alone, beside that Python's own
    site.mkdir()
    for name in ("hone", "hone.libs"):
        (site / name).symlink_to(pathlib.Path(hone.__file__).parents[1] / name)
    ran = subprocess.run([interpreter, str(HERE / "torch_program.py")], capture_output=True, text=True, timeout=120,
                         env=dict(os.environ, PYTHONPATH=str(site), OMP_NUM_THREADS="1", PYTHONDONTWRITEBYTECODE="1"))
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout.splitlines()[-1])
    for one in (found["by_optimizer"], found["by_program"]):
        assert one["count"] == 5 and one["how_found"] == "ProfilerStep ranges"
    assert found["whole_block"]["count"] in (7, 8)
    assert found["cut_short"]["count"] == 3  # and what follows the last step's end is none
    for one in found.values():
        assert "aten::addmm" in one["operators"] and one["floor_known"]
    assert found["by_optimizer"]["measured"] and found["by_optimizer"]["unrecorded_ms"] > 0
    assert found["by_program"]["measured"] and not found["whole_block"]["measured"]
    assert found["by_optimizer"]["phases"] == ["backward", "forward", "optimizer"]
    assert "torch.profiler is running" in ran.stderr
