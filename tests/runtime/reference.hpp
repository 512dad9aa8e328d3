#pragma once

#include <mpi.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "data/dataset.hpp"
#include "plan/plan.hpp"
#include "runtime/execute/session.hpp"
#include "support/published_models.hpp"

namespace pptrain::test {

/// A recorded PyTorch run: one of tests/data/gpt2-reference, or of tests/data/models, a folder as
/// Hugging Face's libraries write it.
struct Reference {
  /// `run`: of a folder that has several, "lion"; "": the plain one.
  explicit Reference(const std::string& name, const std::string& run = "");

  Config config;
  std::vector<std::uint32_t> tokens;        ///< empty where the folder has data.h5
  std::shared_ptr<const Dataset> labelled;  ///< what is in data.h5
  std::map<std::string, std::vector<float>> weights;
  std::vector<double> losses;
  std::vector<double> grad_norms;
  std::int64_t num_parameters = 0;             ///< of a folder, as the library counted them
  std::map<std::string, double> tensor_norms;  ///< of step 0's gradients; not recorded for all
  double loss_tolerance = 5e-6;
  std::int64_t micro_batch_size = 0;  ///< that the losses are of, where they depend on it; 0: of
                                      ///< any
  /// Length and shift of the documents in samples where attention stays within them: a new one
  /// begins wherever (position + shift * sample) is a multiple of the length.
  std::int64_t document_length = 0, document_shift = 0;

  void read_folder(const std::string& folder, const std::string& expected = "expected.json");
  /// The samples of a step, read on in order.
  SampleSource samples(std::int64_t step) const;
  /// Gives what a rank holds the recorded initial weights.
  void fill(Session& session) const;
  /// Division of the chain's layers and batch over a grid; `micro_batch_size` where the losses are
  /// of any.
  Plan plan(int pipeline, int data, int tensor, std::int64_t micro_batch_size,
            const std::string& schedule, int chunks = 1) const;
};

/// The number of ranks of this run.
int world_size();

/// A schedule with the chunks per rank that it may have.
struct Kind {
  std::string schedule;
  std::vector<int> chunks;
};
inline const std::vector<Kind> kinds = {{"gpipe", {1}},
                                        {"1f1b", {1}},
                                        {"dapple-b", {1}},
                                        {"interleaved-1f1b", {1, 2, 3}},
                                        {"breadth-first", {1, 2, 3}},
                                        {"zb-h1", {1}},
                                        {"zb-h2", {1}},
                                        {"zb-v", {2}},
                                        {"zeropp", {1, 2, 3}},
                                        {"auto", {1, 2}}};

/// What a training run gave.
struct Curve {
  std::vector<double> losses;
  std::vector<double> grad_norms;
  std::map<std::string, double> tensor_norms;  ///< of step 0's gradients over all ranks
  std::size_t peak_bytes = 0;                  ///< of this rank's arena
  std::size_t resting_bytes = 0;               ///< in use after the last step
  std::int64_t chunk_gathers = 0;              ///< of this rank
};

/// Trains `steps` steps of the reference job under a plan, device d on rank d; the plan may leave
/// ranks out. Collective over `comm`.
Curve train_reference(MPI_Comm comm, const Reference& reference, const Plan& plan, int steps,
                      const SessionOptions& options = {});
/// Trains `steps` steps of another model, whose parameters are among those of the reference, under
/// a plan, device d on rank d; the plan may leave ranks out. Collective over `comm`.
Curve train_model(MPI_Comm comm, const Reference& reference, const Model& model, const Plan& plan,
                  int steps, const SessionOptions& options = {});

/// The recorded losses within 5e-6 at each step, the gradient norm of step 0 and those of its
/// tensors within 1e-5 of themselves.
void check_curve(const Curve& curve, const Reference& reference);

/// Holds the logits of the first sample of a folder of tests/data/models, row by row, to those that
/// its library gave: the first and the last ones within 1e-5, all by their norm.
void check_first_logits(const std::string& name, const std::vector<float>& logits);

/// Largest difference of two curves' losses.
double largest_difference(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace pptrain::test
