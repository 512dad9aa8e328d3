#pragma once

#include <functional>
#include <vector>

#include "optim/optimizer_steps.hpp"
#include "tensor/arena.hpp"
#include "tensor/tensor.hpp"

namespace pptrain {

/// Steps of an optimizer whose state lies in memory of the host: it comes to the device in chunks
/// of bounded size and goes back, two at a time, so that one is on its way while the other is
/// updated.
class OffloadedState {
 public:
  /// `runs` in the order of their state, of which each quantity begins at one of `arrays` and goes
  /// on without gaps but for the padding that `offsets` leave; the state of the runs is not looked
  /// at. `size`: values of a quantity.
  OffloadedState(std::vector<UpdateRun> runs, const std::vector<std::size_t>& offsets,
                 std::size_t size, std::vector<float*> arrays, Arena& arena);

  /// Updates all runs with `step`, chunk by chunk; `updated(r)` is called behind the calls that
  /// update run r. Takes room for two chunks from the arena. The host may read the state only after
  /// `Device::synchronize`.
  void step(const ElementStep& step, const std::function<void(std::size_t run)>& updated);

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
    Tensor values;  // (quantities, chunk)
    std::vector<DeviceWorkPtr> copies;

    /// First value of quantity k in the chunk, on the device.
    float* quantity(std::size_t k) const { return values.f32() + k * values.columns(); }
  };

  void cut(const std::vector<std::size_t>& offsets, std::size_t size);
  void fetch(const Chunk& chunk, Slot& slot);
  void send_back(const Chunk& chunk, Slot& slot);
  void follow(Slot& slot);
  void update(const Chunk& chunk, const Slot& slot, const ElementStep& step);

  std::vector<UpdateRun> runs_;
  std::vector<float*> arrays_;
  Arena& arena_;
  std::size_t chunk_elements_;
  std::vector<Chunk> chunks_;
};

}  // namespace pptrain
