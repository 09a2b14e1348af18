// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/pmi_env.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "shim/base/files.hpp"
#include "shim/base/parsing.hpp"
#include "shim/bootstrap/pmi1/attach.hpp"

namespace shim::bootstrap::pmi1 {
namespace {

using base::Error;
using base::ErrorClass;

std::optional<std::string> variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

base::Result<std::uint32_t> number_in(const char* name, const std::optional<std::string>& text) {
  const auto number = text ? base::to_number(*text) : std::nullopt;
  if (number) return *number;
  return Error(ErrorClass::other,
               std::string("the environment has variables of a PMI-1 launcher, but ") + name +
                   (text ? " is \"" + shown(*text) + "\", which is not a number" : " is not set") +
                   "; start the job with mpiexec, or unset PMI_FD, PMI_PORT, PMI_RANK and PMI_SIZE "
                   "to run as a single process");
}

base::Result<ServerEndpoint> endpoint_from_descriptor(const PmiEnv& env) {
  SHIM_TRY_ASSIGN(const std::uint32_t number, number_in("PMI_FD", env.descriptor));
  SHIM_TRY_ASSIGN(const std::uint32_t rank, number_in("PMI_RANK", env.rank));
  SHIM_TRY_ASSIGN(const std::uint32_t size, number_in("PMI_SIZE", env.size));
  if (rank >= size)
    return Error(ErrorClass::other, "PMI_RANK is " + std::to_string(rank) + ", but PMI_SIZE is " +
                                        std::to_string(size) + "; start the job with mpiexec");
  SHIM_TRY_ASSIGN(SharedDescriptor shared_descriptor,
                  SharedDescriptor::at(static_cast<int>(number), "PMI_FD"));
  return ServerEndpoint{std::move(shared_descriptor), Position{rank, size}, std::nullopt, false};
}

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

base::Error bad_port(const std::string& port, const std::string& what) {
  return Error(ErrorClass::other, "cannot reach the launcher at PMI_PORT=\"" + shown(port) +
                                      "\": " + what +
                                      "; the job's mpiexec may have exited. Restart the job, or "
                                      "unset PMI_PORT and PMI_ID to run as a single process");
}

base::Result<Addresses> resolve(const std::string& port) {
  const auto colon = port.rfind(':');
  if (colon == std::string::npos || colon == 0) return bad_port(port, "not of the form host:port");
  const base::StandardStreamsHeld streams;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(port.substr(0, colon).c_str(), port.substr(colon + 1).c_str(),
                                  &hints, &found);
  if (error != 0) return bad_port(port, ::gai_strerror(error));
  return Addresses(found);
}

bool leads_to(int descriptor, const addrinfo* addresses) {
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &length) != 0) return false;
  for (const addrinfo* address = addresses; address != nullptr; address = address->ai_next)
    if (address->ai_addrlen == length && std::memcmp(address->ai_addr, &peer, length) == 0)
      return true;
  return false;
}

/// Return the native library's own connection, if it has one.
std::optional<int> existing_connection(const addrinfo* addresses) {
  for (const std::string& name : base::names_in("/proc/self/fd")) {
    const auto descriptor = base::number_in<int>(name);
    if (descriptor && leads_to(*descriptor, addresses)) return descriptor;
  }
  return std::nullopt;
}

base::Result<int> connect_to(const std::string& port, const addrinfo* addresses) {
  int error = 0;
  for (const addrinfo* address = addresses; address != nullptr; address = address->ai_next) {
    Descriptor made(base::above_standard_streams(::socket(address->ai_family, SOCK_STREAM, 0)));
    if (made.get() >= 0 && ::connect(made.get(), address->ai_addr, address->ai_addrlen) == 0)
      return made.release();
    error = errno;
  }
  return bad_port(port, std::strerror(error));
}

base::Result<ServerEndpoint> endpoint_from_port(const PmiEnv& env, double seconds) {
  SHIM_TRY_ASSIGN(const std::uint32_t id, number_in("PMI_ID", env.id));
  SHIM_TRY_ASSIGN(const Addresses addresses, resolve(*env.port));
  if (auto existing = existing_connection(addresses.get())) {
    SHIM_TRY_ASSIGN(SharedDescriptor shared_descriptor,
                    SharedDescriptor::at(*existing, "PMI_PORT"));
    return ServerEndpoint{std::move(shared_descriptor), std::nullopt, id, false};
  }
  SHIM_TRY_ASSIGN(const int made, connect_to(*env.port, addresses.get()));
  LineBuffer buffer;
  std::vector<std::string> host_lines;
  auto position = query_position(made, buffer, id, seconds, host_lines);
  if (!position) {
    ::close(made);
    return std::move(position).error();
  }
  SHIM_TRY_ASSIGN(SharedDescriptor shared_descriptor, SharedDescriptor::at(made, "PMI_PORT"));
  return ServerEndpoint{std::move(shared_descriptor), *position, id, true};
}

}  // namespace

PmiEnv PmiEnv::of_process() {
  return {variable("PMI_FD"), variable("PMI_RANK"), variable("PMI_SIZE"), variable("PMI_PORT"),
          variable("PMI_ID")};
}

base::Result<ServerEndpoint> find_endpoint(const PmiEnv& env, double seconds) {
  return env.descriptor ? endpoint_from_descriptor(env) : endpoint_from_port(env, seconds);
}

void export_to_environment(const ServerEndpoint& endpoint) {
  ::setenv("PMI_FD", std::to_string(endpoint.shared_descriptor.number).c_str(), 1);
  ::setenv("PMI_RANK", std::to_string(endpoint.position->rank).c_str(), 1);
  ::setenv("PMI_SIZE", std::to_string(endpoint.position->size).c_str(), 1);
}

base::Result<Position> query_position(int launcher, LineBuffer& buffer, std::uint32_t id,
                                      double seconds, std::vector<std::string>& host_lines) {
  SHIM_TRY(write_to_launcher(launcher, request("initack", {{"pmiid", std::to_string(id)}})));
  std::optional<std::uint32_t> rank, size;
  for (bool is_over = false; !is_over;) {
    SHIM_TRY_ASSIGN(const std::string text, read_from_launcher(launcher, buffer, seconds));
    SHIM_TRY_ASSIGN(const PmiLine line, PmiLine::parse(text));
    if (line.command() == "set") {
      if (line.value("rank")) rank = line.number("rank");
      if (line.value("size")) size = line.number("size");
      is_over = line.value("debug").has_value();  // last line of the response
    } else if (line.command() != "initack") {
      host_lines.push_back(text);
    }
  }
  if (rank && size && *rank < *size) return Position{*rank, *size};
  return Error(
      ErrorClass::other,
      "the launcher at PMI_PORT did not return the rank of this process and the size of the job");
}

}  // namespace shim::bootstrap::pmi1
