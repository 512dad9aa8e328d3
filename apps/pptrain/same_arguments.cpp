#include "same_arguments.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <string>

#include "base/error.hpp"
#include "comm/collective.hpp"
#include "comm/mpi.hpp"
#include "runtime/places/waiters.hpp"

namespace pptrain {

void check_same_arguments(int argc, char** argv) {
  if (size_of(MPI_COMM_WORLD) == 1) return;
  std::string arguments;
  for (int i = 1; i < argc; ++i) arguments += fmt::format("{}{}", i > 1 ? " " : "", argv[i]);
  Waiter waiter = first_waiter(MPI_COMM_WORLD);
  const std::string of_rank_0 = broadcast(MPI_COMM_WORLD, arguments, waiter);
  collectively(MPI_COMM_WORLD, waiter, [&] {
    if (arguments == of_rank_0) return;
    throw_bad_input(
        {"the command line",
         fmt::format("rank {} was started with \"{}\"", rank_in(MPI_COMM_WORLD), arguments),
         fmt::format("rank 0 with \"{}\"", of_rank_0), "start all ranks of a job alike"});
  });
}

}  // namespace pptrain
