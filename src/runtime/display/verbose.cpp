#include "runtime/display/verbose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/names.hpp"
#include "base/screen.hpp"
#include "base/units.hpp"

namespace pptrain {
namespace {

using Rows = std::map<std::pair<std::string, int>, ProfileRow>;

/// The row of the most samples, by device kind and degree.
Rows largest_rows(const ProfileLayer& layer) {
  Rows rows;
  for (const ProfileRow& row : layer.rows) {
    ProfileRow& kept = rows.try_emplace({row.device, row.tensor_parallel}, row).first->second;
    if (row.samples > kept.samples) kept = row;
  }
  return rows;
}

/// Layers of one kind were timed once.
bool timed_alike(const Rows& a, const Rows& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.samples == y.second.samples &&
           x.second.seconds.total() == y.second.seconds.total();
  });
}

std::string lines_of(const Profile& profile, const std::vector<int>& layers, const Rows& rows) {
  const std::string& name = profile.layers[static_cast<std::size_t>(layers.front())].name;
  const std::string which =
      layers.size() == 1 ? name : fmt::format("{} and {} like it", name, layers.size() - 1);
  std::string text;
  for (const auto& [key, row] : rows) {
    std::string line =
        fmt::format("  {}: {}, TP {}, {:g} samples: forward {}, backward {}", which, key.first,
                    key.second, row.samples, format_seconds(row.seconds.forward),
                    format_seconds(row.seconds.backward_input + row.seconds.backward_weight));
    const double update = profile.update_seconds(layers.front(), key.first, key.second);
    if (update > 0.0) line += fmt::format(", update {}", format_seconds(update));
    text += wrapped(line, screen_columns(), "    ") + "\n";
  }
  return text;
}

double percent_of(double part, double all) { return all > 0.0 ? 100.0 * part / all : 0.0; }

}  // namespace

void PhaseTimes::end(const std::string& name) {
  const Clock::time_point now = Clock::now();
  phases_.push_back({name, std::chrono::duration<double>(now - last_).count()});
  last_ = now;
}

std::string PhaseTimes::describe() const {
  std::vector<std::string> parts;
  for (const Phase& phase : phases_)
    parts.push_back(fmt::format("{} {}", phase.name, format_seconds(phase.seconds)));
  return "before the first step\n  " + wrapped(join(parts), screen_columns() - 2, "  ") + "\n";
}

std::string describe_layer_times(const Profile& profile) {
  std::vector<std::pair<Rows, std::vector<int>>> kinds;
  for (int l = 0; l < profile.num_layers(); ++l) {
    Rows rows = largest_rows(profile.layers[static_cast<std::size_t>(l)]);
    const auto same = std::find_if(kinds.begin(), kinds.end(),
                                   [&](const auto& kind) { return timed_alike(kind.first, rows); });
    if (same != kinds.end()) {
      same->second.push_back(l);
    } else {
      kinds.push_back({std::move(rows), {l}});
    }
  }
  std::string text = "layer times\n";
  for (const auto& [rows, layers] : kinds) text += lines_of(profile, layers, rows);
  return text;
}

void RankTotals::add(const std::vector<double>& of_ranks) {
  constexpr std::size_t figures = 4;
  ranks_.resize(of_ranks.size() / figures);
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    ranks_[r].computing += of_ranks[figures * r];
    ranks_[r].communicating += of_ranks[figures * r + 1];
    ranks_[r].idle += of_ranks[figures * r + 2];
  }
}

std::string RankTotals::describe(const std::vector<double>& peak_bytes) const {
  std::string text = "ranks\n  rank  computing  communicating  idle   peak memory\n";
  for (std::size_t r = 0; r < peak_bytes.size(); ++r) {
    const Seconds of_rank = r < ranks_.size() ? ranks_[r] : Seconds();
    const double all = of_rank.computing + of_rank.communicating + of_rank.idle;
    text += fmt::format("  {:<4}  {:>5.1f} %    {:>5.1f} %        {:>5.1f} %  {}\n", r,
                        percent_of(of_rank.computing, all), percent_of(of_rank.communicating, all),
                        percent_of(of_rank.idle, all), format_bytes(peak_bytes[r]));
  }
  return text;
}

}  // namespace pptrain
