#include "io/hdf5/hdf5_read.hpp"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "data/files.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/checkpoint/data_file.hpp"
#include "io/checkpoint/parameters.hpp"
#include "io/hdf5/superblock.hpp"
#include "io/run/metrics.hpp"
#include "io/samples/feature_file.hpp"
#include "support/catch.hpp"
#include "support/complaint.hpp"

namespace pptrain {
namespace {

namespace fs = std::filesystem;
using Place = Hdf5Array::Place;

/// A dataset or attribute as a stranger makes it.
struct Strange {
  std::vector<hsize_t> shape;
  hid_t type = H5T_NATIVE_INT64;
  hid_t properties = H5P_DEFAULT;
};

Hdf5Handle text_of_bytes(std::size_t bytes) {
  Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "type");
  check_hdf5(H5Tset_size(type.get(), bytes), "size");
  return type;
}

/// Opens a closed file, lets `change` at it, and closes it.
void edit(const std::string& path, const std::function<void(hid_t)>& change) {
  silence_hdf5();
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "access");
  check_hdf5(H5Pset_libver_bounds(access.get(), H5F_LIBVER_LATEST, H5F_LIBVER_LATEST), "format");
  const Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.get()), H5Fclose, "open");
  change(file.get());
}

/// Puts a dataset filled with bytes 'A' in the place of the one that is there.
void put_dataset(hid_t file, const std::string& name, const Strange& strange) {
  if (H5Lexists(file, name.c_str(), H5P_DEFAULT) > 0)
    check_hdf5(H5Ldelete(file, name.c_str(), H5P_DEFAULT), "delete");
  const Hdf5Handle space(
      H5Screate_simple(static_cast<int>(strange.shape.size()), strange.shape.data(), nullptr),
      H5Sclose, "space");
  const Hdf5Handle dataset(H5Dcreate2(file, name.c_str(), strange.type, space.get(), H5P_DEFAULT,
                                      strange.properties, H5P_DEFAULT),
                           H5Dclose, "dataset");
  const auto elements = static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get()));
  if (elements > 1U << 20) return;
  const std::string bytes(elements * H5Tget_size(strange.type), 'A');
  check_hdf5(H5Dwrite(dataset.get(), strange.type, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes.data()),
             "write");
}

void put_attribute(hid_t file, const std::string& object, const std::string& name,
                   const Strange& strange) {
  const Hdf5Handle at(H5Oopen(file, object.c_str(), H5P_DEFAULT), H5Oclose, "object");
  if (H5Aexists(at.get(), name.c_str()) > 0)
    check_hdf5(H5Adelete(at.get(), name.c_str()), "delete");
  const Hdf5Handle space(
      H5Screate_simple(static_cast<int>(strange.shape.size()), strange.shape.data(), nullptr),
      H5Sclose, "space");
  const Hdf5Handle attribute(
      H5Acreate2(at.get(), name.c_str(), strange.type, space.get(), H5P_DEFAULT, H5P_DEFAULT),
      H5Aclose, "attribute");
  const std::string bytes(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space.get())) *
                              H5Tget_size(strange.type),
                          'A');
  check_hdf5(H5Awrite(attribute.get(), strange.type, bytes.data()), "write");
}

std::string write_checkpoint(const TestFolder& folder) {
  const std::string path = folder.path("step-7.h5");
  std::vector<CheckpointDataset> datasets = {{"/parameters/p", {2, 3}, 0, {}}};
  lay_out_checkpoint(path, datasets);
  const std::vector<float> values = {1, 2, 3, 4, 5, 6};
  datasets[0].digests.push_back(block_digest(values.data(), values.size()));
  DataFile(path, DataFile::Mode::write)
      .write(datasets[0].offset, values.data(), values.size() * sizeof(float), "p");
  seal_checkpoint(path, datasets, {7, 56, 1234, 1.0, 0, 0, "data", "[job]\n", "{}", "{}", ""});
  return path;
}

void append_rows(MetricsFile& file) {
  const std::vector<RankMetrics> ranks = {{1, 2, 3, 4}, {5, 6, 7, 8}};
  for (std::int64_t step = 1; step <= 5; ++step)
    file.append_step({step, 5.5, 1, 1, 1, 1, 1, 1, 4096}, ranks);
  file.append_evaluation(5, 0.5);
  file.append_drift(5, 1, 1.5);
}

std::string write_metrics(const TestFolder& folder) {
  const std::string path = folder.path("metrics.h5");
  fs::remove(path);
  MetricsFile file(path, 2, "{}", {{"hosts", "n0 n1"}});
  append_rows(file);
  return path;
}

/// One whose writer was killed, so that it is in SWMR mode still.
std::string write_left_open(const TestFolder& folder) {
  const std::string path = folder.path("left.h5");
  fs::remove(path);
  const pid_t child = ::fork();
  if (child == 0) {
    MetricsFile file(path, 2, "{}", {{"hosts", "n0 n1"}});
    append_rows(file);
    ::kill(::getpid(), SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  return path;
}

std::string complaint_of_checkpoint(const std::string& path) {
  return complaint_of([&] { check_blocks(path, read_checkpoint_head(path)); });
}

std::string failure_of_metrics(const std::string& path) {
  try {
    read_metrics(path);
  } catch (const Hdf5Failure& failure) {
    return failure.what();
  }
  return "nothing was refused";
}

std::string read(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// The place in the file where some bytes begin.
std::size_t offset_of(const std::string& bytes, const std::string& part) {
  const std::size_t at = bytes.find(part);
  REQUIRE(at != std::string::npos);
  return at;
}

}  // namespace

TEST_CASE("texts of array shape in a checkpoint are refused", "[hdf5_read]") {
  const TestFolder folder("strange_texts");
  const Hdf5Handle text = text_of_bytes(20);
  std::string path = write_checkpoint(folder);
  edit(path, [&](hid_t file) { put_attribute(file, "/", "schema", {{4000}, text.get()}); });
  CHECK_THAT(complaint_of_checkpoint(path), Catch::Contains("this is no checkpoint"));
  path = write_checkpoint(folder);
  edit(path, [&](hid_t file) { put_attribute(file, "/state", "xxh3_64", {{4000}, text.get()}); });
  CHECK_THAT(complaint_of_checkpoint(path),
             Catch::Contains("reading xxh3_64 failed: its shape is (4000) and not ()"));
  path = write_checkpoint(folder);
  edit(path, [&](hid_t file) { put_dataset(file, "/state/plan", {{100000}, text.get()}); });
  CHECK_THAT(complaint_of_checkpoint(path),
             Catch::Contains("reading plan failed: its shape is (100000)"));
}

TEST_CASE("numbers of other shapes and types in a checkpoint are refused", "[hdf5_read]") {
  const TestFolder folder("strange_numbers");
  const auto refused = [&](const std::function<void(hid_t)>& change) {
    const std::string path = write_checkpoint(folder);
    edit(path, change);
    return complaint_of_checkpoint(path);
  };
  CHECK_THAT(refused([](hid_t f) { put_dataset(f, "/state/step", {{1000}}); }),
             Catch::Contains("its shape is (1000)"));
  const Hdf5Handle array(H5Tarray_create2(H5T_NATIVE_INT64, 1, std::vector<hsize_t>{1000}.data()),
                         H5Tclose, "type");
  CHECK_THAT(refused([&](hid_t f) {
               put_dataset(f, "/state/step", {{}, array.get()});
             }),
             Catch::Contains("its values are not integers"));
  CHECK_THAT(refused([](hid_t f) {
               put_dataset(f, "/state/loss_scale", {{}, H5T_NATIVE_LDOUBLE});
             }),
             Catch::Contains("its values are not floating-point numbers"));
  CHECK_THAT(refused([](hid_t f) {
               put_attribute(f, "/parameters/p", "xxh3_64", {{2, 500}});
             }),
             Catch::Contains("its shape is (2, 500) and not (1)"));
  CHECK_THAT(refused([](hid_t f) {
               put_dataset(f, "/parameters/p", {{2, 3}, H5T_IEEE_F64LE});
             }),
             Catch::Contains("its values are not fp32"));
  CHECK_THAT(refused([](hid_t f) {
               put_dataset(f, "/parameters/p", {{1ULL << 33, 1ULL << 31}, H5T_IEEE_F32LE});
             }),
             Catch::Contains("bytes are too many"));
  CHECK_THAT(refused([](hid_t f) {
               put_dataset(f, "/parameters/p", {{1ULL << 20, 1ULL << 20}, H5T_IEEE_F32LE});
             }),
             Catch::Contains("its values are not all there") ||
                 Catch::Contains("the file ends before it"));
}

TEST_CASE("series of more dimensions or other types are refused", "[hdf5_read]") {
  const TestFolder folder("strange_series");
  const auto refused = [&](const std::function<void(hid_t)>& change) {
    const std::string path = write_metrics(folder);
    edit(path, change);
    return failure_of_metrics(path);
  };
  CHECK(refused([](hid_t) {}) == "nothing was refused");
  CHECK_THAT(refused([](hid_t f) {
               put_dataset(f, "/steps/step", {{5, 1000}});
             }),
             Catch::Contains("reading step failed: its shape is (5, 1000) and not (n)"));
  CHECK_THAT(refused([](hid_t f) {
               put_dataset(f, "/steps/loss", {{5, 10, 1000}, H5T_NATIVE_DOUBLE});
             }),
             Catch::Contains("its shape is (5, 10, 1000)"));
  CHECK_THAT(refused([](hid_t f) {
               put_dataset(f, "/ranks/idle_seconds", {{5, 3}, H5T_NATIVE_DOUBLE});
             }),
             Catch::Contains("its shape is (5, 3) and not (n, 2)"));
  CHECK_THAT(refused([](hid_t f) {
               put_dataset(f, "/steps/loss", {{4}, H5T_NATIVE_DOUBLE});
             }),
             Catch::Contains("shorter than that of the steps"));
  CHECK_THAT(refused([](hid_t f) {
               put_dataset(f, "/steps/loss", {{5}, H5T_NATIVE_INT64});
             }),
             Catch::Contains("its values are not floating-point numbers"));
  CHECK_THAT(
      refused([](hid_t f) { check_hdf5(H5Ldelete(f, "/drift/factor", H5P_DEFAULT), "delete"); }),
      Catch::Contains("opening factor failed"));
  const Hdf5Handle text = text_of_bytes(20);
  CHECK_THAT(refused([&](hid_t f) {
               put_attribute(f, "/environment", "hosts", {{3000}, text.get()});
             }),
             Catch::Contains("reading hosts failed: its shape is (3000)"));
}

TEST_CASE("values that are elsewhere are refused", "[hdf5_read]") {
  const TestFolder folder("elsewhere");
  const std::string other = folder.path("other.h5");
  const std::vector<std::function<void(hid_t)>> changes = {
      [&](hid_t f) {
        check_hdf5(H5Lcreate_external(other.c_str(), "/p", f, "p", H5P_DEFAULT, H5P_DEFAULT),
                   "link");
      },
      [&](hid_t f) {
        check_hdf5(H5Lcreate_external(other.c_str(), "/", f, "out", H5P_DEFAULT, H5P_DEFAULT),
                   "link");
        check_hdf5(H5Lcreate_soft("/out/p", f, "p", H5P_DEFAULT, H5P_DEFAULT), "link");
      },
      [&](hid_t f) {
        const Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "properties");
        check_hdf5(H5Pset_external(properties.get(),
                                   folder.write("raw", std::string(40, 'B')).c_str(), 0, 40),
                   "raw");
        const hsize_t rows = 5;
        const Hdf5Handle space(H5Screate_simple(1, &rows, nullptr), H5Sclose, "space");
        Hdf5Handle(H5Dcreate2(f, "p", H5T_NATIVE_DOUBLE, space.get(), H5P_DEFAULT, properties.get(),
                              H5P_DEFAULT),
                   H5Dclose, "dataset");
      },
      [&](hid_t f) {
        const Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "properties");
        const hsize_t rows = 5;
        const Hdf5Handle space(H5Screate_simple(1, &rows, nullptr), H5Sclose, "space");
        check_hdf5(H5Pset_virtual(properties.get(), space.get(), other.c_str(), "/p", space.get()),
                   "virtual");
        Hdf5Handle(H5Dcreate2(f, "p", H5T_NATIVE_DOUBLE, space.get(), H5P_DEFAULT, properties.get(),
                              H5P_DEFAULT),
                   H5Dclose, "dataset");
      }};
  const std::vector<std::string> reasons = {"link to another file", "link to another file",
                                            "in other files",
                                            "it is a virtual dataset, whose values are elsewhere"};
  const auto make = [&](const std::string& path, const std::function<void(hid_t)>& change) {
    fs::remove(path);
    Hdf5Handle(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose,
               "create");
    edit(path, change);
    return path;
  };
  make(other, [](hid_t f) { put_dataset(f, "p", {{5}, H5T_NATIVE_DOUBLE}); });
  const Hdf5Expected expected = {Hdf5Expected::Kind::real, {5}, 40};
  const Hdf5Handle sound = open_to_read(other).file;
  CHECK(Hdf5Array(Place::dataset, sound, "p", expected).values<double>().size() == 5);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const Hdf5Handle file = open_to_read(make(folder.path("strange.h5"), changes[i])).file;
    CHECK_THROWS_WITH(Hdf5Array(Place::dataset, file, "p", expected), Catch::Contains(reasons[i]));
  }
  const std::string metrics = write_metrics(folder);
  edit(metrics, [&](hid_t f) {
    check_hdf5(H5Lmove(f, "/steps", f, "/elsewhere", H5P_DEFAULT, H5P_DEFAULT), "move");
    check_hdf5(
        H5Lcreate_external(metrics.c_str(), "/elsewhere", f, "/steps", H5P_DEFAULT, H5P_DEFAULT),
        "link");
  });
  CHECK_THAT(failure_of_metrics(metrics),
             Catch::Contains("opening steps failed: it is a link to another file"));
  const std::string features = make(folder.path("features.h5"), [&](hid_t f) {
    check_hdf5(H5Lcreate_external(other.c_str(), "/p", f, "features", H5P_DEFAULT, H5P_DEFAULT),
               "link");
  });
  CHECK_THAT(complaint_of([&] {
               FeatureFile(features, {2, 5, 3, "c.toml:4"});
             }),
             Catch::Contains("it is a link to another file"));
  const std::string parameters = make(folder.path("parameters.h5"), [&](hid_t f) {
    check_hdf5(H5Lcreate_external(other.c_str(), "/", f, "parameters", H5P_DEFAULT, H5P_DEFAULT),
               "link");
  });
  CHECK_THAT(complaint_of([&] { ParameterFile(parameters).read("p", {5}); }),
             Catch::Contains("it is a link to another file"));
}

TEST_CASE("types, filters and chunks that nobody needs are refused", "[hdf5_read]") {
  const TestFolder folder("strange_storage");
  const std::string path = folder.path("s.h5");
  Hdf5Handle(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose, "create");
  const auto chunked = [](const std::vector<hsize_t>& chunk) {
    Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "properties");
    check_hdf5(H5Pset_chunk(properties.get(), static_cast<int>(chunk.size()), chunk.data()),
               "chunk");
    return properties;
  };
  edit(path, [&](hid_t f) {
    const Hdf5Handle plain = chunked({10});
    const Hdf5Handle deflated = chunked({10});
    check_hdf5(H5Pset_shuffle(deflated.get()), "shuffle");
    check_hdf5(H5Pset_deflate(deflated.get(), 1), "deflate");
    check_hdf5(H5Pset_fletcher32(deflated.get()), "fletcher32");
    const Hdf5Handle scaled = chunked({10});
    check_hdf5(H5Pset_scaleoffset(scaled.get(), H5Z_SO_INT, 0), "scaleoffset");
    put_dataset(f, "plain", {{100}, H5T_STD_I64BE, plain.get()});
    put_dataset(f, "deflated", {{100}, H5T_STD_I64LE, deflated.get()});
    put_dataset(f, "scaled", {{100}, H5T_STD_I64LE, scaled.get()});
    const Hdf5Handle large = chunked({1U << 26});
    put_dataset(f, "large", {{1U << 26}, H5T_STD_I64LE, large.get()});
    for (const hsize_t rows : {1U << 17, 1U << 20}) {
      const Hdf5Handle packed = chunked({rows});
      check_hdf5(H5Pset_deflate(packed.get(), 9), "deflate");
      put_dataset(f, rows == 1U << 17 ? "packed" : "bomb",
                  {{1U << 20}, H5T_STD_I64LE, packed.get()});
    }
    put_dataset(f, "sparse", {{1U << 24}, H5T_STD_I64LE, plain.get()});
    const Hdf5Handle odd(H5Tcopy(H5T_STD_I64LE), H5Tclose, "type");
    check_hdf5(H5Tset_precision(odd.get(), 60), "precision");
    put_dataset(f, "odd", {{100}, odd.get()});
    const Hdf5Handle named(H5Tcopy(H5T_STD_I64LE), H5Tclose, "type");
    check_hdf5(H5Tcommit2(f, "type", named.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), "commit");
    put_dataset(f, "named", {{100}, named.get()});
  });
  const Hdf5Handle file = open_to_read(path).file;
  const auto array = [&](const std::string& name) {
    return Hdf5Array(Place::dataset, file, name,
                     {Hdf5Expected::Kind::integer, {Hdf5Expected::any}, 1LL << 40});
  };
  CHECK(array("plain").values<std::int64_t>() ==
        std::vector<std::int64_t>(100, 0x4141414141414141));
  CHECK(array("deflated").values<std::int64_t>() ==
        std::vector<std::int64_t>(100, 0x4141414141414141));
  CHECK_THROWS_WITH(array("scaled"), Catch::Contains("is none of deflate, shuffle and fletcher32"));
  CHECK_THROWS_WITH(array("large"), Catch::Contains("its chunks have 536870912 bytes"));
  CHECK(array("packed").values<std::int64_t>().back() == 0x4141414141414141);
  CHECK_THROWS_WITH(array("bomb"),
                    Catch::Contains("its compressed chunks have 8388608 bytes unpacked"));
  CHECK_THROWS_WITH(array("sparse"), Catch::Contains("its values are not all there"));
  CHECK_THROWS_WITH(array("odd"), Catch::Contains("not integers"));
  CHECK_THROWS_WITH(array("named"), Catch::Contains("not integers"));
  CHECK_THROWS_WITH(array("none"), Catch::Contains("opening none failed"));
}

TEST_CASE("packed chunks that are shorter or longer than a chunk are refused", "[hdf5_read]") {
  const TestFolder folder("strange_chunks");
  const std::string path = folder.path("s.h5");
  // Four zeros in one stored block, as zlib writes them (RFC 1950 and 1951).
  const std::vector<unsigned char> four = {0x78, 0x01, 0x01, 4, 0, 0xfb, 0xff, 0,
                                           0,    0,    0,    0, 4, 0,    1};
  const auto refused = [&](hsize_t rows, const std::vector<unsigned char>& packed,
                           bool with_checksum) {
    fs::remove(path);
    Hdf5Handle(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose,
               "create");
    edit(path, [&](hid_t f) {
      const Hdf5Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "properties");
      check_hdf5(H5Pset_chunk(properties.get(), 1, &rows), "chunk");
      check_hdf5(H5Pset_deflate(properties.get(), 1), "deflate");
      if (with_checksum) check_hdf5(H5Pset_fletcher32(properties.get()), "fletcher32");
      const Hdf5Handle space(H5Screate_simple(1, &rows, nullptr), H5Sclose, "space");
      const Hdf5Handle dataset(
          H5Dcreate2(f, "d", H5T_STD_I8LE, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
          H5Dclose, "set");
      const hsize_t first = 0;
      check_hdf5(
          H5Dwrite_chunk(dataset.get(), H5P_DEFAULT, 0, &first, packed.size(), packed.data()),
          "chunk");
    });
    const Hdf5Handle file = open_to_read(path).file;
    try {
      Hdf5Array(Place::dataset, file, "d",
                {Hdf5Expected::Kind::integer, {Hdf5Expected::any}, 1 << 20});
    } catch (const Hdf5Failure& failure) {
      return failure.reason();
    }
    return std::string();
  };
  CHECK(refused(4, four, false).empty());
  CHECK(refused(1000, four, false) == "a chunk has 4 of 1000 bytes");
  CHECK(refused(2, four, false) == "a chunk has 4 of 2 bytes");
  CHECK_THAT(refused(4, {1, 2, 3, 4}, false), Catch::Contains("not deflated"));
  CHECK_THAT(refused(4, {1, 2, 3}, true), Catch::Contains("no room for its checksum"));
}

TEST_CASE("the checksum is that of HDF5", "[hdf5_read]") {
  const auto checksum = [](const std::string& text) {
    return hdf5_checksum(std::as_bytes(std::span(text)));
  };
  CHECK(checksum("") == 0xdeadbeef);
  CHECK(checksum("Four score and seven years ago") == 0x17770551);  // from the comments of
                                                                    // lookup3.c
}

TEST_CASE("a wrong byte in the superblock is told at once, whoever wrote last", "[hdf5_read]") {
  const TestFolder folder("superblock");
  for (const std::string& path :
       {write_metrics(folder), write_left_open(folder), write_checkpoint(folder)}) {
    const std::string whole = read(path);
    CHECK(read_superblock(path)->open_for_swmr == path.ends_with("left.h5"));
    for (std::size_t offset = 0; offset < 48; ++offset) {
      std::string damaged = whole;
      damaged[offset] = static_cast<char>(damaged[offset] == '\xff' ? 0 : 255);
      write(path, damaged);
      CHECK_THROWS_AS(open_to_read(path), Hdf5Failure);
    }
    write(path, whole.substr(0, 100));
    CHECK_THROWS_AS(read_metrics(path), Hdf5Failure);
    write(path, whole);
    CHECK_NOTHROW(open_to_read(path));
  }
}

TEST_CASE("undefined addresses are refused", "[hdf5_read]") {
  const TestFolder folder("undefined");
  const std::string path = folder.path("old.h5");
  Hdf5Handle(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose, "create");
  const std::string whole = read(path);
  const std::uint64_t tree = offset_of(whole, "TREE");  // the names in the root group
  const std::string address(reinterpret_cast<const char*>(&tree), sizeof tree);
  std::string damaged = whole;
  int places = 0;
  for (std::size_t at = 0; (at = damaged.find(address, at)) != std::string::npos; ++places) {
    damaged.replace(at, address.size(), address.size(), '\xff');
  }
  REQUIRE(places > 0);
  write(path, damaged);
  const Hdf5Handle file = open_to_read(path).file;
  CHECK_THROWS_AS(Hdf5Array(Place::dataset, file, "d", {Hdf5Expected::Kind::integer, {}, 8}),
                  Hdf5Failure);
  CHECK_THROWS_AS(names_in(file, "names"), Hdf5Failure);
}

TEST_CASE("why a file cannot be opened is told", "[hdf5_read]") {
  const TestFolder folder("unopened");
  try {
    open_to_read(folder.path("none.h5"));
    FAIL("a file that is not there was opened");
  } catch (const Hdf5Failure& failure) {
    CHECK(failure.reason() == "No such file or directory");
  }
}

TEST_CASE("damage behind the superblock of a file in SWMR mode is told in a moment",
          "[hdf5_read]") {
  const TestFolder folder("swmr_damage");
  const std::string path = write_left_open(folder);
  const std::string whole = read(path);
  CHECK(read_metrics(path).left_open);
  CHECK(read_metrics(path).history.integers.at("steps/step").size() == 5);
  std::string damaged = whole;
  damaged[offset_of(whole, "OHDR") + 6] ^= 0x10;
  write(path, damaged);
  CHECK(failure_of_metrics(path) != "nothing was refused");
}

}  // namespace pptrain
