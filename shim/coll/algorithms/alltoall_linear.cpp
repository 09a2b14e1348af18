// SPDX-License-Identifier: BSD-3-Clause
// All-to-all with all messages posted at once, in windows.
// Windows limit the messages in flight on large communicators. Each process starts with its
// neighbors, so that not all send to rank 0 first. All processes use equal windows of steps, so
// that none waits in one window for a message of a later one.
#include <vector>

#include "shim/coll/algorithms.hpp"

namespace shim::coll {

Task alltoallw_linear(Call call, std::span<const types::ConstBuffer> send,
                      std::span<const types::Buffer> receive) {
  for (int step = 1; step < call.size; ++step) {
    int to = (call.rank + step) % call.size;
    int from = (call.rank - step + call.size) % call.size;
    co_await call.post_receive(receive[static_cast<std::size_t>(from)], from);
    co_await call.post_send(send[static_cast<std::size_t>(to)], to);
    if (2 * step % kWindow == 0) co_await call.done();
  }
  auto own = static_cast<std::size_t>(call.rank);
  co_await Call::copy_local(send[own], receive[own]);
  co_await call.done();
}

Task alltoall_linear(Call call, const std::byte* send, std::byte* receive, std::uint64_t block) {
  auto size = static_cast<std::size_t>(call.size);
  std::vector<types::ConstBuffer> outgoing(size);
  std::vector<types::Buffer> incoming(size);
  for (std::size_t i = 0; i < size; ++i) {
    outgoing[i] = Call::buffer(ConstBytes(send + i * block, block));
    incoming[i] = Call::buffer(Bytes(receive + i * block, block));
  }
  Task linear = alltoallw_linear(call, outgoing, incoming);
  co_await linear;
}

}  // namespace shim::coll
