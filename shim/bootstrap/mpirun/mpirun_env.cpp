// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/mpirun/mpirun_env.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "shim/base/parsing.hpp"

namespace shim::bootstrap::mpirun {
namespace {

class Variables {
 public:
  explicit Variables(const Environment& environment) : environment_(environment) {}

  std::string_view text(const char* name) const {
    const char* value = environment_(name);
    return value == nullptr ? std::string_view() : std::string_view(value);
  }
  std::optional<std::uint32_t> number(const char* name) const {
    return base::to_number(text(name));
  }
  bool agree(const char* one, const char* other) const {
    return !text(one).empty() && text(one) == text(other);
  }

 private:
  const Environment& environment_;
};

/// Return mpirun's process id, which is part of the job directory's name if mpirun itself serves
/// this process; nothing for the directory of a daemon on another node, which has another name.
std::optional<std::uint32_t> mpirun_of(std::string_view folder) {
  constexpr std::string_view kBeforeNumber = "/pid.";
  const auto at = folder.rfind(kBeforeNumber);
  const auto number = at == std::string_view::npos
                          ? std::nullopt
                          : base::to_number(folder.substr(at + kBeforeNumber.size()));
  return number && *number > 0 ? number : std::nullopt;
}

}  // namespace

std::optional<MpirunEnv> MpirunEnv::of_process() {
  return read_mpirun_env([](const char* name) -> const char* { return std::getenv(name); });
}

bool MpirunEnv::is_valid() const {
  struct stat status;
  const bool is_ours = ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                       status.st_uid == ::geteuid() && (status.st_mode & 077) == 0;
  return is_ours && (::kill(mpirun, 0) == 0 || errno == EPERM);
}

std::optional<MpirunEnv> read_mpirun_env(const Environment& environment) {
  const Variables variables(environment);
  // PMIx's variables belong to the launcher of this process; Open MPI's may be older
  const bool are_of_one_job = variables.agree("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid") &&
                              variables.agree("PMIX_RANK", "OMPI_COMM_WORLD_RANK");
  if (!are_of_one_job) return std::nullopt;
  const bool is_on_one_node = variables.agree(kSizeVariable, "OMPI_COMM_WORLD_LOCAL_SIZE") &&
                              variables.agree("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK");
  const auto rank = variables.number("OMPI_COMM_WORLD_RANK"),
             size = variables.number(kSizeVariable);
  const std::string_view folder = variables.text("OMPI_MCA_orte_jobfam_session_dir"),
                         host = variables.text("PMIX_HOSTNAME");
  const auto mpirun = mpirun_of(folder);
  if (!is_on_one_node || !rank || !size || *rank >= *size || host.empty() || !mpirun)
    return std::nullopt;
  if (variables.number("OMPI_NUM_APP_CTX") != 1u)
    return std::nullopt;  // only PMIx reports the application of each process

  MpirunEnv found;
  found.job = {std::string(variables.text("PMIX_NAMESPACE")), *rank, *size};
  found.node_map = NodeMap({std::string(host)}, std::vector<std::uint32_t>(*size, 0));
  found.folder = folder;
  found.mpirun = static_cast<pid_t>(*mpirun);
  return found;
}

}  // namespace shim::bootstrap::mpirun
