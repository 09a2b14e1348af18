// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/index_runs.hpp"

#include <algorithm>
#include <numeric>

namespace shim::sessions {
namespace {

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  std::int64_t q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return -floor_div(-a, b); }
std::int64_t modulo(std::int64_t a, std::int64_t m) { return a - floor_div(a, m) * m; }

/// Return the inverse of a modulo m (m > 0) by Euclid's algorithm; a and m are coprime.
std::int64_t inverse(std::int64_t a, std::int64_t m) {
  std::int64_t r0 = m, r1 = modulo(a, m), s0 = 0, s1 = 1;
  while (r1 != 0) {
    std::int64_t q = r0 / r1;
    std::int64_t r2 = r0 - q * r1, s2 = s0 - q * s1;
    r0 = r1, r1 = r2, s0 = s1, s1 = s2;
  }
  return modulo(s0, m);
}

}  // namespace

std::optional<IndexRun> indices_within(std::int64_t start, std::int64_t count, std::int64_t stride,
                                       const IndexRun& numbers) {
  if (count <= 0 || numbers.count <= 0) return std::nullopt;
  // the interval of i for which start+i*stride is between the run's ends
  std::int64_t to_first = numbers.first - start, to_last = numbers.last() - start;
  std::int64_t low = stride > 0 ? ceil_div(to_first, stride) : ceil_div(to_last, stride);
  std::int64_t high = stride > 0 ? floor_div(to_last, stride) : floor_div(to_first, stride);
  low = std::max<std::int64_t>(low, 0), high = std::min(high, count - 1);
  if (low > high) return std::nullopt;
  // of these the solutions of i*stride = to_first (mod step): every (step/common)-th one
  std::int64_t common = std::gcd(stride, numbers.step);
  if (modulo(to_first, common) != 0) return std::nullopt;
  std::int64_t step = numbers.step / common;
  std::int64_t solution = step == 1 ? 0
                                    : modulo(modulo(to_first / common, step) *
                                                 inverse(stride / common, step),
                                             step);
  std::int64_t first = low + modulo(solution - low, step);
  if (first > high) return std::nullopt;
  return IndexRun{first, (high - first) / step + 1, step};
}

bool share_an_index(const IndexRun& a, const IndexRun& b) {
  return indices_within(a.first, a.count, a.step, b).has_value();
}

std::optional<IndexRun> RunMerger::next() {
  if (waiting_.empty()) return std::nullopt;
  IndexRun run = waiting_.top();
  waiting_.pop();
  if (waiting_.empty() || run.last() < waiting_.top().first) return run;
  IndexRun piece{run.first, (waiting_.top().first - 1 - run.first) / run.step + 1, run.step};
  waiting_.push({piece.last() + run.step, run.count - piece.count, run.step});
  return piece;
}

void for_each_gap(RunMerger& taken, std::int64_t count,
                  const std::function<void(const IndexRun&)>& emit) {
  std::int64_t next_free = 0;
  while (auto piece = taken.next()) {
    if (piece->first > next_free) emit({next_free, piece->first - next_free, 1});
    if (piece->step == 2 && piece->count > 1) {
      emit({piece->first + 1, piece->count - 1, 2});
    } else if (piece->step > 2) {
      for (std::int64_t i = 0; i + 1 < piece->count; ++i)
        emit({piece->first + i * piece->step + 1, piece->step - 1, 1});
    }
    next_free = piece->last() + 1;
  }
  if (next_free < count) emit({next_free, count - next_free, 1});
}

}  // namespace shim::sessions
