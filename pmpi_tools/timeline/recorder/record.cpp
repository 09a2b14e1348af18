// SPDX-License-Identifier: BSD-3-Clause
#include "pmpi_tools/timeline/recorder/record.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <ctime>

#include "pmpi_tools/timeline/recorder/file.hpp"
#include "pmpi_tools/timeline/recorder/json.hpp"

namespace timeline {
namespace {

constinit std::atomic<std::uint64_t> calls{0};  ///< relaxed: only a number

constexpr const char* kWhat[] = {"begins", "ends", "fails"};

JsonLine line_of(const char* what, const char* kind, const char* name, std::int64_t when) {
  JsonLine line;
  line.text("what", what)
      .text("kind", kind)
      .text("name", name)
      .number("t", when)
      .number("thread", ::gettid());
  return line;
}

/// Record a normal exit; without this line, the process was killed or has called _exit.
[[gnu::destructor]] void say_that_it_ended() {
  if (has_file()) write_line(line_of("exits", "process", "process", now_ns()).finish());
}

}  // namespace

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1'000'000'000) + now.tv_nsec;
}

Call::Call(const char* name, const char* kind, const char* text)
    : name_(name), number_(calls.fetch_add(1, std::memory_order_relaxed) + 1) {
  JsonLine line = line_of(kWhat[INTERSESSION_PHASE_BEGINS], "call", name, now_ns());
  line.text("of", kind).number("number", static_cast<std::int64_t>(number_));
  if (text != nullptr) line.text("text", text);
  write_line(line.finish());
}

int Call::ended(int code) const {
  JsonLine line = line_of(kWhat[INTERSESSION_PHASE_ENDS], "call", name_, now_ns());
  write_line(
      line.number("number", static_cast<std::int64_t>(number_)).number("code", code).finish());
  return code;
}

void record(const intersession_phase_event& event) {
  JsonLine line = line_of(kWhat[event.what], "phase", event.phase, event.when_ns);
  line.text("of", event.operation).number("number", static_cast<std::int64_t>(event.number));
  line.number("rank", event.rank).number("size", event.world_size).text("host", event.host);
  line.text("text", event.tag).number("members", event.members).number("peer", event.peer);
  write_line(line.finish());
}

}  // namespace timeline

extern "C" __attribute__((visibility("default"))) void intersession_phase(
    const intersession_phase_event* event) {
  timeline::record(*event);
  using Next = void (*)(const intersession_phase_event*);
  static const auto next = reinterpret_cast<Next>(::dlsym(RTLD_NEXT, "intersession_phase"));
  if (next != nullptr) next(event);
}
