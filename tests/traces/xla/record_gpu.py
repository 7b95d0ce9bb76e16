"""The JAX programs behind h100_*.xplane.pb.gz, recorded on an H100 with JAX 0.11.2. The path of this file was replaced in
the profiles. OUT=FOLDER python record_gpu.py; h100_*.facts.json has what XLA and the generated reader of XPlane say of them."""
import gzip, json, os, shutil, time
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_gpu_autotune_level=0"
t0 = time.time()
import numpy as np
import jax, jax.numpy as jnp
OUT = os.environ["OUT"]
def say(*a): print(f"[{time.time()-t0:5.1f}s]", *a, flush=True)
facts = {"jax": jax.__version__}
say(facts, jax.devices()[0])
r = np.random.default_rng(0)
def new(*s): return jax.device_put((r.standard_normal(s) * 0.03).astype(np.float32))
def cost(compiled):
    c = compiled.cost_analysis(); c = c[0] if isinstance(c, list) else c
    return {k: float(c[k]) for k in ("flops", "transcendentals", "bytes accessed") if k in c}

def record(name, step, steps, level=0):
    say(name, "begins")
    step(0); say(name, "first step done")
    step(1); t = []
    for i in range(5):
        a = time.perf_counter(); step(i); t.append(time.perf_counter() - a)
    facts[name] = {**facts.get(name, {}), "step_ms_alone": sorted(x * 1e3 for x in t)[2]}
    folder = f"/tmp/xplane-2/{name}"; shutil.rmtree(folder, ignore_errors=True)
    o = jax.profiler.ProfileOptions(); o.python_tracer_level = level
    with jax.profiler.trace(folder, profiler_options=o):
        for i in range(steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=i): step(i)
    say(name, "recorded")
    for root, _, files in os.walk(folder):
        for f in files:
            path = os.path.join(root, f); size = os.path.getsize(path); say(name, f, size)
            if f.endswith(".xplane.pb"):
                with open(path, "rb") as a, gzip.open(f"{OUT}/{name}.xplane.pb.gz", "wb", 6) as b: b.write(a.read())
            elif f.endswith(".trace.json.gz") and size < 300_000: shutil.copy(path, f"{OUT}/{name}.trace.json.gz")
    json.dump(facts, open(f"{OUT}/facts.json", "w"), indent=1)

# 1: a perceptron with normalisation, one jitted step; the loss is read in every step. First in f32 as it comes, then in true f32.
def loss_of(layers, x, y):
    for i, w in enumerate(layers):
        with jax.named_scope(f"layer{i}"):
            x = jax.nn.relu(x @ w); x = x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-3)
    return ((x - y) ** 2).mean()
def train_step(layers, x, y):
    loss, g = jax.value_and_grad(loss_of)(layers, x, y)
    return [a - 0.01 * b for a, b in zip(layers, g)], loss
x, y = new(4096, 2048), new(4096, 2048)
def run(name, level, precision=None):
    box = [[new(2048, 2048) for _ in range(3)]]
    import contextlib
    with (jax.default_matmul_precision(precision) if precision else contextlib.nullcontext()):
        say(name, "compiling"); f = jax.jit(train_step, donate_argnums=0).lower(box[0], x, y).compile()
    say(name, "compiled"); facts[name] = cost(f)
    def step(i): box[0], loss = f(box[0], x, y); float(loss)
    record(name, step, 4, level)
run("mlp", 1)
if time.time() - t0 < 24: run("mlp_highest", 0, "highest")

# 2: operator by operator, without jit, with a batch copied from the host in each step.
if time.time() - t0 < 25:
    w = [new(1024, 1024) for _ in range(2)]
    data = r.standard_normal((2048, 1024), dtype=np.float32)
    def eager(i):
        h = jnp.asarray(data)
        for a in w: h = jnp.maximum(h @ a, 0) * 2 - 1
        float((h * h).mean())
    record("eager", eager, 3)

# 3: convolutions on NCHW images, with gradients.
if time.time() - t0 < 28:
    def conv(x, k): return jax.lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))
    ks = [new(64, 32, 3, 3), new(64, 64, 3, 3)]; images = new(16, 32, 64, 64)
    def conv_loss(ks, x):
        for k in ks: x = jax.nn.relu(conv(x, k))
        return (x * x).mean()
    g = jax.jit(jax.grad(conv_loss)).lower(ks, images).compile(); facts["conv"] = cost(g)
    record("conv", lambda i: jax.block_until_ready(g(ks, images)), 3)
say("done")
