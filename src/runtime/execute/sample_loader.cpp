#include "runtime/execute/sample_loader.hpp"

#include <algorithm>

namespace pptrain {
namespace {

bool reads_decoder_tokens(const Model& model, const PartRole& role, ChunkId chunk) {
  for (std::size_t c = 0; c < role.chunks.size(); ++c) {
    if (role.chunks[c] != chunk) continue;
    for (std::int64_t l = role.layers[c].begin; l < role.layers[c].end; ++l) {
      if (model.layers[static_cast<std::size_t>(l)].reads_decoder_tokens()) return true;
    }
  }
  return false;
}

}  // namespace

/// Reads the samples `own` of a task's micro-batch; `slot_of(s)` says where number s of them goes.
template <class SlotOf>
void SampleLoader::read_samples(const Instruction& task, const Iteration& iteration, Interval own,
                                const SlotOf& slot_of) const {
  const std::int64_t first = task.micro_batch().value * parts_.plan.micro_batch_size + own.begin;
  for (std::int64_t s = 0; s < own.size(); ++s)
    iteration.samples(first + s, slot_of(static_cast<std::size_t>(s)));
}

void SampleLoader::load_inputs(StoredTask& stored, const Instruction& instruction,
                               const Iteration& iteration) const {
  const Interval own = parts_.device->entry_samples(instruction.chunk());
  const auto samples = static_cast<std::size_t>(own.size());
  Batch& batch = stored.batches.front();
  if (!parts_.model.sample.tokens()) {
    const auto inputs = static_cast<std::size_t>(parts_.model.sample.features);
    float* features = stored.features.host(samples * inputs);
    read_samples(instruction, iteration, own,
                 [=](std::size_t s) { return SampleSlot{.features = features + s * inputs}; });
    batch.features = stored.features.upload(parts_.arena);
    return;
  }
  const auto length = static_cast<std::size_t>(parts_.model.sample.input_tokens());
  const bool has_types = parts_.model.sample.token_types > 0;
  std::uint32_t* tokens = stored.tokens.host(samples * length);
  std::uint32_t* types = has_types ? stored.token_types.host(samples * length) : nullptr;
  read_samples(instruction, iteration, own, [=](std::size_t s) {
    return SampleSlot{.tokens = tokens + s * length,
                      .token_types = has_types ? types + s * length : nullptr};
  });
  batch.tokens = stored.tokens.upload(parts_.arena);
  if (has_types) batch.token_types = stored.token_types.upload(parts_.arena);
}

void SampleLoader::load_targets(StoredTask& stored, const Instruction& instruction,
                                const Iteration& iteration, double* loss) const {
  const Interval own = parts_.device->exit_samples(instruction.chunk());
  const auto samples = static_cast<std::size_t>(own.size());
  Batch& batch = stored.batches.back();
  batch.loss = loss;
  if (iteration.counted_samples) {
    const std::int64_t first =
        instruction.micro_batch().value * parts_.plan.micro_batch_size + own.begin;
    batch.counted_samples = static_cast<std::size_t>(
        std::clamp<std::int64_t>(*iteration.counted_samples - first, 0, own.size()));
  }
  if (parts_.model.sample.has_drawing()) {
    const auto pixels = static_cast<std::size_t>(parts_.model.sample.drawing.pixels());
    float* drawings = stored.drawings.host(samples * pixels);
    read_samples(instruction, iteration, own,
                 [=](std::size_t s) { return SampleSlot{.drawing = drawings + s * pixels}; });
    batch.drawings = stored.drawings.upload(parts_.arena);
    return;
  }
  const auto length = static_cast<std::size_t>(parts_.model.sample.rows);
  std::int32_t* targets = stored.targets.host(samples * length);
  read_samples(instruction, iteration, own,
               [=](std::size_t s) { return SampleSlot{.targets = targets + s * length}; });
  batch.targets = stored.targets.upload(parts_.arena);
}

/// Loads where documents begin in the samples of each part: attention is in layers of every chunk.
void SampleLoader::load_documents(StoredTask& stored, const Instruction& instruction,
                                  const Iteration& iteration) const {
  if (!iteration.needs_documents) return;
  const std::vector<PartModel*>& parts = parts_.device->parts_of(instruction.chunk());
  const auto length = static_cast<std::size_t>(parts_.model.sample.rows);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const Interval own = parts[p]->role().samples();
    DeviceCopy<std::int32_t>& documents = stored.documents.emplace_back();
    std::int32_t* begins = documents.host(static_cast<std::size_t>(own.size()) * length);
    read_samples(instruction, iteration, own,
                 [=](std::size_t s) { return SampleSlot{.document_begin = begins + s * length}; });
    stored.batches[p].document_begin = documents.upload(parts_.arena);
  }
}

/// Loads where padding begins in the samples of each part: attention is in layers of every chunk.
void SampleLoader::load_lengths(StoredTask& stored, const Instruction& instruction,
                                const Iteration& iteration) const {
  if (!iteration.has_padding) return;
  const std::vector<PartModel*>& parts = parts_.device->parts_of(instruction.chunk());
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const Interval own = parts[p]->role().samples();
    DeviceCopy<std::int32_t>& lengths = stored.input_lengths.emplace_back();
    std::int32_t* of_samples = lengths.host(static_cast<std::size_t>(own.size()));
    read_samples(instruction, iteration, own,
                 [=](std::size_t s) { return SampleSlot{.input_length = of_samples + s}; });
    stored.batches[p].input_lengths = lengths.upload(parts_.arena);
  }
}

/// What the decoder is told, for the parts of which a layer reads it.
void SampleLoader::load_decoder_tokens(StoredTask& stored, const Instruction& instruction,
                                       const Iteration& iteration) const {
  if (!parts_.model.sample.has_source()) return;
  const std::vector<PartModel*>& parts = parts_.device->parts_of(instruction.chunk());
  const auto length = static_cast<std::size_t>(parts_.model.sample.rows);
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (!reads_decoder_tokens(parts_.model, parts[p]->role(), instruction.chunk())) continue;
    const Interval own = parts[p]->role().samples();
    DeviceCopy<std::uint32_t>& decoder = stored.decoder_tokens.emplace_back();
    std::uint32_t* tokens = decoder.host(static_cast<std::size_t>(own.size()) * length);
    read_samples(instruction, iteration, own,
                 [=](std::size_t s) { return SampleSlot{.decoder_tokens = tokens + s * length}; });
    stored.batches[p].decoder_tokens = decoder.upload(parts_.arena);
  }
}

void SampleLoader::load_beside(StoredTask& stored, const Instruction& instruction,
                               const Iteration& iteration) const {
  load_documents(stored, instruction, iteration);
  load_lengths(stored, instruction, iteration);
  load_decoder_tokens(stored, instruction, iteration);
}

}  // namespace pptrain
