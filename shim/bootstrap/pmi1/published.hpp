// SPDX-License-Identifier: BSD-3-Clause
// Encodes values for the launcher's name service, and decodes them. The service stores short texts,
// so a value is written as base64 and, if too long, split over several names:
//   <kvs>.<rank>.<key>       "<number of parts>:<first part>"
//   <kvs>.<rank>.<key>/<i>   "<part i>", i from 1
// The first name is published last, so a process that finds it finds the others, too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shim/bootstrap/bootstrap.hpp"

namespace shim::bootstrap::pmi1 {

/// Arguments of one publish_name request. PMI-1 calls the value a port.
struct Publication {
  std::string name, port;
};

/// Return the name of a part. Characters of the key that the protocol or this scheme reserves are
/// written as %XX.
std::string part_name(std::string_view world, std::uint32_t rank, std::string_view key,
                      std::uint32_t part);

/// Return the publications in the order in which they must be published.
/// @param port_limit length of the longest port that the server accepts
std::vector<Publication> publications_of(std::string_view world, std::uint32_t rank,
                                         std::string_view key, std::span<const std::byte> value,
                                         std::size_t port_limit);

/// Assembles a value from its parts, in order.
class ValueAssembler {
 public:
  /// Add the port of the next part. Return false if it is malformed.
  bool add(std::string_view port);
  /// Number of the next part; valid after the first.
  std::uint32_t next_part() const { return taken_; }
  bool is_whole() const { return taken_ > 0 && taken_ == parts_; }
  /// Return the value; nothing if the text is not base64.
  std::optional<Bytes> value() const;

 private:
  std::uint32_t taken_ = 0, parts_ = 0;
  std::string text_;
};

}  // namespace shim::bootstrap::pmi1
