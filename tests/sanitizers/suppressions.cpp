// SPDX-License-Identifier: BSD-3-Clause
// What the sanitizers are to pass over: faults of libraries that are not ours. Compiled into every test program, so that one run by
// hand behaves as under ctest. Each line says why.

extern "C" const char* __lsan_default_suppressions() {
  return
      // Provider "net" of libfabric 1.17 forgets the fi_info of each connection.
      "leak:fi_dupinfo\n"
      "leak:libfabric.so.1\n";
}

extern "C" const char* __tsan_default_suppressions() {
  return
      // Not instrumented: its locks and atomics are not seen, and so every hand-over between its threads looks like a race.
      "called_from_lib:libfabric.so.1\n";
}
