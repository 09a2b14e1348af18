// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/wire.hpp"

#include <algorithm>
#include <array>

namespace shim::bootstrap::pmi1 {
namespace {

bool is_printable_ascii(char c) { return c >= ' ' && c <= '~'; }

/// False for control characters. Values, such as host names, may be UTF-8.
bool is_valid(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= ' ' && byte != 0x7f;
}

base::Error not_a_line(std::string_view text) {
  return base::Error(base::ErrorClass::other, "invalid PMI-1 message \"" + shown(text) + "\"");
}

/// Requests whose response is not named "<request>_result".
constexpr std::array kResponses = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"init", "response_to_init"},
    {"get_maxes", "maxes"},
    {"get_my_kvsname", "my_kvsname"},
    {"get_appnum", "appnum"},
    {"get_universe_size", "universe_size"},
    {"finalize", "finalize_ack"},
    {"publish_name", "publish_result"},
    {"unpublish_name", "unpublish_result"},
    {"lookup_name", "lookup_result"},
    {"create_kvs", "newkvs"},
    {"destroy_kvs", "kvs_destroyed"},
    {"getbyidx", "getbyidx_results"},
    {"singinit", "singinit_info"},
    {"initack", "initack"},
});

std::string barrier_kind(std::string_view tag) { return "barrier_out " + std::string(tag); }

}  // namespace

base::Result<PmiLine> PmiLine::parse(std::string_view text) {
  if (!std::all_of(text.begin(), text.end(), is_valid)) return not_a_line(text);
  PmiLine line;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view word = base::take_until(rest, ' ');
    const auto equals = word.find('=');
    if (equals != std::string_view::npos && equals > 0) {
      line.fields_.emplace_back(word.substr(0, equals), word.substr(equals + 1));
    } else if (!line.fields_.empty()) {
      line.fields_.back().second += " " + std::string(word);  // a message of several words
    } else if (!word.empty()) {
      return not_a_line(text);
    }
  }
  if (line.fields_.empty() || line.command().empty()) return not_a_line(text);
  if (line.fields_.front().first != "cmd" && line.fields_.front().first != "mcmd")
    return not_a_line(text);
  return line;
}

std::optional<std::string_view> PmiLine::value(std::string_view key) const {
  auto found = std::find_if(fields_.begin() + 1, fields_.end(),
                            [&](const auto& field) { return field.first == key; });
  if (found == fields_.end()) return std::nullopt;
  return found->second;
}

std::optional<std::uint32_t> PmiLine::number(std::string_view key) const {
  const auto text = value(key);
  return text ? base::to_number(*text) : std::nullopt;
}

bool PmiLine::is_success() const {
  if (auto code = value("rc")) return *code == "0";
  return value("info").value_or("ok") == "ok";
}

std::string request(std::string_view command,
                    std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
  std::string text = "cmd=" + std::string(command);
  for (const auto& [key, value] : fields) text.append(" ").append(key).append("=").append(value);
  return text + "\n";
}

std::optional<std::string> response_kind_of(const PmiLine& request) {
  const std::string& command = request.command();
  if (command == "abort") return std::nullopt;
  if (command == "barrier_in") {
    const std::string_view group = request.value("group").value_or("");
    const auto colon = group.find(':');
    return barrier_kind(colon == std::string_view::npos ? "0" : group.substr(colon + 1));
  }
  for (const auto& [request_name, response] : kResponses)
    if (command == request_name) return std::string(response);
  return command + "_result";
}

std::string kind_of(const PmiLine& response) {
  return response.command() == "barrier_out" ? barrier_kind(response.value("tag").value_or("0"))
                                             : response.command();
}

bool is_barrier(std::string_view kind) { return kind.starts_with("barrier_out"); }

std::string shown(std::string_view text) {
  constexpr std::size_t kShown = 80;
  std::string start(text.substr(0, kShown));
  std::replace_if(
      start.begin(), start.end(), [](char c) { return !is_printable_ascii(c); }, '?');
  return text.size() > kShown ? start + "..." : start;
}

std::optional<std::string> LineBuffer::next() {
  const auto end = bytes_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = bytes_.substr(0, end);
  bytes_.erase(0, end + 1);
  return line;
}

}  // namespace shim::bootstrap::pmi1
