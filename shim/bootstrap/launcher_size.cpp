// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/launcher_size.hpp"

#include <cstdlib>

#include "shim/base/parsing.hpp"
#include "shim/bootstrap/mpirun/mpirun_env.hpp"

namespace shim::bootstrap {
namespace {

struct SizeVariable {
  const char* name;  ///< the launcher sets it to the number of processes that it starts
  const char* what_to_do;
};

/// SLURM_NTASKS is not among them: a batch script passes it on to programs that it starts itself
/// (srun(1), sbatch(1)).
constexpr SizeVariable kSizeVariables[] = {
    {"SLURM_STEP_NUM_TASKS", "start the program with srun --mpi=pmix or srun --mpi=pmi2"},
    {"FLUX_JOB_SIZE", "start the program with flux run -o mpi=..., so that it gets PMI_FD"},
    {"MV2_COMM_WORLD_SIZE", "start the program with mpiexec.hydra or srun --mpi=pmi2"},
    {"JSM_NAMESPACE_SIZE", "start the program with mpirun, or jsrun with PMIx"},
    {mpirun::kSizeVariable, "pass the variables PMIX_* of mpirun on to the program"},
    {"PMI_SIZE", "use a launcher that offers PMIx or PMI-1 over PMI_FD or PMI_PORT"},
};

}  // namespace

std::optional<std::string> warn_of_unusable_launcher() {
  for (const SizeVariable& variable : kSizeVariables) {
    const char* value = std::getenv(variable.name);
    if (value == nullptr) continue;
    const auto size = base::to_number(value);
    if (!size || *size < 2) continue;
    return "this process is a world of one process, although " + std::string(variable.name) +
           " is " + value + ": the launcher offers neither PMIx nor PMI-1; " + variable.what_to_do;
  }
  return std::nullopt;
}

}  // namespace shim::bootstrap
