// SPDX-License-Identifier: BSD-3-Clause
// Broadcast of long data along a chain from the root, in segments.
// Each process sends and receives the data once.
#include "shim/coll/algorithms.hpp"
#include "shim/coll/algorithms/segments.hpp"

namespace shim::coll {

Task bcast_chain(Call call, Bytes data, int root) {
  const Segments segments({&types::byte_type(), nullptr, data.size()}, kChainSegmentBytes);
  const int number = (call.rank - root + call.size) % call.size;  // in the chain; the root is 0
  const bool has_ahead = number > 0, has_behind = number + 1 < call.size;
  for (int i = 0; i < segments.count(); ++i) {
    if (has_ahead) {
      co_await call.post_receive(segments.of(data.data(), i),
                                 (call.rank - 1 + call.size) % call.size);
      co_await call.done();
    }
    if (i % kWindow == 0) co_await call.done();
    if (has_behind)
      co_await call.post_send(segments.of(static_cast<const void*>(data.data()), i),
                              (call.rank + 1) % call.size);
  }
  co_await call.done();
}

}  // namespace shim::coll
