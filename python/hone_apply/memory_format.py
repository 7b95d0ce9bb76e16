"""The order of dimensions in memory."""
import weakref

from . import edits, log, outcomes, outermost, seeds


class ChannelsLast:
    NAME = "channels_last"
    on = True

    def __init__(self):
        self.models = weakref.WeakSet()
        self.optimizers = weakref.WeakSet()  # that have stepped

    def hooks(self):
        return {"torch": self.of_torch, "torch.optim.optimizer": self.of_optimizers}

    def of_torch(self, torch):
        self.torch = torch
        outermost.of_this_process(torch).before_first_call(10, self.NAME, self.before_first_call)

    def of_optimizers(self, module):
        module.register_optimizer_step_post_hook(lambda optimizer, args, kwargs: self.optimizers.add(optimizer))

    def before_first_call(self, module, args, kwargs, frame):
        nn, last = self.torch.nn, self.torch.channels_last
        convolutions = [each for each in module.modules() if isinstance(each, (nn.Conv2d, nn.ConvTranspose2d))]
        if not convolutions:
            return log.refused(self.NAME, "the model has no convolution in two dimensions")
        if all(each.weight.is_contiguous(memory_format=last) and not each.weight.is_contiguous() for each in convolutions):
            return log.refused(self.NAME, "the model's convolutions are in channels_last already")
        self.models.add(module)
        if self.on:
            module.to(memory_format=last)
        line = "{model} = {model}.to(memory_format=torch.channels_last)"
        outcomes.applied(self.NAME, "convolutions keep the channels of a position together", edits.before_loop(frame, line), **seeds.draws_otherwise(self.torch, module))

    def switch(self, on):
        """The optimizer's moments go with their parameters: it would be slow if they lay in different orders."""
        self.on = on
        order = self.torch.channels_last if on else self.torch.contiguous_format
        for model in self.models:
            model.to(memory_format=order)
        for optimizer in self.optimizers:
            for state in optimizer.state.values():
                for name, value in state.items():
                    if getattr(value, "ndim", 0) == 4:
                        state[name] = value.contiguous(memory_format=order)
