"""torch.compile of the models that the program calls."""
from . import edits, log, outcomes, outermost, seeds


class Compile:
    NAME = "compile"
    MODE = None
    on = True

    def __init__(self):
        self.compiled = []  # (module, what its calls go to)

    def hooks(self):
        return {"torch": self.of_torch}

    def of_torch(self, torch):
        self.torch = torch
        outermost.of_this_process(torch).before_first_call(30, self.NAME, self.before_first_call)

    def before_first_call(self, module, args, kwargs, frame):
        frames = getattr(self.torch._dynamo.utils, "counters", {}).get("frames", {})
        if type(module).__name__ == "OptimizedModule" or frames.get("total", 0) > 0:
            return log.refused(self.NAME, "the program compiles already")
        before = module._compiled_call_impl
        module.compile(**({} if self.MODE is None else {"mode": self.MODE}))
        self.compiled.append((module, module._compiled_call_impl))
        if not self.on:
            module._compiled_call_impl = before  # nothing is compiled before it is called
        arguments = "" if self.MODE is None else 'mode="%s"' % self.MODE
        line = "{model}.compile(%s)" % arguments
        outcomes.applied(self.NAME, "%s is compiled" % type(module).__name__, edits.before_loop(frame, line), **seeds.draws_otherwise(self.torch, module))

    def switch(self, on):
        """What has been compiled is kept: it is called or not."""
        self.on = on
        for module, compiled in self.compiled:
            module._compiled_call_impl = compiled if on else None


class CompileReduceOverhead(Compile):
    NAME = "compile_reduce_overhead"
    MODE = "reduce-overhead"


class CompileMaxAutotune(Compile):
    NAME = "compile_max_autotune"
    MODE = "max-autotune"
