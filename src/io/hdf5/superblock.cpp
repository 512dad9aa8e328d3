#include "io/hdf5/superblock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "io/hdf5/hdf5.hpp"

namespace pptrain {
namespace {

// HDF5 File Format Specification 3.0, II.A: versions 2 and 3 of the superblock.
constexpr std::array<unsigned char, 8> signature = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
constexpr std::size_t superblock_bytes = 48;
constexpr std::size_t checksum_offset = 44;
constexpr std::uint64_t undefined_address = ~std::uint64_t{0};
constexpr unsigned char write_flag = 0x01;
constexpr unsigned char swmr_flag = 0x04;
constexpr int most_reads = 4;  // a writer may be writing it

static_assert(std::endian::native == std::endian::little,
              "HDF5's metadata is little-endian and read as it is");

using SuperblockBytes = std::array<std::byte, superblock_bytes>;

template <class Number>
Number number_at(const SuperblockBytes& bytes, std::size_t offset) {
  Number number = 0;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

/// The first bytes of the file and its length; fewer bytes than a superblock has read as zeros.
std::optional<std::pair<SuperblockBytes, std::uint64_t>> beginning_of(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return std::nullopt;
  SuperblockBytes bytes = {};
  struct stat status = {};
  const bool read =
      ::pread(descriptor, bytes.data(), bytes.size(), 0) > 0 && ::fstat(descriptor, &status) == 0;
  ::close(descriptor);
  if (!read) return std::nullopt;
  return std::pair(bytes, static_cast<std::uint64_t>(status.st_size));
}

bool has_checksum(const SuperblockBytes& bytes) {
  const auto version = std::to_integer<unsigned>(bytes[signature.size()]);
  return std::memcmp(bytes.data(), signature.data(), signature.size()) == 0 &&
         (version == 2 || version == 3);
}

void check(const SuperblockBytes& bytes, std::uint64_t file_bytes, bool open_for_swmr) {
  const auto refuse = [](const std::string& reason) {
    throw Hdf5Failure("reading the superblock", reason);
  };
  if (hdf5_checksum(std::span(bytes).first(checksum_offset)) !=
      number_at<std::uint32_t>(bytes, checksum_offset)) {
    refuse("its checksum is wrong");
  }
  if (bytes[9] != std::byte{8} || bytes[10] != std::byte{8})
    refuse("its addresses do not have 8 bytes");
  if (number_at<std::uint64_t>(bytes, 12) != 0) refuse("its base address is not that of the file");
  const auto extension = number_at<std::uint64_t>(bytes, 20);
  const auto end = number_at<std::uint64_t>(bytes, 28);
  const auto root = number_at<std::uint64_t>(bytes, 36);
  if (root >= end || (extension != undefined_address && extension >= end))
    refuse("an address lies behind the end");
  // A writer in SWMR mode may have made room that it has not written yet.
  if (end > file_bytes && !open_for_swmr) refuse(fmt::format("the file ends before byte {}", end));
}

}  // namespace

std::uint32_t hdf5_checksum(std::span<const std::byte> bytes) {
  std::array<std::uint32_t, 3> s;
  s.fill(0xdeadbeef + static_cast<std::uint32_t>(bytes.size()));
  const auto add = [&](std::span<const std::byte> part) {
    for (std::size_t i = 0; i < part.size(); ++i)
      s[i / 4] += std::to_integer<std::uint32_t>(part[i]) << 8 * (i % 4);
  };
  // One word takes another off, is mixed with it turned left, and the next is added to that other.
  const auto mix = [&](std::size_t to, std::size_t from, std::size_t third, int turn) {
    s[to] = (s[to] - s[from]) ^ std::rotl(s[from], turn);
    s[from] += s[third];
  };
  for (; bytes.size() > 12; bytes = bytes.subspan(12)) {
    add(bytes.first(12));
    mix(0, 2, 1, 4);
    mix(1, 0, 2, 6);
    mix(2, 1, 0, 8);
    mix(0, 2, 1, 16);
    mix(1, 0, 2, 19);
    mix(2, 1, 0, 4);
  }
  if (bytes.empty()) return s[2];
  add(bytes);
  const auto finish = [&](std::size_t to, std::size_t from, int turn) {
    s[to] = (s[to] ^ s[from]) - std::rotl(s[from], turn);
  };
  finish(2, 1, 14);
  finish(0, 2, 11);
  finish(1, 0, 25);
  finish(2, 1, 16);
  finish(0, 2, 4);
  finish(1, 0, 14);
  finish(2, 1, 24);
  return s[2];
}

std::optional<Superblock> read_superblock(const std::string& path) {
  for (int attempt = 1;; ++attempt) {
    const auto beginning = beginning_of(path);
    if (!beginning || !has_checksum(beginning->first)) return std::nullopt;
    const auto& [bytes, file_bytes] = *beginning;
    const auto flags = std::to_integer<unsigned char>(bytes[11]);
    const Superblock found = {std::to_integer<int>(bytes[8]),
                              (flags & swmr_flag) != 0 && (flags & write_flag) != 0};
    try {
      check(bytes, file_bytes, found.open_for_swmr);
      return found;
    } catch (const Hdf5Failure&) {
      if (attempt == most_reads) throw;
      ::usleep(1000);
    }
  }
}

}  // namespace pptrain
