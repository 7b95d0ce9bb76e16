"""The order of dimensions in memory."""
from . import edits, log, outermost, seeds


class ChannelsLast:
    NAME = "channels_last"

    def hooks(self):
        return {"torch": self.of_torch}

    def of_torch(self, torch):
        self.torch = torch
        outermost.of_this_process(torch).before_first_call(10, self.NAME, self.before_first_call)

    def before_first_call(self, module, args, kwargs, frame):
        nn, last = self.torch.nn, self.torch.channels_last
        convolutions = [each for each in module.modules() if isinstance(each, (nn.Conv2d, nn.ConvTranspose2d))]
        if not convolutions:
            return log.refused(self.NAME, "the model has no convolution in two dimensions")
        if all(each.weight.is_contiguous(memory_format=last) and not each.weight.is_contiguous() for each in convolutions):
            return log.refused(self.NAME, "the model's convolutions are in channels_last already")
        module.to(memory_format=last)
        edit = edits.is_in_users_code(frame) and edits.before_loop(
            frame, "{model} = {model}.to(memory_format=torch.channels_last)")
        log.applied(self.NAME, "convolutions keep the channels of a position together", edit or None,
                    **seeds.draws_otherwise(self.torch, module))
