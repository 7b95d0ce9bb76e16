"""How many CPUs this process may use, and on how many cores these are."""
import os


def usable():
    """(CPUs, cores): those that it may run on, and no more than its group gets time for."""
    allowed = os.sched_getaffinity(0)
    most = _quota()
    return min(len(allowed), most), min(len(_cores(allowed)), most)


def cores():
    """Of those CPUs that this process may run on."""
    return len(_cores(os.sched_getaffinity(0)))


def _cores(cpus):
    seen = set()
    for cpu in cpus:
        try:
            with open("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list" % cpu, encoding="ascii") as file:
                seen.add(file.read())
        except OSError:
            seen.add(str(cpu))
    return seen


def _quota():
    """CPUs' worth of time that the control group of this process gets (cgroup v2), as a container's is limited."""
    try:
        with open("/sys/fs/cgroup/cpu.max", encoding="ascii") as file:
            quota, period = file.read().split()
        return max(1, -(-int(quota) // int(period)))
    except (OSError, ValueError):
        return 1 << 20  # "max", or no such file
