// SPDX-License-Identifier: BSD-3-Clause
#include "pmpi_tools/timeline/recorder/process_facts.hpp"

#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <optional>

#include "pmpi_tools/timeline/recorder/json.hpp"
#include "pmpi_tools/timeline/recorder/record.hpp"

namespace timeline {
namespace {

constexpr int kFormat = 1;
/// Variables of launchers with the rank and size of a process; the first one with a number is used.
constexpr const char* kRankVariables[] = {"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK",
                                          "SLURM_PROCID"};
constexpr const char* kSizeVariables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"};

template <std::size_t N>
std::optional<long> first_number(const char* const (&names)[N]) {
  for (const char* name : names) {
    const char* text = std::getenv(name);
    char* end = nullptr;
    if (text == nullptr || *text == '\0') continue;
    const long value = std::strtol(text, &end, 10);
    if (*end == '\0') return value;
  }
  return std::nullopt;
}

/// Return the id of the machine's boot. Its containers and namespaces share the id and the
/// monotonic clock.
std::string boot_id() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id;
}

std::string program() {
  char path[4096];
  const ssize_t length = ::readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "";
}

struct Moment {
  std::int64_t monotonic, wall, error;
};

/// Read both clocks several times and return the reading with the smallest error: an interruption
/// between the two reads makes a reading inaccurate.
Moment both_clocks() {
  Moment best{0, 0, INT64_MAX};
  for (int i = 0; i < 8; ++i) {
    timespec wall{};
    const std::int64_t before = now_ns();
    ::clock_gettime(CLOCK_REALTIME, &wall);
    const std::int64_t after = now_ns();
    if (after - before < best.error)
      best = {before + (after - before) / 2, wall.tv_sec * INT64_C(1'000'000'000) + wall.tv_nsec,
              after - before};
  }
  return best;
}

}  // namespace

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

std::string describe_process() {
  const Moment moment = both_clocks();
  JsonLine line;
  line.number("timeline", kFormat)
      .text("host", host_name())
      .number("pid", ::getpid())
      .text("program", program())
      .text("boot", boot_id());
  line.number("monotonic_ns", moment.monotonic)
      .number("wall_ns", moment.wall)
      .number("clock_error_ns", moment.error);
  if (const auto rank = first_number(kRankVariables)) line.number("rank", *rank);
  if (const auto size = first_number(kSizeVariables)) line.number("size", *size);
  return line.finish();
}

}  // namespace timeline
