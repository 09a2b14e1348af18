// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/border.hpp"

#include <exception>
#include <new>
#include <string>

#include "shim/base/own_exception.hpp"
#include "shim/intercept/abi/predefined.hpp"
#include "shim/intercept/errors.hpp"
#include "shim/intercept/objects.hpp"
#include "shim/intercept/substrate.hpp"

namespace shim::intercept {
namespace {

using base::Error;
using base::ErrorClass;

ErrorClass class_for(abi::Kind kind) {
  switch (kind) {
    case abi::Kind::comm: return ErrorClass::comm;
    case abi::Kind::group: return ErrorClass::group;
    case abi::Kind::request:
    case abi::Kind::message: return ErrorClass::request;
    case abi::Kind::session: return ErrorClass::session;
    case abi::Kind::info: return ErrorClass::info;
    case abi::Kind::errhandler: return ErrorClass::errhandler;
    case abi::Kind::datatype: return ErrorClass::type;
    case abi::Kind::op: return ErrorClass::op;
    case abi::Kind::win: return ErrorClass::win;
    case abi::Kind::file: return ErrorClass::file;
    default: return ErrorClass::arg;
  }
}

/// Why a call is wrong while the library below is not initialised and the program uses sessions.
Error idle_error(const Subject& subject) {
  const abi::PredefinedHandles& known = abi::predefined;
  if (subject.handle == abi::bits(MPI_Comm(known.comm_world)) || subject.handle == abi::bits(MPI_Comm(known.comm_self)))
    return Error(ErrorClass::other, "called on objects of the world model before MPI_Init or after MPI_Finalize");
  if (subject.kind == abi::Kind::none)
    return Error(ErrorClass::unsupported_operation, "not available without MPI_Init in this version of Intersession");
  const bool is_null = subject.handle == 0 || subject.handle == abi::bits(MPI_Comm(known.comm_null)) ||
                       subject.handle == abi::bits(MPI_Request(known.request_null));
  return Error(class_for(subject.kind), "the " + std::string(name_of(subject.kind)) +
                                            (is_null ? " is a null handle" : " is not a valid handle"));
}

/// Only inside a catch block. Return the exception as an error; throw it on if a callback of the
/// program has thrown it.
Error own_error() {
  try {
    throw;
  } catch (const std::exception& thrown) {
    if (!base::is_own_exception(thrown)) throw;
    if (dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr)
      return Error(ErrorClass::no_mem, "out of memory");
    return Error(ErrorClass::intern, thrown.what());
  }
}

}  // namespace

int unsupported(const Subject& subject, const char* function) {
  const char* why = "neither the MPI library below nor Intersession has this function";
  if (passes_on()) why = "the MPI library below lacks this function, and INTERSESSION_NATIVE says that Intersession does not answer";
  else if (abi::is_ours_bits(subject.handle)) why = "not available on objects of a session in this version of Intersession";
  return fail(subject, function, Error(ErrorClass::unsupported_operation, why));
}

int refused(const Subject& subject, const char* function, abi::Kind kind) {
  return fail(subject, function,
              Error(class_for(kind), "a " + std::string(name_of(kind)) +
                                         " of a session cannot be used together with objects of the world model here"));
}

int caught(const Subject& subject, const char* function) {
  return fail(subject, function, own_error());
}

std::optional<int> idle_call(const Subject& subject, const char* function) {
  if (notice_activity() || !any_object_made()) return std::nullopt;
  return fail(Subject(), function, idle_error(subject));
}

bool is_active_after_all() {
  if (notice_activity()) return true;
  static_cast<void>(need_substrate());  // without one there are no predefined handles for anybody to pass
  return false;
}

}  // namespace shim::intercept
