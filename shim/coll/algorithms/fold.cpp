// SPDX-License-Identifier: BSD-3-Clause
#include "shim/coll/algorithms/fold.hpp"

namespace shim::coll {

Fold::Fold(int size, int prefer) : preferred(prefer) {
  while (power <= size / 2) power *= 2;
  pairs = size - power;
}

bool Fold::is_active(int rank) const {
  if (!is_in_pair(rank) || rank == preferred) return true;
  return rank % 2 == 1 && other_of_pair(rank) != preferred;
}

int Fold::rank_of(int number) const {
  int rank = first_rank_of(number);
  return is_active(rank) ? rank : other_of_pair(rank);
}

Task fold_values(Call call, Operands operands, Fold fold, Accumulator* accumulator) {
  if (!fold.is_in_pair(call.rank)) co_return;
  int partner = Fold::other_of_pair(call.rank);
  if (fold.is_active(call.rank)) {
    co_await call.receive(operands.all(accumulator->spare), partner);
    co_await Call::accumulate(operands, accumulator, partner < call.rank);
  } else {
    co_await call.send(operands.all(static_cast<const void*>(accumulator->value)), partner);
  }
}

Task unfold_values(Call call, Operands operands, Fold fold, void* result) {
  if (!fold.is_in_pair(call.rank)) co_return;
  int partner = Fold::other_of_pair(call.rank);
  if (fold.is_active(call.rank))
    co_await call.send(operands.all(static_cast<const void*>(result)), partner);
  else
    co_await call.receive(operands.all(result), partner);
}

}  // namespace shim::coll
