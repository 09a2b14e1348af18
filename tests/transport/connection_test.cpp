// SPDX-License-Identifier: BSD-3-Clause
// What a connection makes of bytes that come in pieces of any length.
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

/// In front of each packet here.
struct Label {
  std::uint64_t number;
  std::uint64_t wants_place;
};

/// Has memory for the payloads of packets that want to be placed, and keeps what came, by number.
class Shelf final : public Sink, public Connection::Taker {
 public:
  std::map<std::uint64_t, Bytes> came;
  int placed = 0, dropped = 0;
  bool is_closed = false;  ///< nothing has a place any more

  bool take(const ReceivedFrame& frame) override {
    if (frame.placed != 0) on_placed(frame.bytes, frame.placed);
    else on_packet(frame.bytes);
    return true;
  }
  bool on_packet(ConstSpan packet) override {
    const auto label = label_of(packet);
    came[label->number].assign(packet.begin() + sizeof(Label), packet.end());
    return true;
  }
  std::optional<Placement> place(ConstSpan beginning, std::size_t bytes) override {
    const auto label = label_of(beginning);
    if (is_closed || !label || label->wants_place == 0) return std::nullopt;
    Bytes& shelf = shelves_[label->number];
    shelf.resize(bytes - sizeof(Label));
    return Placement{sizeof(Label), shelf};
  }
  void on_placed(ConstSpan header, std::size_t bytes) override {
    const auto label = label_of(header);
    EXPECT_EQ(header.size(), sizeof(Label));
    EXPECT_EQ(shelves_[label->number].size(), bytes);
    ++(is_closed ? dropped : placed);
    if (!is_closed) came[label->number] = std::move(shelves_[label->number]);
  }

 private:
  static std::optional<Label> label_of(ConstSpan bytes) {
    if (bytes.size() < sizeof(Label)) return std::nullopt;
    Label label;
    std::memcpy(&label, bytes.data(), sizeof label);
    return label;
  }
  std::map<std::uint64_t, Bytes> shelves_;
};

class ConnectionTest : public ::testing::Test {
 protected:
  ConnectionTest() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    far_ = base::Descriptor(ends[0]);
    near_.emplace(Connection::accepted(base::Descriptor(ends[1])));
    near_->enter(Connection::State::open);
  }

  static Bytes frame(std::uint64_t number, bool wants_place, std::size_t body_bytes) {
    const Label label{number, wants_place};
    FrameQueue frame;
    frame.add(ContactFrame::packet, std::as_bytes(std::span(&label, 1)), body_of(number, body_bytes));
    const ConstSpan bytes = frame.rest();
    return {bytes.begin(), bytes.end()};
  }

  /// Writes so many of the bytes as there is room for.
  std::size_t write(ConstSpan bytes) {
    const ssize_t written = ::send(far_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return static_cast<std::size_t>(std::max<ssize_t>(written, 0));
  }

  base::Result<bool> receive() { return near_->receive(room_, shelf_, shelf_); }

  /// Writes all in pieces of at most so many bytes, and receives after each.
  void write_in_pieces(ConstSpan bytes, std::size_t longest, std::mt19937& random) {
    while (!bytes.empty()) {
      const std::size_t piece = std::min(bytes.size(), 1 + random() % longest);
      bytes = bytes.subspan(write(bytes.first(piece)));
      auto goes_on = receive();
      ASSERT_TRUE(goes_on) << goes_on.error().text();
      ASSERT_TRUE(*goes_on);
    }
    // one call takes a bounded number of looks
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(receive());
  }

  base::Descriptor far_;
  std::optional<Connection> near_;
  Bytes room_ = Bytes(kFrameRoom);
  Shelf shelf_;
};

TEST_F(ConnectionTest, PacketsComeWholeHoweverTheirBytesAreCut) {
  for (const std::size_t longest_piece : {7ul, 61ul, 4'099ul, 70'001ul, 1'000'000ul}) {
    std::mt19937 random(static_cast<unsigned>(longest_piece));
    const std::size_t least = longest_piece < 10 ? 100'000 : longest_piece < 100 ? 500'000 : 3'000'000;
    Bytes all;
    std::map<std::uint64_t, std::size_t> lengths;
    while (all.size() < least) {
      const std::size_t longest = random() % 3 == 0 ? 100 : kLongestFrame - sizeof(Label);
      const std::uint64_t number = lengths.size();
      lengths[number] = random() % (longest + 1);
      const Bytes next = frame(number, random() % 3 != 0, lengths[number]);
      all.insert(all.end(), next.begin(), next.end());
    }
    shelf_.came.clear();
    write_in_pieces(all, longest_piece, random);
    ASSERT_EQ(shelf_.came.size(), lengths.size());
    for (const auto& [number, bytes] : lengths) EXPECT_EQ(shelf_.came[number], body_of(number, bytes)) << number;
  }
  EXPECT_GT(shelf_.placed, 50);
}

TEST_F(ConnectionTest, ALongPacketIsNotCopied) {
  std::mt19937 random(1);
  const Bytes packet = frame(1, true, 100'000);
  ASSERT_EQ(write(ConstSpan(packet).first(100)), 100u);
  ASSERT_TRUE(receive());
  write_in_pieces(ConstSpan(packet).subspan(100), packet.size(), random);
  EXPECT_EQ(shelf_.placed, 1);
  EXPECT_EQ(shelf_.came[1], body_of(1, 100'000));
}

// As where the receive is cancelled, or ends with an error.
TEST_F(ConnectionTest, OfAPacketThatLosesItsPlaceTheRestIsDroppedAndOthersFollow) {
  std::mt19937 random(1);
  const Bytes packet = frame(1, true, 100'000);
  write_in_pieces(ConstSpan(packet).first(50'000), 50'000, random);
  shelf_.is_closed = true;
  write_in_pieces(ConstSpan(packet).subspan(50'000), 50'000, random);
  EXPECT_EQ(shelf_.dropped, 1);
  write_in_pieces(frame(2, true, 60'000), 100'000, random);
  EXPECT_EQ(shelf_.came.size(), 1u);
  EXPECT_EQ(shelf_.came[2], body_of(2, 60'000));
}

TEST_F(ConnectionTest, TheEndInTheMiddleOfAPlacedPacketIsTheEnd) {
  std::mt19937 random(1);
  write_in_pieces(ConstSpan(frame(1, true, 100'000)).first(50'000), 50'000, random);
  far_ = base::Descriptor();
  auto goes_on = receive();
  ASSERT_TRUE(goes_on);
  EXPECT_FALSE(*goes_on);
  EXPECT_EQ(shelf_.placed, 0);
}

TEST_F(ConnectionTest, WhatIsNoFrameBehindAPlacedPacketIsAnError) {
  Bytes bytes = frame(1, true, 100'000);
  ASSERT_EQ(write(ConstSpan(bytes).first(1'000)), 1'000u);
  ASSERT_TRUE(receive());
  bytes.resize(bytes.size() + 64, std::byte{0xff});
  ASSERT_EQ(write(ConstSpan(bytes).subspan(1'000)), bytes.size() - 1'000);
  EXPECT_FALSE(receive());
  EXPECT_EQ(shelf_.placed, 1);
}

}  // namespace
}  // namespace shim::transport::testing
