/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a program that may not access the memory of other processes, as in containers with such a
 * system call filter: process_vm_readv and process_vm_writev fail with EPERM.
 *
 *   no_attach all|even PROGRAM [ARGUMENTS]     even: only in processes of even ranks */
#define _GNU_SOURCE /* process_vm_readv */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../launchers_number.h"

static int forbid(void) {
  /* The filter does not check the architecture: the program has the same one, so the numbers of
   * system calls are right. */
  struct sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog filter = {.len = sizeof rules / sizeof rules[0], .filter = rules};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

/* True if the filter works. If it did not, a test would pass for the wrong reason. */
static int is_forbidden(void) {
  char from = 0, to = 0;
  struct iovec own = {&to, 1}, other = {&from, 1};
  return process_vm_readv(getpid(), &own, 1, &other, 1, 0) < 0 && errno == EPERM &&
         process_vm_writev(getpid(), &own, 1, &other, 1, 0) < 0 && errno == EPERM;
}

int main(int argc, char** argv) {
  int is_all = argc > 2 && strcmp(argv[1], "all") == 0,
      is_even = argc > 2 && strcmp(argv[1], "even") == 0;
  if (!is_all && !is_even) {
    fprintf(stderr, "usage: no_attach all|even PROGRAM [ARGUMENTS]\n");
    return 2;
  }
  if (is_all || launchers_number("OMPI_COMM_WORLD_RANK", "PMI_RANK") % 2 == 0) {
    if (!forbid()) {
      printf("skipped: the kernel does not accept a system call filter: %s\n", strerror(errno));
      return 77;
    }
    if (!is_forbidden()) {
      fprintf(stderr, "no_attach: memory of processes can still be read or written\n");
      return 1;
    }
  }
  execvp(argv[2], argv + 2);
  perror(argv[2]);
  return 1;
}
