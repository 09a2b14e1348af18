// SPDX-License-Identifier: BSD-3-Clause
// MPI_Dims_create (MPI-4.1 §8.5.2). "As close to each other as possible" is read so: of all ways to write the number as a
// product of non-increasing factors, the one whose largest and smallest factor differ least; among those, the one whose
// smallest is largest; among those, the one whose second factor is smallest; and so on. MPICH's test suite expects the same.
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

  /// The factors, not increasing; count is at least 1.
  std::vector<int> factors(std::size_t count) {
    if (count == 1) return {number_};
    std::vector<int> best;
    for (int largest : divisors_) {
      if (power(largest, count) < number_) continue;
      // From here on a larger first factor leaves less for the others, so that the two ends only part.
      if (!best.empty() && largest - greatest_common(number_ / largest, count - 1) > spread(best)) break;
      if (auto found = evenest(largest, count, best); !found.empty()) best = std::move(found);
    }
    return best;
  }

 private:
  static int spread(const std::vector<int>& factors) { return factors.front() - factors.back(); }

  /// The factors that begin with the largest and whose last is as large as can be; nothing where best has a smaller spread.
  std::vector<int> evenest(int largest, std::size_t count, const std::vector<int>& best) {
    int rest = number_ / largest;
    auto last = std::upper_bound(divisors_.begin(), divisors_.end(), std::min(largest, greatest_common(rest, count - 1)));
    while (last != divisors_.begin()) {
      int smallest = *--last;
      if (!best.empty() && largest - smallest > spread(best)) break;
      std::vector<int> factors = {largest};
      if (fill(rest, count - 1, largest, smallest, factors)) return factors;
    }
    return {};
  }

  /// Appends count factors between the bounds whose product is the rest, each as small as can be; false if there are none.
  bool fill(int rest, std::size_t count, int largest, int smallest, std::vector<int>& factors) {
    if (count == 0) return rest == 1;
    if (power(smallest, count) > rest || hopeless_.contains({rest, count, largest, smallest})) return false;
    for (auto divisor = std::lower_bound(divisors_.begin(), divisors_.end(), smallest); divisor != divisors_.end() && *divisor <= largest;
         ++divisor) {
      // Where its power does not reach the rest, the factors after it cannot make up for it.
      if (rest % *divisor != 0 || power(*divisor, count) < rest) continue;
      factors.push_back(*divisor);
      if (fill(rest / *divisor, count - 1, *divisor, smallest, factors)) return true;
      factors.pop_back();
    }
    hopeless_.insert({rest, count, largest, smallest});
    return false;
  }

  /// The largest divisor of the number that count factors of the rest can all reach.
  int greatest_common(int rest, std::size_t count) const {
    auto beyond = std::partition_point(divisors_.begin(), divisors_.end(), [&](int d) { return power(d, count) <= rest; });
    return *(beyond - 1);  // 1 is a divisor
  }

  /// base to the power of count, or something larger than any int.
  static std::int64_t power(int base, std::size_t count) {
    std::int64_t result = 1;
    for (std::size_t i = 0; base > 1 && i < count && result <= std::numeric_limits<int>::max(); ++i) result *= base;
    return result;
  }

  int number_;
  std::vector<int> divisors_;
  std::set<std::tuple<int, std::size_t, int, int>> hopeless_;
};

}  // namespace

base::Status dims_create(int processes, std::vector<int>& dims) {
  if (processes < 1) return Error(ErrorClass::dims, std::to_string(processes) + " processes make no grid");
  int rest = processes;
  std::size_t open = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) return Error(ErrorClass::dims, "dims[" + std::to_string(i) + "] is " + std::to_string(dims[i]));
    if (dims[i] == 0) ++open;
    else if (rest % dims[i] == 0) rest /= dims[i];
    else return Error(ErrorClass::dims, std::to_string(processes) + " processes cannot be divided by the dims that are given");
  }
  if (dims.empty()) return {};
  if (open == 0 && rest != 1)
    return Error(ErrorClass::dims, "the dims that are given leave " + std::to_string(rest) + " times as many processes over");
  std::vector<int> factors;
  if (open > 0) factors = Balance(rest).factors(open);
  auto factor = factors.begin();
  for (int& dim : dims)
    if (dim == 0) dim = *factor++;
  return {};
}

}  // namespace shim::sessions
