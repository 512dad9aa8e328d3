# Copyright Spack Project Developers. See COPYRIGHT file for details.
#
# SPDX-License-Identifier: (Apache-2.0 OR MIT)

import json
import os

from spack_repo.builtin.build_systems.cmake import CMakeBuilder, CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Pptrain(CMakePackage, CudaPackage):
    """pptrain trains neural networks on mixed clusters: it measures how fast each
    kind of layer runs on each kind of device, works out how to divide model and
    batch (data, pipeline and tensor parallelism), and runs the result over MPI."""

    tags = ["machine-learning", "hpc", "mpi"]

    # The clone that this recipe lies in.
    git = "file://" + os.path.realpath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))

    # maintainers(...): GitHub accounts, once the project has a public address.
    license("Apache-2.0")

    version("main", branch="main")

    variant(
        "blas",
        default="onednn,openblas",
        values=("onednn", "openblas"),
        multi=True,
        description="Libraries that multiply matrices on the host; with both, chosen by shape",
    )
    variant("charts", default=True, description="Draw charts in the pages of pptrain report")
    variant("cudnn", default=True, when="+cuda", description="Attention on GPUs by cuDNN")
    variant("nccl", default=True, when="+cuda", description="Communication between GPUs by NCCL")
    variant("tests", default=False, description="Build the tests")

    generator("ninja")

    depends_on("c", type="build")
    depends_on("cxx", type="build")

    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("mpi")
    depends_on("hdf5@1.10.3:1 +mpi")
    depends_on("kokkos@3.4:5")
    depends_on("onednn@2.5:3 cpu_runtime=omp", when="blas=onednn")
    depends_on("openblas", when="blas=openblas")

    depends_on("cli11@2.1:2")
    depends_on("fmt@9:")
    depends_on("hwloc@2:")
    depends_on("nlohmann-json@3.11:3")
    depends_on("pcre2@10.40:+jit")
    depends_on("random123")
    depends_on("sentencepiece")
    depends_on("spdlog@1.10:1")
    depends_on("tomlplusplus@3.3:3.4")
    depends_on("utf8proc@2.6:")
    depends_on("xxhash")
    depends_on("zlib-api")

    with when("+cuda"):
        depends_on("cuda@12:")
        depends_on("cudnn@9:", when="+cudnn")
        # Kokkos computes on the host, so GPUs are nobody else's matter.
        depends_on("nccl@2.18:", when="+nccl")
        for arch in CudaPackage.cuda_arch_values:
            depends_on(f"nccl cuda_arch={arch}", when=f"+nccl cuda_arch={arch}")

    depends_on("catch2@2.13:3", type="test")
    depends_on("cbc", type="test")
    depends_on("glpk", type="test")
    depends_on("simgrid@3.32:3", type="test")
    with when("+tests"):
        depends_on("catch2@2.13:3", type="build")

    conflicts("cuda_arch=none", when="+cuda", msg="name the GPUs, for instance cuda_arch=90")
    conflicts("%gcc@:11", msg="pptrain is C++20: GCC 12 or later")
    conflicts("platform=darwin", msg="pptrain reads Linux' cgroups and hosts")
    conflicts("platform=windows", msg="pptrain reads Linux' cgroups and hosts")

    resource(
        when="+charts",
        name="d3",
        url="https://registry.npmjs.org/d3/-/d3-7.9.0.tgz",
        sha256="7e36605710a2ba54846797c8c6d888911341b215ae53257dc32a49a0b824355e",
        placement="d3",
    )

    sanity_check_is_file = [
        join_path("bin", "pptrain"),
        join_path("include", "pptrain", "plan", "plan.hpp"),
        join_path("share", "man", "man1", "pptrain.1"),
        join_path("share", "pptrain", "job-scripts", "hetero.slurm"),
    ]

    def cmake_args(self):
        d3 = join_path(self.stage.source_path, "d3", "dist", "d3.min.js")
        args = [
            # Spack's compiler wrapper sets -march from the target.
            self.define("PPTRAIN_ARCH", ""),
            # Whether compilations are cached is Spack's choice (config:ccache).
            self.define("PPTRAIN_CCACHE", "OFF"),
            self.define("BUILD_TESTING", self.run_tests or self.spec.satisfies("+tests")),
            self.define("PPTRAIN_D3", d3 if self.spec.satisfies("+charts") else "OFF"),
            self.define_from_variant("PPTRAIN_BLAS", "blas"),
            self.define_from_variant("PPTRAIN_CUDA", "cuda"),
        ]
        if self.spec.satisfies("+cuda"):
            args.append(self.define_from_variant("PPTRAIN_CUDNN", "cudnn"))
            args.append(self.define_from_variant("PPTRAIN_NCCL", "nccl"))
            args.append(CMakeBuilder.define_cuda_architectures(self))
        return args

    def test_version(self):
        """the program starts and says what was built in"""
        pptrain = which(self.prefix.bin.pptrain)
        output = pptrain("--version", output=str.split, error=str.split)
        assert output.startswith("pptrain ")
        if self.spec.satisfies("+cuda"):
            assert "CUDA" in output

    def test_plan(self):
        """an installed job is planned, and the plan simulated"""
        pptrain = which(self.prefix.bin.pptrain)
        inputs = self.prefix.share.pptrain.inputs
        job = join_path(inputs, "papers", "dapple-bert-48.toml")
        pptrain("plan", job, "--planner", "dapple", "-o", "plan.json")
        output = pptrain("simulate", job, "--plan", "plan.json", "--format", "json", output=str)
        assert json.loads(output)["makespan_seconds"] > 0
