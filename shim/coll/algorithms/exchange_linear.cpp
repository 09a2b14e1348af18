// SPDX-License-Identifier: BSD-3-Clause
// Messages between processes that name each other, all posted at once: in windows, those of different processes would not be the
// same, and each could wait for what another sends in a later one.
#include "shim/coll/algorithms.hpp"

namespace shim::coll {

Task exchange_linear(Call call, std::span<const Outgoing> out, std::span<const Incoming> in) {
  for (const Incoming& message : in) co_await call.post_receive(message.into, message.source);
  for (const Outgoing& message : out) co_await call.post_send(message.data, message.dest);
  co_await call.done();
}

}  // namespace shim::coll
