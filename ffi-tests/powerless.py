#!/usr/bin/env python3
"""Lets the power fail while a program appends to a file, and looks at what the disk has then: see killed_append.c and killed_streams.c.

    scda-forgetful DIR powerless.py DIR LOSSES SEED PROGRAM [LAUNCHER...]

DIR is a file system that forgets what was not synced (../tests/forgetful). LAUNCHER is what starts the program on several ranks
("mpiexec -n 3"). From a random call on that writes, syncs, or changes names, all calls of all ranks fail; then the disk has what was
synced, and any part of the rest. All that was committed must be there, and the next run goes on. If SCDA_COMMAND is the command scda, it
must say valid only of what is right, and its copies replace whole files."""
import os, random, subprocess, sys, time

folder, losses, seed, program, *launcher = sys.argv[1:]
rng = random.Random(int(seed))
scda = os.environ.get("SCDA_COMMAND")
environment = {**os.environ, "SCDA_POWERLESS": "1"}
patience = 240  # seconds: other programs may have the cores
begin = time.time()
count, torn, most_cut, finished, copies, valid = 0, 0, 0, 0, 0, 0
series, copied = (os.path.join(folder, name) for name in ("series.scda", "copied.scda"))


def switch(name, value):
    os.setxattr(folder, "user." + name, str(value).encode())


def calls():
    return int(os.getxattr(folder, "user.calls"))


def sync(name):
    descriptor = os.open(name, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def run(*command):
    return subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=patience, env=environment)


def stop(what, job):
    sys.exit(f"loss {count}, seed {seed}: {what}: status {job.returncode}: {job.stdout}{job.stderr}")


def append(atomic, command=launcher):
    return run(*command, program, "append", folder, 2, int(atomic), 0, 0, 0)


def start_anew():
    """A file with some steps, and how many calls a run makes that appends more."""
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
    for _ in range(2):
        switch("fails_at", 0)
        job = append(False)
        if job.returncode != 0:
            stop("the program does not run", job)
    most = calls()
    for name in os.listdir(folder):
        sync(os.path.join(folder, name))
    sync(folder)
    return most


def lose(what, most, command):
    """Runs a command while the power fails at one of `most` calls, or after it. Tells whether it had ended well before."""
    global count, finished
    count += 1
    at = rng.randrange(1, most + 2) if rng.randrange(2) else most + 1 - rng.randrange(min(most, 5))
    switch("fails_at", at)
    job = command()
    if job.returncode != 0 and calls() < at:
        stop(what, job)
    finished += job.returncode == 0
    switch("forget", rng.randrange(2**63))
    return job.returncode == 0


def check(what):
    global torn, most_cut, valid
    is_valid = scda is not None and run(scda, "check", "--quiet", series).returncode == 0
    job = run(program, "check", folder)
    if job.returncode != 0:
        stop(what, job)
    cut = int(job.stdout.split()[2])
    torn, most_cut, valid = torn + (cut > 0), max(most_cut, cut), valid + is_valid
    if is_valid and cut > 0:
        stop(f"{what}: scda check said valid", job)
    if scda is not None:
        job = run(scda, "check", "--quiet", series)
        if job.returncode != 0:
            stop(f"{what}: not valid after the next run", job)


def copy():
    """The command replaces a file, which has one byte and is on the disk: the name has that or the whole copy."""
    global copies
    command = [scda, "copy", "--force", series, copied]
    switch("fails_at", 0)
    job, most = run(*command), calls()
    if job.returncode != 0:
        stop("copy", job)
    with open(copied, "wb") as file:
        file.write(b"x")
        file.flush()
        os.fsync(file.fileno())
    sync(folder)
    done = lose("copy", most, lambda: run(*command))
    if os.path.getsize(copied) == 1 and not done:
        return
    copies += 1
    job = run(scda, "diff", series, copied)
    if job.returncode != 0:
        stop("the copy is not the file", job)


most = start_anew()
while count < int(losses):
    if count % 10 == 9:  # the file has become long
        most = start_anew()
    atomic = rng.randrange(4) == 0
    lose("append", most, lambda: append(atomic))
    # Else the next job removes, on all its ranks.
    if rng.randrange(2):
        check(f"atomic {atomic}")
    if scda and rng.randrange(4) == 0:
        check("before a copy")
        copy()
check("at the end")
ranks = launcher[-1] if launcher else 1
print(f"{count} losses of power on {ranks} ranks in {time.time() - begin:.0f} s: {torn} times a torn end, of at most {most_cut} bytes, was cut "
      f"off; {finished} runs had ended before")
if scda:
    print(f"scda check said valid {valid} times, and was right; {copies} copies were there")
if torn == 0 and count >= 20:
    sys.exit("no loss of power hit a file that was being appended to")
