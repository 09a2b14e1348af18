/* SPDX-License-Identifier: BSD-3-Clause */
/* A library that needs messages of its own and asks nothing of its caller: it takes no communicator, and does not care whether
 * the program uses MPI_Init. */
#ifndef RING_LIBRARY_H
#define RING_LIBRARY_H

typedef struct ring ring;

/* Collective over all processes of the job. Null where it fails, with one line on stderr. */
ring *ring_open(void);
int ring_rank(const ring *r);
int ring_size(const ring *r);

/* Starts sending `count` numbers to the next process of the ring and receiving as many from the one before.
 * Both arrays stay the library's until ring_finish returns. */
void ring_start(ring *r, const double *to_next, double *from_before, int count);
/* 1 when both are done. */
int ring_poll(ring *r);
void ring_finish(ring *r);

/* Collective. */
void ring_close(ring *r);

#endif
