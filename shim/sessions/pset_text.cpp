// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/pset_text.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_set>

#include "shim/sessions/pset_names.hpp"

namespace shim::sessions {
namespace {

/// Parser of one entry; `at` is the offset of the next byte in the entry.
class EntryParser {
 public:
  EntryParser(std::string_view text, std::uint32_t world_size)
      : text_(text), world_size_(world_size) {}

  /// Return the set, or nothing, with error_text() and at() set.
  std::optional<NamedGroup> read() {
    std::string name = read_name();
    if (!complaint_.empty()) return std::nullopt;
    std::vector<ProcessRange> ranges;
    do {
      skip_blanks();
      at_of_item_ = at_;
      if (!read_item(ranges)) return std::nullopt;
      skip_blanks();
    } while (take(','));
    if (at_ < text_.size())
      return fail(at_,
                  "unexpected text \"" + std::string(text_.substr(at_)) + "\" after the ranks");
    return NamedGroup{std::move(name), Group::of_ranges(std::move(ranges))};
  }

  const std::string& error_text() const { return complaint_; }
  std::size_t at() const { return at_; }

 private:
  std::nullopt_t fail(std::size_t at, std::string text) {
    at_ = at, complaint_ = std::move(text);
    return std::nullopt;
  }
  void skip_blanks() {
    while (at_ < text_.size() && is_blank(text_[at_])) ++at_;
  }
  bool take(char wanted) {
    if (at_ >= text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }
  static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

  std::string read_name() {
    skip_blanks();
    auto equals = text_.find('=');
    if (equals == std::string_view::npos) {
      fail(at_, "missing \"=\" between the set name and its ranks");
      return {};
    }
    auto end = equals;
    while (end > at_ && is_blank(text_[end - 1])) --end;
    std::string name(text_.substr(at_, end - at_));
    if (name.empty())
      fail(at_, "missing set name");
    else if (is_reserved_name(name))
      fail(at_, "the name \"" + name + "\" is reserved (mpi:// and mpix://)");
    else
      at_ = equals + 1;
    return name;
  }

  std::optional<std::uint32_t> read_number(std::string_view what) {
    skip_blanks();
    std::uint32_t number = 0;
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    if (error == std::errc::result_out_of_range) return fail(at_, "the number is too large");
    if (error != std::errc()) return fail(at_, "expected " + std::string(what));
    at_ = static_cast<std::size_t>(end - text_.data());
    skip_blanks();
    return number;
  }

  bool read_item(std::vector<ProcessRange>& ranges) {
    auto first = read_number("a rank");
    if (!first) return false;
    std::uint32_t last = *first, stride = 1;
    if (take('-')) {
      auto number = read_number("the last rank of a range");
      if (!number) return false;
      last = *number;
      if (take(':')) {
        number = read_number("a stride");
        if (!number) return false;
        stride = *number;
      }
    }
    return check_item(*first, last, stride) && add(ranges, *first, last, stride);
  }

  bool check_item(std::uint32_t first, std::uint32_t last, std::uint32_t stride) {
    if (stride == 0 || stride > 0x7fffffffu)
      fail(at_of_item_, "invalid stride " + std::to_string(stride));
    else if (last < first)
      fail(at_of_item_,
           "the range " + std::to_string(first) + "-" + std::to_string(last) + " is descending");
    else if (last - (last - first) % stride >= world_size_)
      fail(at_of_item_, "rank " + std::to_string(last) +
                            " does not exist; mpi://WORLD has ranks 0 to " +
                            std::to_string(world_size_ - 1));
    return complaint_.empty();
  }

  bool add(std::vector<ProcessRange>& ranges, std::uint32_t first, std::uint32_t last,
           std::uint32_t stride) {
    ProcessRange range{0, first, (last - first) / stride + 1, static_cast<std::int32_t>(stride)};
    if (const auto rank = first_repeated(range, ranges)) {
      fail(at_of_item_, "rank " + std::to_string(*rank) + " is listed twice");
      return false;
    }
    ranges.push_back(range);
    return true;
  }

  /// Return the first rank of the range that an earlier item contains. A few items are compared as
  /// ranges, without cost per rank; more items use one bit per rank, so that the time is linear in
  /// items and ranks.
  std::optional<std::uint32_t> first_repeated(const ProcessRange& range,
                                              const std::vector<ProcessRange>& earlier) {
    constexpr std::size_t kFew = 16;
    if (earlier.size() < kFew) {
      const GroupPtr common = set_intersection(*Group::of_ranges({range}),
                                               *Group::of_ranges(earlier));
      return common->size() > 0 ? std::optional(common->at(0).rank) : std::nullopt;
    }
    if (is_given_.empty()) {
      is_given_.resize(world_size_);
      for (const ProcessRange& one : earlier) (void)mark(one);
    }
    return mark(range);
  }

  /// Set the bits of the range up to the first that is already set, and return its rank.
  std::optional<std::uint32_t> mark(const ProcessRange& range) {
    for (std::uint32_t i = 0; i < range.count; ++i) {
      const std::uint32_t rank = range.start + i * static_cast<std::uint32_t>(range.stride);
      if (is_given_[rank]) return rank;
      is_given_[rank] = true;
    }
    return std::nullopt;
  }

  std::string_view text_;
  std::uint32_t world_size_;
  std::size_t at_ = 0, at_of_item_ = 0;
  std::string complaint_;
  std::vector<bool> is_given_;  ///< by rank; empty while there are few items
};

/// Replace each byte of a comment by a blank, so that positions stay valid.
std::string without_comments(std::string_view text) {
  std::string result(text);
  bool inside = false;
  for (char& c : result) {
    if (c == '\n')
      inside = false;
    else if (c == '#')
      inside = true;
    if (inside) c = ' ';
  }
  return result;
}

}  // namespace

PsetText parse_psets(std::string_view text, char separator, std::uint32_t world_size) {
  PsetText result;
  std::string plain = without_comments(text);
  std::unordered_set<std::string> names;
  int line = 1;
  std::size_t line_start = 0;
  for (std::size_t begin = 0; begin <= plain.size();) {
    std::size_t end = std::min(plain.find(separator, begin), plain.size());
    std::string_view body = std::string_view(plain).substr(begin, end - begin);
    if (body.find_first_not_of(" \t\r\n") != std::string_view::npos) {
      EntryParser entry(body, world_size);
      auto set = entry.read();
      const bool is_taken = set && !names.insert(set->name).second;
      int column = static_cast<int>(begin - line_start + 1);
      if (!set)
        result.complaints.push_back(
            {line, column + static_cast<int>(entry.at()), entry.error_text()});
      else if (is_taken)
        result.complaints.push_back({line, column, "duplicate set name \"" + set->name + "\""});
      else
        result.sets.push_back(std::move(*set));
    }
    if (separator == '\n') ++line, line_start = end + 1;
    begin = end + 1;
  }
  return result;
}

}  // namespace shim::sessions
