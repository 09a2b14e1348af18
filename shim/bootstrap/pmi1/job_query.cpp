// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/job_query.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "shim/bootstrap/pmi1/connection.hpp"
#include "shim/bootstrap/pmi1/process_mapping.hpp"

namespace shim::bootstrap::pmi1 {
namespace {

using base::Error;
using base::ErrorClass;

// hydra 4.0.2 accepts 60,000 characters, but its limit for values is 1023, and buffers of other
// servers follow it.
constexpr std::size_t kMaxPort = 1023, kShortestPort = 64;

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

/// Send a query about the job that the launcher must be able to answer.
base::Result<PmiLine> query(ProxyLease& use, std::string text, double seconds) {
  const std::string sent = text.substr(0, text.size() - 1);
  SHIM_TRY_ASSIGN(PmiLine line, use.query(std::move(text), seconds));
  if (line.is_success()) return line;
  return Error(ErrorClass::other, "the launcher rejected \"" + shown(sent) + "\": rc=" +
                                      std::string(line.value("rc").value_or("?")) + ", " +
                                      std::string(line.value("msg").value_or("no reason given")) +
                                      "; Intersession needs a launcher that speaks PMI 1.1");
}

/// Send init with version 1.1: a server with 1.2 reports it in the response, and the server of
/// MPICH 4.0.2 aborts the job if 1.2 is requested.
base::Result<std::uint32_t> send_init(ProxyLease& use, double seconds) {
  SHIM_TRY_ASSIGN(
      const PmiLine line,
      query(use, request("init", {{"pmi_version", "1"}, {"pmi_subversion", "1"}}), seconds));
  const auto version = line.number("pmi_version"), subversion = line.number("pmi_subversion");
  if (version == 1u && subversion) return *subversion;
  return Error(ErrorClass::other, "the launcher speaks PMI " +
                                      std::string(line.value("pmi_version").value_or("?")) + "." +
                                      std::string(line.value("pmi_subversion").value_or("?")) +
                                      " on PMI_FD, but Intersession needs PMI 1; use "
                                      "mpiexec.hydra, or srun --mpi=pmi2 or --mpi=pmix");
}

/// True for hydra and its derivatives, which respond to every init; Slurm's server never responds
/// to a second one.
bool is_name_of_hydra(std::string_view kvs) { return kvs.starts_with("kvs_"); }

}  // namespace

base::Result<JobFacts> read_job(ProxyLease& use, Position position, bool host_has_sent_init,
                                double seconds) {
  JobFacts facts;
  std::uint32_t subversion = 1;
  if (!host_has_sent_init) {
    SHIM_TRY_ASSIGN(subversion, send_init(use, seconds));
  }
  SHIM_TRY_ASSIGN(const PmiLine maxes, query(use, request("get_maxes"), seconds));
  facts.port_limit = std::clamp<std::size_t>(maxes.number("vallen_max").value_or(0),
                                             kShortestPort + 1, kMaxPort + 1) -
                     1;
  SHIM_TRY_ASSIGN(const PmiLine name, query(use, request("get_my_kvsname"), seconds));
  const std::string kvs(name.value("kvsname").value_or(""));
  if (kvs.empty())
    return Error(ErrorClass::other,
                 "the launcher did not return the name of the job (get_my_kvsname)");
  facts.takes_second_init = is_name_of_hydra(kvs);
  if (host_has_sent_init && facts.takes_second_init) {
    SHIM_TRY_ASSIGN(subversion, send_init(use, seconds));
  }
  facts.has_group_barrier = subversion >= 2;
  facts.job = {kvs, position.rank, position.size};
  SHIM_TRY_ASSIGN(
      const PmiLine mapping,
      query(use, request("get", {{"kvsname", kvs}, {"key", "PMI_process_mapping"}}), seconds));
  SHIM_TRY_ASSIGN(facts.node_map, parse_process_mapping(mapping.value("value").value_or(""),
                                                        position.size, host_name()));
  return facts;
}

LaunchNumbers read_launch_numbers(ProxyLease& use, double seconds) {
  const auto number = [&](const char* command, const char* key) -> std::optional<std::uint32_t> {
    const auto line = query(use, request(command), seconds);
    return line ? line->number(key) : std::nullopt;
  };
  return {number("get_universe_size", "size"), number("get_appnum", "appnum")};
}

}  // namespace shim::bootstrap::pmi1
