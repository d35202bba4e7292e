#!/usr/bin/env python3
"""Kills a program that appends to a file, and looks at what is left: see killed_append.c and killed_streams.c.

    killed_append.py DIR KILLS SEED DRIVER PROGRAM [LAUNCHER...]

KILLS is how often, at random calls of the system and at random moments, in place and atomically; or "all": before each call of the
system in turn, and in the middle of each that writes. LAUNCHER is what starts the program on several ranks ("mpiexec -n 3"). After each
kill everything that was committed must be there, all that can be read must be right, and the next run goes on. If SCDA_COMMAND is the
command scda, it also salvages what killed_streams was writing, which must be right, too."""
import glob, os, random, re, shutil, subprocess, sys, time

from processes import kill, lives, pids

folder, kills, seed, driver, program, *launcher = sys.argv[1:]
rng = random.Random(int(seed))
ranks = int(launcher[-1]) if launcher else 1
patience = 240  # seconds: other programs may have the cores
begin = time.time()
count, cuts, most_cut, alone, finished = 0, 0, 0, 0, 0
scda = os.environ.get("SCDA_COMMAND") if os.path.basename(program) == "killed_streams" else None
saved, most_saved = 0, 0


def run(*arguments, launched=True, wait=True):
    # Open MPI's MPI-IO waits for ever for a semaphore that a killed job has left.
    for name in glob.glob("/dev/shm/sem.OMPIO_series.scda*"):
        os.remove(name)
    job = subprocess.Popen((launcher if launched else []) + [program, *map(str, arguments)], stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    if not wait:
        return job
    try:
        out, errors = job.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        sys.exit(f"kill {count}: still runs after {patience} seconds: {arguments}")
    return job.returncode, out, errors


def start_anew():
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    status, _, errors = run("append", folder, driver, 0, 0, 0, 0)
    if status != 0:
        sys.exit(f"the program does not run: {errors}")


def note(cut):
    global cuts, most_cut
    cuts, most_cut = cuts + (cut > 0), max(most_cut, cut)


def append(atomic, call, how, rank, moment=None):
    """Runs the program, which is killed; tells whether it was."""
    for name in glob.glob(os.path.join(folder, "pid.*")):
        os.remove(name)
    job = run("append", folder, driver, atomic, call, how, rank, wait=False)
    if moment is not None:
        started = time.time()
        while len(pids(folder, ranks)) < ranks and job.poll() is None and time.time() < started + patience:
            time.sleep(0.002)
        time.sleep(moment)
        victims = pids(folder, ranks)
        for pid in victims if rank < 0 else victims[rank:rank + 1]:
            kill(pid)
    started = time.time()
    while True:
        try:
            out, errors = job.communicate(timeout=60)
            break
        except subprocess.TimeoutExpired:
            if not any(map(lives, pids(folder, ranks))):
                kill(job.pid)  # Open MPI's mpiexec, whose ranks are all dead
            elif time.time() > started + patience:
                sys.exit(f"kill {count}: the other ranks still run after {patience} seconds")
    for pid in pids(folder, ranks):
        kill(pid)
    while any(map(lives, pids(folder, ranks))):
        time.sleep(0.002)
    for line in out.splitlines():
        if line.startswith("cut "):
            note(int(line.split()[1]))
    if os.path.basename(program) + ".c:" in errors:
        sys.exit(f"kill {count}: driver {driver}, atomic {atomic}, call {call}, how {how}, rank {rank}: {errors}")
    return job.returncode != 0


def last_part():
    """The number of the part that the last streams in the file are, by the block before them; 0 if that is removed."""
    with open(os.path.join(folder, "series.scda"), "rb") as file:
        data = file.read()
    block = data[data.rfind(b"B scda streams 00 "):]
    return int((re.search(rb"\nK (\d+) -", block[:400]) or [0, 0])[1])


def salvage(words):
    global saved, most_saved
    files = [os.path.join(folder, name) for name in ("series.scda", "saved.scda")]
    call = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": patience}
    if subprocess.run([scda, "check", "--quiet", files[0]], **call).returncode == 0:
        return  # There is no torn end.
    made = subprocess.run([scda, "salvage", "--force", *files], **call)
    status, out, errors = run("saved", folder, last_part(), launched=False) if made.returncode == 0 else (made.returncode, "", made.stderr)
    if status != 0:
        sys.exit(f"kill {count}: {words}: salvage: {errors}")
    saved, most_saved = saved + (int(out) > 0), max(most_saved, int(out))


def check(words):
    """What is left; the next run may be the first that looks, on all ranks."""
    if scda:
        salvage(words)
    status, out, errors = run("check", folder, launched=False)
    if status != 0:
        sys.exit(f"kill {count}: {words}: {errors}")
    note(int(out.split()[2]))


if kills == "all":
    for atomic in 0, 1:
        for how in 0, 1:
            call = 0
            while True:
                call += 1
                start_anew()
                if not append(atomic, call, how, -1):
                    break
                count += 1
                check(f"atomic {atomic}, call {call}, how {how}")
else:
    start_anew()
    # A run that ended before its kill shows that there are fewer calls, or that it takes less time.
    most_calls, most_time = 150, 0.3
    while count < int(kills) and finished <= 3 * int(kills) + 20:
        if (count + finished) % 50 == 49:  # the file has become long
            start_anew()
        atomic, how = rng.randrange(2) if rng.randrange(4) == 0 else 0, rng.randrange(2)
        rank = rng.choice([-1, rng.randrange(ranks)])
        if rng.randrange(2):
            moment = rng.uniform(0, most_time)
            was_killed = append(atomic, 0, 0, rank, moment)
            most_time = most_time if was_killed else max(moment, 0.01)
        else:
            call = rng.randrange(1, most_calls)
            was_killed = append(atomic, call, how, rank)
            most_calls = most_calls if was_killed else max(call, 10)
        count += was_killed
        finished += not was_killed
        alone += was_killed and rank >= 0 and ranks > 1
        # Else the next job removes, on all its ranks.
        if rng.randrange(2):
            check(f"atomic {atomic}, how {how}, rank {rank}")
    check("at the end")
print(f"{count} kills, {alone} of one rank alone, on {ranks} ranks in {time.time() - begin:.0f} s: {cuts} times a torn end, "
      f"of at most {most_cut} bytes, was removed; {finished} runs had ended before")
if scda:
    print(f"{saved} times streams were salvaged that had not been ended, of at most {most_saved} bytes")
    if saved == 0 and count >= 40:
        sys.exit("no streams were salvaged")
if kills != "all" and count < int(kills) or cuts == 0 and count >= 40:
    sys.exit("too few kills hit a file that was being appended to")
