// SPDX-License-Identifier: BSD-3-Clause
// Two processes that share a folder and nothing else.
#pragma once

#include <string>

namespace bench {

class Meeting {
 public:
  /// The folder is empty before either of the two comes. Who comes first is the first.
  explicit Meeting(std::string folder);
  bool is_first() const { return is_first_; }
  /// Hands over what this process has to say, once, and returns what the other one has.
  std::string exchange(const std::string& own);

 private:
  std::string file(bool of_first) const;
  std::string folder_;
  bool is_first_;
};

}  // namespace bench
