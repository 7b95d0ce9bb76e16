"""Kernels of many kinds in a loop, to compare what hone counts of them with Nsight Compute (counters_check.sh).

Usage: counted.py LIBRARY [STEPS] [--full]     LIBRARY: libcounted.so; without STEPS it goes on until it is ended;
                                                --full: with little of the GPU's memory left
"""
import ctypes
import sys

import torch

torch.manual_seed(1)
DEVICE = "cuda"
library = ctypes.CDLL(sys.argv[1])
library.launch_counted.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int,
                                   ctypes.c_void_p]
numbers = [each for each in sys.argv[2:] if each.isdigit()]
steps = int(numbers[0]) if numbers else None
ballast = []
if "--full" in sys.argv:
    free, total = torch.cuda.mem_get_info()
    ballast.append(torch.empty(int(free - 0.25 * total), dtype=torch.uint8, device=DEVICE))

N = 2048
square = {kind: torch.randn(N, N, device=DEVICE).to(kind)
          for kind in (torch.float64, torch.float32, torch.float16, torch.bfloat16)}
images = torch.randn(16, 64, 56, 56, device=DEVICE, dtype=torch.bfloat16).to(memory_format=torch.channels_last)
filters = torch.randn(64, 64, 3, 3, device=DEVICE, dtype=torch.bfloat16).to(memory_format=torch.channels_last)
heads = torch.randn(8, 12, 1024, 64, device=DEVICE, dtype=torch.bfloat16)
wide = torch.randn(8192, 4096, device=DEVICE)
other = torch.empty_like(wide)
rows = torch.randint(0, 8192, (8192,), device=DEVICE)
weight = torch.nn.Parameter(torch.zeros(8, device=DEVICE))
optimizer = torch.optim.SGD([weight], lr=0.1)
weight.grad = torch.ones_like(weight)


def step():
    for kind, matrix in square.items():
        torch.backends.cuda.matmul.allow_tf32 = False
        matrix @ matrix
    torch.backends.cuda.matmul.allow_tf32 = True
    square[torch.float32] @ square[torch.float32]
    torch.nn.functional.conv2d(images, filters, padding=1)
    torch.nn.functional.scaled_dot_product_attention(heads, heads, heads, is_causal=True)
    torch.softmax(wide, dim=1)
    torch.add(wide, wide, out=other)
    torch.nn.functional.gelu(wide)
    wide.sum(dim=1)
    torch.nn.functional.layer_norm(wide, (4096,))
    torch.index_select(wide, 0, rows, out=other)
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    for which in range(6):
        library.launch_counted(which, wide.data_ptr(), other.data_ptr(), 8192, 4096, stream)
    optimizer.step()
    torch.cuda.synchronize()


done = 0
while steps is None or done < steps:
    step()
    done += 1
