def synchronize(device=None):
    return "waited"
