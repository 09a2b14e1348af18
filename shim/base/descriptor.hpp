// SPDX-License-Identifier: BSD-3-Clause
// File descriptors that this library makes, none of which is 0, 1 or 2: a program that has closed a standard
// stream may still print to its number.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace shim::base {

/// A file descriptor of our own, closed with its owner.
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

/// Return a descriptor above 2 for the open file of `made`, which is closed if it is 0, 1 or 2. Return -1 with
/// errno if `made` is -1 or no further descriptor is free. Every call that makes a descriptor stands inside this
/// function or the next one; scripts/check-descriptors holds the code to it.
int above_standard_streams(int made);
/// Do the same for both ends of a pipe or socket pair; `result` is what pipe2(2) or socketpair(2) returned.
/// Return 0, or -1 with errno and both ends closed.
int above_standard_streams(int result, std::array<int, 2>& ends);

/// Occupies those of the descriptors 0, 1 and 2 that are closed, so that a library called meanwhile gets numbers
/// above 2. Reads and writes there fail with EBADF as before (open(2), O_PATH).
class StandardStreamsHeld {
 public:
  StandardStreamsHeld();
  StandardStreamsHeld(const StandardStreamsHeld&) = delete;
  /// Leaves a number alone to which the program has opened something else since.
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
