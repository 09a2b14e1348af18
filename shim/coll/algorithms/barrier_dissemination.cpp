// SPDX-License-Identifier: BSD-3-Clause
// Barrier by dissemination: in round k each process sends to the process 2^k ahead.
// ceil(log2 size) rounds at any size.
#include "shim/coll/algorithms.hpp"

namespace shim::coll {

Task barrier_dissemination(Call call) {
  std::byte out{}, in{};
  for (int distance = 1; distance < call.size; distance *= 2) {
    int to = (call.rank + distance) % call.size;
    int from = (call.rank - distance + call.size) % call.size;
    co_await call.exchange(ConstBytes(&out, 1), to, Bytes(&in, 1), from);
  }
}

}  // namespace shim::coll
