// SPDX-License-Identifier: BSD-3-Clause
// EndedOperations is a fixture with three engines, for operations that a failure or a revocation
// ends.
#pragma once

#include <functional>

#include "tests/p2p/world.hpp"

namespace shim::p2p {

class EndedOperations : public testing::TestWithParam<transport::LoopFaults::Reads> {
 protected:
  World world{{.processes = 3, .faults = {.reads = GetParam()}}};
  std::vector<ContextPtr> contexts = world.contexts();

  Context& context(int rank) { return *contexts[static_cast<std::size_t>(rank)]; }
  Request* receive(int rank, Data& data, int source, int tag, Plane plane) {
    return value_of(world.engine(rank).irecv(context(rank), into(data), source, tag, plane));
  }
  Request* send(int rank, const Data& data, int dest, int tag, Plane plane) {
    return value_of(
        world.engine(rank).isend(context(rank), from(data), dest, tag, SendMode::standard, plane));
  }
  void expect_error(int rank, Request* request, base::ErrorClass wanted) {
    ASSERT_TRUE(world.step_until([&] { return request->is_done(); }));
    ASSERT_NE(request->error(), nullptr);
    EXPECT_EQ(request->error()->error_class(), wanted) << request->error()->text();
    world.engine(rank).release(request);
  }
  /// Send a long message from rank 1 to rank 0, and end it at rank 0 during the transfer. Check
  /// that the receive has ended, that the send ends, and that the receive buffer is not written any
  /// more.
  void end_under_way(int tag, Plane plane, const std::function<void()>& end_at_receiver,
                     Request*& sending) {
    const Data sent = pattern(8'000'000, 1);
    Data received(sent.size());
    Request* receiving = receive(0, received, 1, tag, plane);
    sending = send(1, sent, 0, tag, plane);
    for (int i = 0; i < 3; ++i) world.step();
    ASSERT_FALSE(receiving->is_done());
    end_at_receiver();
    ASSERT_TRUE(receiving->is_done());
    const Data untouched(received.size(), 0x5a);
    received = untouched;
    ASSERT_TRUE(world.step_until([&] { return sending->is_done(); }))
        << "the send must end after the receive has ended";
    for (int i = 0; i < 1000; ++i) world.step();
    EXPECT_EQ(received, untouched);
    world.engine(0).release(receiving);
  }
};

}  // namespace shim::p2p
