"""Which implementation scaled_dot_product_attention takes."""
from . import edits, log, outcomes, outermost, seeds


class CudnnFirst:
    NAME = "sdpa_cudnn"
    on = True

    def hooks(self):
        return {"torch": self.of_torch}

    def of_torch(self, torch):
        prefer = getattr(torch._C, "_set_sdp_priority_order", None)
        backends = getattr(torch.nn.attention, "SDPBackend", None)
        if prefer is None or not hasattr(backends, "CUDNN_ATTENTION"):
            return log.refused(self.NAME, "this PyTorch cannot prefer cuDNN's attention")
        order = [backends.CUDNN_ATTENTION, backends.FLASH_ATTENTION, backends.EFFICIENT_ATTENTION, backends.MATH]
        self.prefer, self.order = prefer, [int(each) for each in order]
        self.before = torch._C._get_sdp_priority_order()
        self.switch(self.on)
        outermost.of_this_process(torch).before_first_call(0, self.NAME, self.before_first_call)
        self.torch = torch

    def before_first_call(self, module, args, kwargs, frame):
        outcomes.applied(self.NAME, "attention runs in cuDNN where that can",
                         edits.after_import("torch", "torch._C._set_sdp_priority_order(%s)" % self.order),
                         **seeds.draws_otherwise(self.torch, module))

    def switch(self, on):
        self.prefer(self.order if on else self.before)
