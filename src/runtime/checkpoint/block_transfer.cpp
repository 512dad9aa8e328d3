#include "runtime/checkpoint/block_transfer.hpp"

#include <algorithm>
#include <cstring>

#include "comm/collective.hpp"
#include "comm/mpi.hpp"

namespace pptrain {
namespace {

/// Elements of blocks that a rank keeps at a time: 32 MiB.
constexpr std::int64_t most_elements_in_round = 8 * checkpoint_block_elements;

/// A gradient norm that is finite does not say that the update was: a learning rate may be too
/// large for fp32.
void require_finite(const std::string& path, const CheckpointDataset& dataset, const float* values,
                    std::size_t count) {
  if (all_finite(values, count)) return;
  throw_runtime_failure({path, "the checkpoint is not written",
                         dataset.path + " holds NaN or infinity: the training diverged",
                         "lower [optimizer] learning_rate and go on from an earlier checkpoint"});
}

}  // namespace

std::vector<CheckpointDataset> datasets_of(const Model& model, const OptimizerConfig& optimizer) {
  std::vector<CheckpointDataset> datasets;
  for (const ParameterSpec& spec : stored_tensors(model)) {
    datasets.push_back({"/parameters/" + spec.name, spec.shape, 0, {}});
    for (const StateSpec& state : states_of(optimizer, spec)) {
      const std::string path = "/optimizer/" + spec.name + "/" + state.name;
      datasets.push_back({path, state_spec(spec, state.extent).shape, 0, {}});
    }
  }
  for (CheckpointDataset& dataset : datasets)
    dataset.digests.resize(static_cast<std::size_t>(dataset.num_blocks()));
  return datasets;
}

BlockTransfer::BlockTransfer(MPI_Comm world, Transport& transport, Waiter& waiter,
                             const std::vector<int>& nodes, const Model& model, Session& session)
    : world_(world),
      waiter_(waiter),
      model_(model),
      optimizer_(session.config().optimizer),
      parts_(world, waiter, held_state(model, session)),
      transport_(transport),
      exchange_(rank_in(world), nodes, session.arena().device()),
      given_(nodes.size(), 0),
      in_round_(nodes.size(), 0) {}

void BlockTransfer::save(const std::string& path, std::vector<CheckpointDataset>& datasets) {
  run(Direction::save, path, datasets);
  gather_digests(datasets);
}

void BlockTransfer::load(const std::string& path, const std::vector<CheckpointDataset>& datasets) {
  run(Direction::load, path, datasets);
}

void BlockTransfer::run(Direction direction, const std::string& path,
                        const std::vector<CheckpointDataset>& datasets) {
  path_ = path;
  datasets_ = &datasets;
  attempt([&] {
    file_.emplace(path,
                  direction == Direction::save ? DataFile::Mode::write : DataFile::Mode::read);
  });
  const std::vector<ParameterSpec> parameters = stored_tensors(model_);
  std::size_t d = 0;  // as `datasets_of` has them
  for (int p = 0; p < static_cast<int>(parameters.size()); ++p) {
    const std::vector<ParameterSpec> quantities = quantities_of(optimizer_, parameters[p]);
    for (int q = 0; q < static_cast<int>(quantities.size()); ++q, ++d) {
      const std::vector<Elements> held = parts_.take(p, q, quantities[q]);
      for (int b = 0; b < datasets[d].num_blocks(); ++b)
        add_block(direction, d, b, datasets[d].block(b), held);
    }
  }
  end_round(direction);
  if (direction == Direction::save) attempt([&] { file_->sync(); });
  file_.reset();
  collectively(world_, waiter_, [&] {
    if (error_) throw Error(*error_);
  });
}

void BlockTransfer::add_block(Direction direction, std::size_t dataset, int index,
                              Interval elements, const std::vector<Elements>& held) {
  Block block = {dataset, index, 0, nullptr, {}, {}};
  for (const Elements& of_rank : held) block.held.push_back(of_rank.within(elements));
  block.rank = choose_rank(block.held);
  const auto rank = static_cast<std::size_t>(block.rank);
  if (in_round_[rank] + elements.size() > most_elements_in_round) end_round(direction);
  in_round_[rank] += elements.size();
  given_[rank] += elements.size();
  const bool own = block.rank == rank_in(world_);
  if (own) block.values = place_of(elements, block.held[rank]);
  block.in_file.resize(held.size());
  block.in_file[rank] = Elements(elements, block.values, own ? &host_device() : nullptr);
  round_.push_back(std::move(block));
}

/// Ranks that have half of what the largest holder has are as good as it.
int BlockTransfer::choose_rank(const std::vector<Elements>& held) const {
  std::vector<std::int64_t> sizes;
  for (const Elements& elements : held) sizes.push_back(elements.size());
  const std::int64_t most = *std::max_element(sizes.begin(), sizes.end());
  int chosen = -1;
  for (std::size_t r = 0; r < sizes.size(); ++r) {
    if (2 * sizes[r] < most) continue;
    if (chosen < 0 || given_[r] < given_[static_cast<std::size_t>(chosen)])
      chosen = static_cast<int>(r);
  }
  return chosen;
}

float* BlockTransfer::place_of(Interval elements, const Elements& own) {
  if (own.device() != nullptr && own.device()->is_host() && own.runs() == Runs{elements})
    return own.at(elements.begin);
  return buffers_.emplace_back(static_cast<std::size_t>(elements.size())).data();
}

template <class Action>
void BlockTransfer::attempt(const Action& action) {
  if (error_) return;
  try {
    action();
  } catch (const Error& error) {
    error_ = error;
  }
}

void BlockTransfer::end_round(Direction direction) {
  const int rank = rank_in(world_);
  const auto for_own = [&](const auto& action) {
    for (const Block& block : round_) {
      const CheckpointDataset& dataset = (*datasets_)[block.dataset];
      const auto count = static_cast<std::size_t>(dataset.block(block.index).size());
      const Pulse::Computing computing(waiter_.pulse());
      if (block.rank == rank) attempt([&] { action(block, dataset, count); });
    }
  };
  if (direction == Direction::load) {
    for_own([&](const Block& block, const CheckpointDataset& dataset, std::size_t count) {
      file_->read(dataset.block_offset(block.index), block.values, count * sizeof(float),
                  dataset.path);
      check_block(path_, dataset, block.index, block.values);
    });
    for (const Block& block : round_) exchange_.add(block.in_file, block.held);
    exchange_.run(transport_, waiter_, "handing out a checkpoint");
  } else {
    for (const Block& block : round_) exchange_.add(block.held, block.in_file);
    exchange_.run(transport_, waiter_, "gathering a checkpoint");
    for_own([&](const Block& block, const CheckpointDataset& dataset, std::size_t count) {
      require_finite(path_, dataset, block.values, count);
      digests_.push_back({block.dataset, static_cast<std::uint64_t>(block.index),
                          block_digest(block.values, count)});
      file_->write(dataset.block_offset(block.index), block.values, count * sizeof(float),
                   dataset.path);
    });
  }
  round_.clear();
  buffers_.clear();
  std::fill(in_round_.begin(), in_round_.end(), 0);
}

void BlockTransfer::gather_digests(std::vector<CheckpointDataset>& datasets) {
  std::string packed(digests_.size() * sizeof(Digest), '\0');
  if (!digests_.empty()) std::memcpy(packed.data(), digests_.data(), packed.size());
  for (const std::string& of_rank : gather(world_, packed, waiter_)) {
    for (std::size_t offset = 0; offset < of_rank.size(); offset += sizeof(Digest)) {
      Digest digest = {};
      std::memcpy(&digest, of_rank.data() + offset, sizeof(digest));
      datasets[digest.dataset].digests[digest.block] = digest.digest;
    }
  }
}

}  // namespace pptrain
