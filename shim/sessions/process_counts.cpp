// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/process_counts.hpp"

#include <cstdint>
#include <string>
#include <string_view>

#include "shim/sessions/process.hpp"

namespace shim::sessions {
namespace {

void put(Info& info, std::string_view key, std::uint64_t count) {
  (void)info.set(key, std::to_string(count));  // cannot fail: these keys and values fit
}

void put_launcher(Info& info, const bootstrap::Bootstrap::Counts& counts) {
  put(info, "launcher_connections", counts.connections);
  put(info, "launcher_publishes", counts.publishes);
  put(info, "launcher_lookups", counts.lookups);
  put(info, "launcher_retries", counts.lookup_retries);
  put(info, "launcher_fences", counts.fences);
}

void put_messages(Info& info, const p2p::Engine::Counts& counts) {
  put(info, "messages_eager", counts.eager_sent);
  put(info, "messages_rendezvous", counts.rendezvous_sent);
  put(info, "messages_unexpected", counts.unexpected);
  put(info, "messages_matched_by_provider", counts.matched_by_provider);
  put(info, "unexpected_most_bytes", counts.unexpected_bytes_most);
  put(info, "senders_held_back", counts.throttled);
  put(info, "control_messages", counts.control_sent);
  put(info, "control_bytes", counts.control_bytes);
}

void put_transport(Info& info, const std::string& prefix,
                   const transport::Transport::Counts& counts) {
  put(info, prefix + "_connections", counts.links_used);
  put(info, prefix + "_packets", counts.packets_sent);
  put(info, prefix + "_bytes", counts.bytes_sent);
}

void add(p2p::Engine::Counts& sum, const p2p::Engine::Counts& more) {
  sum.eager_sent += more.eager_sent;
  sum.rendezvous_sent += more.rendezvous_sent;
  sum.unexpected += more.unexpected;
  sum.matched_by_provider += more.matched_by_provider;
  // upper bound: the engines' maxima need not coincide
  sum.unexpected_bytes_most += more.unexpected_bytes_most;
  sum.throttled += more.throttled;
  sum.control_sent += more.control_sent;
  sum.control_bytes += more.control_bytes;
}

void add(transport::Transport::Counts& sum, const transport::Transport::Counts& more) {
  sum.links_used += more.links_used;
  sum.packets_sent += more.packets_sent;
  sum.bytes_sent += more.bytes_sent;
}

}  // namespace

InfoPtr counts_of(Process& process) {
  auto info = std::make_shared<Info>();
  transport::Transport::Counts node, fabric;  // zero if not in use
  p2p::Engine::Counts messages;
  for (p2p::Engine* engine : process.vcis().engines()) {
    add(messages, engine->counts());
    for (const auto& [name, counts] : engine->transport_counts()) {
      if (name == "shm") add(node, counts);
      if (name == "net") fabric = counts;
    }
  }
  put_launcher(*info, process.bootstrap().counts());
  put(*info, "launcher_sought", process.peers().looked_up_count());
  put_transport(*info, "node", node);
  put(*info, "contact_connections", fabric.tcp_connections);
  put(*info, "contact_messages", fabric.tcp_messages);
  put(*info, "contact_bytes", fabric.tcp_bytes);
  put(*info, "fabric_open", fabric.fabrics_open);
  put(*info, "fabric_addresses", fabric.addresses_inserted);
  put_transport(*info, "fabric", fabric);
  put_messages(*info, messages);
  return info;
}

}  // namespace shim::sessions
