#!/usr/bin/env python3
"""Records the profiles of this folder: a small network trained by JAX and by TensorFlow on the CPU, and what
other readers say of the same files.

    python record.py jax|tensorflow|facts FOLDER

`jax` wants jax[cpu], `tensorflow` wants tensorflow-cpu, and `facts` tensorflow-cpu for its generated reader of
XPlane's protobuf. Copy this file elsewhere first: its path stands in the profiles. Files come out as
FOLDER/NAME.xplane.pb.gz, FOLDER/NAME.trace.json.gz and FOLDER/NAME.facts.json.
"""
import collections
import glob
import gzip
import json
import os
import shutil
import sys
import tempfile

import numpy as np

STEPS = 5


def keep(folder, logdir, name, facts):
    (plane,) = glob.glob(f"{logdir}/plugins/profile/*/*.xplane.pb")
    with open(plane, "rb") as raw, gzip.GzipFile(f"{folder}/{name}.xplane.pb.gz", "wb", 9, mtime=0) as packed:
        packed.write(raw.read())
    for viewer in glob.glob(f"{logdir}/plugins/profile/*/*.trace.json.gz"):
        with gzip.open(viewer) as raw, gzip.GzipFile(f"{folder}/{name}.trace.json.gz", "wb", 9, mtime=0) as packed:
            packed.write(raw.read())
    with open(f"{folder}/{name}.facts.json", "w") as out:
        json.dump(facts, out, indent=1)
        out.write("\n")


def weights(random, *sizes):
    return [
        (random.normal(0, 0.05, pair).astype(np.float32), np.zeros(pair[1], np.float32))
        for pair in zip(sizes, sizes[1:])
    ]


def record_jax(folder):
    import jax
    import jax.numpy as jnp

    def loss_of(layers, x, y):
        for i, (w, b) in enumerate(layers[:-1]):
            with jax.named_scope(f"layer{i}"):
                x = jax.nn.gelu(x @ w + b)
        w, b = layers[-1]
        logits = x @ w + b
        return jnp.mean((logits - y) ** 2)

    def train_step(layers, x, y):
        loss, gradients = jax.value_and_grad(loss_of)(layers, x, y)
        return jax.tree.map(lambda a, b: a - 0.1 * b, layers, gradients), loss

    def rolled_step(layers, x, y):
        def body(state, _):
            return train_step(state, x, y)

        layers, losses = jax.lax.scan(body, layers, None, length=3)
        return layers, losses[-1]

    random = np.random.default_rng(0)
    x, y = (random.normal(0, 1, (128, n)).astype(np.float32) for n in (256, 64))
    options = jax.profiler.ProfileOptions()
    for name, step, python in (("jax_mlp", train_step, 0), ("jax_scan", rolled_step, 1)):
        layers = jax.device_put(weights(random, 256, 512, 512, 64))
        compiled = jax.jit(step).lower(layers, x, y).compile()
        call = jax.jit(step)
        for _ in range(3):
            layers, loss = call(layers, x, y)
        float(loss)
        options.python_tracer_level = python
        logdir = tempfile.mkdtemp()
        with jax.profiler.trace(logdir, profiler_options=options):
            for i in range(STEPS):
                with jax.profiler.StepTraceAnnotation("train", step_num=10 + i):
                    layers, loss = call(layers, x, y)
                    float(loss)
        cost = compiled.cost_analysis()
        cost = cost[0] if isinstance(cost, list) else cost
        keep(folder, logdir, name, {
            "jax": jax.__version__,
            "flops": cost["flops"],
            "transcendentals": cost["transcendentals"],
            "bytes_accessed": cost["bytes accessed"],
        })
        shutil.rmtree(logdir)


def record_tensorflow(folder):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    random = np.random.default_rng(0)
    layers = [(tf.Variable(w), tf.Variable(b)) for w, b in weights(random, 256, 512, 512, 64)]
    variables = [v for pair in layers for v in pair]
    x, y = (tf.constant(random.normal(0, 1, (128, n)).astype(np.float32)) for n in (256, 64))

    def step():
        with tf.GradientTape() as tape:
            h = x
            for w, b in layers[:-1]:
                h = tf.nn.relu(tf.matmul(h, w) + b)
            loss = tf.reduce_mean((tf.matmul(h, layers[-1][0]) + layers[-1][1] - y) ** 2)
        for variable, gradient in zip(variables, tape.gradient(loss, variables)):
            variable.assign_sub(0.1 * gradient)
        return loss

    for name, call in (("tf_function", tf.function(step)), ("tf_eager", step)):
        for _ in range(3):
            call()
        logdir = tempfile.mkdtemp()
        tf.profiler.experimental.start(logdir, tf.profiler.experimental.ProfilerOptions(python_tracer_level=0))
        for i in range(STEPS):
            with tf.profiler.experimental.Trace("train", step_num=10 + i, _r=1):
                float(call())
        tf.profiler.experimental.stop()
        keep(folder, logdir, name, {"tensorflow": tf.__version__})
        shutil.rmtree(logdir)


def add_facts(folder):
    """What the generated reader of the protobuf sees: steps, and the events and time of each operator."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    for path in glob.glob(f"{folder}/*.xplane.pb.gz"):
        space = xplane_pb2.XSpace()
        with gzip.open(path) as packed:
            space.ParseFromString(packed.read())
        steps, operators, eager = [], collections.defaultdict(lambda: [0, 0]), collections.Counter()
        for plane in space.planes:
            names = {key: value.name for key, value in plane.stat_metadata.items()}
            for line in plane.lines:
                for event in line.events:
                    kind = plane.event_metadata[event.metadata_id]
                    stats = {}
                    for stat in event.stats:
                        value = getattr(stat, stat.WhichOneof("value"))
                        stats[names[stat.metadata_id]] = names[value] if stat.HasField("ref_value") else value
                    if "step_num" in stats:
                        steps.append([stats["step_num"], event.duration_ps // 1000])
                    if "hlo_op" in stats:
                        operators[stats["hlo_op"]][0] += 1
                        operators[stats["hlo_op"]][1] += event.duration_ps // 1000
                    if kind.display_name and kind.name.endswith(":" + kind.display_name):
                        operators[kind.name][0] += 1
                        operators[kind.name][1] += event.duration_ps // 1000
                    if "eager_op" in stats and not stats.get("is_func"):
                        eager[stats["eager_op"]] += 1
        facts_path = path.replace(".xplane.pb.gz", ".facts.json")
        with open(facts_path) as known:
            facts = json.load(known)
        facts["steps_ns"] = sorted(steps)
        facts["operators"] = {name: operators[name] for name in sorted(operators)}
        facts["eager"] = dict(sorted(eager.items()))
        with open(facts_path, "w") as out:
            json.dump(facts, out, indent=1)
            out.write("\n")


if __name__ == "__main__":
    {"jax": record_jax, "tensorflow": record_tensorflow, "facts": add_facts}[sys.argv[1]](sys.argv[2])
