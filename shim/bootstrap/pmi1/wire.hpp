// SPDX-License-Identifier: BSD-3-Clause
// Parses and writes lines of PMI-1: "cmd=NAME key=value key=value" and a newline. Performs no I/O.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shim/base/parsing.hpp"
#include "shim/base/result.hpp"

namespace shim::bootstrap::pmi1 {

/// A parsed line.
class PmiLine {
 public:
  /// Parse a line without its newline. Errors: other (not a PMI-1 line).
  static base::Result<PmiLine> parse(std::string_view text);

  /// Return the value of "cmd", or of "mcmd" if the line begins a multi-line request.
  const std::string& command() const { return fields_.front().second; }
  bool begins_multiline() const { return fields_.front().first == "mcmd"; }
  std::optional<std::string_view> value(std::string_view key) const;
  /// Return a numeric value; nothing if it is missing or not a number.
  std::optional<std::uint32_t> number(std::string_view key) const;
  /// True if rc is 0. Without rc (Slurm): true unless info differs from "ok".
  bool is_success() const;

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

/// Return a request with its newline.
std::string request(
    std::string_view command,
    std::initializer_list<std::pair<std::string_view, std::string_view>> fields = {});

/// Return the kind of the request's response: its cmd, and for a barrier the tag, because several
/// may be open. Nothing for a request without response.
std::optional<std::string> response_kind_of(const PmiLine& request);
std::string kind_of(const PmiLine& response);
/// True if the kind is a barrier's.
bool is_barrier(std::string_view kind);

/// Return received text as error texts quote it: shortened, and printable.
std::string shown(std::string_view text);

/// Splits a byte stream into lines.
class LineBuffer {
 public:
  /// Limit for a line in bytes; hydra's own buffers have 64 KiB.
  static constexpr std::size_t kLongest = 1 << 20;

  void add(std::string_view bytes) { bytes_ += bytes; }
  /// Return the next complete line, without its newline.
  std::optional<std::string> next();
  bool overflows() const { return bytes_.size() > kLongest; }
  bool empty() const { return bytes_.empty(); }
  const std::string& rest() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace shim::bootstrap::pmi1
