// SPDX-License-Identifier: BSD-3-Clause
// OptionalInterfaces keeps the optional interfaces of a transport, so that a call asks for none.
#pragma once

#include "shim/transport/cooperative_writes.hpp"
#include "shim/transport/fabric.hpp"
#include "shim/transport/failure_detector.hpp"
#include "shim/transport/loss_detector.hpp"
#include "shim/transport/presence_detector.hpp"
#include "shim/transport/receive_in_place.hpp"
#include "shim/transport/registered_reads.hpp"
#include "shim/transport/remote_reads.hpp"
#include "shim/transport/send_in_place.hpp"
#include "shim/transport/setup_path.hpp"
#include "shim/transport/sleeper.hpp"
#include "shim/transport/stream_limits.hpp"
#include "shim/transport/transport.hpp"

namespace shim::transport {

/// Each is null if the transport does not have it. Without the matcher, which may appear later.
struct OptionalInterfaces {
  explicit OptionalInterfaces(Transport& of)
      : receive_in_place(of.receive_in_place()),
        send_in_place(of.send_in_place()),
        stream_limits(of.stream_limits()),
        setup_path(of.setup_path()),
        remote_reads(of.remote_reads()),
        registered_reads(of.registered_reads()),
        cooperative_writes(of.cooperative_writes()),
        sleeper(of.sleeper()),
        failure_detector(of.failure_detector()),
        presence_detector(of.presence_detector()),
        loss_detector(of.loss_detector()),
        fabric(of.fabric()) {}

  ReceiveInPlace* receive_in_place;
  SendInPlace* send_in_place;
  StreamLimits* stream_limits;
  SetupPath* setup_path;
  RemoteReads* remote_reads;
  RegisteredReads* registered_reads;
  CooperativeWrites* cooperative_writes;
  Sleeper* sleeper;
  FailureDetector* failure_detector;
  PresenceDetector* presence_detector;
  LossDetector* loss_detector;
  Fabric* fabric;
};

}  // namespace shim::transport
