// SPDX-License-Identifier: BSD-3-Clause
#include "shim/coll/tuning.hpp"

#include <algorithm>
#include <vector>

#include "shim/base/files.hpp"
#include "shim/base/loaded_library.hpp"
#include "shim/base/parsing.hpp"
#include "shim/coll/algorithm_table.hpp"
#include "shim/coll/tuning_row.hpp"

namespace shim::coll {
namespace {

constexpr std::string_view kFirstLine = "intersession-coll-tuning 1";
bool has_power_of_two(int first, int last) {
  std::int64_t power = 1;
  while (power < first) power *= 2;
  return power <= last;
}

/// A row of a table, for the comparison of rows.
struct PlacedRow {
  int line;
  std::string_view collective;
  Kind kind;
  When when;
};

/// Kind of algorithm that a row excludes.
enum class Excluded : std::uint8_t { none, segment, inlined };
Kind kind_of(Excluded excluded) {
  return excluded == Excluded::segment ? Kind::segment : Kind::inlined;
}

template <typename Number>
std::string range_text(Number first, Number last, Number most) {
  return std::to_string(first) + "-" + (last == most ? "" : std::to_string(last));
}

/// True if `one` applies in all cases of `other` that are in the ranges of both.
bool needs_no_more(const When& one, const When& other) {
  return one.needs_commutative <= other.needs_commutative &&
         one.needs_power_of_two <= other.needs_power_of_two &&
         one.needs_nodes <= other.needs_nodes &&
         one.needs_nodes_in_order <= other.needs_nodes_in_order;
}

bool have_common_cases(const When& one, const When& other) {
  const bool sizes = one.min_size <= other.max_size && other.min_size <= one.max_size;
  const bool bytes = one.min_bytes <= other.max_bytes && other.min_bytes <= one.max_bytes;
  const bool memory = one.wants == other.wants || one.wants == MemorySharing::nothing ||
                      other.wants == MemorySharing::nothing;
  return sizes && bytes && memory;
}

/// Return the name of a row in tuning files.
std::string file_name_of(std::string_view row) {
  std::string name(row.substr(0, row.find(',')));
  std::ranges::replace(name, ' ', '_');
  return name;
}

/// Parses one file.
class TuningParser {
 public:
  explicit TuningParser(const std::string& file) : file_(file) {}

  base::Result<AlgorithmTablePtr> parse(std::string_view text) {
    for (line_ = 1; line_ == 1 || !text.empty(); ++line_) {
      std::string_view line = base::take_until(text, '\n');
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (line_ == 1 && line != kFirstLine)
        return error("the first line is " + quoted(line) + "; write " + std::string(kFirstLine));
      if (line_ > 1) SHIM_TRY(take_line(line));
    }
    table_->checksum = checksum_of_rows();
    return AlgorithmTablePtr(std::move(table_));
  }

 private:
  std::string place() const { return file_ + ", line " + std::to_string(line_); }
  base::Error error(const std::string& what) const {
    return {base::ErrorClass::arg, place() + ": " + what};
  }

  base::Status take_line(std::string_view line) {
    auto parsed = parse_tuning_row(line);
    if (!parsed) return std::move(parsed).error().within(place());
    if (!*parsed) return {};
    const TuningRow& row = **parsed;
    if (++rows_ > kMaxTuningRows)
      return error("more than " + std::to_string(kMaxTuningRows) + " rows; remove some");
    bool is_known = false;
    base::Status added;
    for_each_collective([&](std::string_view name, auto member) {
      if (name != row.collective) return;
      is_known = true;
      added = add(row, member);
    });
    if (is_known) return added;
    return error("unknown collective " + quoted(row.collective) + "; use one of" +
                 names_of_collectives());
  }

  static std::string names_of_collectives() {
    std::string names;
    for_each_collective([&](std::string_view name, auto) { names += " " + std::string(name); });
    return names;
  }

  /// Add a row of the file to the rows of its collective.
  template <typename Function>
  base::Status add(const TuningRow& row, AlgorithmRows<Function> AlgorithmTable::*member) {
    const Excluded excluded = row.algorithm == "no_segment"  ? Excluded::segment
                              : row.algorithm == "no_inline" ? Excluded::inlined
                                                             : Excluded::none;
    std::vector<AlgorithmRow<Function>> named;
    for (const auto& known : (default_table().*member).all())
      if (excluded == Excluded::none ? file_name_of(known.name) == row.algorithm
                                     : known.algorithm.kind == kind_of(excluded))
        named.push_back(known);
    if (named.empty())
      return error("unknown algorithm " + quoted(row.algorithm) + " of " +
                   std::string(row.collective) + "; use one of" + names_of(member));
    if (excluded != Excluded::none) {
      AlgorithmRow<Function> row_without{
          row.algorithm == "no_segment" ? "no segment" : "no inline", named.front().algorithm, {}};
      row_without.algorithm.path = SegmentPath::messages;
      row_without.algorithm.run_inline = nullptr;
      return insert(row, row_without, member);
    }
    if (named.front().algorithm.kind != Kind::task) SHIM_TRY(check_limits(row, named));
    for (std::size_t i = 0; i < named.size(); ++i) {
      const bool is_weakest = std::ranges::none_of(
          std::span(named).first(i),
          [&](const auto& other) { return needs_no_more(other.when, named[i].when); });
      const bool is_weaker_later = std::ranges::any_of(
          std::span(named).subspan(i + 1), [&](const auto& other) {
            return needs_no_more(other.when, named[i].when) &&
                   !needs_no_more(named[i].when, other.when);
          });
      if (!is_weakest || is_weaker_later) continue;
      SHIM_TRY(insert(row, named[i], member));
    }
    return {};
  }

  /// Algorithms of these kinds have fixed limits, such as the length of a buffer.
  template <typename Function>
  base::Status check_limits(const TuningRow& row,
                            const std::vector<AlgorithmRow<Function>>& named) const {
    When limits = named.front().when;
    for (const auto& each : named) {
      limits.min_size = std::min(limits.min_size, each.when.min_size);
      limits.max_size = std::max(limits.max_size, each.when.max_size);
      limits.min_bytes = std::min(limits.min_bytes, each.when.min_bytes);
      limits.max_bytes = std::max(limits.max_bytes, each.when.max_bytes);
    }
    if (row.when.min_size < limits.min_size || row.when.max_size > limits.max_size)
      return error(std::string(row.algorithm) + " of " + std::string(row.collective) +
                   " works among " +
                   range_text(limits.min_size, limits.max_size, kMaxTuningProcesses) +
                   " processes; write a range within");
    if (row.when.min_bytes < limits.min_bytes || row.when.max_bytes > limits.max_bytes)
      return error(std::string(row.algorithm) + " of " + std::string(row.collective) +
                   " works with " +
                   range_text(limits.min_bytes, limits.max_bytes, kMaxTuningBytes) +
                   " bytes; write a range within");
    return {};
  }

  /// Insert a row for one of the alternative needs of its algorithm.
  template <typename Function>
  base::Status insert(const TuningRow& row, AlgorithmRow<Function> known,
                      AlgorithmRows<Function> AlgorithmTable::*member) {
    When when = row.when;
    when.needs_commutative |= known.when.needs_commutative;
    when.needs_power_of_two |= known.when.needs_power_of_two;
    when.needs_nodes = known.when.needs_nodes;
    when.needs_nodes_in_order = known.when.needs_nodes_in_order;
    if (known.algorithm.kind != Kind::task) when.wants_one_node = known.when.wants_one_node;
    if (when.needs_power_of_two && !has_power_of_two(when.min_size, when.max_size))
      return error(
          "no number of processes of this row is a power of two, which the row needs; "
          "change the range or the algorithm");
    constexpr int kMinSizeOverNodes = 3;  // two on one node and one on another
    if ((when.needs_nodes || when.needs_nodes_in_order) &&
        (when.wants != MemorySharing::nothing || when.max_size < kMinSizeOverNodes))
      return error(
          std::string(row.algorithm) +
          " is for 3 processes and more on several nodes, which share no memory; write any");
    for (const PlacedRow& earlier : placed_)
      if (earlier.collective == row.collective && earlier.kind == known.algorithm.kind &&
          earlier.line != line_ && have_common_cases(earlier.when, when) &&
          needs_no_more(earlier.when, when))
        return error(
            "the row of line " + std::to_string(earlier.line) +
            " applies to some of these processes and bytes, too; change one of the ranges");
    placed_.push_back({line_, row.collective, known.algorithm.kind, when});
    add_to_checksum(row, when);
    known.when = when;
    (table_.get()->*member).add(known);
    return {};
  }

  template <typename Function>
  static std::string names_of(AlgorithmRows<Function> AlgorithmTable::*member) {
    const AlgorithmRows<Function>& rows = default_table().*member;
    std::string names;
    for (const auto& row : rows.all()) {
      const std::string name = file_name_of(row.name);
      if ((names + " ").find(" " + name + " ") == std::string::npos) names += " " + name;
    }
    if (!rows.segment().empty()) names += " no_segment";
    if (!rows.inlines().empty()) names += " no_inline";
    return names;
  }

  /// Add a row to the FNV-1a hash of all rows.
  void add_to_checksum(const TuningRow& row, const When& when) {
    const auto add_bytes = [this](std::string_view bytes) {
      for (const char c : bytes) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * kFnvPrime;
      hash_ = (hash_ ^ 0xff) * kFnvPrime;  // end of the text
    };
    add_bytes(row.collective);
    add_bytes(row.algorithm);
    for (const std::uint64_t number :
         {std::uint64_t(when.min_size), std::uint64_t(when.max_size), when.min_bytes,
          when.max_bytes, std::uint64_t(when.wants), std::uint64_t(when.needs_power_of_two),
          std::uint64_t(when.needs_commutative)})
      add_bytes(std::to_string(number));
  }
  /// Return the checksum of the rows: 0 without rows, otherwise without a byte that is 0.
  std::uint32_t checksum_of_rows() const {
    if (placed_.empty()) return 0;
    auto sum = static_cast<std::uint32_t>(hash_ ^ hash_ >> 32);
    for (int shift = 0; shift < 32; shift += 8)
      if ((sum >> shift & 0xff) == 0) sum |= 1u << shift;
    return sum;
  }

  static constexpr std::uint64_t kFnvBasis = 0xcbf29ce484222325, kFnvPrime = 0x100000001b3;
  const std::string& file_;
  int line_ = 0, rows_ = 0;
  std::shared_ptr<AlgorithmTable> table_ = std::make_shared<AlgorithmTable>(default_table());
  std::vector<PlacedRow> placed_;
  std::uint64_t hash_ = kFnvBasis;
};

/// Return the folder of installed files, next to this library.
std::string installed_folder() {
  const std::string library = base::file_of(reinterpret_cast<const void*>(&load_tuning));
  return library.substr(0, library.rfind('/') + 1) + "intersession/coll-tuning/";
}

}  // namespace

base::Result<AlgorithmTablePtr> parse_tuning(std::string_view text, const std::string& name) {
  return TuningParser(name).parse(text);
}

base::Result<AlgorithmTablePtr> load_tuning(const std::string& setting) {
  if (setting.empty())
    return AlgorithmTablePtr(std::shared_ptr<const void>(), &default_table());  // not owned
  const std::string path = setting.find('/') == std::string::npos ? installed_folder() + setting
                                                                  : setting;
  auto text = base::read_file(path);
  if (!text) return std::move(text).error().within("INTERSESSION_COLL_TUNING=" + setting);
  return parse_tuning(*text, path);
}

}  // namespace shim::coll
