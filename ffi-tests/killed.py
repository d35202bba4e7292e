#!/usr/bin/env python3
"""Kills a program that writes checkpoints, at random moments, and looks at what is left under the name.

    killed.py DIR KILLS SEED DRIVER PROGRAM [LAUNCHER...]

LAUNCHER is what starts the program on several ranks ("mpiexec -n 3"). After each kill, of one rank or of all of them,
the file must be one whole checkpoint, no older than the one before; beside it there may be one file whose name ends in
".scda-part", which the next run replaces, and with Open MPI's MPI-IO what it creates to test locks. With
DRIVER 3 or 4 the file is written in place: what can be read of it must be right, up to where it ends."""
import glob, os, random, re, shutil, subprocess, sys, time

from processes import kill, lives, pids

folder, kills, seed, driver, program, *launcher = sys.argv[1:]
rng = random.Random(int(seed))
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
state = os.path.join(folder, "state.scda")
ranks = int(launcher[-1]) if launcher else 1
in_place, sections = int(driver) > 2, 1 + 3 * 6


patience = 240  # seconds: other programs may have the cores
last, alone, parts, news = 0, 0, 0, 0
begin = time.time()
for number in range(int(kills)):
    for rank in range(ranks):
        if os.path.exists(os.path.join(folder, f"pid.{rank}")):
            os.remove(os.path.join(folder, f"pid.{rank}"))
    # Open MPI's MPI-IO waits for ever for a semaphore that a killed job has left.
    for name in glob.glob("/dev/shm/sem.OMPIO_state.scda*"):
        os.remove(name)
    started = time.time()
    job = subprocess.Popen(launcher + [program, "write", folder, driver], stdin=subprocess.DEVNULL,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    while len(pids(folder, ranks)) < ranks or not os.path.exists(state):
        time.sleep(0.005)
        if job.poll() is not None or time.time() > started + patience:
            sys.exit(f"kill {number}: the program does not run (status {job.poll()})")
    time.sleep(rng.uniform(0, 0.15))
    victims = pids(folder, ranks)
    rng.shuffle(victims)
    if rng.random() < 0.5 or ranks == 1:  # the whole job
        for pid in [job.pid] + victims:
            kill(pid)
    else:  # one rank; the launcher ends the others
        alone += 1
        kill(victims[0])
    try:
        job.wait(patience)
    except subprocess.TimeoutExpired:
        sys.exit(f"kill {number}: the other ranks still run after {patience} seconds")
    for pid in victims:  # a launcher that was killed may leave some
        kill(pid)
    while any(map(lives, victims)):
        time.sleep(0.005)
    if in_place:
        result = subprocess.run([program, "left", folder], capture_output=True, text=True, timeout=patience)
        if result.returncode != 0:
            sys.exit(f"kill {number}: {result.stdout}{result.stderr}")
        last = max(last, int(result.stdout))
        parts += int(result.stdout) < sections
        continue
    left = sorted(name for name in os.listdir(folder) if not name.startswith("pid."))
    left = [name for name in left if not (launcher and re.fullmatch(r"state\.scda(\.scda-part)?\.locktest\.\d+", name))]
    if left not in (["state.scda"], ["state.scda", "state.scda.scda-part"]):
        sys.exit(f"kill {number}: found {left}")
    parts += len(left) == 2
    result = subprocess.run([program, "check", folder], capture_output=True, text=True, timeout=patience)
    if result.returncode != 0 or int(result.stdout) < last:
        sys.exit(f"kill {number}: after checkpoint {last} found {result.stdout}{result.stderr}")
    news += int(result.stdout) > last
    last = int(result.stdout)
if in_place:
    print(f"{kills} kills, {alone} of one rank alone, on {ranks} ranks in {time.time() - begin:.0f} s: {parts} incomplete files, "
          f"of which all that could be read was right; at most {last} sections")
    sys.exit("no kill hit a file that was being written" if parts == 0 and int(kills) >= 20 else 0)
print(f"{kills} kills, {alone} of one rank alone, on {ranks} ranks in {time.time() - begin:.0f} s: checkpoint {last}, "
      f"{news} times a newer one than at the kill before, {parts} times an incomplete one beside it")
if last == 0 or parts == 0 and int(kills) >= 20:
    sys.exit("no kill hit a checkpoint that was being written")
