// SPDX-License-Identifier: BSD-3-Clause
// Along a belt of the board (transport/shm/belt.hpp), piece by piece.
#pragma once

#include <algorithm>
#include <functional>

#include "shim/coll/call.hpp"
#include "shim/transport/shm/board.hpp"

namespace shim::coll {

/// What this member lays, and has said that it does.
class Laying {
 public:
  Laying(transport::Board& board, int belt, const types::ConstBuffer& data, base::Traffic traffic)
      : board_(board), belt_(board.belt(belt)), data_(data), traffic_(traffic) {}

  bool is_over() const { return at_ == data_.bytes(); }
  std::uint64_t laid() const { return at_; }
  /// Needs that member nothing more of where the next piece is to lie?
  bool has_room(int rank) const { return belt_.has_room(piece(), rank); }
  /// The next piece, where it has room of all.
  void lay() {
    const std::size_t bytes = piece();
    if (data_.type->contiguous) [[likely]] belt_.copy_in(static_cast<const std::byte*>(data_.address) + at_, bytes, traffic_);
    else types::pack(*data_.type, data_.address, at_, {belt_.place(), bytes});
    belt_.lay(bytes);
    board_.wake_all_members();
    at_ += bytes;
    if (is_over()) belt_.end_laying();
  }

 private:
  std::size_t piece() const { return belt_.piece_of(data_.bytes() - at_); }

  transport::Board& board_;
  transport::Belt& belt_;
  const types::ConstBuffer data_;
  const base::Traffic traffic_;
  std::uint64_t at_ = 0;
};

/// What this member takes of what another lays: all of it, wanted or not, because that one waits for us.
class Taking {
 public:
  /// Of what is wanted each piece, by its place in the whole.
  using Piece = std::function<void(std::uint64_t first, ConstBytes bytes)>;

  Taking(transport::Board& board, int from, const transport::OnBelt& laid, std::uint64_t wanted, Piece piece)
      : board_(board), belt_(board.belt(static_cast<int>(laid.belt))), from_(from), length_(laid.length), wanted_(wanted), take_(std::move(piece)) {
    belt_.begin_to_take(laid.begin);
    board_.wake_member(from_);
  }

  bool is_over() const { return at_ == length_; }
  /// Up to where it will have been taken with the next piece.
  std::uint64_t end_of_next() const { return at_ + piece(); }
  bool has_next() const { return belt_.has(piece()); }
  void take() {
    const std::size_t bytes = piece();
    if (at_ < wanted_) take_(at_, {belt_.place(), static_cast<std::size_t>(std::min<std::uint64_t>(bytes, wanted_ - at_))});
    belt_.take(bytes);
    board_.wake_member(from_);
    at_ += bytes;
  }

 private:
  std::size_t piece() const { return belt_.piece_of(length_ - at_); }

  transport::Board& board_;
  transport::Belt& belt_;
  int from_;
  std::uint64_t length_, wanted_, at_ = 0;
  Piece take_;
};

}  // namespace shim::coll
