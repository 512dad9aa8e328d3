#include "runtime/replan/redistribute.hpp"

#include <algorithm>
#include <chrono>

#include "comm/collective.hpp"
#include "comm/mpi_communicator.hpp"
#include "runtime/replan/state_exchange.hpp"

namespace pptrain {

Redistributed redistribute(MPI_Comm world, Waiter& waiter, const Model& model,
                           const std::vector<int>& nodes, Session& from, Session& to) {
  const auto start = std::chrono::steady_clock::now();
  HeldParts before(world, waiter, held_state(model, from));
  HeldParts after(world, waiter, held_state(model, to));
  MpiTransport transport(world);
  StateExchange exchange(rank_in(world), nodes, to.arena().device());
  const std::vector<ParameterSpec> parameters = stored_tensors(model);
  collectively(world, waiter, [&] {
    for (int p = 0; p < static_cast<int>(parameters.size()); ++p) {
      const std::vector<ParameterSpec> quantities =
          quantities_of(from.config().optimizer, parameters[p]);
      for (int q = 0; q < static_cast<int>(quantities.size()); ++q) {
        exchange.add(before.take(p, q, quantities[q]), after.take(p, q, quantities[q]));
      }
    }
  });
  exchange.run(transport, waiter, "moving training state to another plan");
  refresh_copies(to);
  quiet_barrier(world, waiter);
  Redistributed result = {exchange.bytes_sent(), exchange.bytes_received(), exchange.bytes_kept()};
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

}  // namespace pptrain
