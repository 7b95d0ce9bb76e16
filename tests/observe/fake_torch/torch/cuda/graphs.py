class CUDAGraph:
    def __init__(self):
        self.calls = []

    def capture_begin(self, pool=None, capture_error_mode="global"):
        self.calls.append(("begin", pool))

    def capture_end(self):
        self.calls.append("end")

    def instantiate(self):
        self.calls.append("instantiate")
