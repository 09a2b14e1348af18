// SPDX-License-Identifier: BSD-3-Clause
#include "shim/info/launcher.hpp"

#include <chrono>
#include <numeric>
#include <thread>

#include "shim/base/clock.hpp"
#include "shim/base/log.hpp"
#include "shim/bootstrap/resolve_node_map.hpp"
#include "shim/info/report.hpp"
#include "shim/sessions/process_sets.hpp"

namespace shim::info {
namespace {

/// Return name and members of each process set; the text of a set that cannot be found now is its
/// error.
std::vector<std::pair<std::string, std::string>> sets_of(const base::Settings& settings,
                                                         bootstrap::Bootstrap& bootstrap) {
  const base::Log log(base::Log::level_of(settings.log), "intersession-info");
  sessions::ProcessSets sets(settings, bootstrap, log);
  std::vector<std::pair<std::string, std::string>> found;
  for (std::string& name : sets.names()) {
    const auto group = sets.find(name);
    std::string members = group ? ranks_text(**group) : "unknown: " + group.error().text();
    found.emplace_back(std::move(name), std::move(members));
  }
  return found;
}

/// Pause between two polls of the fence.
constexpr auto kNap = std::chrono::milliseconds(1);

/// Wait in a fence until all processes of the job have connected. Without the fence a process could
/// call PMIx_Finalize while another is in PMIx_Init, and PMIx_Init may then never return (mpirun
/// 4.1.4 with PMIx 4.2.2: in one of fifty jobs of four processes). Wait for at most `seconds`,
/// because a job may contain another program, which may never enter the fence. Errors of the fence
/// are ignored: the data about the job is complete without it.
void wait_for_all(bootstrap::Bootstrap& bootstrap, double seconds) {
  std::vector<std::uint32_t> all(bootstrap.job().size);
  std::iota(all.begin(), all.end(), 0);
  const auto fence = bootstrap.fence(all);
  if (!fence) return;
  const auto deadline = base::Deadline::from_setting(seconds);
  for (auto answer = (*fence)->poll(); answer && !*answer && !deadline.passed();
       answer = (*fence)->poll())
    std::this_thread::sleep_for(kNap);
}

}  // namespace

base::Result<JobFacts> query_launcher(const base::Settings& settings) {
  std::unique_ptr<bootstrap::ProcessLifetime> lifetime;  // destroyed after the Bootstrap below
  SHIM_TRY_ASSIGN(const auto bootstrap,
                  bootstrap::open_bootstrap({.ready_timeout_s = settings.ready_timeout,
                                             .lifetime = &lifetime,
                                             .pmix_everywhere = settings.bootstrap == "pmix"}));
  SHIM_TRY(bootstrap::resolve_node_map(*bootstrap));
  const auto numbers = bootstrap->app_numbers();
  JobFacts facts{std::string(bootstrap->name()),
                 bootstrap->job(),
                 bootstrap->node_map(),
                 {numbers.begin(), numbers.end()},
                 {},
                 bootstrap->warning().value_or("")};
  if (facts.job.rank == 0) facts.sets = sets_of(settings, *bootstrap);
  wait_for_all(*bootstrap, settings.ready_timeout);
  return facts;
}

}  // namespace shim::info
