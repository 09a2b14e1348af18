// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/attach.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "shim/base/clock.hpp"

namespace shim::bootstrap::pmi1 {
namespace {

using base::Error;
using base::ErrorClass;

base::Error no_response_error(double seconds) {
  return Error(ErrorClass::other, "the launcher (mpiexec, srun) has not answered within " +
                                      std::to_string(seconds) +
                                      " s: it may be stopped or overloaded; restart the job, or "
                                      "increase INTERSESSION_READY_TIMEOUT. "
                                      "srun --mpi=pmi2 answers one program per rank only: if this "
                                      "program has replaced another one "
                                      "(exec), start it in a child process or by another srun");
}

}  // namespace

base::Error launcher_closed() {
  return Error(ErrorClass::other,
               "the launcher (mpiexec, srun) has closed its connection to this process: it has "
               "exited, or the native MPI library or an earlier program of this rank has finalized "
               "PMI (cmd=finalize), and PMI-1 allows one connection per rank; start each program "
               "with a launcher, or begin a session before MPI_Finalize");
}

base::Status write_to_launcher(int launcher, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::send(launcher, text.data(), text.size(), MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return launcher_closed();
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

base::Result<std::string> read_from_launcher(int launcher, LineBuffer& buffer, double seconds) {
  const auto deadline = base::Deadline::from_setting(seconds);
  while (true) {
    if (auto line = buffer.next()) return std::move(*line);
    if (buffer.overflows())
      return Error(ErrorClass::other,
                   "the launcher sent an invalid PMI-1 message: \"" + shown(buffer.rest()) + "\"");
    pollfd ready{launcher, POLLIN, 0};
    const int count = ::poll(&ready, 1, deadline.poll_timeout());
    if (count < 0 && errno == EINTR) continue;
    if (count == 0 && deadline.passed()) return no_response_error(seconds);
    std::array<char, 4096> bytes;
    const ssize_t got = ::recv(launcher, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0)
      buffer.add({bytes.data(), static_cast<std::size_t>(got)});
    else if (got == 0 || (errno != EINTR && errno != EAGAIN))
      return launcher_closed();
  }
}

base::Result<DrainedRequests> drain_pending_requests(int launcher, LineBuffer& buffer,
                                                     bool must_send_init, double seconds) {
  const std::string token = "intersession.turn." + std::to_string(::getpid()) + "." +
                            std::to_string(base::now_ns());
  std::vector<std::pair<std::string, std::string>> steps = {
      {request("publish_name", {{"service", token}, {"port", token}}), "publish_result"},
      {request("lookup_name", {{"service", token}}), "lookup_result"},
      {request("unpublish_name", {{"service", token}}), "unpublish_result"}};
  if (must_send_init)
    steps.emplace(steps.begin(), request("init", {{"pmi_version", "1"}, {"pmi_subversion", "1"}}),
                  "response_to_init");
  std::vector<PmiLine> lines;
  std::vector<std::string> texts;
  // Only the lookup's response is distinguishable from the host client's responses; it arrives
  // after all of them.
  const auto is_response_to = [&](const std::string& response, const PmiLine& line) {
    return line.command() == response &&
           (response != "lookup_result" || line.value("port") == token);
  };
  for (const auto& [text, response] : steps) {
    SHIM_TRY(write_to_launcher(launcher, text));
    for (bool is_answered = false; !is_answered;) {
      SHIM_TRY_ASSIGN(std::string got, read_from_launcher(launcher, buffer, seconds));
      SHIM_TRY_ASSIGN(PmiLine line, PmiLine::parse(got));
      is_answered = is_response_to(response, line);
      lines.push_back(std::move(line));
      texts.push_back(std::move(got));
    }
  }
  DrainedRequests drained;
  const auto last_of = [&](std::string_view command) {
    const auto last = std::find_if(lines.rbegin(), lines.rend(),
                                   [&](const PmiLine& line) { return line.command() == command; });
    return lines.rend() - last - 1;  // -1: none
  };
  if (const auto index = last_of("response_to_init"); index >= 0)
    drained.init_response = texts[static_cast<std::size_t>(index)];
  // Of each kind requested here, the last response is ours.
  for (const auto& step : steps) {
    const auto index = last_of(step.second);
    lines.erase(lines.begin() + index);
    texts.erase(texts.begin() + index);
  }
  drained.for_host = std::move(texts);
  return drained;
}

}  // namespace shim::bootstrap::pmi1
