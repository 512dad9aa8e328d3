#include "runtime/execute/repartition.hpp"

#include <algorithm>

namespace pptrain {
namespace {

Interval samples_of(const Mesh& mesh, int device_of_stage) {
  return mesh.samples[static_cast<std::size_t>(place_in(mesh, device_of_stage).replica)];
}

}  // namespace

Repartition::Repartition(const Mesh& before, const Mesh& after, const Context& context)
    : context_(context),
      forward_(moves(before, after, context.tag)),
      backward_(moves(after, before, context.tag + 1)) {}

/// Members of a replica hold equal copies; device d is served by member d mod n of each replica
/// that it needs.
Repartition::Moves Repartition::moves(const Mesh& from, const Mesh& to, int tag) const {
  const int own = context_.device_of_stage;
  Moves moves = {samples_of(from, own), samples_of(to, own), {}, {}, tag};
  const auto rank_of = [&](const Mesh& mesh, int device_of_stage) {
    const MeshPlace place = place_in(mesh, device_of_stage);
    return context_.map.rank_of(mesh.devices[place.replica][place.shard]);
  };
  for (int receiver = 0; receiver < from.replicas * from.tensor_parallel; ++receiver) {
    for (int r = 0; r < from.replicas; ++r) {
      if (r == place_in(from, receiver).replica) continue;
      const Interval part =
          intersect(from.samples[static_cast<std::size_t>(r)], samples_of(to, receiver));
      const int sender = r * from.tensor_parallel + receiver % from.tensor_parallel;
      if (part.empty()) continue;
      if (receiver == own) moves.receives.push_back({rank_of(from, sender), part});
      if (sender == own) moves.sends.push_back({rank_of(from, receiver), part});
    }
  }
  return moves;
}

void Repartition::wait(Pending& pending, Pending& beside) const {
  PendingBeside both(pending, [&beside] { beside.test(); });
  context_.waiter.wait(both, [] { return std::string("re-partition between layers of a stage"); });
}

Tensor Repartition::run(const Moves& moves, Tensor x, Pending& beside) const {
  const auto rows_of = [&](const Matrix& all, Interval whole, Interval part) {
    return all.rows_from(static_cast<std::size_t>(part.begin - whole.begin) * context_.sample_rows,
                         static_cast<std::size_t>(part.size()) * context_.sample_rows);
  };
  const auto bytes = [](const Matrix& part) { return part.size() * sizeof(float); };
  std::vector<PendingPtr> transfers;
  for (const Part& part : moves.sends) {
    const Matrix rows = rows_of(x, moves.held, part.samples);
    transfers.push_back(context_.transport.send(part.peer, moves.tag, rows.data, bytes(rows)));
  }
  Tensor result;
  if (moves.needed != moves.held) {
    result =
        Tensor(context_.arena, static_cast<std::size_t>(moves.needed.size()) * context_.sample_rows,
               x.columns());
    for (const Part& part : moves.receives) {
      const Matrix rows = rows_of(result, moves.needed, part.samples);
      transfers.push_back(context_.transport.receive(part.peer, moves.tag, rows.data, bytes(rows)));
    }
    const Interval kept = intersect(moves.held, moves.needed);
    if (!kept.empty()) {
      const Matrix rows = rows_of(x, moves.held, kept);
      context_.arena.device().copy(rows_of(result, moves.needed, kept).data, rows.data,
                                   bytes(rows));
    }
  }
  for (const PendingPtr& transfer : transfers) wait(*transfer, beside);
  return result ? std::move(result) : std::move(x);
}

Tensor Repartition::forward(Tensor x, Pending& beside) const {
  return run(forward_, std::move(x), beside);
}

Tensor Repartition::backward(Tensor gradient, Pending& beside) const {
  return run(backward_, std::move(gradient), beside);
}

}  // namespace pptrain
