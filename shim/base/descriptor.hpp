// SPDX-License-Identifier: BSD-3-Clause
// Descriptor owns a file descriptor. All descriptors that this library uses are above 2, because a
// program that has closed a standard stream may still write to its number.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace shim::base {

/// A file descriptor, closed by the destructor.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  bool is_open() const { return number_ >= 0; }
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

/// Return `made` if it is above 2; else duplicate it to a free number above 2 and close `made`.
/// Return -1 with errno if `made` is -1 or no number is free. Pass the result of every call that
/// opens a descriptor to this function or the next one (scripts/check-descriptors checks this).
int above_standard_streams(int made);
/// Do the same for both ends of a pipe or socket pair; `result` is what pipe2(2) or socketpair(2)
/// returned. Return 0, or -1 with errno and both ends closed.
int above_standard_streams(int result, std::array<int, 2>& ends);

/// Occupies, for its lifetime, the numbers among 0, 1 and 2 that are closed, so that a library
/// called meanwhile gets descriptors above 2. Reads and writes on these numbers still fail with
/// EBADF (open(2), O_PATH).
class StandardStreamsHeld {
 public:
  StandardStreamsHeld();
  StandardStreamsHeld(const StandardStreamsHeld&) = delete;
  /// Close the occupied descriptors, except for numbers that the program has reopened since.
  ~StandardStreamsHeld();

 private:
  struct Held {
    int number = -1;
    dev_t device = 0;
    ino_t inode = 0;
  };
  std::array<Held, 3> held_;
};

}  // namespace shim::base
