// SPDX-License-Identifier: BSD-3-Clause
// AddressExchange connects two processes that share nothing but a folder.
#pragma once

#include <string>

namespace bench {

class AddressExchange {
 public:
  /// Join in a folder that is empty before; the process that joins first is the first.
  explicit AddressExchange(std::string folder);
  bool is_first() const { return is_first_; }
  /// Send this process's data, once, and return the other process's.
  std::string exchange(const std::string& own);

 private:
  std::string file(bool of_first) const;
  std::string folder_;
  bool is_first_;
};

}  // namespace bench
