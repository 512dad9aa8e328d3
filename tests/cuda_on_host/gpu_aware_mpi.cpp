// An MPI that takes memory of the stand-in's devices, in front of the real one. It reads what is
// sent when that is called, and may write what is received from its call on: work of the device
// that should have ended before, and has not, shows as a wrong number.
#include <mpi.h>

#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "stand_in.hpp"

namespace {

/// A message that is under way between memory of the host and of a device.
struct Message {
  std::unique_ptr<std::byte[]> block;
  void* device = nullptr;  ///< where what arrives goes; null: it is sent
  std::size_t bytes = 0;
};

std::map<MPI_Request, Message>& messages() {
  static std::map<MPI_Request, Message> all;
  return all;
}

std::size_t bytes_of(int count, MPI_Datatype type) {
  int size = 0;
  MPI_Type_size(type, &size);
  return static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
}

/// The message of this request, if it was one of a device's memory, has ended.
void deliver(MPI_Request request) {
  const auto found = messages().find(request);
  if (found == messages().end()) return;
  if (found->second.device != nullptr) {
    const cuda_on_host::Access access;
    std::memcpy(found->second.device, found->second.block.get(), found->second.bytes);
  }
  messages().erase(found);
}

}  // namespace

extern "C" {

int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  const std::size_t bytes = bytes_of(count, type);
  if (bytes == 0 || !cuda_on_host::is_device_memory(data, bytes)) {
    return PMPI_Isend(data, count, type, to, tag, comm, request);
  }
  Message message{std::make_unique<std::byte[]>(bytes), nullptr, bytes};
  {
    const cuda_on_host::Access access;
    std::memcpy(message.block.get(), data, bytes);
  }
  const int result = PMPI_Isend(message.block.get(), count, type, to, tag, comm, request);
  messages().emplace(*request, std::move(message));
  return result;
}

int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  const std::size_t bytes = bytes_of(count, type);
  if (bytes == 0 || !cuda_on_host::is_device_memory(data, bytes)) {
    return PMPI_Irecv(data, count, type, from, tag, comm, request);
  }
  {
    const cuda_on_host::Access access;
    std::memset(data, 0xff, bytes);
  }
  Message message{std::make_unique<std::byte[]>(bytes), data, bytes};
  const int result = PMPI_Irecv(message.block.get(), count, type, from, tag, comm, request);
  messages().emplace(*request, std::move(message));
  return result;
}

int MPI_Testall(int count, MPI_Request requests[], int* ended, MPI_Status statuses[]) {
  const std::vector<MPI_Request> before(requests, requests + count);
  const int result = PMPI_Testall(count, requests, ended, statuses);
  if (*ended != 0) {
    for (const MPI_Request request : before) deliver(request);
  }
  return result;
}
}
