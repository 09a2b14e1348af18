// SPDX-License-Identifier: BSD-3-Clause
// How a value becomes names and ports of the launcher's name service, and back. The service carries short texts; a value is
// bytes of any length, so it is written as base64 and, where that is too long, over several names:
//   <kvs>.<rank>.<key>       "<number of parts>:<first part>"
//   <kvs>.<rank>.<key>/<i>   "<part i>", i from 1
// The first name is published last, so whoever finds it finds the others too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shim/bootstrap/bootstrap.hpp"

namespace shim::bootstrap::pmi1 {

struct Publication {
  std::string name, port;
};

/// The name of a part; characters of the key that the protocol or this scheme needs for itself are written as %XX.
std::string name_of_part(std::string_view world, std::uint32_t rank, std::string_view key, std::uint32_t part);

/// In the order in which they are to be published. port_limit: the longest port that the server takes.
std::vector<Publication> publications_of(std::string_view world, std::uint32_t rank, std::string_view key,
                                         std::span<const std::byte> value, std::size_t port_limit);

/// Puts the parts of a value together, in order.
class Collected {
 public:
  /// The port of the next part. False where it is none of ours.
  bool add(std::string_view port);
  /// Known after the first.
  std::uint32_t next_part() const { return taken_; }
  bool is_whole() const { return taken_ > 0 && taken_ == parts_; }
  /// Nothing where the text is not base64.
  std::optional<Bytes> value() const;

 private:
  std::uint32_t taken_ = 0, parts_ = 0;
  std::string text_;
};

}  // namespace shim::bootstrap::pmi1
