#!/usr/bin/env python3
"""Holds the Spack recipe to CMakeLists.txt, without Spack: a stand-in for Spack's language records what it says. The recipes of
cmake/packaging are held to it too, as far as they can be read here.

Usage: recipe_test.py SOURCE PPTRAIN
"""

import importlib.util
import itertools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path

source = Path(sys.argv[1]).resolve()
pptrain = Path(sys.argv[2]).resolve()
path = source / "spack" / "packages" / "pptrain" / "package.py"

# What CMake looks for: the Spack package that has it.
PROVIDERS = {
    "fmt": "fmt", "spdlog": "spdlog", "nlohmann_json": "nlohmann-json", "tomlplusplus": "tomlplusplus",
    "Random123/philox.h": "random123", "CLI11": "cli11", "MPI": "mpi", "HDF5": "hdf5", "Kokkos": "kokkos",
    "PkgConfig": "pkgconfig", "hwloc": "hwloc", "libxxhash": "xxhash", "sentencepiece": "sentencepiece", "sentencepiece_train": "sentencepiece",
    "ZLIB": "zlib-api", "libpcre2-8": "pcre2", "libutf8proc": "utf8proc",
    "dnnl": "onednn", "openblas": "openblas", "CUDAToolkit": "cuda", "NCCL": "nccl", "cuDNN": "cudnn",
    "Catch2": "catch2", "glpk": "glpk", "CbcSolver": "cbc", "simgrid": "simgrid", "d3.min.js": "d3",
}
# The names of other package managers for what a build without tests, charts and GPUs needs of these.
CONDA = {"nlohmann-json": "nlohmann_json", "mpi": "openmpi", "pkgconfig": "pkg-config", "hwloc": "libhwloc", "zlib-api": "zlib",
         "utf8proc": "libutf8proc"}
EASYBUILD = {"hdf5": "HDF5", "kokkos": "Kokkos", "onednn": "oneDNN", "cli11": "CLI11", "nlohmann-json": "nlohmann_json", "xxhash": "xxHash",
             "zlib-api": "zlib", "sentencepiece": "SentencePiece", "pcre2": "PCRE2", "pkgconfig": "pkgconf"}
FOSS = {"mpi", "openblas", "hwloc"}  # the toolchain's own
OPTIONAL = {"cuda", "nccl", "cudnn", "catch2", "glpk", "cbc", "simgrid", "d3"}
# Found without a package of their own: the compiler's, or of tests that are left out without them.
ELSEWHERE = {"Threads", "OpenMP", "Python3", "benchmark", "pptrain"}


class Directives(dict):
    """Names of Spack's language; each use is recorded with the condition of the `with when(...)` around it."""

    def __init__(self):
        super().__init__()
        self.uses = []
        self.conditions = []
        for name in ("license", "version", "variant", "depends_on", "conflicts", "resource", "generator", "maintainers",
                     "requires", "patch"):
            self[name] = self.recorder(name)
        self["when"] = self.when
        self["join_path"] = lambda *parts: os.path.join(*[str(p) for p in parts])
        self["which"] = lambda *names: Executable(str(names[0]))

    def recorder(self, name):
        def record(*arguments, **keywords):
            conditions = self.conditions + [keywords.pop("when")] if "when" in keywords else list(self.conditions)
            self.uses.append((name, arguments, keywords, " ".join(conditions)))
        return record

    def when(self, condition):
        directives = self

        class Block:
            def __enter__(self):
                directives.conditions.append(condition)

            def __exit__(self, *_):
                directives.conditions.pop()
        return Block()

    def of(self, name):
        return [use[1:] for use in self.uses if use[0] == name]


class Executable:
    def __init__(self, command):
        self.command = command

    def __call__(self, *arguments, **_):
        done = subprocess.run([self.command, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return done.stdout


class CMakePackage:
    def define(self, name, value):
        if isinstance(value, bool):
            value = "ON" if value else "OFF"
        return "-D{}={}".format(name, value)

    def define_from_variant(self, name, variant):
        return self.define(name, self.spec.variants[variant])


class CudaPackage:
    cuda_arch_values = ("80", "90")


class CMakeBuilder:
    @staticmethod
    def define_cuda_architectures(package):
        return package.define("CMAKE_CUDA_ARCHITECTURES", package.spec.variants["cuda_arch"])


class Spec:
    def __init__(self, **variants):
        self.variants = variants

    def satisfies(self, condition):
        return self.variants[condition[1:]] == (condition[0] == "+")


def load_recipe():
    """The class, and what it says."""
    directives = Directives()
    language = types.ModuleType("spack.package")
    language.__dict__.update(directives)
    language.__all__ = list(directives)
    systems = "spack_repo.builtin.build_systems"
    for name in ("spack", "spack_repo", "spack_repo.builtin", systems):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["spack.package"] = language
    for name, members in (("cmake", (CMakePackage, CMakeBuilder)), ("cuda", (CudaPackage,))):
        module = types.ModuleType(systems + "." + name)
        module.__dict__.update({member.__name__: member for member in members})
        sys.modules[module.__name__] = module
    spec = importlib.util.spec_from_file_location("pptrain_recipe", str(path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Pptrain, directives


Pptrain, said = load_recipe()
cmake_files = [source / "CMakeLists.txt", source / "src/CMakeLists.txt", source / "tests/CMakeLists.txt",
               *sorted((source / "cmake").glob("*.cmake"))]
cmake_text = "\n".join(file.read_text(encoding="utf-8") for file in cmake_files)


def looked_for():
    """What CMake's files look for, by the names they give it."""
    wanted = set(re.findall(r"find_package\((\w+)", cmake_text))
    wanted |= {file.stem[len("Find"):] for file in (source / "cmake").glob("Find*.cmake")}
    wanted |= {re.split("[<>=]", line.split()[-1])[0] for line in re.findall(r"pkg_check_modules\(([^)]*)\)", cmake_text)}
    wanted |= set(re.findall(r"find_library\(PPTRAIN_\w+ (\w+)", cmake_text))
    wanted |= set(re.findall(r"find_file\(PPTRAIN_\w+ (\S+)", cmake_text))
    wanted |= set(re.findall(r"find_path\(RANDOM123_INCLUDE (\S+)", cmake_text))
    wanted |= set(re.findall(r"pptrain_peer_test\(\w+ \S+ (\w+) \S+ \"", cmake_text))
    return wanted


class Recipe(unittest.TestCase):
    def dependency(self, name):
        return [use for use in said.of("depends_on") if re.split(r"[@ +~]", use[0][0])[0] == name]

    def test_is_what_the_repository_names(self):
        link = source / "spack" / "package.py"
        self.assertTrue(link.is_symlink())
        self.assertEqual(link.resolve(), path)
        self.assertIn("namespace: pptrain", (source / "spack" / "repo.yaml").read_text(encoding="utf-8"))

    def test_follows_the_style(self):
        lines = path.read_text(encoding="utf-8").splitlines()
        self.assertTrue(lines[2].startswith("# SPDX-License-Identifier:"))
        self.assertEqual([line for line in lines if len(line) > 99], [])
        self.assertEqual(said.of("license")[0][0], ("Apache-2.0",))
        self.assertIn("Apache License", (source / "LICENSE").read_text(encoding="utf-8"))

    def test_variants_are_described(self):
        variants = {arguments[0]: keywords for arguments, keywords, _ in said.of("variant")}
        self.assertEqual(set(variants), {"blas", "charts", "cudnn", "nccl", "tests"})
        for keywords in variants.values():
            self.assertTrue(keywords["description"])
        for arguments, keywords, _ in said.of("conflicts"):
            self.assertTrue(keywords["msg"], arguments)

    def test_everything_that_cmake_looks_for_is_there(self):
        wanted = looked_for()
        self.assertGreaterEqual(len(wanted), 20)
        given = {re.split(r"[@ +~]", arguments[0])[0] for arguments, _, _ in said.of("depends_on")}
        given |= {keywords["name"] for _, keywords, _ in said.of("resource")}
        for name in sorted(wanted - ELSEWHERE):
            self.assertIn(PROVIDERS.get(name, "no package for " + name), given)

    def test_compilers_and_cmake(self):
        for language in ("c", "cxx"):
            self.assertEqual(self.dependency(language)[0][1], {"type": "build"})
        minimum = re.search(r"cmake_minimum_required\(VERSION ([0-9.]+)\)", cmake_text).group(1)
        self.assertEqual(self.dependency("cmake")[0][0], ("cmake@" + minimum + ":",))

    def test_gpus_are_forwarded(self):
        for arch in CudaPackage.cuda_arch_values:
            self.assertIn((("nccl cuda_arch=" + arch,), {}, "+cuda +nccl cuda_arch=" + arch), said.of("depends_on"))
        self.assertIn("cuda_arch=none", [arguments[0] for arguments, _, _ in said.of("conflicts")])

    def test_options_exist(self):
        """Every option that a build may get is one of CMakeLists.txt's."""
        known = set(re.findall(r"(?:option|find_file|find_program)\((\w+)", cmake_text))
        known |= set(re.findall(r"set\((\w+) [^ )]+ CACHE ", cmake_text))
        seen = set()
        for cuda, charts, tests, run_tests in itertools.product((False, True), repeat=4):
            package = Pptrain()
            package.run_tests = run_tests
            package.stage = types.SimpleNamespace(source_path="stage")
            package.spec = Spec(cuda=cuda, charts=charts, tests=tests, blas="onednn;openblas", cuda_arch="90",
                                nccl=True, cudnn=False)
            options = dict(option[2:].split("=", 1) for option in package.cmake_args())
            self.assertEqual(options["BUILD_TESTING"], "ON" if tests or run_tests else "OFF")
            self.assertEqual(options["PPTRAIN_D3"], "stage/d3/dist/d3.min.js" if charts else "OFF")
            self.assertEqual("CMAKE_CUDA_ARCHITECTURES" in options, cuda)
            seen |= set(options)
        for name in seen - {"CMAKE_CUDA_ARCHITECTURES"}:
            self.assertIn(name, known)

    def test_stand_alone_tests_pass(self):
        """They run as in an installation, with the program that was built."""
        package = Pptrain()
        package.spec = Spec(cuda=False)
        share = types.SimpleNamespace(pptrain=types.SimpleNamespace(inputs=str(source / "inputs")))
        package.prefix = types.SimpleNamespace(bin=types.SimpleNamespace(pptrain=str(pptrain)), share=share)
        tests = [name for name in dir(Pptrain) if name.startswith("test_")]
        self.assertEqual(tests, ["test_plan", "test_version"])
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                for name in tests:
                    self.assertTrue(getattr(Pptrain, name).__doc__)
                    getattr(package, name)()
            finally:
                os.chdir(before)


class OtherRecipes(unittest.TestCase):
    packaging = source / "cmake" / "packaging"

    def needed(self):
        return {PROVIDERS[name] for name in looked_for() - ELSEWHERE} - OPTIONAL

    def text(self, name):
        return (self.packaging / name).read_text(encoding="utf-8")

    def version(self):
        return re.search(r"project\(pptrain\s+VERSION ([0-9.]+)", cmake_text).group(1)

    def test_conda_has_everything(self):
        text = self.text("conda/meta.yaml")
        given = set(re.findall(r"^    - ([\w-]+)", text, re.MULTILINE))
        for name in sorted(self.needed()):
            self.assertIn(CONDA.get(name, name), given)
        self.assertIn("version: " + self.version(), text)
        try:
            import yaml
        except ImportError:
            return
        recipe = yaml.safe_load(re.sub(r"\{\{.*?\}\}", "made", text))
        self.assertEqual(set(recipe), {"package", "source", "build", "requirements", "test", "about"})

    def test_easybuild_has_everything(self):
        path = self.packaging / "easybuild" / "pptrain-{}-foss-2023b.eb".format(self.version())
        recipe = {"SOURCE_TAR_GZ": "pptrain.tar.gz"}
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), recipe)  # an easyconfig is Python
        given = {name for name, _ in recipe["builddependencies"] + recipe["dependencies"]} | FOSS
        for name in sorted(self.needed()):
            self.assertIn(EASYBUILD.get(name, name), given)
        self.assertEqual(recipe["version"], self.version())

    def test_options_exist(self):
        known = set(re.findall(r"(?:option|find_file|find_program)\((\w+)", cmake_text))
        known |= set(re.findall(r"set\((\w+) [^ )]+ CACHE ", cmake_text)) | {"BUILD_TESTING", "CMAKE_BUILD_TYPE", "CMAKE_INSTALL_PREFIX"}
        for file in self.packaging.rglob("*"):
            if file.is_file():
                for option in re.findall(r"-D(\w+)=", file.read_text(encoding="utf-8")):
                    self.assertIn(option, known, file)

    def test_containers_name_a_command_of_bootstrap(self):
        for name in ("Containerfile", "pptrain.def"):
            self.assertIn("/src/bootstrap.sh install /opt/pptrain", self.text(name))
            self.assertIn("debian", self.text(name))

    def test_the_modulefile_finds_its_tree(self):
        """By the Tcl that both kinds of modules run it with, where that is at hand."""
        tclsh = shutil.which("tclsh")
        if tclsh is None:
            self.skipTest("there is no tclsh")
        with tempfile.TemporaryDirectory() as folder:
            place = Path(folder, "share", "pptrain", "modulefiles", "pptrain", "1.0")
            place.parent.mkdir(parents=True)
            names = {"PROJECT_VERSION": "1.0", "CMAKE_INSTALL_BINDIR": "bin", "CMAKE_INSTALL_MANDIR": "share/man", "CMAKE_INSTALL_LIBDIR": "lib",
                     "CMAKE_INSTALL_DATADIR": "share"}
            place.write_text(re.sub(r"@(\w+)@", lambda found: names[found.group(1)], self.text("modulefile.in")), encoding="utf-8")
            stand_in = ("proc module-whatis args {}; proc conflict args {}; proc setenv args {}\n"
                        "proc prepend-path {name path} {puts \"$name=$path\"}\n"
                        f"set ModulesCurrentModulefile {{{place}}}\nsource $ModulesCurrentModulefile\n")
            done = subprocess.run([tclsh], input=stand_in, stdout=subprocess.PIPE, universal_newlines=True, check=True)
        self.assertIn("PATH={}/bin\n".format(os.path.realpath(folder)), done.stdout.replace(folder, os.path.realpath(folder)))
        self.assertIn("PKG_CONFIG_PATH=", done.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
