// SPDX-License-Identifier: BSD-3-Clause
// Tests every algorithm that only moves data with each size, root and length of the sweep,
// regardless of the table's choice.
#include "shim/coll/algorithms/segments.hpp"
#include "tests/coll/rig.hpp"

namespace shim::coll {
namespace {

template <typename Function, typename Body>
void for_each_possible(std::span<const AlgorithmRow<Function>> rows, Rig& rig, const Body& body) {
  for (const AlgorithmRow<Function>& row : rows) {
    if (!rig.is_for(row.when, true)) continue;
    SCOPED_TRACE(std::string(row.name));
    body(row.algorithm.task);
    if (testing::Test::HasFatalFailure()) return;
  }
}

void check_bcast(Rig& rig, Bcast* algorithm, int root, std::uint64_t count) {
  std::vector<Items> data;
  for (int rank = 0; rank < rig.size(); ++rank)
    data.push_back(rank == root ? values(root, count) : untouched(count));
  rig.expect_success([&](Comm& comm) {
    return algorithm(call_on(comm), bytes_of(data[static_cast<std::size_t>(comm.rank())]), root);
  });
  for (const Items& each : data) ASSERT_EQ(each, values(root, count));
}

TEST(Bcast, EveryAlgorithmMovesTheData) {
  for_each_size([](Rig& rig) {
    for_each_possible(default_table().bcast.tasks(), rig, [&](Bcast* algorithm) {
      for_each_root(rig.size(), [&](int root, std::uint64_t count) {
        check_bcast(rig, algorithm, root, count);
      });
    });
  });
}

TEST(Bcast, WorksWithMoreSegmentsThanTheWindow) {
  for (int size : {2, 5}) {
    Rig rig(size);
    check_bcast(rig, bcast_chain, size - 1,
                (kWindow + 3) * kChainSegmentBytes / sizeof(std::int64_t) + 11);
  }
}

TEST(Gather, EveryAlgorithmMovesTheDataAlsoInPlace) {
  for_each_size([](Rig& rig) {
    for_each_possible(default_table().gather.tasks(), rig, [&](Gather* algorithm) {
      for_each_root(rig.size(), [&](int root, std::uint64_t count) {
        Items expected;
        for (int rank = 0; rank < rig.size(); ++rank) {
          Items block = values(rank, count);
          expected.insert(expected.end(), block.begin(), block.end());
        }
        for (bool in_place : {false, true}) {
          Items all = untouched(expected.size());
          std::vector<Items> own;
          for (int rank = 0; rank < rig.size(); ++rank) own.push_back(values(rank, count));
          Bytes block_at = bytes_of(all).subspan(static_cast<std::size_t>(root) * count * 8,
                                                 count * 8);
          if (in_place)
            copy_bytes(data_of(own[static_cast<std::size_t>(root)]), block_at.data(),
                       block_at.size());
          rig.expect_success([&](Comm& comm) {
            bool is_root = comm.rank() == root;
            Bytes block = is_root && in_place
                              ? block_at
                              : bytes_of(own[static_cast<std::size_t>(comm.rank())]);
            return algorithm(call_on(comm), block, is_root ? data_of(all) : nullptr, root);
          });
          ASSERT_EQ(all, expected);
        }
      });
    });
  });
}

TEST(Scatter, EveryAlgorithmMovesTheDataAlsoInPlace) {
  for_each_size([](Rig& rig) {
    for_each_possible(default_table().scatter.tasks(), rig, [&](Scatter* algorithm) {
      for_each_root(rig.size(), [&](int root, std::uint64_t count) {
        for (bool in_place : {false, true}) {
          Items all = values(root, count * static_cast<std::uint64_t>(rig.size())), before = all;
          std::vector<Items> own(static_cast<std::size_t>(rig.size()), untouched(count));
          Bytes block_at = bytes_of(all).subspan(static_cast<std::size_t>(root) * count * 8,
                                                 count * 8);
          rig.expect_success([&](Comm& comm) {
            bool is_root = comm.rank() == root;
            Bytes block = is_root && in_place
                              ? block_at
                              : bytes_of(own[static_cast<std::size_t>(comm.rank())]);
            return algorithm(call_on(comm), is_root ? data_of(all) : nullptr, block, root);
          });
          ASSERT_EQ(all, before);
          for (int rank = 0; rank < rig.size(); ++rank) {
            bool is_left_alone = in_place && rank == root;
            Items expected = values(root, count, static_cast<std::uint64_t>(rank) * count);
            ASSERT_EQ(own[static_cast<std::size_t>(rank)],
                      is_left_alone ? untouched(count) : expected);
          }
        }
      });
    });
  });
}

TEST(Allgather, EveryAlgorithmMovesTheData) {
  for_each_size([](Rig& rig) {
    for_each_possible(default_table().allgather.tasks(), rig, [&](Allgather* algorithm) {
      for (std::uint64_t count : kCounts) {
        Items expected;
        std::vector<Items> all(static_cast<std::size_t>(rig.size()),
                               untouched(count * static_cast<std::uint64_t>(rig.size())));
        for (int rank = 0; rank < rig.size(); ++rank) {
          Items block = values(rank, count);
          expected.insert(expected.end(), block.begin(), block.end());
          auto block_at = all[static_cast<std::size_t>(rank)].begin() +
                          static_cast<std::ptrdiff_t>(rank) * static_cast<std::ptrdiff_t>(count);
          std::copy(block.begin(), block.end(), block_at);
        }
        rig.expect_success([&](Comm& comm) {
          return algorithm(call_on(comm), data_of(all[static_cast<std::size_t>(comm.rank())]),
                           count * 8);
        });
        for (const Items& each : all) ASSERT_EQ(each, expected);
      }
    });
  });
}

// Blocks of 0, 3, 6, 1, 4 … items, in reverse order, with a gap after each.
TEST(Allgatherv, EveryAlgorithmMovesTheData) {
  for_each_size([](Rig& rig) {
    for_each_possible(default_table().allgatherv.tasks(), rig, [&](Allgatherv* algorithm) {
      auto count_of = [](int rank) { return static_cast<std::uint64_t>(rank * 3 % 8); };
      BlockSpans parts(static_cast<std::size_t>(rig.size()));
      std::uint64_t end = 0;
      for (int rank = rig.size() - 1; rank >= 0; end += count_of(rank--) + 1)
        parts[static_cast<std::size_t>(rank)] = {static_cast<std::int64_t>(end * 8),
                                                 count_of(rank) * 8};
      Items expected = untouched(end);
      std::vector<Items> all(static_cast<std::size_t>(rig.size()), expected);
      for (int rank = 0; rank < rig.size(); ++rank) {
        const Items block = values(rank, count_of(rank));
        const auto first = parts[static_cast<std::size_t>(rank)].offset / 8;
        std::copy(block.begin(), block.end(), expected.begin() + first);
        std::copy(block.begin(), block.end(), all[static_cast<std::size_t>(rank)].begin() + first);
      }
      rig.expect_success([&](Comm& comm) {
        return algorithm(call_on(comm), data_of(all[static_cast<std::size_t>(comm.rank())]), parts);
      });
      for (const Items& each : all) ASSERT_EQ(each, expected);
    });
  });
}

// Return the block of rank `from` for rank `to`.
Items block_between(int from, int to, std::uint64_t count) {
  return values(from, count, static_cast<std::uint64_t>(to) * count);
}
Items received_by(int rank, int size, std::uint64_t count) {
  Items all;
  for (int from = 0; from < size; ++from) {
    Items block = block_between(from, rank, count);
    all.insert(all.end(), block.begin(), block.end());
  }
  return all;
}

TEST(Alltoall, EveryAlgorithmMovesTheData) {
  for_each_size([](Rig& rig) {
    for_each_possible(default_table().alltoall.tasks(), rig, [&](Alltoall* algorithm) {
      for (std::uint64_t count : {0, 1, 7, 200}) {
        auto size = static_cast<std::uint64_t>(rig.size());
        std::vector<Items> send, receive(size, untouched(count * size));
        for (int rank = 0; rank < rig.size(); ++rank) send.push_back(values(rank, count * size));
        rig.expect_success([&](Comm& comm) {
          auto rank = static_cast<std::size_t>(comm.rank());
          return algorithm(call_on(comm), data_of(send[rank]), data_of(receive[rank]), count * 8);
        });
        for (int rank = 0; rank < rig.size(); ++rank) {
          ASSERT_EQ(receive[static_cast<std::size_t>(rank)], received_by(rank, rig.size(), count));
        }
      }
    });
  });
}

TEST(Alltoall, WorksInPlace) {
  for_each_size([](Rig& rig) {
    for (std::uint64_t count : {0, 1, 200}) {
      auto size = static_cast<std::uint64_t>(rig.size());
      std::vector<Items> data;
      std::vector<std::vector<types::Buffer>> blocks(size);
      for (int rank = 0; rank < rig.size(); ++rank) data.push_back(values(rank, count * size));
      for (std::size_t rank = 0; rank < size; ++rank) {
        for (std::size_t i = 0; i < size; ++i)
          blocks[rank].push_back({data[rank].data() + i * count, count, &int64_type()});
      }
      rig.expect_success([&](Comm& comm) {
        return alltoall_in_place(call_on(comm), blocks[static_cast<std::size_t>(comm.rank())]);
      });
      for (int rank = 0; rank < rig.size(); ++rank) {
        ASSERT_EQ(data[static_cast<std::size_t>(rank)], received_by(rank, rig.size(), count));
      }
    }
  });
}

// Each rank sends one to three messages, some of them empty, to each rank including itself.
// Messages of one pair match in the order in which both ranks list them.
TEST(Exchange, MatchesSeveralMessagesOfAPairInOrder) {
  for_each_size([](Rig& rig) {
    auto messages = [](int from, int to) { return 1 + (from + 2 * to) % 3; };
    auto count_of = [](int from, int to, int number) {
      return static_cast<std::uint64_t>((from + to + number) % 4 * 60);
    };
    auto first_of = [](int to, int number) {
      return static_cast<std::uint64_t>(1000 * to + 300 * number);
    };
    std::vector<std::vector<Items>> sent(static_cast<std::size_t>(rig.size())), got = sent;
    std::vector<std::vector<OutgoingBlock>> out(sent.size());
    std::vector<std::vector<IncomingBlock>> in(sent.size());
    for (int rank = 0; rank < rig.size(); ++rank) {
      auto me = static_cast<std::size_t>(rank);
      for (int peer = rig.size() - 1; peer >= 0; --peer) {
        for (int i = 0; i < messages(rank, peer); ++i)
          sent[me].push_back(values(rank, count_of(rank, peer, i), first_of(peer, i)));
        for (int i = 0; i < messages(peer, rank); ++i)
          got[me].push_back(untouched(count_of(peer, rank, i)));
      }
      std::size_t next_out = 0, next_in = 0;
      for (int peer = rig.size() - 1; peer >= 0; --peer) {
        for (int i = 0; i < messages(rank, peer); ++i)
          out[me].push_back({coll::out(sent[me][next_out++]), peer});
        for (int i = 0; i < messages(peer, rank); ++i)
          in[me].push_back({coll::in(got[me][next_in++]), peer});
      }
    }
    rig.expect_success([&](Comm& comm) {
      auto me = static_cast<std::size_t>(comm.rank());
      return exchange(comm, out[me], in[me]);
    });
    for (int rank = 0; rank < rig.size(); ++rank) {
      std::size_t next = 0;
      for (int peer = rig.size() - 1; peer >= 0; --peer) {
        for (int i = 0; i < messages(peer, rank); ++i) {
          ASSERT_EQ(got[static_cast<std::size_t>(rank)][next++],
                    values(peer, count_of(peer, rank, i), first_of(rank, i)));
        }
      }
    }
  });
}

// Members enter one after the other. No member may complete the barrier before all have entered.
TEST(Barrier, CompletesOnlyAfterAllMembersHaveEntered) {
  for_each_size([](Rig& rig) {
    std::vector<p2p::Request*> requests;
    for (int rank = 0; rank < rig.size(); ++rank) {
      for (p2p::Request* request : requests) ASSERT_FALSE(request->is_done());
      requests.push_back(p2p::value_of(start(rig.comm(rank), barrier(rig.comm(rank)))));
      if (rank < rig.size() - 1) {
        for (int i = 0; i < 50; ++i) rig.world().step();
      }
    }
    bool all_left = rig.world().step_until([&] {
      return std::all_of(requests.begin(), requests.end(),
                         [](p2p::Request* request) { return request->is_done(); });
    });
    EXPECT_TRUE(all_left);
    for (int rank = 0; rank < rig.size(); ++rank) {
      rig.comm(rank).engine().release(requests[static_cast<std::size_t>(rank)]);
    }
  });
}

}  // namespace
}  // namespace shim::coll
