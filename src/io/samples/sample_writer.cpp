#include "io/samples/sample_writer.hpp"

#include <cerrno>
#include <cstdio>

#include "base/error.hpp"
#include "base/files.hpp"
#include "io/samples/sample_file.hpp"

namespace pptrain {
namespace {

constexpr std::int64_t chunk_elements = 16384;  // 64 KiB of tokens: few chunks to find, little
                                                // beside a sample to read
constexpr const char* suggestion = "name a file in a folder you can write to";

}  // namespace

SampleWriter::SampleWriter(const std::string& path, const std::vector<SampleColumn>& columns,
                           std::uint64_t tokenizer)
    : path_(file_to_replace(path)), partial_(path_ + ".partial") {
  silence_hdf5();
  guarded([&] {
    file_.open(partial_, H5F_ACC_TRUNC,
               Hdf5Handle(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "making access properties"));
    has_partial_ = true;
    write_attribute(file_.get(), tokenizer_attribute, digest_text(tokenizer));
    for (const SampleColumn& column : columns) {
      series_.emplace_back(file_.get(), column.info, column.type, column.length, chunk_elements);
    }
  });
}

SampleWriter::~SampleWriter() { remove_partial(); }

void SampleWriter::remove_partial() {
  if (has_partial_) std::remove(partial_.c_str());
  has_partial_ = false;
}

void SampleWriter::guarded(const std::function<void()>& work) {
  try {
    work();
    file_.check("writing");
  } catch (const Hdf5Failure& failure) {
    const int error = file_.error();
    remove_partial();
    throw_unwritable({path_, "cannot be written", error == 0 ? failure.reason() : "", suggestion},
                     error);
  }
}

void SampleWriter::append(std::size_t column, std::span<const std::int64_t> rows) {
  guarded([&] { series_[column].append(rows); });
}

void SampleWriter::commit() {
  guarded([this] {
    series_.clear();
    file_.close();
  });
  if (std::rename(partial_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    throw_unwritable({path_, "cannot be written", "", suggestion}, error);
  }
  has_partial_ = false;
}

}  // namespace pptrain
