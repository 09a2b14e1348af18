/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests a collective before which a process dies.
 *
 * Each collective of a survivor on that communicator ends with MPI_ERR_PROC_ABORTED, now and later,
 * also if the survivor waits for a living process that has left with that error. After the call, no
 * byte is written to a receive buffer or read from a send buffer. A communicator of the survivors
 * works.
 *
 *   collective_deaths LAUNCHER COLLECTIVE VICTIM     (death.h) */
#include <sys/mman.h>

#include "death.h"
#include "session_world.h"

enum { ITEMS = 20000, MOST = 16, FILL = 0x5a };

static int *own, *result; /* ITEMS for each process; own is in separate pages */
static size_t bytes;
static int counts[MOST], displacements[MOST];

static int barrier(void) { return MPI_Barrier(world); }
static int bcast(void) { return MPI_Bcast(result, ITEMS, MPI_INT, 0, world); }
static int reduce(void) { return MPI_Reduce(own, result, ITEMS, MPI_INT, MPI_SUM, 0, world); }
static int allreduce(void) { return MPI_Allreduce(own, result, ITEMS, MPI_INT, MPI_SUM, world); }
static int short_allreduce(void) { return MPI_Allreduce(own, result, 1, MPI_INT, MPI_SUM, world); }
static int gather(void) {
  return MPI_Gather(own, ITEMS, MPI_INT, result, ITEMS, MPI_INT, 0, world);
}
static int scatter(void) {
  return MPI_Scatter(own, ITEMS, MPI_INT, result, ITEMS, MPI_INT, 0, world);
}
static int allgather(void) {
  return MPI_Allgather(own, ITEMS, MPI_INT, result, ITEMS, MPI_INT, world);
}
static int allgatherv(void) {
  return MPI_Allgatherv(own, ITEMS, MPI_INT, result, counts, displacements, MPI_INT, world);
}
static int alltoall(void) {
  return MPI_Alltoall(own, ITEMS, MPI_INT, result, ITEMS, MPI_INT, world);
}
static int alltoallv(void) {
  return MPI_Alltoallv(own, counts, displacements, MPI_INT, result, counts, displacements, MPI_INT,
                       world);
}
static int reduce_scatter(void) {
  return MPI_Reduce_scatter(own, result, counts, MPI_INT, MPI_SUM, world);
}
static int scan(void) { return MPI_Scan(own, result, ITEMS, MPI_INT, MPI_SUM, world); }
static int exscan(void) { return MPI_Exscan(own, result, ITEMS, MPI_INT, MPI_SUM, world); }

static int wait_for(int code, MPI_Request* request) {
  return code != MPI_SUCCESS ? code : MPI_Wait(request, MPI_STATUS_IGNORE);
}
static int iallreduce(void) {
  MPI_Request request;
  return wait_for(MPI_Iallreduce(own, result, ITEMS, MPI_INT, MPI_SUM, world, &request), &request);
}
static int ibarrier(void) {
  MPI_Request request;
  return wait_for(MPI_Ibarrier(world, &request), &request);
}
static int persistent_allreduce(void) {
  static MPI_Request request = MPI_REQUEST_NULL;
  if (request == MPI_REQUEST_NULL)
    MUST(MPI_Allreduce_init(own, result, ITEMS, MPI_INT, MPI_SUM, world, MPI_INFO_NULL, &request));
  const int code = wait_for(MPI_Start(&request), &request);
  if (code != MPI_SUCCESS) MUST(MPI_Request_free(&request));
  return code;
}
static int neighbours(void) {
  static MPI_Comm ring = MPI_COMM_NULL;
  const int around = 1;
  if (ring == MPI_COMM_NULL) MUST(MPI_Cart_create(world, 1, &size, &around, 0, &ring));
  const int code = MPI_Neighbor_alltoall(own, ITEMS, MPI_INT, result, ITEMS, MPI_INT, ring);
  if (code != MPI_SUCCESS) MUST(MPI_Comm_free(&ring));
  return code;
}
static int split(void) {
  MPI_Comm part;
  const int code = MPI_Comm_split(world, 0, rank, &part);
  if (code == MPI_SUCCESS) MUST(MPI_Comm_free(&part));
  return code;
}

static const struct {
  const char* name;
  int (*call)(void);
} collectives[] = {{"barrier", barrier},
                   {"bcast", bcast},
                   {"reduce", reduce},
                   {"allreduce", allreduce},
                   {"gather", gather},
                   {"scatter", scatter},
                   {"allgather", allgather},
                   {"allgatherv", allgatherv},
                   {"alltoall", alltoall},
                   {"alltoallv", alltoallv},
                   {"scan", scan},
                   {"exscan", exscan},
                   {"reduce_scatter", reduce_scatter},
                   {"short_allreduce", short_allreduce},
                   {"iallreduce", iallreduce},
                   {"ibarrier", ibarrier},
                   {"persistent_allreduce", persistent_allreduce},
                   {"neighbours", neighbours},
                   {"split", split}};

/* Call until an error: a root that needs no data from others may succeed until it knows of the
 * death. */
static void call_until_it_fails(int (*call)(void), const char* name, int code) {
  int class, length;
  char text[MPI_MAX_ERROR_STRING];
  const double begin = MPI_Wtime();
  while (code == MPI_SUCCESS) code = call();
  MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  EXPECT(class == MPI_ERR_PROC_ABORTED, "%s: %s", name, text);
  printf("%s ended at rank %d after %.3f s: %s\n", name, rank, MPI_Wtime() - begin, text);
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int victim = atoi(argv[3]);
  int (*call)(void) = NULL;
  for (size_t i = 0; i < sizeof collectives / sizeof collectives[0]; ++i)
    if (strcmp(collectives[i].name, argv[2]) == 0) call = collectives[i].call;
  if (call == NULL) return 2;
  open_world("test.collective_deaths");
  EXPECT(size <= MOST, "%d processes", size);
  bytes = sizeof(int) * ITEMS * (size_t)size;
  own = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  result = calloc(1, bytes);
  EXPECT(own != MAP_FAILED && result != NULL, "no memory");
  for (int i = 0; i < size; ++i) {
    counts[i] = ITEMS;
    displacements[i] = i * ITEMS;
  }
  /* The first collectives use other algorithms than later ones. The victim may die before others
   * have completed theirs. */
  int code = MPI_SUCCESS;
  for (int i = 0; i < 5 && code == MPI_SUCCESS; ++i) code = call();
  if (rank == victim) die_under(argv[1]);
  call_until_it_fails(call, argv[2], code);
  memset(result, FILL, bytes);
  EXPECT(mprotect(own, bytes, PROT_NONE) == 0,
         "no protection"); /* an access of Intersession would now end this process */
  check_survivors(victim);
  for (size_t i = 0; i < bytes; ++i)
    EXPECT(((unsigned char*)result)[i] == FILL, "byte %zu was written after the call", i);
  EXPECT(mprotect(own, bytes, PROT_READ | PROT_WRITE) == 0, "no protection");
  MUST_FAIL(MPI_ERR_PROC_ABORTED, barrier()); /* later collectives fail, too */
  MUST(MPI_Comm_free(&world));
  MUST(MPI_Session_finalize(&session));
  free(result);
  return verdict();
}
