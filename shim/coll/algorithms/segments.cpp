// SPDX-License-Identifier: BSD-3-Clause
#include "shim/coll/algorithms/segments.hpp"

namespace shim::coll {

Task post_segments(Call call, Segments segments, const void* data, int dest) {
  for (int i = 0; i < segments.count(); ++i) {
    co_await call.post_send(segments.of(data, i), dest);
    if ((i + 1) % kWindow == 0) co_await call.done();
  }
}

}  // namespace shim::coll
