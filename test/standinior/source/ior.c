/*
 * A stand-in for IOR; see standin.h. It is not IOR.
 *
 * One repetition is: (remove,) open, transfers and fsync, close, of all ranks after one barrier. Each of the
 * three is from the first rank's start to the last one's end; so is the whole, and the bandwidth is all
 * bytes over the whole.
 */
#include "standin.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* row is one write or read of one repetition. */
struct row {
	double bandwidth, rate, latency, open, move, close, total;
};

/* job is a test while it runs. */
struct job {
	struct test test;
	int on_node, nodes, shift;
	struct row *rows[2];
	int count[2];
	/* written is how many transfers this rank wrote last. */
	long long written, errors;
};

static void read_options(struct test *t, int argc, char **argv)
{
	*t = (struct test){.api = "POSIX", .file = "testFile", .pattern = "timestamp", .format = "default", .transfer = 262144, .block = 1048576,
			   .segments = 1, .repetitions = 1, .shift_nodes = 1, .random_seed = 0};
	const struct option options[] = {
		{"-a", TEXT, &t->api, 0}, {"-t", SIZE, &t->transfer, 0}, {"-b", SIZE, &t->block, 0}, {"-s", NUMBER, &t->segments, 0},
		{"-o", TEXT, &t->file, 0}, {"-w", FLAG, &t->write, 0}, {"-r", FLAG, &t->read, 0}, {"-W", FLAG, &t->check_write, 0},
		{"-R", FLAG, &t->check_read, 0}, {"-F", FLAG, &t->per_process, 0}, {"-c", FLAG, &t->collective, 0}, {"--collective", FLAG, &t->collective, 0},
		{"--posix.odirect", FLAG, &t->direct, 0}, {"-e", FLAG, &t->fsync, 0}, {"-Y", FLAG, &t->fsync_each, 0}, {"-z", FLAG, &t->random, 0},
		{"-C", FLAG, &t->reorder, 0}, {"-Z", FLAG, &t->reorder_random, 0}, {"-Q", NUMBER, &t->shift_nodes, 0}, {"-X", NUMBER, &t->seed, 0},
		{"-g", FLAG, &t->barriers, 0}, {"-i", NUMBER, &t->repetitions, 0}, {"-k", FLAG, &t->keep, 0}, {"-E", FLAG, &t->existing, 0},
		{"-l", TEXT, &t->pattern, 0}, {"--dataPacketType", TEXT, &t->pattern, 0}, {"-G", NUMBER, &t->signature, 0}, {"-D", NUMBER, &t->deadline, 0},
		{"-T", NUMBER, &t->limit_minutes, 0}, {"-d", NUMBER, &t->between, 0}, {"-v", FLAG, &t->verbose, 0}, {"--dryRun", FLAG, &t->dry_run, 0},
		{"--random-offset-seed", NUMBER, &t->random_seed, 0}, {"-h", FLAG, &t->help, 0}, {"--help", FLAG, &t->help, 0},
		{"summaryFormat", TEXT, &t->format, 1}, {"stoneWallingWearOut", FLAG, &t->wear_out, 1}, {"minTimeDuration", NUMBER, &t->at_least, 1},
		{"interIODelay", NUMBER, &t->each_delay, 1},
		{"-x", FLAG, NULL, 0}, {"-j", NUMBER, NULL, 0}, {"-A", NUMBER, NULL, 0}, {"--randomPrefill", SIZE, NULL, 0}, {"--posix.rangelocks", FLAG, NULL, 0},
		{"--mpiio.useFileView", FLAG, NULL, 0}, {"--mpiio.preallocate", FLAG, NULL, 0}, {"--mpiio.useStridedDatatype", FLAG, NULL, 0}, {0}};
	const char *wrong = parse(argc, argv, options);
	if (wrong == NULL && strcmp(t->api, "POSIX") != 0 && strcmp(t->api, "MPIIO") != 0 && strcmp(t->api, "DUMMY") != 0)
		wrong = t->api;
	if (wrong == NULL && strcmp(t->format, "CSV") != 0 && strcmp(t->format, "default") != 0)
		wrong = t->format;
	if (wrong != NULL)
		refuse("ior", wrong, options);
	if (t->help) {
		if (rank == 0)
			usage("ior", options);
		MPI_Finalize();
		exit(0);
	}
	errno = 0;
	if (t->transfer <= 0 || t->transfer % 8 != 0 || t->transfer > 1LL << 30)
		fail("transfer size must be a multiple of 8, up to 1g");
	if (t->block <= 0 || t->block % t->transfer != 0)
		fail("block size must be a multiple of transfer size");
	if (t->random && !t->per_process && (t->reorder || t->reorder_random))
		fail("random offsets and reordered tasks are only sensible with a file per process");
	if (!t->write && !t->read && !t->check_write && !t->check_read)
		t->write = t->read = 1;
}

/* look_around tells how the ranks lie: with blocks of ranks on each node, -C reads what another node wrote. */
static void look_around(struct job *j)
{
	char own[256] = "", first[256];
	int same;
	j->nodes = nodes(&j->on_node);
	gethostname(own, sizeof own - 1);
	memcpy(first, own, sizeof first);
	MPI_Bcast(first, sizeof first, MPI_CHAR, 0, MPI_COMM_WORLD);
	same = strcmp(own, first) == 0;
	if (ranks > 1)
		MPI_Bcast(&same, 1, MPI_INT, 1, MPI_COMM_WORLD);
	j->shift = same ? j->on_node : 1;
}

static void print_head(const struct job *j, int argc, char **argv)
{
	const struct test *t = &j->test;
	struct utsname machine;
	if (strcmp(t->format, "CSV") == 0) {
		if (t->verbose > 1)
			printf("Participating tasks : %d\n", ranks);
		printf("access,bw(MiB/s),IOPS,Latency,block(KiB),xfer(KiB),open(s),wr/rd(s),close(s),total(s),numTasks,iter\n");
		fflush(stdout);
		return;
	}
	uname(&machine);
	printf("IOR-" STANDIN_VERSION ": MPI Coordinated Test of Parallel I/O (a stand-in of storagebench's tests, not IOR)\n");
	printf("Began               : %s\nCommand line        :", clock_text("%a %b %e %H:%M:%S %Y"));
	for (int i = 0; i < argc; i++)
		printf(" %s", argv[i]);
	printf("\nMachine             : %s %s\nTestID              : 0\nStartTime           : %s\n", machine.sysname, machine.nodename, clock_text("%a %b %e %H:%M:%S %Y"));
	print_path(t->file);
	printf("\nOptions: \napi                 : %s\napiVersion          : \ntest filename       : %s\naccess              : %s\ntype                : %s\n"
	       "segments            : %lld\nnodes               : %d\ntasks               : %d\nclients per node    : %d\nrepetitions         : %lld\n"
	       "xfersize            : %lld bytes\nblocksize           : %lld bytes\n",
	       t->api, t->file, t->per_process ? "file-per-process" : "single-shared-file", t->collective ? "collective" : "independent", t->segments, j->nodes,
	       ranks, j->on_node, t->repetitions, t->transfer, t->block);
	if (t->dry_run)
		printf("dryRun              : 1\n");
	printf("\nResults: \n\naccess    bw(MiB/s)  IOPS       Latency(s)  block(KiB) xfer(KiB)  open(s)    wr/rd(s)   close(s)   total(s)   iter\n"
	       "------    ---------  ----       ----------  ---------- ---------  --------   --------   --------   --------   ----\n");
	fflush(stdout);
}

static void print_row(const struct job *j, int writes, const struct row *r, int repetition)
{
	const struct test *t = &j->test;
	if (strcmp(t->format, "CSV") == 0)
		printf("%s,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%d,%d\n", writes ? "write" : "read", r->bandwidth, r->rate, r->latency,
		       (double)t->block / 1024, (double)t->transfer / 1024, r->open, r->move, r->close, r->total, ranks, repetition);
	else
		printf("%-9s %-10.2f %-10.2f %-11.6f %-10.2f %-10.2f %-10.6f %-10.6f %-10.6f %-10.6f %-4d\n", writes ? "write" : "read", r->bandwidth, r->rate,
		       r->latency, (double)t->block / 1024, (double)t->transfer / 1024, r->open, r->move, r->close, r->total, repetition);
	fflush(stdout);
}

/* report makes the row of a repetition of all ranks' times: start and end of open, transfers and close. */
static void report(struct job *j, int writes, int repetition, const double at[6], long long transfers)
{
	const struct test *t = &j->test;
	double first[6], last[6];
	for (int i = 0; i < 6; i++)
		first[i] = smallest(at[i]), last[i] = largest(at[i]);
	long long moved = total(transfers * t->transfer), expected = t->block * t->segments * ranks, size = storage_size(t);
	struct row r = {.open = last[1] - first[0], .move = last[3] - first[2], .close = last[5] - first[4], .total = last[5] - first[0]};
	r.bandwidth = (double)moved / r.total / (1 << 20);
	r.rate = (double)moved / (double)t->transfer / r.move;
	r.latency = smallest((at[3] - at[2]) / (double)(t->block / t->transfer));
	j->rows[writes][j->count[writes]++] = r;
	if (rank != 0)
		return;
	if (moved != expected || size != expected)
		printf("WARNING: Expected aggregate file size       = %lld\nWARNING: Stat() of aggregate file size      = %lld\n"
		       "WARNING: Using actual aggregate bytes moved = %lld\n", expected, size, moved);
	if (moved != expected && t->deadline > 0)
		printf("WARNING: Maybe caused by deadlineForStonewalling\n");
	print_row(j, writes, &r, repetition);
}

static void report_errors(struct job *j, const char *what, long long errors)
{
	errors = total(errors);
	j->errors += errors;
	if (errors > 0 && rank == 0)
		printf("WARNING: Incorrect data on %s (%lld errors found).\nUsed Time Stamp %lld (0x%llx) for Data Signature\n", what, errors, j->test.signature, j->test.signature);
}

/* pass opens, moves and closes, as 'writer' did or does; at, when it is not NULL, takes the times. */
static long long pass(struct job *j, int writer, int writes, int check, long long most, double at[6])
{
	const struct test *t = &j->test;
	struct storage s;
	struct work w = work_of(t, writer);
	long long errors = 0, done;
	double times[6];
	if (at == NULL)
		at = times;
	MPI_Barrier(MPI_COMM_WORLD);
	at[0] = now();
	storage_open(&s, t, writer, writes);
	at[1] = now();
	if (t->barriers)
		MPI_Barrier(MPI_COMM_WORLD);
	at[2] = now();
	done = transfer_all(&s, t, &w, writer, writes, check, most, &errors);
	at[3] = now();
	if (t->barriers)
		MPI_Barrier(MPI_COMM_WORLD);
	at[4] = now();
	storage_close(&s);
	at[5] = now();
	MPI_Barrier(MPI_COMM_WORLD);
	free(w.order);
	if (check)
		report_errors(j, "read", errors);
	return done;
}

static void remove_files(const struct test *t)
{
	char name[4096];
	MPI_Barrier(MPI_COMM_WORLD);
	storage_name(name, sizeof name, t, rank);
	if (strcmp(t->api, "DUMMY") != 0 && (t->per_process || rank == 0) && unlink(name) != 0 && errno != ENOENT)
		fail("unlink(\"%s\") failed", name);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void write_phase(struct job *j, int repetition)
{
	struct test *t = &j->test;
	char name[4096];
	double at[6];
	storage_name(name, sizeof name, t, rank);
	if (repetition == 0 && !t->existing && (t->per_process || rank == 0) && access(name, F_OK) == 0)
		printf("WARNING: The file \"%s\" exists already and will be overwritten\n", name), fflush(stdout);
	if (!t->existing)
		remove_files(t);
	if (rank == 0 && t->verbose > 0)
		printf("Commencing write performance test: %s\n", clock_text("%a %b %e %H:%M:%S %Y"));
	j->written = pass(j, rank, 1, 0, -1, at);
	report(j, 1, repetition, at, j->written);
	if (t->check_write) {
		int writer = (rank + (t->reorder ? 2 * j->shift : 0)) % ranks;
		struct test whole = *t;
		t->deadline = t->at_least = 0;
		pass(j, writer, 0, 1, j->written, NULL);
		*t = whole;
	}
}

static void read_phase(struct job *j, int repetition)
{
	const struct test *t = &j->test;
	double at[6];
	long long writer = rank;
	if (t->reorder)
		writer += t->shift_nodes * j->shift;
	if (t->reorder_random && ranks > 1) { /* a writer by lot, of another node where there is one */
		long long nearest = t->shift_nodes < j->nodes ? t->shift_nodes * j->on_node : (j->nodes - 1) * (long long)j->on_node;
		srand((unsigned)(t->seed + repetition * ranks + rank));
		writer += nearest + rand() % (ranks - nearest);
	}
	writer %= ranks;
	if (rank == 0 && t->verbose > 0)
		printf("Commencing read performance test: %s\n", clock_text("%a %b %e %H:%M:%S %Y"));
	/* As in IOR, as many transfers as this rank wrote, though of what another one wrote. */
	long long done = pass(j, (int)writer, 0, t->check_read, t->write && t->deadline > 0 ? j->written : -1, at);
	report(j, 0, repetition, at, done);
}

static void print_summary(const struct job *j)
{
	const struct test *t = &j->test;
	printf("\nSummary of all tests:\nOperation   Max(MiB)   Min(MiB)  Mean(MiB)     StdDev   Max(OPs)   Min(OPs)  Mean(OPs)     StdDev    Mean(s) Stonewall(s) Stonewall(MiB) "
	       "Test# #Tasks tPN reps fPP reord reordoff reordrand seed segcnt   blksiz    xsize aggs(MiB)   API RefNum\n");
	for (int writes = 1; writes >= 0; writes--) {
		double most = 0, least = HUGE_VAL, mean = 0, spread = 0, time = 0, each = (double)(1 << 20) / (double)t->transfer;
		int count = j->count[writes];
		for (int i = 0; i < count; i++) {
			double bandwidth = j->rows[writes][i].bandwidth;
			most = fmax(most, bandwidth), least = fmin(least, bandwidth), mean += bandwidth / count, time += j->rows[writes][i].total / count;
		}
		for (int i = 0; i < count; i++)
			spread += pow(j->rows[writes][i].bandwidth - mean, 2) / count;
		spread = sqrt(spread);
		if (count > 0)
			printf("%-9s %10.2f %10.2f %10.2f %10.2f %10.2f %10.2f %10.2f %10.2f %10.5f         NA            NA     0 %6d %3d %4d %3d %5d %8lld %9d %4lld %6lld %8lld %8lld %9.1f %s      0\n",
			       writes ? "write" : "read", most, least, mean, spread, most * each, least * each, mean * each, spread * each, time, ranks, j->on_node, count,
			       t->per_process, t->reorder, t->shift_nodes, t->reorder_random, t->seed, t->segments, t->block, t->transfer,
			       (double)(t->block * t->segments * ranks) / (1 << 20), t->api);
	}
	printf("Finished            : %s\n", clock_text("%a %b %e %H:%M:%S %Y"));
}

static void run(struct job *j)
{
	struct test *t = &j->test;
	double began = now();
	for (int repetition = 0; repetition < t->repetitions; repetition++) {
		int late = t->limit_minutes > 0 && now() - began > 60.0 * (double)t->limit_minutes;
		MPI_Bcast(&late, 1, MPI_INT, 0, MPI_COMM_WORLD);
		if (late)
			break;
		if (repetition == 0 && t->signature == 0)
			t->signature = time(NULL);
		MPI_Bcast(&t->signature, 1, MPI_LONG_LONG, 0, MPI_COMM_WORLD);
		if (repetition == 0 && rank == 0 && t->verbose > 1)
			printf("Using Time Stamp %lld (0x%llx) for Data Signature\n", t->signature, t->signature);
		if (repetition > 0 && t->between > 0)
			sleep((unsigned)t->between);
		if (t->write)
			write_phase(j, repetition);
		if (t->read || t->check_read)
			read_phase(j, repetition);
		if (!t->keep)
			remove_files(t);
	}
}

int main(int argc, char **argv)
{
	struct job j = {0};
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	read_options(&j.test, argc, argv);
	look_around(&j);
	for (int i = 0; i < 2; i++)
		j.rows[i] = calloc((size_t)j.test.repetitions + 1, sizeof *j.rows[i]);
	if (rank == 0)
		print_head(&j, argc, argv);
	if (!j.test.dry_run)
		run(&j);
	if (rank == 0 && strcmp(j.test.format, "CSV") != 0 && !j.test.dry_run)
		print_summary(&j);
	MPI_Finalize();
	return (int)(j.errors & 255);
}
