/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests the fast path of short messages between two processes of a node: a send that finds space,
 * and a receive whose message has arrived, make no system call, allocate no memory and, with one
 * thread, execute no locked instruction.
 *
 * System calls are intercepted in the kernel (Documentation/admin-guide/syscall-user-dispatch.rst).
 * Allocations are counted by this program's malloc, which replaces the C library's. Instructions
 * are inspected before their execution by single-stepping (trap flag).
 *
 *   fast_path              at both processes, after a few messages: no system call, no allocation
 *   fast_path steps        no locked instruction
 *   fast_path break        each section makes a system call and allocates memory, which must be
 *                           detected
 *   fast_path break-steps  each section executes locked instructions, which must be detected */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/prctl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "session_world.h"

/* Headers before Linux 5.11 lack them; prctl fails on an older kernel (prctl(2)). */
#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON 1
#define SYSCALL_DISPATCH_FILTER_ALLOW 0
#define SYSCALL_DISPATCH_FILTER_BLOCK 1
#endif

enum { ROUNDS = 200, STEPPED_ROUNDS = 1, WARM_UP = 8, MESSAGES = 8, LONGEST = 1024, TAG = 3 };

static _Thread_local volatile char selector = SYSCALL_DISPATCH_FILTER_ALLOW;
static _Thread_local volatile long caught = -1; /* number of an intercepted system call */
static _Thread_local volatile int watches, allocations;
static int catches_calls, breaks, steps;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
enum { COUNTS_MEMORY = 1 };
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void*, size_t),
    *__libc_memalign(size_t, size_t);

void* malloc(size_t bytes) { return allocations += watches, __libc_malloc(bytes); }
void* calloc(size_t items, size_t bytes) {
  return allocations += watches, __libc_calloc(items, bytes);
}
void* realloc(void* old, size_t bytes) {
  return allocations += watches, __libc_realloc(old, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  return allocations += watches, __libc_memalign(alignment, bytes);
}
#else
enum { COUNTS_MEMORY = 0 }; /* the sanitizer has its own malloc and locked instructions */
#endif

static volatile long executed, locked;
static void* volatile first_locked;

#ifdef __x86_64__
/* Make the intercepted call. Then disable the interception: the return from this handler is a
 * system call, too. */
static void on_call(int number, siginfo_t* info, void* state) {
  greg_t* r = ((ucontext_t*)state)->uc_mcontext.gregs;
  (void)number;
  selector = SYSCALL_DISPATCH_FILTER_ALLOW;
  caught = info->si_syscall;
  long answer = syscall(caught, r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8],
                        r[REG_R9]);
  r[REG_RAX] = answer == -1 ? -errno : answer;
}

static void begin_catching(void) {
  struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO};
  sigaction(SIGSYS, &action, NULL);
  catches_calls = prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &selector) == 0;
}

/* True for a lock prefix, possibly after other prefixes, or an exchange with memory, which locks
 * implicitly. */
static int is_locked(const unsigned char* code) {
  for (;; ++code) {
    if (*code == 0xf0) return 1;
    if (*code == 0x66 || *code == 0x67 || *code == 0xf2 || *code == 0xf3 || *code == 0x2e ||
        *code == 0x36 || *code == 0x3e || *code == 0x26 || *code == 0x64 || *code == 0x65 ||
        (*code & 0xf0) == 0x40)
      continue;
    return (*code == 0x86 || *code == 0x87) && code[1] < 0xc0;
  }
}

/* Inspect the next instruction; the trap flag is clear in this handler. */
static void on_step(int number, siginfo_t* info, void* state) {
  void* at = (void*)((ucontext_t*)state)->uc_mcontext.gregs[REG_RIP];
  (void)number, (void)info;
  ++executed;
  if (is_locked(at) && locked++ == 0) first_locked = at;
}

enum { TRAP_FLAG = 0x100 };
static void begin_steps(void) {
  __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | TRAP_FLAG);
}
static void end_steps(void) {
  __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~(unsigned long long)TRAP_FLAG);
}

static int may_step(void) {
  struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
  return COUNTS_MEMORY && sigaction(SIGTRAP, &action, NULL) == 0;
}
#else
static void begin_catching(void) {}
static void begin_steps(void) {}
static void end_steps(void) {}
static int may_step(void) { return 0; }
#endif

static void watch_steps(void) {
  static int word;
  executed = locked = 0;
  begin_steps();
  if (breaks) __atomic_fetch_add(&word, 1, __ATOMIC_RELAXED);
}

static void end_watch_of_steps(const char* what, int round) {
  Dl_info where = {0};
  end_steps();
  EXPECT(executed > MESSAGES, "%s, round %d: %ld instructions", what, round, executed);
  if (breaks) {
    EXPECT(locked > 0, "%s: no locked instruction detected", what);
    return;
  }
  if (locked > 0) dladdr(first_locked, &where);
  EXPECT(locked == 0, "%s, round %d: %ld locked instructions in %ld, the first at %p (%s, %s)",
         what, round, locked, executed, (void*)((char*)first_locked - (char*)where.dli_fbase),
         where.dli_fname, where.dli_sname ? where.dli_sname : "");
}

static void watch(void) {
  caught = -1;
  allocations = 0;
  watches = 1;
  if (catches_calls) selector = SYSCALL_DISPATCH_FILTER_BLOCK;
  if (!breaks) return;
  syscall(SYS_getppid);
  void* volatile memory = malloc(8);
  free(memory);
}

static void end_watch(const char* what, int round) {
  selector = SYSCALL_DISPATCH_FILTER_ALLOW;
  watches = 0;
  if (breaks) {
    EXPECT(!catches_calls || caught == SYS_getppid, "%s: caught %ld", what, caught);
    EXPECT(!COUNTS_MEMORY || allocations > 0, "%s: no allocation detected", what);
    return;
  }
  EXPECT(caught == -1, "%s, round %d: system call %ld", what, round, caught);
  EXPECT(allocations == 0, "%s, round %d: %d allocations", what, round, allocations);
}

/* Synchronise without MPI, which would make progress. */
static int partner;
static sigset_t turn;
static void exchange_with_partner(int pid) {
  siginfo_t info;
  EXPECT(kill(pid, SIGRTMIN + 1) == 0, "process %d", pid);
  while (sigwaitinfo(&turn, &info) == -1 && errno == EINTR) {
  }
}

/* A way to send and receive messages of a given size; all have arrived before the first receive. */
typedef struct {
  const char* name;
  int bytes;
  void (*before)(void* data, int bytes); /* at the receiver, before the sends; may be null */
  void (*send)(void* data, int bytes);
  void (*receive)(void* data, int bytes);
} Way;

static MPI_Request requests[MESSAGES];

static void send(void* data, int bytes) {
  for (int i = 0; i < MESSAGES; ++i) MPI_Send(data, bytes, MPI_BYTE, partner, TAG, world);
}
static void receive(void* data, int bytes) {
  for (int i = 0; i < MESSAGES; ++i)
    MPI_Recv(data, bytes, MPI_BYTE, partner, TAG, world, MPI_STATUS_IGNORE);
}
static void receive_any(void* data, int bytes) {
  MPI_Status status;
  for (int i = 0; i < MESSAGES; ++i)
    MPI_Recv(data, bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, &status);
}
static void wait_for_each(void* data, int bytes) {
  (void)data, (void)bytes;
  for (int i = 0; i < MESSAGES; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
}
static void wait_for_all(void* data, int bytes) {
  (void)data, (void)bytes;
  MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
}
static void wait_for_all_statuses(void* data, int bytes) {
  MPI_Status statuses[MESSAGES];
  int count = 0;
  (void)data;
  MPI_Waitall(MESSAGES, requests, statuses);
  MPI_Get_count(&statuses[MESSAGES - 1], MPI_BYTE, &count);
  EXPECT(count == bytes, "%d bytes", count);
}
static void isend(void* data, int bytes) {
  for (int i = 0; i < MESSAGES; ++i)
    MPI_Isend(data, bytes, MPI_BYTE, partner, TAG, world, &requests[i]);
  wait_for_each(data, bytes);
}
static void post(void* data, int bytes) {
  for (int i = 0; i < MESSAGES; ++i)
    MPI_Irecv(data, bytes, MPI_BYTE, partner, TAG, world, &requests[i]);
}
static void irecv(void* data, int bytes) {
  post(data, bytes);
  wait_for_each(data, bytes);
}
static void probe_and_receive(void* data, int bytes) {
  int is_there = 0;
  for (int i = 0; i < MESSAGES; ++i) {
    while (!is_there) MPI_Iprobe(partner, TAG, world, &is_there, MPI_STATUS_IGNORE);
    MPI_Recv(data, bytes, MPI_BYTE, partner, TAG, world, MPI_STATUS_IGNORE);
    is_there = 0;
  }
}

static const Way ways[] = {
    {"MPI_Send and MPI_Recv of 8 bytes", 8, NULL, send, receive},
    {"MPI_Send and MPI_Recv of 0 bytes", 0, NULL, send, receive},
    {"MPI_Send and MPI_Recv of 1 KiB", LONGEST, NULL, send, receive},
    {"MPI_Send and MPI_Recv from any source", 8, NULL, send, receive_any},
    {"MPI_Isend and MPI_Irecv", 8, NULL, isend, irecv},
    {"MPI_Isend, and MPI_Irecv before it", 8, post, isend, wait_for_each},
    {"MPI_Irecv, MPI_Isend and MPI_Waitall", 8, post, isend, wait_for_all},
    {"MPI_Irecv, MPI_Isend and MPI_Waitall with statuses", 8, post, isend, wait_for_all_statuses},
    {"MPI_Send, MPI_Iprobe and MPI_Recv", 8, NULL, send, probe_and_receive},
};

static void watched(void (*half)(void* data, int bytes), void* data, const Way* way, int round) {
  const int is_watched = steps ? round >= ROUNDS - STEPPED_ROUNDS : round >= 0;
  if (is_watched) steps ? watch_steps() : watch();
  half(data, way->bytes);
  if (is_watched) steps ? end_watch_of_steps(way->name, round) : end_watch(way->name, round);
}

static void run(const Way* way, int sender, int pid) {
  static char data[LONGEST];
  /* The first rounds allocate what is kept, and send more than the half page of a ring that both
   * directions share: the library then prefaults all its pages, with one call. */
  for (int round = -WARM_UP; round < ROUNDS; ++round) {
    if (rank != sender && way->before != NULL) way->before(data, way->bytes);
    exchange_with_partner(pid);
    if (rank == sender) watched(way->send, data, way, round);
    exchange_with_partner(pid);
    if (rank != sender) watched(way->receive, data, way, round);
    exchange_with_partner(pid);
  }
}

int main(int argc, char** argv) {
  int pid = getpid();
  breaks = argc == 2 && strncmp(argv[1], "break", 5) == 0;
  steps = argc == 2 && strstr(argv[1], "steps") != NULL;
  sigemptyset(&turn);
  sigaddset(&turn, SIGRTMIN + 1);
  sigprocmask(SIG_BLOCK, &turn, NULL); /* also in threads created from now on */
  open_world("test.fast_path");
  EXPECT(size == 2, "%d processes", size);
  partner = 1 - rank;
  MUST(
      MPI_Sendrecv_replace(&pid, 1, MPI_INT, partner, TAG, partner, TAG, world, MPI_STATUS_IGNORE));
  if (!steps) begin_catching();
  if (!steps && !catches_calls) puts("system calls cannot be intercepted here and are not checked");
  if (steps && !may_step()) {
    puts("instructions cannot be inspected here");
    return close_world();
  }
  for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i)
    for (int sender = 0; sender < 2; ++sender) run(&ways[i], sender, pid);
  return close_world();
}
