"""CUDA graphs: which operator a kernel of a replay belongs to can be learnt only while the graph is captured, which is
before anything is recorded in most programs."""
from . import library


def of_torch(module):
    """torch.cuda.graphs. Capturing is rare: what CUPTI costs meanwhile is no part of a step."""
    graph = module.CUDAGraph
    begin, end, instantiate_later = graph.capture_begin, graph.capture_end, getattr(graph, "instantiate", None)

    def capture_begin(self, *args, **kwargs):
        library.capture_begins()
        try:
            return begin(self, *args, **kwargs)
        except BaseException:
            library.capture_ends()
            raise

    def capture_end(self, *args, **kwargs):
        try:
            return end(self, *args, **kwargs)
        finally:
            library.capture_ends()

    def instantiate(self):
        library.capture_begins()
        try:
            return instantiate_later(self)
        finally:
            library.capture_ends()

    graph.capture_begin, graph.capture_end = capture_begin, capture_end
    if instantiate_later is not None:
        graph.instantiate = instantiate
