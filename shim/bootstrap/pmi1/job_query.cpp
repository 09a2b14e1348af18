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

// hydra 4.0.2 takes 60,000 characters; but its limit for values is this, and others' buffers follow it.
constexpr std::size_t kLongestPort = 1023, kShortestPort = 64;

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
  return name.data();
}

/// One question about the job, which the launcher must be able to answer.
base::Result<Line> ask(Use& use, std::string text, double seconds) {
  const std::string question = text.substr(0, text.size() - 1);
  SHIM_TRY_ASSIGN(Line line, use.ask(std::move(text), seconds));
  if (line.is_success()) return line;
  return Error(ErrorClass::other, "the launcher refuses \"" + shown(question) + "\": rc=" +
                                      std::string(line.value("rc").value_or("?")) + ", " +
                                      std::string(line.value("msg").value_or("without a reason")) +
                                      "; Intersession needs a launcher that speaks PMI 1.1");
}

/// The first word is 1.1: a server that knows 1.2 says so in its answer, and the one of MPICH 4.0.2 ends the job when asked for it.
base::Result<std::uint32_t> greet(Use& use, double seconds) {
  SHIM_TRY_ASSIGN(const Line line, ask(use, request("init", {{"pmi_version", "1"}, {"pmi_subversion", "1"}}), seconds));
  const auto version = line.number("pmi_version"), subversion = line.number("pmi_subversion");
  if (version == 1u && subversion) return *subversion;
  return Error(ErrorClass::other, "the launcher speaks PMI " + std::string(line.value("pmi_version").value_or("?")) + "." +
                                      std::string(line.value("pmi_subversion").value_or("?")) +
                                      " on PMI_FD, and Intersession PMI 1: use mpiexec.hydra, or srun --mpi=pmi2 or --mpi=pmix");
}

/// True for hydra and its derivatives, which answer init as often as it is sent; Slurm's server
/// never answers a second one.
bool is_name_of_hydra(std::string_view kvs) {
  return kvs.starts_with("kvs_");
}

}  // namespace

base::Result<JobFacts> read_job(Use& use, Position position, bool library_has_begun,
                                double seconds) {
  JobFacts facts;
  std::uint32_t subversion = 1;
  if (!library_has_begun) {
    SHIM_TRY_ASSIGN(subversion, greet(use, seconds));
  }
  SHIM_TRY_ASSIGN(const Line maxes, ask(use, request("get_maxes"), seconds));
  facts.port_limit = std::clamp<std::size_t>(maxes.number("vallen_max").value_or(0), kShortestPort + 1, kLongestPort + 1) - 1;
  SHIM_TRY_ASSIGN(const Line name, ask(use, request("get_my_kvsname"), seconds));
  const std::string kvs(name.value("kvsname").value_or(""));
  if (kvs.empty()) return Error(ErrorClass::other, "the launcher does not say what the job is called (get_my_kvsname)");
  facts.takes_second_init = is_name_of_hydra(kvs);
  if (library_has_begun && facts.takes_second_init) {
    SHIM_TRY_ASSIGN(subversion, greet(use, seconds));
  }
  facts.has_group_barrier = subversion >= 2;
  facts.job = {kvs, position.rank, position.size};
  SHIM_TRY_ASSIGN(const Line mapping, ask(use, request("get", {{"kvsname", kvs}, {"key", "PMI_process_mapping"}}), seconds));
  SHIM_TRY_ASSIGN(facts.node_map,
                  parse_process_mapping(mapping.value("value").value_or(""), position.size, host_name()));
  return facts;
}

}  // namespace shim::bootstrap::pmi1
