// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/process_counts.hpp"

#include <cstdint>
#include <string>
#include <string_view>

#include "shim/sessions/process.hpp"

namespace shim::sessions {
namespace {

void set_count(Info& info, std::string_view key, std::uint64_t count) {
  (void)info.set(key, std::to_string(count));  // cannot fail: these keys and values fit
}

void set_launcher_counts(Info& info, const bootstrap::Bootstrap::Counts& counts) {
  set_count(info, "launcher_connections", counts.connections);
  set_count(info, "launcher_publishes", counts.publishes);
  set_count(info, "launcher_lookups", counts.lookups);
  set_count(info, "launcher_retries", counts.lookup_retries);
  set_count(info, "launcher_fences", counts.fences);
}

void set_message_counts(Info& info, const p2p::Engine::Counts& counts) {
  set_count(info, "messages_eager", counts.eager_sent);
  set_count(info, "messages_rendezvous", counts.rendezvous_sent);
  set_count(info, "messages_unexpected", counts.unexpected);
  set_count(info, "messages_matched_by_provider", counts.matched_by_provider);
  set_count(info, "unexpected_most_bytes", counts.unexpected_bytes_most);
  set_count(info, "senders_held_back", counts.throttled);
  set_count(info, "control_messages", counts.control_sent);
  set_count(info, "control_bytes", counts.control_bytes);
}

void set_transport_counts(Info& info, const std::string& prefix,
                          const transport::Transport::Counts& counts) {
  set_count(info, prefix + "_connections", counts.links_used);
  set_count(info, prefix + "_packets", counts.packets_sent);
  set_count(info, prefix + "_bytes", counts.bytes_sent);
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
  set_launcher_counts(*info, process.bootstrap().counts());
  set_count(*info, "launcher_sought", process.peers().looked_up_count());
  set_transport_counts(*info, "node", node);
  set_count(*info, "contact_connections", fabric.tcp_connections);
  set_count(*info, "contact_messages", fabric.tcp_messages);
  set_count(*info, "contact_bytes", fabric.tcp_bytes);
  set_count(*info, "fabric_open", fabric.fabrics_open);
  set_count(*info, "fabric_addresses", fabric.addresses_inserted);
  set_transport_counts(*info, "fabric", fabric);
  set_message_counts(*info, messages);
  return info;
}

}  // namespace shim::sessions
