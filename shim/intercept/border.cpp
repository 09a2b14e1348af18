// SPDX-License-Identifier: BSD-3-Clause
#include "shim/intercept/border.hpp"

#include <unistd.h>

#include <cstdlib>
#include <new>
#include <string>

#include "shim/intercept/generated/table.hpp"
#include "shim/intercept/native/substrate.hpp"

namespace shim::intercept {
namespace {

bool is_active() noexcept { return current_table.load(std::memory_order_acquire) == &active_table; }

/// The handler of an object of the library below, or the one of its MPI_COMM_SELF, which MPI-4.1 §9.3 names for errors
/// without an object.
int raise_below(const Subject& subject, int code) {
  switch (subject.kind) {
    case abi::Kind::comm: active_table.Comm_call_errhandler(static_cast<MPI_Comm>(subject.handle), code); break;
    case abi::Kind::win: active_table.Win_call_errhandler(static_cast<MPI_Win>(subject.handle), code); break;
    case abi::Kind::file: active_table.File_call_errhandler(static_cast<MPI_File>(subject.handle), code); break;
    default: active_table.Comm_call_errhandler(static_cast<MPI_Comm>(substrate_symbol("ompi_mpi_comm_self")), code); break;
  }
  return code;
}

/// The initial error handler where no library below is there to have one: errors are fatal (MPI-4.1 §9.3).
[[noreturn]] void die(const std::string& text) {
  const std::string line = "intersession: " + text + "\n";
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, line.data(), line.size());
  std::abort();
}

int raise(const Subject& subject, int code, const std::string& text) {
  const Subject whom = abi::is_ours(subject.handle) ? Subject() : subject;
  if (!is_active()) die(text);
  return raise_below(whom, code);
}

}  // namespace

int unsupported(const Subject& subject, const char* function) {
  return raise(subject, MPI_ERR_UNSUPPORTED_OPERATION, std::string(function) + " is not supported");
}

int refused(const Subject& subject, const char* function, abi::Kind kind) {
  int code = MPI_ERR_ARG;
  if (kind == abi::Kind::comm) code = MPI_ERR_COMM;
  if (kind == abi::Kind::group) code = MPI_ERR_GROUP;
  if (kind == abi::Kind::request) code = MPI_ERR_REQUEST;
  if (kind == abi::Kind::win) code = MPI_ERR_WIN;
  if (kind == abi::Kind::file) code = MPI_ERR_FILE;
  return raise(subject, code, std::string(function) + ": objects of a session and of the world model in one call");
}

int caught(const Subject& subject, const char* function) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return raise(subject, MPI_ERR_NO_MEM, std::string(function) + ": out of memory");
  } catch (const std::exception& fault) {
    return raise(subject, MPI_ERR_INTERN, std::string(function) + ": " + fault.what());
  } catch (...) {
    return raise(subject, MPI_ERR_INTERN, std::string(function) + ": unknown exception");
  }
}

std::optional<int> idle_call(const char*) { return std::nullopt; }

int twin(const Subject& subject, const char* function, MPI_Info& info) {
  return abi::is_ours(info) ? refused(subject, function, abi::Kind::info) : MPI_SUCCESS;
}
int twin(const Subject& subject, const char* function, MPI_Errhandler& handler) {
  return abi::is_ours(handler) ? refused(subject, function, abi::Kind::errhandler) : MPI_SUCCESS;
}
int twin(const Subject& subject, const char* function, MPI_Datatype& datatype) {
  return abi::is_ours(datatype) ? refused(subject, function, abi::Kind::datatype) : MPI_SUCCESS;
}
int twin(const Subject& subject, const char* function, MPI_Op& op) {
  return abi::is_ours(op) ? refused(subject, function, abi::Kind::op) : MPI_SUCCESS;
}

}  // namespace shim::intercept
