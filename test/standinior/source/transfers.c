/* The transfers of the stand-in for ior; see standin.h. */
#include "standin.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* shuffle deals in the same way on all ranks, by the seed. */
static void shuffle(long long *values, long long count, uint64_t seed)
{
	for (long long i = count - 1; i > 0; i--) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		long long other = (long long)((seed >> 33) % (uint64_t)(i + 1));
		long long kept = values[i];
		values[i] = values[other];
		values[other] = kept;
	}
}

/* work_of: a segment holds one block of each rank in a shared file, and else one. Random order is inside of a
 * segment: of its own block with a file per process, and else of a part of all blocks' transfers, which are
 * dealt to the ranks by lot. */
struct work work_of(const struct test *t, int writer)
{
	long long in_block = t->block / t->transfer;
	long long blocks = t->per_process ? 1 : ranks;
	struct work w = {.stride = t->block * blocks};
	if (t->random && !t->per_process) {
		long long all = in_block * blocks;
		long long *order = malloc((size_t)all * sizeof *order);
		uint64_t lot = (uint64_t)t->random_seed + 1;
		w.order = malloc((size_t)all * sizeof *order);
		for (long long i = 0; i < all; i++)
			order[i] = i * t->transfer;
		shuffle(order, all, lot);
		for (long long i = 0; i < all; i++) {
			lot = lot * 6364136223846793005u + 1442695040888963407u;
			if ((int)((lot >> 33) % (uint64_t)ranks) == writer)
				w.order[w.count++] = order[i];
		}
		free(order);
		return w;
	}
	w.count = in_block;
	w.order = malloc((size_t)in_block * sizeof *w.order);
	for (long long i = 0; i < in_block; i++)
		w.order[i] = (t->per_process ? 0 : writer * t->block) + i * t->transfer;
	if (t->random)
		shuffle(w.order, in_block, (uint64_t)t->random_seed + 1);
	return w;
}

struct course {
	struct storage *s;
	const struct test *t;
	const struct work *w;
	char *buffer;
	int writer, writes, check;
	enum pattern pattern;
	long long *errors;
};

static void one(struct course *c, long long number)
{
	const struct work *w = c->w;
	long long place = number % (c->t->segments * w->count);
	long long offset = place / w->count * w->stride + w->order[place % w->count];
	if (c->writes && c->pattern != TIMESTAMP)
		fill(c->buffer, c->t->transfer, c->pattern, c->writer, offset, c->t->signature);
	storage_move(c->s, c->t, c->writes, c->buffer, c->t->transfer, offset);
	if (c->check) /* IOR waits after none of the reads that it checks, so neither does this */
		*c->errors += differing(c->buffer, c->t->transfer, c->pattern, c->writer, offset, c->t->signature);
	else if (c->t->each_delay > 0)
		usleep((useconds_t)c->t->each_delay);
}

/* passed tells that so many seconds are over since start. Collective transfers must end on all ranks alike. */
static int passed(const struct test *t, long long seconds, double start)
{
	int is = now() - start > (double)seconds;
	if (t->collective && seconds > 0)
		MPI_Bcast(&is, 1, MPI_INT, 0, MPI_COMM_WORLD);
	return is;
}

static void wear_out(struct course *c, long long *done, double start)
{
	long long least = *done, most = *done;
	MPI_Allreduce(MPI_IN_PLACE, &least, 1, MPI_LONG_LONG, MPI_MIN, MPI_COMM_WORLD);
	MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_LONG_LONG, MPI_MAX, MPI_COMM_WORLD);
	double mean = (double)total(*done) / ranks, gibibyte = (double)c->t->transfer / (1 << 30), took = largest(now() - start);
	if (rank == 0)
		printf("stonewalling pairs accessed min: %lld max: %lld -- min data: %.1f GiB mean data: %.1f GiB time: %.1fs\n",
		       least, most, (double)least * gibibyte, mean * gibibyte, took);
	while (*done < most)
		one(c, (*done)++);
}

long long transfer_all(struct storage *s, const struct test *t, const struct work *w, int writer, int writes, int check, long long most, long long *errors)
{
	struct course c = {.s = s, .t = t, .w = w, .writer = writer, .writes = writes, .check = check, .pattern = pattern_of(t->pattern), .errors = errors};
	long long whole = t->segments * w->count, done = 0;
	double start = now();
	int stopped = 0;
	if (posix_memalign((void **)&c.buffer, 4096, (size_t)t->transfer) != 0)
		fail("a buffer of %lld bytes is too large", t->transfer);
	fill(c.buffer, t->transfer, c.pattern, writer, 0, t->signature);
	if (most >= 0 && most < whole)
		whole = most;
	do { /* with minTimeDuration the file is begun again */
		for (long long i = 0; i < whole && !stopped; i++, stopped = t->deadline > 0 && passed(t, t->deadline, start))
			one(&c, done++);
	} while (!stopped && whole > 0 && !passed(t, t->at_least, start));
	if (t->wear_out && t->deadline > 0)
		wear_out(&c, &done, start);
	if (writes && t->fsync)
		storage_sync(s);
	free(c.buffer);
	return done;
}
