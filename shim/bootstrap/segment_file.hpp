// SPDX-License-Identifier: BSD-3-Clause
// The file behind a node segment: how it comes to be, who may hold it, and when it goes. Nothing here knows what is in
// it.
//
//  - It is made without a name (O_TMPFILE), locked, sized and filled, and then linked to its name, which only one
//  process can
//    do. So a file with a name is always complete, and a maker that is killed leaves nothing behind.
//  - Every user holds LOCK_SH on an open file description of its own. Who gets LOCK_EX knows that there is no user.
//  - Between opening a file and locking it, the last user may have removed it: after locking, the name must still lead
//  to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "shim/base/clock.hpp"
#include "shim/base/result.hpp"

namespace shim::bootstrap {

struct SegmentPlace {
  std::string directory;
  std::string name;
  std::string path() const { return directory + "/" + name; }
};

/// "intersession-<user id>-<16 hexadecimal digits of job and node>".
SegmentPlace segment_place(const std::string& directory, std::string_view job, std::uint32_t node);

/// An open segment file with LOCK_SH held.
class SegmentFile {
 public:
  /// Local. Opens the file of that name if somebody uses it, else makes one of `total_bytes` that begins with `header`
  /// and whose first `backed_bytes` have memory behind them. Errors: access, no_space, no_mem, other (the lock is not
  /// to be had before the deadline).
  static base::Result<SegmentFile> open(const SegmentPlace& place, std::span<const std::byte> header,
                                        std::size_t backed_bytes, std::size_t total_bytes, base::Deadline deadline);

  SegmentFile(SegmentFile&& other) noexcept;
  SegmentFile& operator=(SegmentFile&&) = delete;
  /// Gives the lock back and removes the file if nobody else holds it. In a child made by fork(), which shares the lock
  /// with its parent, it only closes.
  ~SegmentFile();

  /// What the destructor does, for a process that ends without: the memory stays mapped.
  void give_back() const;

  const SegmentPlace& place() const { return place_; }
  int descriptor() const { return descriptor_; }
  /// Reserves memory for this range of the file. Errors: no_space, other.
  base::Status reserve(std::size_t offset, std::size_t bytes) const;
  /// Could so many bytes of the file have memory behind them, those included that have? Who wants them may come too late all the same.
  /// Errors: no_space, other.
  base::Status check_room(std::size_t bytes) const;
  /// Could so many bytes more have memory behind them? Errors: no_space, other.
  base::Status check_free(std::size_t bytes) const;
  /// Errors: other (shorter than asked for, or unreadable).
  base::Status read(std::span<std::byte> into) const;
  /// Errors: other (not of this size).
  base::Status check_size(std::size_t bytes) const;
  /// Holds byte `offset` for this open file description alone, until it is closed, in whatever way. Answers whether it
  /// was free.
  bool claim(std::size_t offset) const;

 private:
  SegmentFile(SegmentPlace place, int descriptor);
  struct Attempts;

  SegmentPlace place_;
  int descriptor_;
  int owner_;  ///< process that opened it
};

}  // namespace shim::bootstrap
