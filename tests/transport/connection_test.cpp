// SPDX-License-Identifier: BSD-3-Clause
// Tests how a connection reassembles frames from pieces of any length.
#include "shim/transport/net/connection.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "tests/transport/rig.hpp"

namespace shim::transport::testing {
namespace {

/// Header of each packet in this test.
struct Label {
  std::uint64_t number;
  std::uint64_t wants_placement;
};

/// Provides memory for payloads of packets that request placement; records received packets.
class PlacementSink final : public Sink, public Connection::FrameHandler {
 public:
  std::map<std::uint64_t, Bytes> received;
  int placed = 0, dropped = 0;
  bool is_closed = false;  ///< placements are withdrawn; further payloads are dropped

  bool on_frame(const ReceivedFrame& frame) override {
    if (frame.placed != 0)
      on_placed(frame.bytes, frame.placed);
    else
      on_packet(frame.bytes);
    return true;
  }
  bool on_packet(ConstSpan packet) override {
    const auto label = label_of(packet);
    received[label->number].assign(packet.begin() + sizeof(Label), packet.end());
    return true;
  }
  std::optional<Placement> place(ConstSpan beginning, std::size_t bytes) override {
    const auto label = label_of(beginning);
    if (is_closed || !label || label->wants_placement == 0) return std::nullopt;
    Bytes& payload = payloads_[label->number];
    payload.resize(bytes - sizeof(Label));
    return Placement{sizeof(Label), payload};
  }
  void on_placed(ConstSpan header, std::size_t bytes) override {
    const auto label = label_of(header);
    EXPECT_EQ(header.size(), sizeof(Label));
    EXPECT_EQ(payloads_[label->number].size(), bytes);
    ++(is_closed ? dropped : placed);
    if (!is_closed) received[label->number] = std::move(payloads_[label->number]);
  }

 private:
  static std::optional<Label> label_of(ConstSpan bytes) {
    if (bytes.size() < sizeof(Label)) return std::nullopt;
    Label label;
    std::memcpy(&label, bytes.data(), sizeof label);
    return label;
  }
  std::map<std::uint64_t, Bytes> payloads_;
};

class ConnectionTest : public ::testing::Test {
 protected:
  ConnectionTest() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    remote_ = base::Descriptor(ends[0]);
    connection_.emplace(Connection::accepted(base::Descriptor(ends[1])));
    connection_->set_state(Connection::State::open);
  }

  static Bytes frame(std::uint64_t number, bool wants_placement, std::size_t body_bytes) {
    const Label label{number, wants_placement};
    FrameQueue frame;
    frame.add(TcpFrameKind::packet, std::as_bytes(std::span(&label, 1)),
              body_of(number, body_bytes));
    const ConstSpan bytes = frame.rest();
    return {bytes.begin(), bytes.end()};
  }

  /// Write as many of the bytes as the socket buffer accepts; return their number.
  std::size_t write(ConstSpan bytes) {
    const ssize_t written = ::send(remote_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return static_cast<std::size_t>(std::max<ssize_t>(written, 0));
  }

  base::Result<bool> receive() { return connection_->receive(room_, sink_, sink_); }

  /// Write all bytes in pieces of at most `longest` bytes; receive after each piece.
  void write_in_pieces(ConstSpan bytes, std::size_t longest, std::mt19937& random) {
    while (!bytes.empty()) {
      const std::size_t piece = std::min(bytes.size(), 1 + random() % longest);
      bytes = bytes.subspan(write(bytes.first(piece)));
      auto is_open = receive();
      ASSERT_TRUE(is_open) << is_open.error().text();
      ASSERT_TRUE(*is_open);
    }
    // one call of receive() reads a bounded number of times
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(receive());
  }

  base::Descriptor remote_;
  std::optional<Connection> connection_;
  Bytes room_ = Bytes(kFrameBufferBytes);
  PlacementSink sink_;
};

TEST_F(ConnectionTest, ReassemblesPacketsFromPiecesOfAnyLength) {
  for (const std::size_t longest_piece : {7ul, 61ul, 4'099ul, 70'001ul, 1'000'000ul}) {
    std::mt19937 random(static_cast<unsigned>(longest_piece));
    const std::size_t least = longest_piece < 10    ? 100'000
                              : longest_piece < 100 ? 500'000
                                                    : 3'000'000;
    Bytes all;
    std::map<std::uint64_t, std::size_t> lengths;
    while (all.size() < least) {
      const std::size_t longest = random() % 3 == 0 ? 100 : kMaxFrameBytes - sizeof(Label);
      const std::uint64_t number = lengths.size();
      lengths[number] = random() % (longest + 1);
      const Bytes next = frame(number, random() % 3 != 0, lengths[number]);
      all.insert(all.end(), next.begin(), next.end());
    }
    sink_.received.clear();
    write_in_pieces(all, longest_piece, random);
    ASSERT_EQ(sink_.received.size(), lengths.size());
    for (const auto& [number, bytes] : lengths)
      EXPECT_EQ(sink_.received[number], body_of(number, bytes)) << number;
  }
  EXPECT_GT(sink_.placed, 50);
}

TEST_F(ConnectionTest, PlacesLongPayloadsWithoutCopy) {
  std::mt19937 random(1);
  const Bytes packet = frame(1, true, 100'000);
  ASSERT_EQ(write(ConstSpan(packet).first(100)), 100u);
  ASSERT_TRUE(receive());
  write_in_pieces(ConstSpan(packet).subspan(100), packet.size(), random);
  EXPECT_EQ(sink_.placed, 1);
  EXPECT_EQ(sink_.received[1], body_of(1, 100'000));
}

// Happens if the receive is cancelled, or fails.
TEST_F(ConnectionTest, DropsTheRestOfAPacketWhosePlacementIsWithdrawn) {
  std::mt19937 random(1);
  const Bytes packet = frame(1, true, 100'000);
  write_in_pieces(ConstSpan(packet).first(50'000), 50'000, random);
  sink_.is_closed = true;
  write_in_pieces(ConstSpan(packet).subspan(50'000), 50'000, random);
  EXPECT_EQ(sink_.dropped, 1);
  write_in_pieces(frame(2, true, 60'000), 100'000, random);
  EXPECT_EQ(sink_.received.size(), 1u);
  EXPECT_EQ(sink_.received[2], body_of(2, 60'000));
}

TEST_F(ConnectionTest, EndOfStreamInsideAPlacedPacketEndsTheConnection) {
  std::mt19937 random(1);
  write_in_pieces(ConstSpan(frame(1, true, 100'000)).first(50'000), 50'000, random);
  remote_ = base::Descriptor();
  auto is_open = receive();
  ASSERT_TRUE(is_open);
  EXPECT_FALSE(*is_open);
  EXPECT_EQ(sink_.placed, 0);
}

TEST_F(ConnectionTest, InvalidFrameAfterAPlacedPacketIsAnError) {
  Bytes bytes = frame(1, true, 100'000);
  ASSERT_EQ(write(ConstSpan(bytes).first(1'000)), 1'000u);
  ASSERT_TRUE(receive());
  bytes.resize(bytes.size() + 64, std::byte{0xff});
  ASSERT_EQ(write(ConstSpan(bytes).subspan(1'000)), bytes.size() - 1'000);
  EXPECT_FALSE(receive());
  EXPECT_EQ(sink_.placed, 1);
}

}  // namespace
}  // namespace shim::transport::testing
