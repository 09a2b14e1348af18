// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/bootstrap.hpp"
#include "shim/bootstrap/mpirun/backend.hpp"
#include "shim/bootstrap/mpirun/surroundings.hpp"
#include "shim/bootstrap/pmi1/backend.hpp"
#include "shim/bootstrap/pmi1/process_life.hpp"
#include "shim/bootstrap/pmix/backend.hpp"
#include "shim/bootstrap/pmix/process_life.hpp"
#include "shim/bootstrap/singleton.hpp"

namespace shim::bootstrap {

namespace {

/// Is it decided that this process speaks PMI-1? An MPI library that starts alone may put PMIx's variables into the environment
/// afterwards, and they lead to nobody but itself.
bool has_spoken_pmi1(const Options& options) {
  return options.life != nullptr && dynamic_cast<const pmi1::KeptConnection*>(options.life->get()) != nullptr;
}

}  // namespace

base::Result<std::unique_ptr<Bootstrap>> open_bootstrap(const Options& options) {
  // srun may offer both; PMIx knows more.
  if (pmix::has_launcher() && !has_spoken_pmi1(options)) {
    auto surroundings = options.pmix_everywhere ? std::nullopt : mpirun::Surroundings::of_process();
    if (surroundings && surroundings->are_real()) return std::unique_ptr<Bootstrap>(new mpirun::Backend(*std::move(surroundings)));
    SHIM_TRY_ASSIGN(const auto library, pmix::load_library());
    return pmix::Backend::open(library, options);
  }
  if (auto surroundings = pmi1::Surroundings::of_process(); surroundings.name_launcher())
    return pmi1::Backend::open(surroundings, options);
  return open_singleton();
}

std::unique_ptr<ProcessLife> make_process_life() {
  if (pmix::has_launcher()) return std::make_unique<pmix::KeptInitialised>();
  auto surroundings = pmi1::Surroundings::of_process();
  if (!surroundings.name_launcher()) return nullptr;
  return std::make_unique<pmi1::KeptConnection>(std::move(surroundings));
}

void settle_environment() {
  if (pmix::has_launcher()) pmix::settle_environment();
}

base::Result<base::LoadedLibrary> find_pmix_library() { return pmix::describe_library(); }

}  // namespace shim::bootstrap
