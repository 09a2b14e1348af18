// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/consensus_wire.hpp"

#include <algorithm>

#include "shim/sessions/wire_bytes.hpp"

namespace shim::sessions {
namespace {

void write(ByteWriter& out, const std::vector<std::uint32_t>& members) {
  out.number(static_cast<std::uint32_t>(members.size()));
  for (std::uint32_t member : members) out.number(member);
}

void write(ByteWriter& out, const std::vector<std::byte>& bytes) {
  out.number(static_cast<std::uint32_t>(bytes.size()));
  out.bytes(bytes);
}

void write(ByteWriter& out, const Decision& decision) {
  out.number(static_cast<std::uint32_t>(decision.votes.size()));
  for (const auto& [member, vote] : decision.votes) {
    out.number(member);
    out.number(vote.flag);
    write(out, vote.extra);
  }
  write(out, decision.failed);
  out.number(static_cast<std::uint8_t>(decision.has_unacknowledged));
}

class DecisionReader : public ByteReader {
 public:
  DecisionReader(std::span<const std::byte> bytes, std::uint32_t processes)
      : ByteReader(bytes), processes_(processes) {}
  std::uint32_t member() {
    const auto rank = number<std::uint32_t>();
    if (rank >= processes_) refuse();
    return ok() ? rank : 0;
  }
  /// Read a number of members.
  std::uint32_t count() {
    const auto value = number<std::uint32_t>();
    if (value > processes_) refuse();
    return ok() ? value : 0;
  }
  std::vector<std::uint32_t> members() {
    std::vector<std::uint32_t> all;
    for (std::uint32_t left = count(); left > 0 && ok(); --left) all.push_back(member());
    return all;
  }
  std::vector<std::byte> run() {
    const auto taken = bytes(number<std::uint32_t>());
    return {taken.begin(), taken.end()};
  }
  Decision decision() {
    Decision decision;
    for (std::uint32_t left = count(); left > 0 && ok(); --left) {
      Decision::Counted& vote = decision.votes[member()];
      vote.flag = number<std::int32_t>();
      vote.extra = run();
    }
    decision.failed = members();
    decision.has_unacknowledged = number<std::uint8_t>() != 0;
    return decision;
  }

 private:
  std::uint32_t processes_;
};

}  // namespace

std::vector<std::byte> encode(const ConsensusMessage& message) {
  ByteWriter out;
  out.number(message.kind);
  out.text(message.key.scope);
  out.number(message.key.number);
  out.number(message.coordinator);
  if (message.kind == ConsensusMessage::Type::join) {
    out.number(message.vote.flag);
    write(out, message.vote.extra);
    write(out, message.vote.failed);
    write(out, message.vote.acknowledged);
    write(out, message.gone);
    out.number(static_cast<std::uint8_t>(message.proposed_by.has_value()));
    if (message.proposed_by) out.number(*message.proposed_by);
  }
  out.number(static_cast<std::uint8_t>(message.decision.has_value()));
  if (message.decision) write(out, *message.decision);
  return out.take();
}

std::optional<ConsensusMessage> decode_consensus(std::span<const std::byte> bytes,
                                                 std::uint32_t processes) {
  using Type = ConsensusMessage::Type;
  DecisionReader in(bytes, processes);
  ConsensusMessage message;
  message.kind = in.number<Type>();
  if (message.kind < Type::join || message.kind > Type::forget) return std::nullopt;
  message.key.scope = in.text();
  message.key.number = in.number<std::uint32_t>();
  message.coordinator = in.member();
  if (message.kind == Type::join) {
    message.vote.flag = in.number<std::int32_t>();
    message.vote.extra = in.run();
    message.vote.failed = in.members();
    message.vote.acknowledged = in.members();
    message.gone = in.members();
    if (in.number<std::uint8_t>() != 0) message.proposed_by = in.member();
  }
  if (in.number<std::uint8_t>() != 0) message.decision = in.decision();
  const bool needs_decision = message.kind == Type::propose || message.kind == Type::decide;
  if (!in.at_end() || (needs_decision && !message.decision)) return std::nullopt;
  return message;
}

}  // namespace shim::sessions
