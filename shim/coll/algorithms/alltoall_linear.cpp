// SPDX-License-Identifier: BSD-3-Clause
// All-to-all with all messages posted at once, in windows so that a large communicator does not flood itself; begins with the
// neighbours, so that not everybody talks to rank 0 first.
#include <vector>

#include "shim/coll/algorithms.hpp"

namespace shim::coll {

Task alltoallv_linear(Call call, const std::byte* send, std::span<const Part> send_parts, std::byte* receive,
                      std::span<const Part> receive_parts) {
  int in_flight = 0;
  for (int step = 1; step < call.size; ++step) {
    int to = (call.rank + step) % call.size;
    int from = (call.rank - step + call.size) % call.size;
    co_await call.post_receive(part_of(receive, receive_parts[static_cast<std::size_t>(from)]), from);
    co_await call.post_send(part_of(send, send_parts[static_cast<std::size_t>(to)]), to);
    in_flight += 2;
    if (in_flight % kWindow == 0) co_await call.done();
  }
  auto own = static_cast<std::size_t>(call.rank);
  copy_bytes(send + send_parts[own].offset, receive + receive_parts[own].offset, send_parts[own].bytes);
  co_await call.done();
}

Task alltoall_linear(Call call, const std::byte* send, std::byte* receive, std::uint64_t block) {
  std::vector<Part> parts = equal_parts(call.size, block);
  Task linear = alltoallv_linear(call, send, parts, receive, parts);
  co_await linear;
}

}  // namespace shim::coll
