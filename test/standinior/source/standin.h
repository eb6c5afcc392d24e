/*
 * Stand-ins for IOR and mdtest, for storagebench's own tests alone.
 *
 * They are NOT IOR and NOT mdtest, and share no line with them: they take the options that storagebench
 * writes, do that I/O with all MPI ranks, take the times by IOR's definitions and print its lines. Where the
 * real programs are at hand, use those.
 */
#ifndef STANDIN_H
#define STANDIN_H

#include <mpi.h>
#include <stdint.h>

#define STANDIN_VERSION "4.0.0+standin"
#define STANDIN_NOTE "This is a stand-in of storagebench's tests. It is not the real program, and its figures are no benchmark."

extern int rank, ranks;

/* options.c: options as both programs take them: "-i 3", "-i=3", "--name=3", "-O name=3,other=4". */
enum kind { FLAG, NUMBER, SIZE, TEXT };

struct option {
	const char *name;
	enum kind kind;
	/* value is an int that a FLAG counts up, a long long of NUMBER and SIZE, a const char * of TEXT; NULL: the
	 * option is taken and has no effect. */
	void *value;
	/* directive is given behind -O. */
	int directive;
};

/* parse gives the first argument that is none of the options, or NULL. */
const char *parse(int argc, char **argv, const struct option *options);
/* refuse tells of an option as IOR does, ends MPI and the program with status 1. */
void refuse(const char *program, const char *argument, const struct option *options);
/* usage prints the options. */
void usage(const char *program, const struct option *options);

/* common.c */
double now(void);
/* fail prints "ERROR: ..." with errno's text and aborts all ranks, which ends mpirun with 255. */
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
/* print_path prints the lines "Path" and "FS" of a header. */
void print_path(const char *path);
const char *clock_text(const char *format);
double largest(double value);
double smallest(double value);
long long total(long long value);
/* nodes counts the nodes, and the ranks on that of rank 0. */
int nodes(int *on_first);

/* test is what one run of ior is asked for. */
struct test {
	const char *api, *file, *pattern, *format;
	long long transfer, block, segments, repetitions, deadline, at_least, limit_minutes, signature, between, each_delay;
	long long shift_nodes, seed, random_seed;
	int write, read, check_write, check_read, per_process, collective, direct, fsync, fsync_each, random, reorder, reorder_random;
	int keep, existing, wear_out, barriers, verbose, dry_run, help;
};

/* data.c: what is written. */
enum pattern { TIMESTAMP, OFFSET, SAME_WORD, RANDOM };
enum pattern pattern_of(const char *text);
void fill(char *buffer, long long bytes, enum pattern pattern, int writer, long long offset, long long signature);
/* differing counts the words of buffer that fill would have written otherwise. */
long long differing(const char *buffer, long long bytes, enum pattern pattern, int writer, long long offset, long long signature);

/* storage.c: one open file, by POSIX or MPI; or none, by DUMMY, which does nothing. */
struct storage {
	int descriptor;
	MPI_File file;
	int mpi, dummy;
	char name[4096];
};
void storage_open(struct storage *s, const struct test *t, int writer, int writes);
void storage_move(struct storage *s, const struct test *t, int writes, char *buffer, long long bytes, long long offset);
void storage_sync(struct storage *s);
void storage_close(struct storage *s);
void storage_name(char *name, size_t size, const struct test *t, int writer);
/* storage_size is the size of all files together, on every rank. */
long long storage_size(const struct test *t);

/* transfers.c: the order of a rank's transfers, and their doing. */
struct work {
	/* order holds the offsets of a segment's transfers, from its beginning. */
	long long *order;
	long long count, stride;
};
struct work work_of(const struct test *t, int writer);
/* transfer_all gives the number of transfers that were done; at most 'most' of them, unless that is negative.
 * Words that are not what was written are added to errors. */
long long transfer_all(struct storage *s, const struct test *t, const struct work *w, int writer, int writes, int check, long long most, long long *errors);

#endif
