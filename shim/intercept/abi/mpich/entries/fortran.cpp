// SPDX-License-Identifier: BSD-3-Clause
// Implements functions outside the standard that MPICH's Fortran library calls. They handle
// attributes as numbers, and keys whose functions are Fortran procedures. (Handles are integers in
// MPICH, so that both languages call operations and error handlers identically.)
#include "shim/intercept/abi/mpich/native/fortran.hpp"
#include "shim/intercept/abi/entries/fortran_entries.hpp"
#include "shim/intercept/abi/mpich/entries/cxx_bindings.hpp"
#include "shim/intercept/abi/ours.hpp"
#include "shim/intercept/handles/keyvals.hpp"
#include "shim/intercept/impl/attributes.hpp"
#include "shim/intercept/impl/request/grequest.hpp"
#include "shim/intercept/native/fortran.hpp"

extern "C" {
// Type of the caller's attribute value: MPIR_Attr_type of MPICH's mpir_attr_generic.h.
enum AttributeAs { as_pointer = 0, as_aint = 1, as_integer = 3 };

using Proxy = shim::intercept::fortran::Proxy;
[[gnu::visibility("default")]] int MPII_Comm_get_attr(MPI_Comm comm, int keyval, void* value,
                                                      int* flag, AttributeAs as);
[[gnu::visibility("default")]] int MPII_Comm_set_attr(MPI_Comm comm, int keyval, void* value,
                                                      AttributeAs as);
[[gnu::visibility("default")]] int MPII_Type_get_attr(MPI_Datatype type, int keyval, void* value,
                                                      int* flag, AttributeAs as);
[[gnu::visibility("default")]] int MPII_Type_set_attr(MPI_Datatype type, int keyval, void* value,
                                                      AttributeAs as);
[[gnu::visibility("default")]] void MPII_Keyval_set_proxy(int keyval, Proxy* copy, Proxy* erase);
[[gnu::visibility("default")]] void MPII_Grequest_set_lang_f77(MPI_Request request);
}

namespace shim::intercept {
namespace {

using fortran::call_native, fortran::find_native, fortran::is_handled_here;
using fortran::CommAttributes, fortran::TypeAttributes;

/// Return C's number of a key. C's numbers of predefined keys are odd, Fortran's are one more: the
/// native library derives the language from the number.
int key_of_c(int keyval) {
  constexpr int kFirst = MPI_TAG_UB, kLast = MPI_APPNUM + 1;
  return keyval > kFirst && keyval <= kLast && keyval % 2 == 0 ? keyval - 1 : keyval;
}

template <typename HandleKind>
int get(const char* function, typename HandleKind::Handle object, int keyval, void* value,
        int* flag) {
  std::intptr_t found = 0;
  bool is_set = false;
  const int code = HandleKind::get_number(function, object, key_of_c(keyval), &found, &is_set);
  if (code != MPI_SUCCESS) return code;
  *flag = is_set ? 1 : 0;
  if (is_set) *static_cast<MPI_Aint*>(value) = found;
  return code;
}

}  // namespace
}  // namespace shim::intercept

namespace si = shim::intercept;

// The library's own C functions call these four with pointers, on its own objects.

int MPII_Comm_get_attr(MPI_Comm comm, int keyval, void* value, int* flag, AttributeAs as) {
  if (as != as_pointer && si::is_handled_here<si::CommAttributes>(comm))
    return si::get<si::CommAttributes>("MPI_Comm_get_attr", comm, keyval, value, flag);
  if (const int code = si::to_native_keyval(si::Subject::comm(comm), "MPI_Comm_get_attr", keyval))
    return code;
  return si::call_native<decltype(MPII_Comm_get_attr)>("MPI_Comm_get_attr", "MPII_Comm_get_attr",
                                                       comm, keyval, value, flag, as);
}

int MPII_Comm_set_attr(MPI_Comm comm, int keyval, void* value, AttributeAs as) {
  if (as != as_pointer && si::is_handled_here<si::CommAttributes>(comm))
    return si::CommAttributes::set_number("MPI_Comm_set_attr", comm, keyval,
                                          reinterpret_cast<std::intptr_t>(value));
  if (const int code = si::to_native_keyval(si::Subject::comm(comm), "MPI_Comm_set_attr", keyval))
    return code;
  return si::call_native<decltype(MPII_Comm_set_attr)>("MPI_Comm_set_attr", "MPII_Comm_set_attr",
                                                       comm, keyval, value, as);
}

int MPII_Type_get_attr(MPI_Datatype type, int keyval, void* value, int* flag, AttributeAs as) {
  if (as != as_pointer && si::is_handled_here<si::TypeAttributes>(type))
    return si::get<si::TypeAttributes>("MPI_Type_get_attr", type, keyval, value, flag);
  if (const int code = si::to_native_keyval(si::Subject(), "MPI_Type_get_attr", keyval))
    return code;
  return si::call_native<decltype(MPII_Type_get_attr)>("MPI_Type_get_attr", "MPII_Type_get_attr",
                                                       type, keyval, value, flag, as);
}

int MPII_Type_set_attr(MPI_Datatype type, int keyval, void* value, AttributeAs as) {
  if (as != as_pointer && si::is_handled_here<si::TypeAttributes>(type))
    return si::set_type_number("MPI_Type_set_attr", type, keyval,
                               reinterpret_cast<std::intptr_t>(value));
  if (const int code = si::to_native_keyval(si::Subject(), "MPI_Type_set_attr", keyval))
    return code;
  return si::call_native<decltype(MPII_Type_set_attr)>("MPI_Type_set_attr", "MPII_Type_set_attr",
                                                       type, keyval, value, as);
}

/// Called after MPI_X_create_keyval with Fortran procedures, or with functions of the C++ bindings.
void MPII_Keyval_set_proxy(int keyval, Proxy* copy, Proxy* erase) {
  const bool is_of_cxx = si::is_of_cxx_bindings(copy);
  if (is_of_cxx) si::forget_key(keyval);  // only the native library can call its functions
  if (is_of_cxx && si::abi::is_key_of_ours(keyval)) return si::refuse_key_of_cxx_bindings();
  if (const auto key = si::find_key(keyval)) {
    si::fortran::keep_proxies(*key, copy, erase);
    si::change_key_to_fortran(keyval);
  }
  if (si::abi::is_key_of_ours(keyval)) return;
  constexpr auto kSymbol = "MPII_Keyval_set_proxy";
  if (auto* const native = si::find_native<decltype(MPII_Keyval_set_proxy)>(kSymbol))
    return native(keyval, copy, erase);
  si::fortran::fail_without_native("MPI_Comm_create_keyval", kSymbol);
}

/// Called after MPI_Grequest_start with Fortran procedures.
void MPII_Grequest_set_lang_f77(MPI_Request request) {
  if (si::abi::is_ours(request)) return si::change_request_to_fortran(request);
  constexpr auto kSymbol = "MPII_Grequest_set_lang_f77";
  if (auto* const native = si::find_native<decltype(MPII_Grequest_set_lang_f77)>(kSymbol))
    return native(request);
  si::fortran::fail_without_native("MPI_Grequest_start", kSymbol);
}
