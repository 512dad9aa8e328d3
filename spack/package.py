# Copyright Spack Project Developers. See COPYRIGHT file for details.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Pptrain(CMakePackage):
    """pptrain trains neural networks on mixed clusters: it measures how fast each
    kind of layer runs on each kind of device, works out how to divide model and
    batch (data, pipeline and tensor parallelism), and runs the result over MPI."""

    license("Apache-2.0")

    version("main", branch="main")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build")

    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("mpi")
    depends_on("hdf5@1.10: +mpi")
    depends_on("kokkos@3.4:5")
    depends_on("onednn@2.5:2 cpu_runtime=omp")
    depends_on("openblas")

    depends_on("cli11@2.1:2")
    depends_on("fmt@9:")
    depends_on("hwloc@2:")
    depends_on("nlohmann-json@3.11:3")
    depends_on("random123")
    depends_on("sentencepiece")
    depends_on("spdlog@1.10:")
    depends_on("tomlplusplus@3.3:3.4")
    depends_on("xxhash")

    depends_on("catch2@2.13:3", type="test")
    depends_on("cbc", type="test")
    depends_on("glpk", type="test")
    depends_on("simgrid@3.32:", type="test")

    def cmake_args(self):
        # Spack's compiler wrapper sets -march from the target.
        return [
            self.define("BUILD_TESTING", self.run_tests),
            self.define("PPTRAIN_ARCH", ""),
        ]

    def test_version(self):
        """The program starts and prints its version."""
        pptrain = which(self.prefix.bin.pptrain)
        pptrain("--version")
