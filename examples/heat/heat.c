/* SPDX-License-Identifier: BSD-3-Clause */
/* Heat diffusion in a plate whose initial temperatures are a picture.
 *
 *   heat INPUT.png OUTPUT.png [STEPS [FACTS.json]]
 *
 * The plate is split over a Cartesian communicator made from a session, without MPI_Init and
 * MPI_COMM_WORLD. Each step exchanges the edges of neighbouring blocks. At the end rank 0 collects
 * the plate, writes it as a grey picture, and compares it with a serial solution: both do the same
 * arithmetic, so the results must be bitwise equal. FACTS.json is for draw.py. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "image.h"

enum { UP, DOWN, LEFT, RIGHT };

typedef struct {
  MPI_Comm comm;
  int rank, size, dims[2], coords[2], neighbour[4];
  int plate_width, plate_height;
  int first_row, rows, first_column, columns; /* the block of this process */
  double *now, *next; /* (rows + 2) x (columns + 2): the block with a border of one cell */
} plate;

static double* cell(const plate* p, double* grid, int row, int column) {
  return grid + (size_t)(row + 1) * (p->columns + 2) + (column + 1);
}

/* Return the first index of part `index` if `length` cells are divided evenly into `parts`. */
static int part_start(int length, int parts, int index) {
  return (int)((long)length * index / parts);
}

static void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  fprintf(stderr, "heat: %s: %s\n", what, text);
  exit(1);
}

static void make_communicator(MPI_Session session, plate* p) {
  MPI_Group world;
  MPI_Comm flat;
  check(MPI_Group_from_session_pset(session, "mpi://WORLD", &world), "group of mpi://WORLD");
  check(MPI_Comm_create_from_group(world, "intersession.example.heat", MPI_INFO_NULL,
                                   MPI_ERRORS_RETURN, &flat),
        "creation of the communicator");
  MPI_Group_free(&world);
  MPI_Comm_size(flat, &p->size);
  memset(p->dims, 0, sizeof p->dims);
  check(MPI_Dims_create(p->size, 2, p->dims), "MPI_Dims_create");
  const int periods[2] = {0, 0};
  check(MPI_Cart_create(flat, 2, p->dims, periods, 1, &p->comm), "MPI_Cart_create");
  MPI_Comm_free(&flat);
  MPI_Comm_rank(p->comm, &p->rank);
  MPI_Cart_coords(p->comm, p->rank, 2, p->coords);
  MPI_Cart_shift(p->comm, 0, 1, &p->neighbour[UP], &p->neighbour[DOWN]);
  MPI_Cart_shift(p->comm, 1, 1, &p->neighbour[LEFT], &p->neighbour[RIGHT]);
}

/* Compute the block of the process with these coordinates. */
static void block_of(const plate* p, const int coords[2], int* first_row, int* rows,
                     int* first_column, int* columns) {
  *first_row = part_start(p->plate_height, p->dims[0], coords[0]);
  *rows = part_start(p->plate_height, p->dims[0], coords[0] + 1) - *first_row;
  *first_column = part_start(p->plate_width, p->dims[1], coords[1]);
  *columns = part_start(p->plate_width, p->dims[1], coords[1] + 1) - *first_column;
}

/* Return the number of nodes: one process of each has rank 0 among those that share memory. */
static int count_nodes(MPI_Comm comm) {
  MPI_Comm node;
  check(MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
        "MPI_Comm_split_type");
  int rank, nodes;
  MPI_Comm_rank(node, &rank);
  int is_first = rank == 0;
  check(MPI_Allreduce(&is_first, &nodes, 1, MPI_INT, MPI_SUM, comm), "MPI_Allreduce");
  MPI_Comm_free(&node);
  return nodes;
}

static void take_block(plate* p, const field* whole) {
  block_of(p, p->coords, &p->first_row, &p->rows, &p->first_column, &p->columns);
  size_t cells = (size_t)(p->rows + 2) * (p->columns + 2);
  p->now = calloc(cells, sizeof(double));
  p->next = calloc(cells, sizeof(double));
  for (int r = 0; r < p->rows; ++r)
    memcpy(cell(p, p->now, r, 0),
           whole->cells + (size_t)(p->first_row + r) * whole->width + p->first_column,
           p->columns * sizeof(double));
}

/* Copy a column into a buffer or back: columns are strided in memory, messages are contiguous. */
static void copy_column(const plate* p, int column, double* buffer, int into_grid) {
  for (int r = 0; r < p->rows; ++r) {
    double* at = cell(p, p->now, r, column);
    if (into_grid)
      *at = buffer[r];
    else
      buffer[r] = *at;
  }
}

static void exchange_edges(plate* p, double* columns) {
  double *send_left = columns, *send_right = columns + p->rows;
  double *from_left = columns + 2 * p->rows, *from_right = columns + 3 * p->rows;
  copy_column(p, 0, send_left, 0);
  copy_column(p, p->columns - 1, send_right, 0);
  MPI_Request requests[8];
  int n = 0;
  MPI_Irecv(cell(p, p->now, -1, 0), p->columns, MPI_DOUBLE, p->neighbour[UP], DOWN, p->comm,
            &requests[n++]);
  MPI_Irecv(cell(p, p->now, p->rows, 0), p->columns, MPI_DOUBLE, p->neighbour[DOWN], UP, p->comm,
            &requests[n++]);
  MPI_Irecv(from_left, p->rows, MPI_DOUBLE, p->neighbour[LEFT], RIGHT, p->comm, &requests[n++]);
  MPI_Irecv(from_right, p->rows, MPI_DOUBLE, p->neighbour[RIGHT], LEFT, p->comm, &requests[n++]);
  MPI_Isend(cell(p, p->now, 0, 0), p->columns, MPI_DOUBLE, p->neighbour[UP], UP, p->comm,
            &requests[n++]);
  MPI_Isend(cell(p, p->now, p->rows - 1, 0), p->columns, MPI_DOUBLE, p->neighbour[DOWN], DOWN,
            p->comm, &requests[n++]);
  MPI_Isend(send_left, p->rows, MPI_DOUBLE, p->neighbour[LEFT], LEFT, p->comm, &requests[n++]);
  MPI_Isend(send_right, p->rows, MPI_DOUBLE, p->neighbour[RIGHT], RIGHT, p->comm, &requests[n++]);
  check(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE), "halo exchange");
  if (p->neighbour[LEFT] != MPI_PROC_NULL) copy_column(p, -1, from_left, 1);
  if (p->neighbour[RIGHT] != MPI_PROC_NULL) copy_column(p, p->columns, from_right, 1);
}

/* Do one step. No heat leaves the plate: a missing neighbour has the cell's own temperature. */
static void diffuse(plate* p) {
  for (int r = 0; r < p->rows; ++r)
    for (int c = 0; c < p->columns; ++c) {
      int row = p->first_row + r, column = p->first_column + c;
      double here = *cell(p, p->now, r, c), flow = 0;
      if (row > 0) flow += *cell(p, p->now, r - 1, c) - here;
      if (row < p->plate_height - 1) flow += *cell(p, p->now, r + 1, c) - here;
      if (column > 0) flow += *cell(p, p->now, r, c - 1) - here;
      if (column < p->plate_width - 1) flow += *cell(p, p->now, r, c + 1) - here;
      *cell(p, p->next, r, c) = here + 0.2 * flow;
    }
  double* swap = p->now;
  p->now = p->next;
  p->next = swap;
}

/* Collect all blocks at rank 0, which unpacks them into `whole`. */
static void collect(plate* p, field* whole) {
  double* block = malloc((size_t)p->rows * p->columns * sizeof(double));
  for (int r = 0; r < p->rows; ++r)
    memcpy(block + (size_t)r * p->columns, cell(p, p->now, r, 0), p->columns * sizeof(double));
  int *counts = calloc(p->size, sizeof(int)), *starts = calloc(p->size + 1, sizeof(int));
  for (int rank = 0; rank < p->size; ++rank) {
    int coords[2], first_row, rows, first_column, columns;
    MPI_Cart_coords(p->comm, rank, 2, coords);
    block_of(p, coords, &first_row, &rows, &first_column, &columns);
    counts[rank] = rows * columns;
    starts[rank + 1] = starts[rank] + counts[rank];
  }
  double* all = p->rank == 0 ? malloc((size_t)starts[p->size] * sizeof(double)) : NULL;
  check(MPI_Gatherv(block, p->rows * p->columns, MPI_DOUBLE, all, counts, starts, MPI_DOUBLE, 0,
                    p->comm),
        "MPI_Gatherv");
  for (int rank = 0; p->rank == 0 && rank < p->size; ++rank) {
    int coords[2], first_row, rows, first_column, columns;
    MPI_Cart_coords(p->comm, rank, 2, coords);
    block_of(p, coords, &first_row, &rows, &first_column, &columns);
    for (int r = 0; r < rows; ++r)
      memcpy(whole->cells + (size_t)(first_row + r) * whole->width + first_column,
             all + starts[rank] + (size_t)r * columns, columns * sizeof(double));
  }
  free(block);
  free(counts);
  free(starts);
  free(all);
}

/* Do all steps on the whole plate in one process. */
static void solve_alone(field* whole, int steps) {
  plate p = {.dims = {1, 1}, .plate_width = whole->width, .plate_height = whole->height};
  take_block(&p, whole);
  for (int s = 0; s < steps; ++s) diffuse(&p);
  for (int r = 0; r < p.rows; ++r)
    memcpy(whole->cells + (size_t)r * whole->width, cell(&p, p.now, r, 0),
           p.columns * sizeof(double));
  free(p.now);
  free(p.next);
}

/* Return the largest difference of two plates of the same size. */
static double largest_difference(const field* one, const field* other) {
  double largest = 0;
  for (size_t i = 0; i < (size_t)one->width * one->height; ++i) {
    double difference = one->cells[i] - other->cells[i];
    if (difference < 0) difference = -difference;
    if (difference > largest) largest = difference;
  }
  return largest;
}

static double total_heat(const field* whole) {
  double heat = 0;
  for (size_t i = 0; i < (size_t)whole->width * whole->height; ++i) heat += whole->cells[i];
  return heat;
}

typedef struct {
  int processes, nodes, steps;
  double seconds, difference;
} facts;

/* Write the first index of each part of `length` cells, as a JSON list. */
static void write_starts(FILE* file, const char* name, int length, int parts) {
  fprintf(file, "  \"%s\": [", name);
  for (int i = 0; i < parts; ++i) fprintf(file, i ? ", %d" : "%d", part_start(length, parts, i));
  fprintf(file, "],\n");
}

static int write_facts(const char* path, const plate* p, const facts* f) {
  FILE* file = fopen(path, "w");
  if (!file) {
    perror(path);
    return 1;
  }
  fprintf(file, "{\n");
  write_starts(file, "rows", p->plate_height, p->dims[0]);
  write_starts(file, "columns", p->plate_width, p->dims[1]);
  fprintf(file, "  \"processes\": %d,\n  \"nodes\": %d,\n  \"steps\": %d,\n", f->processes,
          f->nodes, f->steps);
  fprintf(file, "  \"seconds\": %.6f,\n  \"difference\": %g\n}\n", f->seconds, f->difference);
  return fclose(file) != 0;
}

/* Compare with the serial solution, print and write the results. Return 0 if all is right. */
static int report(const char* output, const char* facts_path, const plate* p, const field* solved,
                  field* start, facts f) {
  solve_alone(start, f.steps);
  f.difference = largest_difference(solved, start);
  printf(
      "heat: %d x %d cells, %d steps, total heat %.6f, largest difference to the serial solution "
      "%g\n",
      solved->width, solved->height, f.steps, total_heat(solved), f.difference);
  if (!field_write(output, solved)) return 1;
  printf("heat: result written to %s\n", output);
  if (facts_path && write_facts(facts_path, p, &f) != 0) return 1;
  return f.difference == 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: heat INPUT.png OUTPUT.png [STEPS [FACTS.json]]\n");
    return 2;
  }
  int steps = argc > 3 ? atoi(argv[3]) : 400;
  field start, solved;
  if (!field_read(argv[1], &start)) return 1;
  solved = start;
  solved.cells = malloc((size_t)start.width * start.height * sizeof(double));

  MPI_Session session;
  check(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session), "MPI_Session_init");
  plate p = {.plate_width = start.width, .plate_height = start.height};
  make_communicator(session, &p);
  facts f = {.processes = p.size, .nodes = count_nodes(p.comm), .steps = steps};
  if (p.rank == 0)
    printf("heat: %d processes in a %d x %d grid, nodes: %d\n", p.size, p.dims[0], p.dims[1],
           f.nodes);
  take_block(&p, &start);
  double* columns = malloc(4 * (size_t)p.rows * sizeof(double));
  double begin = MPI_Wtime();
  for (int s = 0; s < steps; ++s) {
    exchange_edges(&p, columns);
    diffuse(&p);
  }
  f.seconds = MPI_Wtime() - begin;
  collect(&p, &solved);
  const char* facts_path = argc > 4 ? argv[4] : NULL;
  int wrong = p.rank == 0 ? report(argv[2], facts_path, &p, &solved, &start, f) : 0;
  check(MPI_Bcast(&wrong, 1, MPI_INT, 0, p.comm), "MPI_Bcast");
  MPI_Comm_free(&p.comm);
  check(MPI_Session_finalize(&session), "MPI_Session_finalize");
  free(columns);
  free(p.now);
  free(p.next);
  free(start.cells);
  free(solved.cells);
  return wrong;
}
