// SPDX-License-Identifier: BSD-3-Clause
// Exchange between listed processes (neighborhood collectives), with all messages posted at once.
// Without windows: as the lists differ between processes, a process could wait in one window for a
// message that its sender posts in a later one.
#include "shim/coll/algorithms.hpp"

namespace shim::coll {

Task exchange_linear(Call call, std::span<const OutgoingBlock> out,
                     std::span<const IncomingBlock> in) {
  for (const IncomingBlock& message : in) co_await call.post_receive(message.into, message.source);
  for (const OutgoingBlock& message : out) co_await call.post_send(message.data, message.dest);
  co_await call.done();
}

}  // namespace shim::coll
