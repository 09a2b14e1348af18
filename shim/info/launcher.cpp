// SPDX-License-Identifier: BSD-3-Clause
#include "shim/info/launcher.hpp"

#include <chrono>
#include <numeric>
#include <thread>

#include "shim/base/clock.hpp"
#include "shim/base/log.hpp"
#include "shim/bootstrap/settle_node_map.hpp"
#include "shim/info/report.hpp"
#include "shim/sessions/process_sets.hpp"

namespace shim::info {
namespace {

std::vector<std::pair<std::string, std::string>> sets_of(const base::Settings& settings, bootstrap::Bootstrap& bootstrap) {
  const base::Log log(base::Log::level_of(settings.log), "intersession-info");
  sessions::ProcessSets sets(settings, bootstrap, log);
  std::vector<std::pair<std::string, std::string>> found;
  for (std::string& name : sets.names()) {
    const auto group = sets.find(name);
    std::string members = group ? ranks_text(**group) : "not known: " + group.error().text();
    found.emplace_back(std::move(name), std::move(members));
  }
  return found;
}

constexpr auto kNap = std::chrono::milliseconds(1);

/// Waits until all processes of the job are here, or for so many seconds: another program of the job may never come, and the
/// report does not depend on it. But who leaves while others arrive may leave them without an answer to their PMIx_Init:
/// mpirun 4.1.4 with PMIx 4.2.2, one job of four processes in fifty.
void wait_for_all(bootstrap::Bootstrap& bootstrap, double seconds) {
  std::vector<std::uint32_t> all(bootstrap.job().size);
  std::iota(all.begin(), all.end(), 0);
  const auto fence = bootstrap.fence(all);
  if (!fence) return;
  const auto deadline = base::Deadline::after_seconds(seconds);
  for (auto answer = (*fence)->poll(); answer && !*answer && !deadline.passed(); answer = (*fence)->poll())
    std::this_thread::sleep_for(kNap);
}

}  // namespace

base::Result<JobFacts> ask_launcher(const base::Settings& settings) {
  std::unique_ptr<bootstrap::ProcessLife> life;  // goes after the Bootstrap, as it says
  SHIM_TRY_ASSIGN(const auto bootstrap, bootstrap::open_bootstrap({.ready_timeout_s = settings.ready_timeout, .life = &life}));
  SHIM_TRY(bootstrap::settle_node_map(*bootstrap));
  const auto numbers = bootstrap->app_numbers();
  JobFacts facts{std::string(bootstrap->name()), bootstrap->job(), bootstrap->node_map(), {numbers.begin(), numbers.end()}, {}};
  if (facts.job.rank == 0) facts.sets = sets_of(settings, *bootstrap);
  wait_for_all(*bootstrap, settings.ready_timeout);
  return facts;
}

}  // namespace shim::info
