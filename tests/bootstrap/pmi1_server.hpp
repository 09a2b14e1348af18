// SPDX-License-Identifier: BSD-3-Clause
// FakeServer is a PMI-1 launcher inside the test: one thread, one socket for each process of a job,
// and faults on request.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "shim/base/clock.hpp"
#include "shim/bootstrap/pmi1/pmi_env.hpp"
#include "shim/bootstrap/pmi1/wire.hpp"

namespace shim::bootstrap::pmi1::testing {

/// Replaces or delays the response of the server to a request.
struct Fault {
  enum class Type { none, silent, text, closes } kind = Type::none;
  std::string text;    ///< sent verbatim if kind is text
  double delay_s = 0;  ///< in seconds, before the response or the fault
};

struct ServerOptions {
  std::uint32_t size = 1;
  std::uint32_t subversion = 1;
  std::string mapping;  ///< PMI_process_mapping; by default all processes are on one node
  std::size_t value_limit = 1024;
  std::string universe = "infinite";
  std::string application = "0";
  bool byte_by_byte = false;
  /// As Slurm: close the connection if the first request is not init; never answer a second init.
  bool one_init = false;
  std::function<Fault(std::uint32_t rank, const std::string& line)> fault;
};

class FakeServer {
 public:
  explicit FakeServer(ServerOptions options = {}) : options_(std::move(options)) {
    if (options_.mapping.empty())
      options_.mapping = "(vector,(0,1," + std::to_string(options_.size) + "))";
    for (std::uint32_t rank = 0; rank < options_.size; ++rank) {
      std::array<int, 2> pair{};
      if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()) != 0) std::abort();
      processes_.push_back({.socket = pair[0], .buffer = {}});
      ends_.push_back(pair[1]);
    }
    thread_ = std::thread([this] { serve(); });
  }
  ~FakeServer() {
    must_stop_ = true;
    thread_.join();
    for (auto& process : processes_) ::close(process.socket);
    for (int end : ends_) ::close(end);
  }

  /// Return the process's descriptor, which the destructor closes; -1 after forget().
  int end(std::uint32_t rank) const { return ends_[rank]; }
  /// Leave the descriptor to the process, which closes it.
  void forget(std::uint32_t rank) { ends_[rank] = -1; }
  PmiEnv env(std::uint32_t rank) const {
    return {std::to_string(ends_[rank]), std::to_string(rank), std::to_string(options_.size),
            std::nullopt, std::nullopt};
  }

  int count(const std::string& command) {
    std::lock_guard lock(mutex_);
    return counts_[command];
  }
  /// Return the processes that have sent finalize.
  std::set<std::uint32_t> finalized() {
    std::lock_guard lock(mutex_);
    return finalized_;
  }
  /// Return the number of names published now.
  std::size_t names() {
    std::lock_guard lock(mutex_);
    return names_.size();
  }
  std::string longest_port() {
    std::lock_guard lock(mutex_);
    return longest_port_;
  }
  std::vector<std::string> barriers() {
    std::lock_guard lock(mutex_);
    return barrier_lines_;
  }
  void close_all() { must_close_ = true; }

 private:
  struct Process {
    int socket;
    LineBuffer buffer;
    bool has_init = false;
  };
  struct Late {
    base::Nanoseconds at;
    std::uint32_t rank;
    std::string text;
    bool closes;
  };

  void serve() {
    while (!must_stop_) {
      if (must_close_.exchange(false))
        for (auto& process : processes_) ::shutdown(process.socket, SHUT_RDWR);
      std::vector<pollfd> ready;
      for (auto& process : processes_) ready.push_back({process.socket, POLLIN, 0});
      ::poll(ready.data(), ready.size(), 1);
      for (std::uint32_t rank = 0; rank < ready.size(); ++rank)
        if (ready[rank].revents != 0) receive_from(rank);
      send_late();
    }
  }

  void receive_from(std::uint32_t rank) {
    std::array<char, 4096> bytes;
    const ssize_t got = ::recv(processes_[rank].socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got == 0) {
      ::close(processes_[rank].socket);
      processes_[rank].socket = -1;
    }
    if (got <= 0) return;
    processes_[rank].buffer.add({bytes.data(), static_cast<std::size_t>(got)});
    while (auto line = processes_[rank].buffer.next()) take(rank, *line);
  }

  void take(std::uint32_t rank, const std::string& text) {
    const PmiLine line = *PmiLine::parse(text);
    const Fault fault = options_.fault ? options_.fault(rank, text) : Fault{};
    const base::Nanoseconds at = base::now_ns() +
                                 static_cast<base::Nanoseconds>(fault.delay_s * 1e9);
    {
      std::lock_guard lock(mutex_);
      ++counts_[line.command()];
    }
    switch (fault.kind) {
      case Fault::Type::silent:
        return;
      case Fault::Type::text:
        return late_.push_back({at, rank, fault.text, false}), send_late();
      case Fault::Type::closes:
        return late_.push_back({at, rank, "", true}), send_late();
      case Fault::Type::none:
        break;
    }
    if (options_.one_init && (line.command() == "init") == processes_[rank].has_init) {
      if (!processes_[rank].has_init) ::shutdown(processes_[rank].socket, SHUT_RDWR);
      return;
    }
    processes_[rank].has_init = true;
    if (line.command() == "barrier_in") return enter_barrier(rank, text, line);
    late_.push_back({at, rank, answer(rank, line), false});
    send_late();
  }

  std::string answer(std::uint32_t rank, const PmiLine& line) {
    std::lock_guard lock(mutex_);
    const auto value = [&](const char* key) { return std::string(line.value(key).value_or("")); };
    const std::string& command = line.command();
    if (command == "init")
      return "cmd=response_to_init pmi_version=1 pmi_subversion=" +
             std::to_string(options_.subversion) + " rc=0\n";
    if (command == "get_maxes")
      return "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=" +
             std::to_string(options_.value_limit) + "\n";
    if (command == "get_my_kvsname")
      return options_.one_init ? "cmd=my_kvsname kvsname=7.0\n" : "cmd=my_kvsname kvsname=kvs_1\n";
    if (command == "get_appnum") return "cmd=appnum appnum=" + options_.application + "\n";
    if (command == "get_universe_size") return "cmd=universe_size size=" + options_.universe + "\n";
    if (command == "get" && value("key") == "PMI_process_mapping")
      return "cmd=get_result rc=0 msg=success value=" + options_.mapping + "\n";
    if (command == "get")
      return values_.contains(value("key"))
                 ? "cmd=get_result rc=0 msg=success value=" + values_[value("key")] + "\n"
                 : "cmd=get_result rc=-1 msg=key_" + value("key") + "_not_found value=unknown\n";
    if (command == "put") {
      values_[value("key")] = value("value");
      return "cmd=put_result rc=0 msg=success\n";
    }
    if (command == "publish_name") {
      if (value("port").size() > longest_port_.size()) longest_port_ = value("port");
      return names_.emplace(value("service"), value("port")).second
                 ? "cmd=publish_result info=ok rc=0 msg=success\n"
                 : "cmd=publish_result info=ok rc=1 msg=key_already_present\n";
    }
    if (command == "unpublish_name")
      return names_.erase(value("service")) > 0
                 ? "cmd=unpublish_result info=ok rc=0 msg=success\n"
                 : "cmd=unpublish_result info=ok rc=1 msg=service_not_found\n";
    if (command == "lookup_name")
      return names_.contains(value("service"))
                 ? "cmd=lookup_result port=" + names_[value("service")] +
                       " info=ok rc=0 msg=success\n"
                 : "cmd=lookup_result rc=1 msg=service_not_found\n";
    if (command == "finalize") {
      finalized_.insert(rank);
      return "cmd=finalize_ack\n";
    }
    return "";
  }

  void enter_barrier(std::uint32_t rank, const std::string& text, const PmiLine& line) {
    const std::string group(line.value("group").value_or(""));
    const auto colon = group.find(':');
    std::size_t members = options_.size;
    if (!group.empty() && !group.starts_with("WORLD"))
      members = 1 + static_cast<std::size_t>(std::count(group.begin(), group.end(), ','));
    auto& inside = barriers_[group];
    inside.push_back(rank);
    {
      std::lock_guard lock(mutex_);
      barrier_lines_.push_back(text);
    }
    if (inside.size() < members) return;
    const std::string tag = colon == std::string::npos ? "0" : group.substr(colon + 1);
    for (auto member : std::exchange(inside, {}))
      late_.push_back(
          {0, member,
           options_.subversion >= 2 ? "cmd=barrier_out tag=" + tag + "\n" : "cmd=barrier_out\n",
           false});
    send_late();
  }

  void send_late() {
    for (auto at = late_.begin(); at != late_.end();) {
      if (at->at > base::now_ns()) {
        ++at;
        continue;
      }
      const Late due = *at;
      at = late_.erase(at);
      if (due.closes)
        ::shutdown(processes_[due.rank].socket, SHUT_RDWR);
      else
        write(due.rank, due.text);
    }
  }

  void write(std::uint32_t rank, const std::string& text) {
    const std::size_t piece = options_.byte_by_byte ? 1 : text.size();
    for (std::size_t i = 0; i < text.size(); i += piece)
      [[maybe_unused]] const auto sent = ::send(processes_[rank].socket, text.data() + i, piece,
                                                MSG_NOSIGNAL);
  }

  ServerOptions options_;
  std::vector<Process> processes_;
  std::vector<int> ends_;
  std::vector<Late> late_;
  std::map<std::string, std::vector<std::uint32_t>> barriers_;
  std::mutex mutex_;  // protects the members below
  std::map<std::string, std::string> names_, values_;
  std::map<std::string, int> counts_;
  std::set<std::uint32_t> finalized_;
  std::string longest_port_;
  std::vector<std::string> barrier_lines_;
  std::atomic<bool> must_stop_{false}, must_close_{false};
  std::thread thread_;
};

/// A client like the one inside MPICH: it writes each line with one call, and reads responses into
/// its own buffer with read(2), which it repeats after a signal. It must receive no response to
/// requests of other clients.
class HostClient {
 public:
  explicit HostClient(int descriptor) : descriptor_(descriptor) {}

  std::string query(const std::string& text) {
    write_line(text);
    return read_line();
  }
  void write_line(const std::string& text) {
    const std::string line = text + "\n";
    if (::write(descriptor_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
      throw std::runtime_error("cannot write");
  }
  /// Return the next line; empty if the server has closed the connection.
  std::string read_line() {
    while (true) {
      if (auto line = buffer_.next()) return *line;
      std::array<char, 1023> bytes;
      ssize_t got = 0;
      do got = ::read(descriptor_, bytes.data(), bytes.size());
      while (got < 0 && errno == EINTR);
      if (got <= 0) return "";
      buffer_.add({bytes.data(), static_cast<std::size_t>(got)});
    }
  }

 private:
  const int descriptor_;
  LineBuffer buffer_;
};

}  // namespace shim::bootstrap::pmi1::testing
