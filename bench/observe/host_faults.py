"""A training on a GPU with one fault of the host: collate N (a slow collate_fn, in N worker processes), log (a file
that is written and synced each step), sleep. For 25 seconds. bench/observe/README.md says what hone profile is to name."""
import os
import sys
import time

import torch

FAULT, WORKERS = sys.argv[1], int(sys.argv[2])
END = time.time() + 25


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 10_000_000

    def __getitem__(self, i):
        return torch.full((256,), float(i % 7))


def slow_collate(batch):
    total = 0
    for i in range(400_000 if FAULT == "collate" else 1):
        total += i
    return torch.stack(batch)


def write_log():
    with open("/tmp/host_log.bin", "wb") as out:
        out.write(b"x" * (4 << 20))
        out.flush()
        os.fsync(out.fileno())


def main():
    model = torch.nn.Sequential(*[torch.nn.Linear(256, 256) for _ in range(8)]).cuda().train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    loader = torch.utils.data.DataLoader(Data(), batch_size=32, num_workers=WORKERS, collate_fn=slow_collate)
    for batch in loader:
        optimizer.zero_grad()
        model(batch.cuda(non_blocking=True)).sum().backward()
        optimizer.step()
        if FAULT == "log":
            write_log()
        if FAULT == "sleep":
            time.sleep(0.005)
        if time.time() > END:
            break
    print("done")


main()
