// Barriers of the project's kernels, as nvcc translates them, are taken away one at a time. Those
// before a read are missed. The others guard memory that a block writes again in its next row, and
// no block has two rows here.
#include <functional>
#include <string>
#include <vector>

#include "child.hpp"
#include "cuda/attention.hpp"
#include "cuda/twin.hpp"
#include "kernels/attention_case.hpp"
#include "ptx/program.hpp"

using namespace cuda_on_host::ptx;
using namespace pptrain;
using namespace pptrain::test;

namespace {

/// Makes a barrier of a block or warp a branch to what is behind it.
void take_away(Instruction& barrier, std::size_t place) {
  barrier.operation = Operation::branch;
  barrier.target = static_cast<int>(place) + 1;
}

bool is_barrier(const Instruction& one) {
  return one.operation == Operation::block_barrier || one.operation == Operation::warp_barrier;
}

/// "rows_by_block: 3 of 5": how many barriers of a kernel are missed, of those that it has.
using Missed = std::vector<std::string>;

/// "rows_by_block" of "void pptrain::cuda::rows_by_block<...>(...)".
std::string short_name(std::string name) {
  const std::string unnamed = "(anonymous namespace)::";
  if (const auto at = name.find(unnamed); at != std::string::npos) name.erase(at, unnamed.size());
  name.resize(name.find_first_of("<("));
  return name.substr(name.rfind("::") + 2);
}

/// Takes each barrier away, one at a time, of the kernels that `work` launches.
Missed missed_barriers(const std::function<void()>& work) {
  Program* program = Program::current();
  REQUIRE(program != nullptr);
  program->take_counts();
  work();
  Missed all;
  for (const auto& [name, counts] : program->take_counts()) {
    Kernel& kernel = program->kernels().at(name);
    int missed = 0, there = 0;
    for (std::size_t place = 0; place < kernel.code.size(); ++place) {
      if (!is_barrier(kernel.code[place])) continue;
      const std::string said = complaint_of_child([&] {
        take_away(kernel.code[place], place);
        work();
      });
      ++there;
      missed += said.find("PTX: ") != std::string::npos ? 1 : 0;
    }
    const std::string share = std::to_string(missed) + " of " + std::to_string(there);
    if (there > 0) all.push_back(short_name(name) + ": " + share);
  }
  return all;
}

}  // namespace

TEST_CASE("barriers of norms are needed", "[ptx]") {
  Gpu gpu;
  for (const bool is_aligned : {true, false}) {
    const Layout layout = is_aligned ? Layout{} : Layout{3, 1};
    const Missed expected =
        is_aligned ? Missed{"add_chunks: 1 of 1", "norm_backward_rows: 1 of 1",
                            "residual_norm_rows: 2 of 2"}
                   : Missed{"add_chunks: 1 of 1", "rows_by_block: 3 of 4", "rows_by_block: 3 of 5"};
    const std::size_t rows = 5, columns = 2560;
    Twin d(gpu, rows, columns, DType::f32, layout), x(gpu, rows, columns, DType::f32, layout),
        dx(gpu, rows, columns, DType::f32, layout), y(gpu, rows, columns, DType::bf16, layout),
        gain(gpu, 1, columns), offset(gpu, 1, columns), dgain(gpu, 1, columns),
        doffset(gpu, 1, columns), mean(gpu, 1, rows), rstd(gpu, 1, rows);
    for (Twin* input : {&d, &x, &gain, &offset, &dgain, &doffset}) input->randomise(1);
    const auto work = [&] {
      gpu.kernels.residual_norm_forward({{},
                                         x.device(),
                                         {},
                                         nullptr,
                                         {},
                                         gain.device_f32(),
                                         offset.device_f32(),
                                         y.device(),
                                         mean.device_f32(),
                                         rstd.device_f32()});
      gpu.kernels.norm_backward({{},
                                 d.device(),
                                 x.device(),
                                 mean.device_f32(),
                                 rstd.device_f32(),
                                 gain.device_f32(),
                                 offset.device_f32(),
                                 {},
                                 dx.device(),
                                 dgain.device_f32(),
                                 doffset.device_f32(),
                                 y.device()});
      (void)dx.fetch();
    };
    CHECK(missed_barriers(work) == expected);
  }
}

TEST_CASE("barriers of the loss are needed", "[ptx]") {
  Gpu gpu;
  const std::size_t rows = 3, columns = 2500;
  Twin logits(gpu, rows, columns), largest(gpu, 1, rows), sum(gpu, 1, rows), target(gpu, 1, rows);
  const DeviceValues<std::int32_t> targets(gpu, {1, 2, 3});
  const DeviceValues<double> loss(gpu, {0.0});
  logits.randomise(1);
  const auto work = [&] {
    gpu.kernels.cross_entropy_max(logits.device(), largest.device_f32());
    gpu.kernels.cross_entropy_sum(logits.device(), Targets{targets.data()}, largest.device_f32(),
                                  sum.device_f32(), target.device_f32());
    gpu.kernels.cross_entropy_at_once(logits.device(), Targets{targets.data()},
                                      largest.device_f32(), sum.device_f32(), target.device_f32(),
                                      {0.125F, 1e-4F});
    gpu.kernels.cross_entropy_loss(largest.device_f32(), sum.device_f32(), target.device_f32(),
                                   rows, loss.data(), 1e-4);
    (void)loss.fetch();
  };
  CHECK(missed_barriers(work) == Missed{"add_partial_sums: 1 of 2", "largest_of_rows: 1 of 2",
                                        "losses_of_rows: 3 of 7", "sums_of_rows: 1 of 4",
                                        "sum_terms: 1 of 2"});
}

TEST_CASE("barriers of sums and of gradients of embeddings are needed", "[ptx]") {
  Gpu gpu;
  const std::size_t rows = 700, columns = 33;
  Twin d(gpu, rows, columns), gradient(gpu, 1, columns), embedding(gpu, 7, columns);
  d.randomise(1);
  const DeviceValues<std::uint32_t> tokens(gpu, std::vector<std::uint32_t>(rows, 5));
  const auto work = [&] {
    gpu.kernels.add_column_sums(d.device(), gradient.device_f32());
    gpu.kernels.embedding_backward({tokens.data(), rows, 0}, d.device(), embedding.device(), {});
    (void)embedding.fetch();
  };
  CHECK(missed_barriers(work) == Missed{"order_rows: 2 of 3", "add_chunks: 1 of 1"});
}

TEST_CASE("barriers of attention's own kernels are needed", "[ptx]") {
  Gpu gpu;
  const auto attention = make_cuda_attention(gpu.device, FusedAttention::own);
  const AttentionCase c = {1, 70, 1, 24};
  Twin qkv(gpu, c.rows(), c.qkv_width()), out(gpu, c.rows(), c.width()),
      log_sum(gpu, c.rows(), c.heads), dout(gpu, c.rows(), c.width()),
      dqkv(gpu, c.rows(), c.qkv_width());
  qkv.randomise(1);
  dout.randomise(2);
  const auto part = [&](const Twin& twin, std::size_t which) {
    return c.part(twin.device(), which);
  };
  const auto work = [&] {
    attention->forward(
        {c.form(), part(qkv, 0), part(qkv, 1), part(qkv, 2), out.device(), log_sum.device_f32()},
        gpu.arena);
    attention->backward(
        {c.form(), part(qkv, 0), part(qkv, 1), part(qkv, 2), out.device(), log_sum.device_f32(),
         dout.device(), part(dqkv, 0), part(dqkv, 1), part(dqkv, 2)},
        gpu.arena);
    (void)dqkv.fetch();
  };
  CHECK(missed_barriers(work) ==
        Missed{"forward: 4 of 4", "key_gradients: 3 of 3", "query_gradients: 4 of 5"});
}
