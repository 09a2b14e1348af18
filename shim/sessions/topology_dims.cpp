// SPDX-License-Identifier: BSD-3-Clause
// Implements MPI_Dims_create (MPI-4.1 §8.5.2). "As close to each other as possible" is read as
// follows: of all products of non-increasing factors, choose those with the smallest difference
// between first and last factor; of these the ones with the largest last factor, then the largest
// last but one, and so on. MPICH's test suite expects this order.
#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <tuple>

#include "shim/sessions/topology.hpp"

namespace shim::sessions {
namespace {

using base::Error;
using base::ErrorClass;

class Balance {
 public:
  explicit Balance(int number) : number_(number) {
    for (int d = 1; std::int64_t{d} * d <= number; ++d)
      if (number % d == 0) {
        divisors_.push_back(d);
        if (d != number / d) divisors_.push_back(number / d);
      }
    std::sort(divisors_.begin(), divisors_.end());
  }

  /// Return the non-increasing factors; count is at least 1.
  std::vector<int> factors(std::size_t count) {
    if (count == 1) return {number_};
    std::vector<int> best;
    for (int first : divisors_) {
      if (power(first, count) < number_) continue;
      const int spread = best.empty() ? first : best.front() - best.back();
      // From here on a larger first factor leaves less for the others, so the difference only
      // grows.
      if (first - greatest_common(number_ / first, count - 1) > spread) break;
      std::vector<int> others;
      if (!fill(number_ / first, count - 1, std::max(1, first - spread), first, others)) continue;
      best.assign(others.rbegin(), others.rend());
      best.insert(best.begin(), first);
    }
    return best;
  }

 private:
  /// Append `count` factors within the bounds whose product is `rest`: non-decreasing, the first as
  /// large as possible, then the second, and so on. False if there are none.
  bool fill(int rest, std::size_t count, int least, int most, std::vector<int>& factors) {
    if (count == 0) return rest == 1;
    if (power(least, count) > rest || power(most, count) < rest ||
        hopeless_.contains({rest, count, least, most}))
      return false;
    auto divisor = std::upper_bound(divisors_.begin(), divisors_.end(),
                                    std::min(most, greatest_common(rest, count)));
    while (divisor != divisors_.begin() && *--divisor >= least) {
      if (rest % *divisor != 0) continue;
      factors.push_back(*divisor);
      if (fill(rest / *divisor, count - 1, *divisor, most, factors)) return true;
      factors.pop_back();
    }
    hopeless_.insert({rest, count, least, most});
    return false;
  }

  /// Return the largest divisor of the number that `count` factors of `rest` can all reach.
  int greatest_common(int rest, std::size_t count) const {
    auto beyond = std::partition_point(divisors_.begin(), divisors_.end(),
                                       [&](int d) { return power(d, count) <= rest; });
    return *(beyond - 1);  // 1 is a divisor
  }

  /// Return base to the power of count, or a value larger than any int.
  static std::int64_t power(int base, std::size_t count) {
    std::int64_t result = 1;
    for (std::size_t i = 0; base > 1 && i < count && result <= std::numeric_limits<int>::max(); ++i)
      result *= base;
    return result;
  }

  int number_;
  std::vector<int> divisors_;
  std::set<std::tuple<int, std::size_t, int, int>> hopeless_;
};

}  // namespace

base::Status dims_create(int processes, std::vector<int>& dims) {
  if (processes < 1)
    return Error(ErrorClass::dims,
                 "the number of processes " + std::to_string(processes) + " is not positive");
  int rest = processes;
  std::size_t open = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0)
      return Error(ErrorClass::dims,
                   "dims[" + std::to_string(i) + "] is negative (" + std::to_string(dims[i]) + ")");
    if (dims[i] == 0)
      ++open;
    else if (rest % dims[i] == 0)
      rest /= dims[i];
    else
      return Error(ErrorClass::dims,
                   std::to_string(processes) + " processes are not divisible by the given dims");
  }
  if (dims.empty()) return {};
  if (open == 0 && rest != 1)
    return Error(ErrorClass::dims, "the number of processes is " + std::to_string(rest) +
                                       " times the product of the given dims");
  std::vector<int> factors;
  if (open > 0) factors = Balance(rest).factors(open);
  auto factor = factors.begin();
  for (int& dim : dims)
    if (dim == 0) dim = *factor++;
  return {};
}

}  // namespace shim::sessions
