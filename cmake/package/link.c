// SPDX-License-Identifier: BSD-3-Clause
// Object that keeps Intersession and the native MPI library in a program's list of needed
// libraries. Many compilers link with --as-needed: the linker then drops the native library,
// because Intersession, which precedes it, defines all functions that the program calls. The linker
// keeps a library that defines a symbol to which an object refers. This object refers to a
// function, which Intersession defines first, and to a symbol that only the native library defines
// (INTERSESSION_MARK; shim/families/families.cpp). `-Wl,-u,intersession_link` takes the object
// from its archive. Build systems may sort the linker's options before the libraries; pairs like
// --push-state and --pop-state then have no effect, and --no-as-needed affects all libraries.

// A mere entry in the symbol table: the dynamic linker does not look for the symbols.
__asm__(".globl MPI_Init\n.globl " INTERSESSION_MARK);

__attribute__((visibility("hidden"))) void intersession_link(void);
void intersession_link(void) {}
