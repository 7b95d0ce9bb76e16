_hooks = []


def register_optimizer_step_post_hook(hook):
    _hooks.append(hook)


class Optimizer:
    def step(self):
        self.update()
        for hook in _hooks:
            hook(self, (), {})


class SGD(Optimizer):
    def update(self):
        from torch import operator
        operator("aten::add_", 0.0005)
