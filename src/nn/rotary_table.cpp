#include "nn/rotary_table.hpp"

#include <cmath>
#include <vector>

namespace pptrain {

std::shared_ptr<const Tensor> rotary_table(LayerContext& context, const RotaryForm& form,
                                           std::size_t length) {
  for (const LayerContext::RotaryTable& made : context.rotary_tables) {
    if (made.form == form && made.table->rows() == length) return made.table;
  }
  const auto rotated = static_cast<std::size_t>(form.rotated);
  const std::size_t pairs = rotated / 2;
  std::vector<float> values(length * rotated);
  for (std::size_t i = 0; i < pairs; ++i) {
    const double frequency = rotary_frequency(form, static_cast<std::int64_t>(i));
    for (std::size_t place = 0; place < length; ++place) {
      const double angle = static_cast<double>(place) * frequency;
      values[place * rotated + i] = static_cast<float>(form.attention_factor * std::cos(angle));
      values[place * rotated + pairs + i] =
          static_cast<float>(form.attention_factor * std::sin(angle));
    }
  }
  auto table = std::make_shared<Tensor>(context.arena, length, rotated);
  context.arena.device().upload(table->f32(), values.data(), values.size() * sizeof(float));
  context.rotary_tables.push_back({form, table});
  return table;
}

}  // namespace pptrain
