#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>

namespace pptrain {

/// Something that one rank has put on the links of an emulated cluster.
struct SentBytes {
  double begin = 0.0;  ///< seconds on the host's clock
  double bytes = 0.0;
  std::int32_t from = 0;  ///< devices
  std::int32_t to = 0;
};

/// A list in shared memory to which all ranks append and which all read. It holds the last entries
/// only. Its end waits for no other rank, as that of a window of MPI would: one that has failed may
/// never come.
class SharedLog {
 public:
  /// Collective over `world`, whose ranks share one host; where they do not, all throw `Error`
  /// (exit code 2).
  explicit SharedLog(MPI_Comm world);
  ~SharedLog();
  SharedLog(const SharedLog&) = delete;
  SharedLog& operator=(const SharedLog&) = delete;

  /// Returns the number of the entry. Never blocks.
  std::uint64_t append(const SentBytes& entry);
  /// Number of the next entry that somebody appends.
  std::uint64_t size() const;
  /// First entry that `read` may still find.
  std::uint64_t oldest() const;
  /// Nothing while the entry is not written, or when it was written over.
  std::optional<SentBytes> read(std::uint64_t number) const;

 private:
  struct Memory;
  Memory* memory_ = nullptr;
};

}  // namespace pptrain
