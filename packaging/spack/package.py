# SPDX-License-Identifier: MIT OR Apache-2.0
"""The recipe for Spack 1.0 or later. See README.md beside this file."""

import pathlib

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import *


class Scda(CMakePackage):
    """Parallel, serial-equivalent, archival file I/O: the scda format for C, C++, Fortran and Rust.
    Any number of processes write and read one file whose bytes do not depend on that number."""

    # No archive is public yet, hence neither a url nor a checksum, and no public address: Spack clones the repository that
    # this file is a part of.
    git = pathlib.Path(__file__).resolve().parents[2].as_uri()

    license("MIT OR Apache-2.0")

    version("main", branch="main")
    version("0.2.0", tag="v0.2.0")

    # The shared library, the headers and the Fortran module, which is source, are always installed.
    variant("mpi", default=True, description="Build for MPI; the serial library needs none")
    variant("static", default=True, description="Install the static library, too")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cmake@3.21:", type="build")
    depends_on("rust@1.88:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("zlib-api")
    with when("+mpi"):
        depends_on("mpi")

    conflicts("platform=darwin", msg="The shared library needs an ELF linker")
    conflicts("platform=windows", msg="The shared library needs an ELF linker")

    def setup_build_environment(self, env):
        # cargo keeps what it downloads there, and not in the user's home.
        env.set("CARGO_HOME", join_path(self.stage.path, "cargo"))

    def cmake_args(self):
        args = [
            self.define_from_variant("SCDA_MPI", "mpi"),
            self.define_from_variant("SCDA_STATIC", "static"),
            self.define("SCDA_BUNDLED_ZLIB", False),
        ]
        if self.spec.satisfies("+mpi"):
            args.append(self.define("MPI_C_COMPILER", self.spec["mpi"].mpicc))
        return args
