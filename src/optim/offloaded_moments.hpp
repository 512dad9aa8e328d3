#pragma once

#include <functional>
#include <vector>

#include "kernels/kernels.hpp"
#include "tensor/arena.hpp"
#include "tensor/tensor.hpp"

namespace pptrain {

/// A step of AdamW whose m and v lie in memory of the host: they come to the device in chunks of bounded size and go
/// back, two at a time, so that one is on its way while the other is updated.
class OffloadedMoments {
 public:
  /// `runs` in the order of their state, which begins at `first` and `second` and goes on without gaps but for the
  /// padding that `offsets` leave; m and v of the runs are not looked at. `size`: elements of m, or of v.
  OffloadedMoments(std::vector<AdamWRun> runs, std::vector<std::size_t> offsets, std::size_t size, float* first,
                   float* second, Arena& arena, Kernels& kernels);

  void step(const AdamWStep& step, const std::function<void(std::size_t run)>& updated);

 private:
  /// What lies in one chunk of a run.
  struct Piece {
    std::size_t run;
    std::size_t begin;   ///< within the run
    std::size_t offset;  ///< of its state
    std::size_t size;
    bool is_last;  ///< of its run
  };
  struct Chunk {
    std::size_t begin;  ///< of its state
    std::size_t end;
    std::vector<Piece> pieces;
  };
  /// Room for one chunk on the device.
  struct Slot {
    Tensor moments;  // (2, chunk): m, then v
    std::vector<DeviceWorkPtr> copies;

    float* first() const { return moments.f32(); }
    float* second() const { return first() + moments.columns(); }
  };

  void cut(const std::vector<std::size_t>& offsets, std::size_t size);
  void fetch(const Chunk& chunk, Slot& slot);
  void send_back(const Chunk& chunk, Slot& slot);
  void follow(Slot& slot);
  void update(const Chunk& chunk, const Slot& slot, const AdamWStep& step);

  std::vector<AdamWRun> runs_;
  float* first_;
  float* second_;
  Arena& arena_;
  Kernels& kernels_;
  std::size_t chunk_elements_;
  std::vector<Chunk> chunks_;
};

}  // namespace pptrain
