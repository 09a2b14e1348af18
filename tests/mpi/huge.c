/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests messages with more bytes than an int can count, as many small items and as a few large
 * ones. The sender touches little of its memory, so the test needs only the receiver's. */
#include <stdint.h>
#include <sys/mman.h>

#include "session_world.h"

static const MPI_Count kBytes = (MPI_Count)5 << 29; /* 2.5 GiB */
enum { ITEM = 1 << 20 };

static const long long kMarks[] = {0,
                                   12345,
                                   ((long long)1 << 31) - 1,
                                   (long long)1 << 31,
                                   ((long long)1 << 31) + 7,
                                   ((long long)5 << 29) - 1};
enum { MARKS = sizeof kMarks / sizeof kMarks[0] };

static long long available_bytes(void) {
  char line[256];
  long long kib = 0;
  FILE* file = fopen("/proc/meminfo", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (sscanf(line, "MemAvailable: %lld", &kib) == 1) break;
  if (file != NULL) fclose(file);
  return kib * 1024;
}

static void expect_marks(const char* data, int round) {
  for (int i = 0; i < MARKS; ++i)
    EXPECT(data[kMarks[i]] == 'a' + round + i, "byte %lld is %d", kMarks[i], data[kMarks[i]]);
  EXPECT(data[kMarks[2] - 1] == 0 && data[100] == 0, "bytes between the marks");
}

static void receive(char* data, int round, MPI_Datatype item) {
  MPI_Status status;
  MPI_Request request;
  MPI_Count count = -1;
  int small = -1;
  memset(data, 'x', 4096);
  if (round == 0) MUST(MPI_Recv_c(data, kBytes, MPI_BYTE, 0, round, world, &status));
  if (round == 1) MUST(MPI_Recv(data, (int)(kBytes / ITEM), item, 0, round, world, &status));
  if (round == 2) {
    MUST(MPI_Irecv_c(data, kBytes / 4, MPI_INT, 0, round, world, &request));
    MUST(MPI_Wait(&request, &status));
  }
  MUST(MPI_Get_elements_x(&status, MPI_BYTE, &count));
  EXPECT(count == kBytes, "%lld bytes in round %d", (long long)count, round);
  MUST(MPI_Get_count(&status, MPI_BYTE, &small));
  EXPECT(small == MPI_UNDEFINED, "a count that fits into no int: %d", small);
  expect_marks(data, round);
}

static void send(char* data, int round, MPI_Datatype item) {
  for (int i = 0; i < MARKS; ++i) data[kMarks[i]] = (char)('a' + round + i);
  if (round == 0) MUST(MPI_Send_c(data, kBytes, MPI_BYTE, 1, round, world));
  if (round == 1) MUST(MPI_Send(data, (int)(kBytes / ITEM), item, 1, round, world));
  if (round == 2) MUST(MPI_Ssend_c(data, kBytes / 4, MPI_INT, 1, round, world));
}

int main(void) {
  open_world("test.huge");
  int enough = available_bytes() > kBytes + ((long long)1 << 30), all = 0;
  MUST(MPI_Allreduce(&enough, &all, 1, MPI_INT, MPI_MIN, world));
  if (all && rank < 2) {
    MPI_Datatype item;
    MUST(MPI_Type_contiguous(ITEM, MPI_BYTE, &item));
    MUST(MPI_Type_commit(&item));
    char* data = mmap(NULL, (size_t)kBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT(data != MAP_FAILED, "no address space");
    for (int round = 0; round < 3; ++round) {
      if (rank == 0)
        send(data, round, item);
      else
        receive(data, round, item);
    }
    munmap(data, (size_t)kBytes);
    MUST(MPI_Type_free(&item));
  }
  if (!all && rank == 0)
    printf("too little memory for messages of %lld bytes\n", (long long)kBytes);
  return close_world();
}
