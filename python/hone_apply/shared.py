"""Modules of the package hone_observe, which stands beside this one and may be there already under another name."""
import os
from importlib.util import module_from_spec, spec_from_file_location


def of_observe(name):
    path = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "hone_observe", name + ".py")
    spec = spec_from_file_location("_hone_apply._" + name, path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
