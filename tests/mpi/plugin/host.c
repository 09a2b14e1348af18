/* SPDX-License-Identifier: BSD-3-Clause */
/* host LIBRARY FUNCTION: loads the library with RTLD_LOCAL and calls the function; not linked with
 * MPI. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  void* library = dlopen(argv[1], RTLD_LAZY | RTLD_LOCAL);
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  int (*run)(void) = (int (*)(void))dlsym(library, argv[2]);
  return run ? run() : 1;
}
