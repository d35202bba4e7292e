"""A small case of PyFR: a vortex in a periodic square of triangles and quadrilaterals.

pyfr_case.py FOLDER                 writes its mesh and configuration
pyfr_case.py FOLDER RESTARTED       compares what the plug-in scda wrote there with what PyFR's writer did, and with a restart
"""

import sys
from pathlib import Path

N, LENGTH = 12, 20.0
folder = Path(sys.argv[1])

if len(sys.argv) > 2:
    import h5py
    import numpy as np
    import scda

    def same(path, other, close=0.0):
        with h5py.File(path) as a, h5py.File(other) as b:
            names = [], []
            for file, found in zip((a, b), names):
                file.visititems(lambda name, one: found.append(name) if isinstance(one, h5py.Dataset) else None)
                found[:] = sorted(name for name in found if not name.startswith(("config", "stats")))
            assert names[0] == names[1], names
            for name in names[0]:
                if close and name.endswith("-parts"):
                    continue
                x, y = a[name][()], b[name][()]
                assert a[name].dtype.kind == b[name].dtype.kind and a[name].shape == b[name].shape, name
                assert np.allclose(x, y, rtol=0, atol=close) if a[name].dtype.kind == "f" else np.array_equal(x, y), name

    for time in ("0.00", "0.20", "0.40"):
        same(folder / f"scda-{time}.pyfrs", folder / f"pyfr-{time}.pyfrs")
        scda.verify(folder / f"scda-{time}.pyfrs")
    same(folder / "scda-0.40.pyfrs", Path(sys.argv[2]) / "scda-0.40.pyfrs", 1e-11)
    print("the files of both writers are equal, and so is the end after a restart")
    sys.exit()

nodes, elements = [], []
for j in range(N + 1):
    nodes += [(LENGTH * (i / N - 0.5), LENGTH * (j / N - 0.5)) for i in range(N + 1)]


def add(kind, tag, *corners):
    elements.append((kind, tag, corners))


for j in range(N):
    for i in range(N):
        a = j * (N + 1) + i + 1
        if i < N // 2:
            add(3, 1, a, a + 1, a + N + 2, a + N + 1)
        else:
            add(2, 1, a, a + 1, a + N + 2)
            add(2, 1, a, a + N + 2, a + N + 1)
for i in range(N):
    add(1, 2, i + 1, i + 2)
    add(1, 3, N * (N + 1) + i + 1, N * (N + 1) + i + 2)
    add(1, 4, i * (N + 1) + 1, (i + 1) * (N + 1) + 1)
    add(1, 5, i * (N + 1) + N + 1, (i + 1) * (N + 1) + N + 1)

names = [(2, 1, "fluid"), (1, 2, "periodic_0_l"), (1, 3, "periodic_0_r"), (1, 4, "periodic_1_l"), (1, 5, "periodic_1_r")]
lines = ["$MeshFormat", "2.2 0 8", "$EndMeshFormat", "$PhysicalNames", str(len(names)), *(f'{d} {n} "{name}"' for d, n, name in names)]
lines += ["$EndPhysicalNames", "$Nodes", str(len(nodes)), *(f"{n} {x!r} {y!r} 0" for n, (x, y) in enumerate(nodes, 1)), "$EndNodes"]
lines += ["$Elements", str(len(elements)), *(f"{n} {kind} 2 {tag} {tag} {' '.join(map(str, c))}" for n, (kind, tag, c) in enumerate(elements, 1))]
(folder / "case.msh").write_text("\n".join([*lines, "$EndElements", ""]))
(folder / "case.ini").write_text("""
[backend]
precision = double

[backend-openmp]
cc = gcc

[constants]
gamma = 1.4
S = 13.5
M = 0.4
R = 1.5

[solver]
system = euler
order = 3

[solver-time-integrator]
formulation = std
scheme = rk4
controller = none
tstart = 0
tend = 0.4
dt = 0.02

[solver-interfaces]
riemann-solver = rusanov

[solver-interfaces-line]
flux-pts = gauss-legendre

[solver-elements-tri]
soln-pts = williams-shunn

[solver-elements-quad]
soln-pts = gauss-legendre

[soln-ics]
rho = pow(1 - S*S*M*M*(gamma - 1)*exp((1 - x*x - y*y)/(R*R))/(8*3.14159265358979*3.14159265358979), 1/(gamma - 1))
u = S*y*exp((1 - x*x - y*y)/(2*R*R))/(2*3.14159265358979*R)
v = 1 - S*x*exp((1 - x*x - y*y)/(2*R*R))/(2*3.14159265358979*R)
p = pow(1 - S*S*M*M*(gamma - 1)*exp((1 - x*x - y*y)/(R*R))/(8*3.14159265358979*3.14159265358979), gamma/(gamma - 1))/(gamma*M*M)

[soln-plugin-writer]
basename = pyfr-{t:.2f}
dt-out = 0.2

[soln-plugin-scda]
basename = scda-{t:.2f}
dt-out = 0.2
""")
