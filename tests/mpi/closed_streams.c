/* SPDX-License-Identifier: BSD-3-Clause */
/* The program has closed standard streams, as a service does, and still prints. Its output must not
   enter memory, files or connections of the library, which therefore has no descriptor below 3.

   closed_streams MASK: bit N of the mask is 1 if descriptor N is closed during the first session of
   the process. Sessions with all other masks follow. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session_world.h"

enum { streams = 3, masks = 1 << streams, saved_from = 100, prints = 2000, communicators = 10 };

static void close_streams(int mask) {
  for (int number = 0; number < streams; number++)
    if (mask & 1 << number) close(number);
}

static void restore_streams(int mask) {
  for (int number = 0; number < streams; number++)
    if (mask & 1 << number) dup2(saved_from + number, number);
}

/* True if the numbers of the closed streams are used only by files of the program. */
static int are_closed(int mask) {
  for (int number = 0; number < streams; number++)
    if (mask & 1 << number && fcntl(number, F_GETFD) >= 0 && !(fcntl(number, F_GETFL) & O_PATH))
      return 0;
  return 1;
}

static void print_to_closed_streams(int mask) {
  static const char text[] =
      "a line for a stream that the program has closed before its first session\n";
  for (int i = 0; i < prints; i++)
    for (int number = 1; number < streams; number++)
      if (mask & 1 << number && write(number, text, sizeof text - 1) >= 0) failures++;
}

static void exchange(void) {
  for (int i = 0; i < communicators; i++) {
    MPI_Comm copy;
    int sum = -1;
    MUST(MPI_Comm_dup(world, &copy));
    MUST(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, copy));
    EXPECT(sum == size * (size - 1) / 2, "the sum is %d", sum);
    MUST(MPI_Comm_free(&copy));
  }
}

static void run_session(int mask) {
  close_streams(mask);
  open_world("closed streams");
  print_to_closed_streams(mask);
  exchange();
  failures += !are_closed(mask);
  MUST(MPI_Barrier(world));
  MUST(MPI_Comm_free(&world));
  MUST(MPI_Session_finalize(&session));
  failures += !are_closed(mask);
  restore_streams(mask);
  EXPECT(failures == 0, "with the streams of mask %d closed", mask);
}

int main(int argc, char** argv) {
  const int first = argc > 1 ? atoi(argv[1]) : masks - 1;
  for (int number = 0; number < streams; number++)
    if (fcntl(number, F_DUPFD_CLOEXEC, saved_from + number) != saved_from + number) return 1;
  for (int i = 0; i < masks; i++) run_session((first + i) % masks);
  return verdict();
}
