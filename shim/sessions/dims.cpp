// SPDX-License-Identifier: BSD-3-Clause
// MPI_Dims_create (MPI-4.1 §8.5.2). "As close to each other as possible" is read so: of all ways to write the number as a
// product of non-increasing factors, the one whose largest factor is smallest; among those, whose second is; and so on.
#include <algorithm>
#include <set>
#include <tuple>

#include "shim/sessions/communicator.hpp"

namespace shim::sessions {
namespace {

using base::Error;
using base::ErrorClass;

class Balance {
 public:
  explicit Balance(int number) {
    for (int d = 1; std::int64_t{d} * d <= number; ++d)
      if (number % d == 0) {
        divisors_.push_back(d);
        if (d != number / d) divisors_.push_back(number / d);
      }
    std::sort(divisors_.begin(), divisors_.end());
  }

  /// Appends count factors, none above the limit, whose product is the rest; false if there are none.
  bool fill(int rest, std::size_t count, int limit, std::vector<int>& factors) {
    if (count == 0) return rest == 1;
    if (hopeless_.contains({rest, count, limit})) return false;
    for (int divisor : divisors_) {
      if (divisor > limit) break;
      if (rest % divisor != 0 || !reaches(divisor, count, rest)) continue;
      factors.push_back(divisor);
      if (fill(rest / divisor, count - 1, divisor, factors)) return true;
      factors.pop_back();
    }
    hopeless_.insert({rest, count, limit});
    return false;
  }

 private:
  /// Is divisor to the power of count at least the rest? (Else the factors after it cannot make up for it.)
  static bool reaches(int divisor, std::size_t count, int rest) {
    std::int64_t power = 1;
    for (std::size_t i = 0; i < count && power < rest; ++i) {
      power *= divisor;
      if (divisor == 1) break;
    }
    return power >= rest;
  }

  std::vector<int> divisors_;
  std::set<std::tuple<int, std::size_t, int>> hopeless_;
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
  if (open > 0) Balance(rest).fill(rest, open, rest, factors);
  auto factor = factors.begin();
  for (int& dim : dims)
    if (dim == 0) dim = *factor++;
  return {};
}

}  // namespace shim::sessions
