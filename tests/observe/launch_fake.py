"""Launches the same eight kernels again and again on the fake CUDA for the seconds that are its argument: a program that
marks nothing."""
import ctypes
import sys
import time

cuda = ctypes.CDLL("libcuda.so.1")
cuda.cuInit(0)
kernels = [b"kernel_%d" % i for i in range(8)]  # which the fake CUDA does not copy
end = time.time() + float(sys.argv[1])
while time.time() < end:
    for kernel in kernels:
        cuda.fake_runtime_launch(kernel)
    cuda.fake_synchronize()
    time.sleep(0.003)
print("launched")
