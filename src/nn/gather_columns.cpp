#include "nn/gather_columns.hpp"

namespace pptrain {

Tensor gathered_columns(const LayerContext& context, const std::vector<Interval>& parts,
                        Tensor own) {
  if (parts.size() == 1) return own;
  const std::size_t rows = own.rows();
  const auto columns = static_cast<std::size_t>(parts.back().end);
  // The members' columns one behind the other, so that each lies in one piece.
  Tensor pieces(context.arena, rows, columns);
  const auto piece = [&](const Interval& part) {
    return Matrix(pieces.f32() + rows * static_cast<std::size_t>(part.begin), rows,
                  static_cast<std::size_t>(part.size()));
  };
  std::vector<Interval> slices;
  for (const Interval& part : parts) {
    slices.push_back(
        {part.begin * static_cast<std::int64_t>(rows), part.end * static_cast<std::int64_t>(rows)});
  }
  context.backend.kernels.convert(
      own, piece(parts[static_cast<std::size_t>(context.tensor_group.rank())]));
  own.reset();
  context.tensor_group.all_gather(pieces.f32(), slices);
  Tensor result(context.arena, rows, columns);
  for (const Interval& part : parts) {
    context.backend.kernels.convert(
        piece(part), result.matrix().columns_from(static_cast<std::size_t>(part.begin),
                                                  static_cast<std::size_t>(part.size())));
  }
  return result;
}

}  // namespace pptrain
