// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/launch_env.hpp"
#include "shim/bootstrap/mpirun/backend.hpp"
#include "shim/bootstrap/pmi1/backend.hpp"
#include "shim/bootstrap/pmi1/process_lifetime.hpp"
#include "shim/bootstrap/pmix/backend.hpp"
#include "shim/bootstrap/pmix/process_lifetime.hpp"
#include "shim/bootstrap/singleton.hpp"

namespace shim::bootstrap {

std::shared_ptr<const LaunchEnv> read_launch_env() {
  auto env = std::make_shared<LaunchEnv>();
  env->has_pmix = pmix::has_launcher();
  auto one_node = mpirun::MpirunEnv::of_process();
  if (one_node && one_node->is_valid()) env->one_node = std::move(one_node);
  env->pmi1 = pmi1::PmiEnv::of_process();
  return env;
}

base::Result<std::unique_ptr<Bootstrap>> open_bootstrap(const Options& options) {
  const auto env = options.env != nullptr ? options.env : read_launch_env();
  // srun may offer both; PMIx provides more data.
  if (env->has_pmix) {
    if (env->one_node && !options.pmix_everywhere)
      return std::unique_ptr<Bootstrap>(new mpirun::Backend(*env->one_node));
    SHIM_TRY_ASSIGN(const auto library, pmix::load_library());
    return pmix::Backend::open(library, options);
  }
  if (env->pmi1.has_launcher()) return pmi1::Backend::open(env->pmi1, options);
  return open_singleton();
}

std::unique_ptr<ProcessLifetime> make_process_lifetime(const LaunchEnv& env) {
  if (env.has_pmix) return std::make_unique<pmix::PersistentInit>();
  return env.pmi1.has_launcher() ? std::make_unique<pmi1::PersistentConnection>(env.pmi1) : nullptr;
}

void prepare_environment(const LaunchEnv& env) {
  if (env.has_pmix) pmix::prepare_environment();
}

base::Result<base::LoadedLibrary> find_pmix_library() { return pmix::describe_library(); }

}  // namespace shim::bootstrap
