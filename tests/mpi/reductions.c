/* SPDX-License-Identifier: BSD-3-Clause */
/* Tests reductions with user-defined operations, in each form, against a model that combines in
 * rank order. The operations compose maps x -> a*x + b modulo 2^64, which is associative but not
 * commutative, and add them, which is commutative. The functions must get the same datatype handle
 * as the call. Arguments: number of rounds; "world" to create the operations before, during and
 * after the world model, and to use operations of sessions on MPI_COMM_WORLD. */
#include "model.h"

enum { MAX_PROCESSES = 16 };

struct map {
  unsigned long a, b;
};
typedef struct map combination(struct map lower, struct map upper);
static struct map composed(struct map lower, struct map upper) {
  struct map m = {lower.a * upper.a, lower.a * upper.b + lower.b};
  return m;
}
static struct map added(struct map lower, struct map upper) {
  struct map m = {lower.a + upper.a, lower.b + upper.b};
  return m;
}

static int calls, strange_types;
static const struct layout* layout_of(MPI_Datatype type) {
  for (int i = 0; i < layout_count; ++i)
    if (layouts[i].type == type) return &layouts[i];
  ++strange_types;
  return &layouts[0];
}
static void combine(combination* how, long* in, long* inout, MPI_Count length, MPI_Datatype type) {
  const struct layout* l = layout_of(type);
  ++calls;
  for (MPI_Count i = 0; i < length; ++i) {
    long *x = in + i * l->extent, *y = inout + i * l->extent;
    struct map lower = {(unsigned long)x[l->offset[0]], (unsigned long)x[l->offset[1]]};
    struct map upper = {(unsigned long)y[l->offset[0]], (unsigned long)y[l->offset[1]]},
               m = how(lower, upper);
    y[l->offset[0]] = (long)m.a;
    y[l->offset[1]] = (long)m.b;
  }
}
static void compose(void* in, void* inout, int* length, MPI_Datatype* type) {
  combine(composed, in, inout, *length, *type);
}
static void compose_c(void* in, void* inout, MPI_Count* length, MPI_Datatype* type) {
  combine(composed, in, inout, *length, *type);
}
static void add(void* in, void* inout, int* length, MPI_Datatype* type) {
  combine(added, in, inout, *length, *type);
  *length = 0; /* as a function does that counts down */
}
static void add_c(void* in, void* inout, MPI_Count* length, MPI_Datatype* type) {
  combine(added, in, inout, *length, *type);
}

enum { OPS = 4 };
static MPI_Op ops[OPS];
static combination* const meanings[OPS] = {composed, composed, added, added};
static void make_ops(void) {
  MUST(MPI_Op_create(compose, 0, &ops[0]));
  MUST(MPI_Op_create_c(compose_c, 0, &ops[1]));
  MUST(MPI_Op_create(add, 1, &ops[2]));
  MUST(MPI_Op_create_c(add_c, 1, &ops[3]));
  for (int o = 0; o < OPS; ++o) {
    int commutes = -1;
    MUST(MPI_Op_commutative(ops[o], &commutes));
    EXPECT(commutes == (o >= 2), "operation %d: commutative %d", o, commutes);
  }
}
static void free_ops(void) {
  for (int o = 0; o < OPS; ++o) {
    MUST(MPI_Op_free(&ops[o]));
    EXPECT(ops[o] == MPI_OP_NULL, "the handle of operation %d is not null", o);
  }
}

/* Return the item of a process; and the combination of ranks `first` to `end`. */
static struct map item_of(int from, int item) {
  struct map m = {2 * (unsigned long)value_of(from, item, 0) + 1,
                  (unsigned long)value_of(from, item, 1)};
  return m;
}
static struct map together(combination* how, int first, int end, int item) {
  struct map m = item_of(first, item);
  for (int r = first + 1; r < end; ++r) m = how(m, item_of(r, item));
  return m;
}
static void put_map(struct buffer* buffer, const struct layout* l, int item, struct map m) {
  put_cell(buffer, l, item, 0, (long)m.a);
  put_cell(buffer, l, item, 1, (long)m.b);
}

static MPI_Comm comm = MPI_COMM_NULL; /* communicator of the reductions */
static MPI_Op op;
static combination* how;
static const struct layout* shape;

static void prepare(int count, int in_place) {
  int drawn = all_draw(OPS);
  op = ops[drawn];
  how = meanings[drawn];
  shape = &layouts[all_draw(layout_count)];
  begin();
  for (int i = 0; i < count; ++i) put_map(in_place ? &got : &sent, shape, i, item_of(rank, i));
  expected = got;
}

static void to_one(enum form form, int in_place) {
  int root = all_draw(size), count = all_draw(60);
  in_place = in_place && rank == root;
  prepare(count, in_place);
  for (int i = 0; i < count && rank == root; ++i)
    put_map(&expected, shape, i, together(how, 0, size, i));
  const void* from = in_place ? MPI_IN_PLACE : sent.origin;
  RUN(form, Reduce, Ireduce, Reduce_init, from, rank == root ? got.origin : NULL, count,
      shape->type, op, root, comm);
  compare("Reduce", form);
}

static void to_all(enum form form, int in_place) {
  int count = all_draw(60);
  prepare(count, in_place);
  for (int i = 0; i < count; ++i) put_map(&expected, shape, i, together(how, 0, size, i));
  const void* from = in_place ? MPI_IN_PLACE : sent.origin;
  RUN(form, Allreduce, Iallreduce, Allreduce_init, from, got.origin, count, shape->type, op, comm);
  compare("Allreduce", form);
}

static void prefixes(enum form form, int in_place) {
  int count = all_draw(60);
  prepare(count, in_place);
  for (int i = 0; i < count; ++i) put_map(&expected, shape, i, together(how, 0, rank + 1, i));
  const void* from = in_place ? MPI_IN_PLACE : sent.origin;
  RUN(form, Scan, Iscan, Scan_init, from, got.origin, count, shape->type, op, comm);
  compare("Scan", form);
  prepare(count, in_place);
  for (int i = 0; i < count && rank > 0; ++i)
    put_map(&expected, shape, i, together(how, 0, rank, i));
  RUN(form, Exscan, Iexscan, Exscan_init, from, got.origin, count, shape->type, op, comm);
  compare("Exscan", form);
}

/* With MPI_IN_PLACE, bytes outside this process's part of the result are undefined (MPI-4.1 §6.10):
 * compare only that part. */
static void scattered(enum form form, int in_place) {
  int counts[MAX_PROCESSES], first = 0, total = 0;
  MPI_Count large[MAX_PROCESSES];
  for (int r = 0; r < size; ++r) {
    large[r] = counts[r] = all_draw(60 / size + 1);
    if (r < rank) first += counts[r];
    total += counts[r];
  }
  prepare(total, in_place);
  const void* from = in_place ? MPI_IN_PLACE : sent.origin;
  RUN_V(form, Reduce_scatter, Ireduce_scatter, Reduce_scatter_init,
        (from, got.origin, counts, shape->type, op, comm),
        (from, got.origin, large, shape->type, op, comm));
  if (in_place) expected = got;
  for (int i = 0; i < counts[rank]; ++i)
    put_map(&expected, shape, i, together(how, 0, size, first + i));
  compare("Reduce_scatter", form);
  int each = counts[0];
  prepare(each * size, in_place);
  RUN(form, Reduce_scatter_block, Ireduce_scatter_block, Reduce_scatter_block_init, from,
      got.origin, each, shape->type, op, comm);
  if (in_place) expected = got;
  for (int i = 0; i < each; ++i)
    put_map(&expected, shape, i, together(how, 0, size, rank * each + i));
  compare("Reduce_scatter_block", form);
}

static void round_of(enum form form) {
  for (int in_place = 0; in_place < 2; ++in_place) {
    to_one(form, in_place);
    to_all(form, in_place);
    prefixes(form, in_place);
    scattered(form, in_place);
  }
}

static void locally(void) {
  for (int o = 0; o < OPS; ++o) {
    for (int large = 0; large < 2; ++large) {
      shape = &layouts[(o + large) % layout_count];
      begin();
      for (int i = 0; i < 30; ++i) {
        put_map(&sent, shape, i, item_of(1, i));
        put_map(&got, shape, i, item_of(2, i));
      }
      expected = got;
      for (int i = 0; i < 30; ++i) put_map(&expected, shape, i, together(meanings[o], 1, 3, i));
      if (large)
        MUST(MPI_Reduce_local_c(sent.origin, got.origin, 30, shape->type, ops[o]));
      else
        MUST(MPI_Reduce_local(sent.origin, got.origin, 30, shape->type, ops[o]));
      compare("Reduce_local", large ? BLOCKING_C : BLOCKING);
    }
  }
}

/* A freed operation exists until the calls that use it have ended (MPI-4.1 §2.5.1). */
static void freed_in_use(void) {
  MPI_Op mine;
  MPI_Request requests[2];
  MUST(MPI_Op_create(compose, 0, &mine));
  shape = &layouts[0];
  begin();
  for (int i = 0; i < 10; ++i) put_map(&sent, shape, i, item_of(rank, i));
  struct buffer* second = malloc(sizeof *second);
  *second = got;
  second->origin = second->cell + ORIGIN;
  MUST(MPI_Iallreduce(sent.origin, got.origin, 10, shape->type, mine, comm, &requests[0]));
  MUST(MPI_Allreduce_init(sent.origin, second->origin, 10, shape->type, mine, comm, MPI_INFO_NULL,
                          &requests[1]));
  MUST(MPI_Op_free(&mine));
  MUST(MPI_Op_create(add, 1, &mine)); /* may get the handle of the freed one */
  MUST(MPI_Start(&requests[1]));
  MUST(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  MUST(MPI_Request_free(&requests[1]));
  MUST(MPI_Op_free(&mine));
  expected = got;
  for (int i = 0; i < 10; ++i) put_map(&expected, shape, i, together(composed, 0, size, i));
  compare("Iallreduce with a freed operation", NONBLOCKING);
  got = *second;
  compare("Allreduce_init with a freed operation", PERSISTENT);
  free(second);
}

static void misuse(void) {
  MPI_Op none = MPI_OP_NULL, sum = MPI_SUM, stale;
  long x = 1, y = 2;
  int flag;
  MUST(MPI_Op_create(add, 1, &stale));
  MPI_Op copy = stale;
  MUST(MPI_Op_free(&copy));
  MUST_FAIL(MPI_ERR_OP, MPI_Allreduce(&x, &y, 1, MPI_LONG, none, comm));
  MUST_FAIL(MPI_ERR_OP, MPI_Allreduce(&x, &y, 1, MPI_LONG, stale, comm));
  MUST_FAIL(MPI_ERR_OP, MPI_Op_free(&stale));
  MUST_FAIL(MPI_ERR_OP, MPI_Op_free(&sum));
  MUST_FAIL(MPI_ERR_OP, MPI_Op_free(&none));
  MUST_FAIL(MPI_ERR_ARG, MPI_Op_create(NULL, 1, &none));
  MUST(MPI_Op_commutative(MPI_SUM, &flag));
  EXPECT(flag == 1, "MPI_SUM does not commute");
  MUST(MPI_Barrier(comm));
}

static void value_index(void) {
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  MUST(MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &pair));
  EXPECT(pair == MPI_DOUBLE_INT, "of double and int");
  MUST(MPI_Type_get_value_index(MPI_INT, MPI_INT, &pair));
  EXPECT(pair == MPI_2INT, "of int and int");
  MUST(MPI_Type_get_value_index(MPI_CHAR, MPI_DOUBLE, &pair));
  EXPECT(pair == MPI_DATATYPE_NULL, "of char and double");
  MUST_FAIL(MPI_ERR_TYPE, MPI_Type_get_value_index(MPI_DATATYPE_NULL, MPI_INT, &pair));
}

static void everything(int rounds) {
  comm = world;
  for_rounds(rounds, round_of);
  locally();
  freed_in_use();
  EXPECT(calls > 0 && strange_types == 0, "%d calls, %d with other datatypes", calls,
         strange_types);
}

/* Operations made in one phase are used in another one; those made before MPI_Init also on
 * MPI_COMM_WORLD. */
static int with_world(int rounds) {
  make_ops();
  open_world("test.reductions");
  make_layouts();
  everything(rounds);
  MUST(MPI_Init(NULL, NULL));
  MUST(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  everything(rounds);
  long own[2] = {2 * rank + 3, rank}, all[2] = {0};
  calls = 0;
  for (int o = 0; o < OPS; ++o) {
    struct map m = {3, 0}, next;
    for (int r = 1; r < size; ++r)
      next.a = (unsigned long)(2 * r + 3), next.b = (unsigned long)r, m = meanings[o](m, next);
    MUST(MPI_Allreduce(own, all, 1, layouts[0].type, ops[o], MPI_COMM_WORLD));
    EXPECT((unsigned long)all[0] == m.a && (unsigned long)all[1] == m.b,
           "operation %d on MPI_COMM_WORLD: %ld %ld", o, all[0], all[1]);
  }
  int all_calls = 0;
  MUST(MPI_Allreduce(&calls, &all_calls, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  EXPECT(size == 1 || all_calls > 0, "reductions on MPI_COMM_WORLD did not call the functions");
  strange_types = 0; /* native handles of the datatype are expected */
  free_ops();
  make_ops(); /* native operations */
  everything(rounds);
  MUST(MPI_Finalize());
  everything(rounds); /* operations made between MPI_Init and MPI_Finalize still work */
  free_layouts();
  return close_world();
}

int main(int argc, char** argv) {
  int rounds = argc > 1 ? atoi(argv[1]) : 10;
  if (argc > 2) return with_world(rounds);
  open_world("test.reductions");
  make_ops();
  make_layouts();
  everything(rounds);
  misuse();
  value_index();
  free_ops();
  free_layouts();
  return close_world();
}
