// SPDX-License-Identifier: BSD-3-Clause
// Lines of the PMI-1 protocol: "cmd=NAME key=value key=value", ended by a newline. Nothing here reads or writes a descriptor.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shim/base/result.hpp"
#include "shim/bootstrap/to_number.hpp"

namespace shim::bootstrap::pmi1 {

/// One line, taken apart.
class Line {
 public:
  /// text: without the newline. Errors: other (not a line of this protocol).
  static base::Result<Line> parse(std::string_view text);

  /// What follows "cmd=", or "mcmd=" where the line begins a request of several lines.
  const std::string& command() const { return fields_.front().second; }
  bool begins_several() const { return fields_.front().first == "mcmd"; }
  std::optional<std::string_view> value(std::string_view key) const;
  /// Nothing too where the value is no number.
  std::optional<std::uint32_t> number(std::string_view key) const;
  /// rc=0; where there is no rc, anything but an info that is not "ok" (Slurm's servers know no rc).
  bool is_success() const;

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

/// A request with its newline.
std::string request(std::string_view command, std::initializer_list<std::pair<std::string_view, std::string_view>> fields = {});

/// What the answer to a request is known by: its cmd; of a barrier the tag too, because several may be open. Nothing for a
/// request that has no answer.
std::optional<std::string> answer_to(const Line& request);
std::string kind_of(const Line& answer);
/// Of an answer's kind.
bool is_barrier(std::string_view kind);

/// Text that others sent, for a message: short and printable.
std::string shown(std::string_view text);

/// Makes lines of what comes in pieces.
class LineBuffer {
 public:
  /// More than this without a newline is no line (hydra's own buffers have 64 KiB).
  static constexpr std::size_t kLongest = 1 << 20;

  void add(std::string_view bytes) { bytes_ += bytes; }
  /// The next whole line, without its newline.
  std::optional<std::string> next();
  bool overflows() const { return bytes_.size() > kLongest; }
  bool empty() const { return bytes_.empty(); }
  const std::string& rest() const { return bytes_; }

 private:
  std::string bytes_;
};

}  // namespace shim::bootstrap::pmi1
