class Module:
    def _call_impl(self, *args):
        return self.forward(*args)

    __call__ = _call_impl

    def children(self):
        return [value for value in vars(self).values() if isinstance(value, Module)]

    def train(self, mode=True):
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def to(self, device):
        return self

    def cuda(self):
        return self
