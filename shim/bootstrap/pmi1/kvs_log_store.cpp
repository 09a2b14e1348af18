// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/kvs_log_store.hpp"

#include "shim/bootstrap/pmi1/published.hpp"
#include "shim/bootstrap/pmi1/search.hpp"

namespace shim::bootstrap::pmi1 {
namespace {

base::Error refused(const std::string& what, const PmiLine& line) {
  return base::Error(
      base::ErrorClass::other,
      what + ": the launcher returned rc=" + std::string(line.value("rc").value_or("?")) + ", " +
          std::string(line.value("msg").value_or("no reason given")));
}

constexpr const char* kWhat = "cannot read the KVS log entries of other processes";

}  // namespace

base::Status publish_value(ProxyLease& use, const JobFacts& facts, std::uint32_t rank,
                           std::string_view key, std::span<const std::byte> value, double seconds) {
  for (const auto& [name, port] :
       publications_of(facts.job.world_name, rank, key, value, facts.port_limit)) {
    const std::string what = "cannot publish \"" + std::string(key) + "\"";
    auto line = use.query(request("publish_name", {{"service", name}, {"port", port}}), seconds);
    if (!line) return std::move(line).error().within(what);
    if (!line->is_success()) return refused(what, *line);
  }
  return {};
}

base::Status NameServiceLogStore::put(const Name& name, std::span<const std::byte> value) {
  const auto use = use_.lock();
  if (!use) return base::Error(base::ErrorClass::other, "the connection to the launcher is closed");
  return publish_value(*use, facts_, name.rank, name.key, value, seconds_);
}

base::Result<std::optional<Bytes>> NameServiceLogStore::find(const Name& name,
                                                             ProxyLease& use) const {
  ValueAssembler assembler;
  while (!assembler.is_whole()) {
    const std::string part = part_name(facts_.job.world_name, name.rank, name.key,
                                       assembler.next_part());
    auto line = use.query(request("lookup_name", {{"service", part}}), seconds_);
    if (!line) return std::move(line).error().within(kWhat);
    // The first part is published last.
    if (!line->is_success() && is_not_there(*line) && assembler.next_part() == 0)
      return std::optional<Bytes>();
    if (!line->is_success()) return refused(kWhat, *line);
    const std::string_view port = line->value("port").value_or("");
    if (!assembler.add(port))
      return base::Error(base::ErrorClass::other,
                         std::string(kWhat) + ": the value that the launcher holds for " + part +
                             " was not written by Intersession: \"" + shown(port) + "\"");
  }
  auto value = assembler.value();
  if (!value)
    return base::Error(base::ErrorClass::other, std::string(kWhat) + ": the entry of process " +
                                                    std::to_string(name.rank) + " is corrupt");
  return value;
}

base::Result<std::vector<std::optional<Bytes>>> NameServiceLogStore::find(
    std::span<const Name> names) {
  const auto use = use_.lock();
  if (!use) return base::Error(base::ErrorClass::other, "the connection to the launcher is closed");
  std::vector<std::optional<Bytes>> all;
  for (const Name& name : names) {
    SHIM_TRY_ASSIGN(auto value, find(name, *use));
    all.push_back(std::move(value));
  }
  return all;
}

}  // namespace shim::bootstrap::pmi1
