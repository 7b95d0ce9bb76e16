"""The program behind h100_blocks.pickle.gz, recorded on an H100 with PyTorch 2.11; its path was replaced in the file.
OUT=FOLDER python record_gpu.py; what PyTorch said of itself stands in study_memory_test.cpp."""
import gzip, json, os, time
import torch
t0 = time.time()
OUT = os.environ["OUT"]
def say(*a): print(f"[{time.time()-t0:5.1f}s]", *a, flush=True)
torch.manual_seed(0)
class Block(torch.nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = torch.nn.LayerNorm(d); self.up = torch.nn.Linear(d, 4 * d); self.down = torch.nn.Linear(4 * d, d)
    def forward(self, x): return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))
torch.cuda.memory._record_memory_history(max_entries=20000)
model = torch.nn.Sequential(*[Block(1024) for _ in range(6)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
x = torch.randn(4096, 1024, device="cuda")
def step():
    optimizer.zero_grad()
    loss = model(x).square().mean(); loss.backward(); optimizer.step()
for _ in range(3): step()
# Blocks of odd sizes, every other one freed: what fragmentation looks like.
odd = [torch.empty(3_000_000 + 4096 * i, dtype=torch.uint8, device="cuda") for i in range(40)]
del odd[::2]
torch.cuda.synchronize()
stats = {k: v for k, v in torch.cuda.memory_stats().items() if "all" in k and ("bytes" in k or "segment" in k)}
torch.cuda.memory._dump_snapshot(f"{OUT}/snapshot.pickle")
torch.cuda.memory._record_memory_history(enabled=None)
json.dump({"torch": torch.__version__, "allocated": torch.cuda.memory_allocated(), "reserved": torch.cuda.memory_reserved(),
           "peak": torch.cuda.max_memory_allocated(), "peak_reserved": torch.cuda.max_memory_reserved(), "stats": stats}, open(f"{OUT}/facts.json", "w"), indent=1)
say("snapshot", os.path.getsize(f"{OUT}/snapshot.pickle"))
with open(f"{OUT}/snapshot.pickle", "rb") as a, gzip.open(f"{OUT}/snapshot.pickle.gz", "wb", 6) as b: b.write(a.read())
os.remove(f"{OUT}/snapshot.pickle")
