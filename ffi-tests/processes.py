"""The processes of a program that is killed: each of its ranks has written its number to the file pid.RANK."""
import os, signal


def pids(folder, ranks):
    """Those that have written theirs."""
    found = []
    for rank in range(ranks):
        try:
            with open(os.path.join(folder, f"pid.{rank}")) as file:
                found.append(int(file.read()))
        except (OSError, ValueError):
            pass
    return found


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def lives(pid):
    """Whether a process still has files, and with them the lock. Its program is gone before them; its last thread is a zombie after them."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
        with open(f"/proc/{pid}/stat") as file:
            state = file.read().rpartition(") ")[2][0]
    except OSError:
        return False
    return len(threads) > 1 or state not in "ZX"
