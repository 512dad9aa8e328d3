#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/names.hpp"
#include "profile/foreign/convert.hpp"

namespace pptrain {
namespace {

constexpr double tolerance = 0.03;  ///< of a layer's parameters: frameworks leave out biases, or
                                    ///< divide no norms

constexpr const char* another_model =
    "the profile is of another model, or the model of --model is not the one meant";

void check_count(const ForeignProfile& from, const Model& model) {
  const std::size_t count = model.layers.size();
  if (from.num_layers() == count || from.num_layers() == count + 1) return;
  throw_bad_input(
      {from.times.front().place,
       fmt::format("it has {} layers, but {} has {}", from.num_layers(), model.name, count),
       "these are the embedding, the blocks and the output, whose norm may be a layer of its own",
       "name the model that was measured, or correct its number of layers"});
}

void check_degrees(const ForeignProfile& from, const Model& model) {
  for (const ForeignTimes& times : from.times) {
    const bool divides = model.divided_units() % times.tensor_parallel == 0;
    if (divides && times.tensor_parallel <= model.most_members()) continue;
    throw_bad_input({times.place, fmt::format("tensor-parallel degree {}", times.tensor_parallel),
                     fmt::format("it does not divide the {} units of {} that members share",
                                 model.divided_units(), model.name),
                     "name the model that was measured, or leave these times out"});
  }
}

bool about(double a, double b) { return std::abs(a - b) <= tolerance * std::max(a, b); }

/// Whether the files' figure is the layer's number of parameters: as elements; or, as files of
/// Metis have it, bytes of 2 or 4, or elements in spite of its name.
bool is_number_of(const ForeignProfile& from, double figure, double parameters) {
  if (from.parameter_unit == ParameterUnit::elements) {
    return about(figure, parameters) || about(figure * from.parameters_degree, parameters);
  }
  return std::ranges::any_of(std::vector<double>{1.0, 2.0, 4.0}, [&](double bytes) {
    return about(figure, bytes * parameters) ||
           about(figure * from.parameters_degree, bytes * parameters);
  });
}

/// Compares the layers between the first and the last alone, which depend on no vocabulary:
/// frameworks pad these.
void check_sizes(const ForeignProfile& from, const Model& model) {
  if (from.sizes.empty()) return;
  for (std::size_t l = 1; l + 1 < model.layers.size(); ++l) {
    const Layer& layer = model.layers[l];
    const auto parameters = static_cast<double>(layer.num_parameters());
    if (!is_number_of(from, from.sizes[l].parameters, parameters)) {
      throw_bad_input(
          {from.sizes_place,
           fmt::format("layer {} has {:.0f} {}, but {} of {} has {:.0f} parameters", l,
                       from.sizes[l].parameters,
                       from.parameter_unit == ParameterUnit::bytes ? "bytes of them" : "parameters",
                       layer.name, model.name, parameters),
           another_model,
           "compare hidden and intermediate size, heads and biases with config.json"});
    }
    const auto elements = static_cast<double>(layer.output->elements());
    if (from.sizes[l].output_elements == 0.0 || from.sizes[l].output_elements == elements) continue;
    throw_bad_input(
        {from.sizes_place,
         fmt::format("{:.0f} numbers of a sample leave layer {}, but {:.0f} leave {} of {}",
                     from.sizes[l].output_elements, l, elements, layer.name, model.name),
         "these are its tokens times the hidden size",
         "say how many tokens it has: --sequence-length N"});
  }
}

}  // namespace

void check_foreign_model(const ForeignProfile& from, const Model& model) {
  check_count(from, model);
  check_degrees(from, model);
  check_sizes(from, model);
}

}  // namespace pptrain
