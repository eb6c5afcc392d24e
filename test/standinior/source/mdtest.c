/*
 * A stand-in for mdtest; see standin.h. It is not mdtest.
 *
 * Each phase is all ranks' operations between two barriers; its rate is all operations over the time from the
 * first rank's start to the last one's end. The tree is made and removed by one rank, or with -u by each its own.
 */
#include "standin.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum phase { DIRECTORY_CREATION, DIRECTORY_STAT, DIRECTORY_RENAME, DIRECTORY_REMOVAL, FILE_CREATION, FILE_STAT, FILE_READ, FILE_REMOVAL,
	     TREE_CREATION, TREE_REMOVAL, PHASES };
static const char *const names[PHASES] = {"Directory creation", "Directory stat", "Directory rename", "Directory removal", "File creation", "File stat",
					  "File read", "File removal", "Tree creation", "Tree removal"};

static struct {
	const char *folder, *pattern, *api;
	long long items, depth, branching, iterations, write_bytes, read_bytes, stride, signature, seed;
	int files, directories, unique, leaves, sync, verify, help, dummy, create_only;
	/* places are the directories of a tree; from first_leaf on they have none below. */
	long long places, first_leaf, in_place;
	char *buffer;
	double rates[PHASES][1000];
	int iteration;
} m = {.folder = "./out", .pattern = "timestamp", .api = "POSIX", .branching = 1, .iterations = 1};

static void read_options(int argc, char **argv)
{
	const struct option options[] = {
		{"-n", NUMBER, &m.items, 0}, {"-d", TEXT, &m.folder, 0}, {"-z", NUMBER, &m.depth, 0}, {"-b", NUMBER, &m.branching, 0},
		{"-i", NUMBER, &m.iterations, 0}, {"-F", FLAG, &m.files, 0}, {"-D", FLAG, &m.directories, 0}, {"-u", FLAG, &m.unique, 0},
		{"-w", NUMBER, &m.write_bytes, 0}, {"-e", NUMBER, &m.read_bytes, 0}, {"-L", FLAG, &m.leaves, 0}, {"-y", FLAG, &m.sync, 0},
		{"-N", NUMBER, &m.stride, 0}, {"-X", FLAG, &m.verify, 0}, {"--verify-read", FLAG, &m.verify, 0}, {"-G", NUMBER, &m.signature, 0},
		{"--dataPacketType", TEXT, &m.pattern, 0}, {"-h", FLAG, &m.help, 0}, {"--help", FLAG, &m.help, 0},
		{"-a", TEXT, &m.api, 0}, {"-C", FLAG, &m.create_only, 0},
		{"-v", FLAG, NULL, 0}, {"-R", FLAG, NULL, 0}, {"-t", FLAG, NULL, 0}, {"--random-seed", NUMBER, NULL, 0}, {0}};
	const char *wrong = parse(argc, argv, options);
	m.dummy = strcmp(m.api, "DUMMY") == 0; /* does nothing, so that the version can be asked for */
	if (wrong == NULL && ((!m.dummy && strcmp(m.api, "POSIX") != 0) || m.create_only != m.dummy))
		wrong = m.dummy ? "-a" : "-C";
	if (wrong == NULL && (m.iterations > 1000 || m.branching < 1 || m.items < 1 || (m.files && m.directories)))
		wrong = "the combination";
	if (wrong != NULL)
		refuse("mdtest", wrong, options);
	if (m.help) {
		if (rank == 0)
			usage("mdtest", options);
		MPI_Finalize();
		exit(0);
	}
	if (!m.files && !m.directories)
		m.files = m.directories = 1;
	long long level = 1;
	m.places = 1;
	for (long long i = 0; i < m.depth; i++) {
		m.first_leaf = m.places;
		m.places += level *= m.branching;
	}
	m.first_leaf = m.leaves ? m.first_leaf : 0;
	m.in_place = m.items / (m.places - m.first_leaf);
	m.items = m.in_place * (m.places - m.first_leaf);
	m.buffer = malloc((size_t)(m.write_bytes > m.read_bytes ? m.write_bytes : m.read_bytes) + 8);
}

/* place_name writes the path of a directory of the tree that 'owner' works in: its parents' first. */
static void place_name(char *name, size_t size, long long place, int owner)
{
	size_t length;
	if (place > 0)
		place_name(name, size, (place - 1) / m.branching, owner);
	else
		snprintf(name, size, "%s/test-dir.%d-0", m.folder, m.iteration);
	length = strlen(name);
	if (m.unique)
		snprintf(name + length, size - length, "/mdtest_tree.%d.%lld", owner, place);
	else
		snprintf(name + length, size - length, "/mdtest_tree.%lld", place);
}

static void item_name(char *name, size_t size, const char *kind, long long item, int owner)
{
	size_t length;
	place_name(name, size, item / m.in_place, owner);
	length = strlen(name);
	snprintf(name + length, size - length, "/%s.mdtest.%d.%lld", kind, owner, item);
}

/* warn goes on, as mdtest does: it counts what failed as done. */
static void warn(int failed, const char *what, const char *name)
{
	if (failed)
		printf("WARNING: unable to %s %s (%s)\n", what, name, strerror(errno)), fflush(stdout);
}

static void make_file(const char *name)
{
	int file = open(name, O_CREAT | O_RDWR, 0664);
	warn(file < 0, "create file", name);
	if (file < 0)
		return;
	fill(m.buffer, (m.write_bytes + 7) / 8 * 8, pattern_of(m.pattern), rank, 0, m.signature);
	warn(m.write_bytes > 0 && pwrite(file, m.buffer, (size_t)m.write_bytes, 0) != m.write_bytes, "write file", name);
	warn(m.sync && fsync(file) != 0, "sync file", name);
	warn(close(file) != 0, "close file", name);
}

static void read_file(const char *name, int owner)
{
	int file = open(name, O_RDWR);
	warn(file < 0, "open file", name);
	if (file < 0)
		return;
	warn(m.read_bytes > 0 && pread(file, m.buffer, (size_t)m.read_bytes, 0) != m.read_bytes, "read file", name);
	warn(m.verify && differing(m.buffer, m.read_bytes, pattern_of(m.pattern), owner, 0, m.signature) > 0, "verify file", name);
	warn(close(file) != 0, "close file", name);
}

static void do_item(enum phase phase, long long item)
{
	char name[4096], other[4096];
	struct stat about;
	/* -N looks at what a neighbour made, so that the own cache does not answer. */
	int near = phase == DIRECTORY_STAT || phase == FILE_STAT || phase == FILE_READ ? (int)((rank + m.stride) % ranks) : rank;
	item_name(name, sizeof name, phase < FILE_CREATION ? "dir" : "file", item, near);
	switch (phase) {
	case DIRECTORY_CREATION: warn(mkdir(name, 0775) != 0, "create directory", name); break;
	case DIRECTORY_STAT: warn(stat(name, &about) != 0, "stat directory", name); break;
	case DIRECTORY_RENAME:
		snprintf(other, sizeof other, "%.*s-XX", (int)(sizeof other - 8), name);
		warn(rename(name, other) != 0 || rename(other, name) != 0, "rename directory", name);
		break;
	case DIRECTORY_REMOVAL: warn(rmdir(name) != 0, "remove directory", name); break;
	case FILE_CREATION: make_file(name); break;
	case FILE_STAT: warn(stat(name, &about) != 0, "stat file", name); break;
	case FILE_READ: read_file(name, near); break;
	case FILE_REMOVAL: warn(unlink(name) != 0, "remove file", name); break;
	default: break;
	}
}

/* tree makes or removes all directories of the own tree. */
static void tree(enum phase phase)
{
	char name[4096];
	if (rank != 0 && !m.unique)
		return;
	for (long long i = 0; i < m.places; i++) {
		place_name(name, sizeof name, phase == TREE_CREATION ? i : m.places - 1 - i, rank);
		if (phase == TREE_CREATION)
			warn(mkdir(name, 0775) != 0, "create tree directory", name);
		else
			warn(rmdir(name) != 0, "remove tree directory", name);
	}
}

static void run(enum phase phase)
{
	double first, last;
	int is_tree = phase == TREE_CREATION || phase == TREE_REMOVAL;
	MPI_Barrier(MPI_COMM_WORLD);
	first = now();
	if (is_tree)
		tree(phase);
	for (long long item = m.first_leaf * m.in_place; !is_tree && item < m.first_leaf * m.in_place + m.items; item++)
		do_item(phase, item);
	last = largest(now());
	first = smallest(first);
	m.rates[phase][m.iteration] = (double)(is_tree ? m.places * (m.unique ? ranks : 1) : m.items * ranks) / (last - first);
}

static void iterate(void)
{
	char name[4096];
	snprintf(name, sizeof name, "%s/test-dir.%d-0", m.folder, m.iteration);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		warn(mkdir(name, 0775) != 0 && errno != EEXIST, "create test directory", name);
	run(TREE_CREATION);
	for (enum phase phase = m.directories ? DIRECTORY_CREATION : FILE_CREATION; phase <= (m.files ? FILE_REMOVAL : DIRECTORY_REMOVAL); phase++)
		run(phase);
	run(TREE_REMOVAL);
	if (rank == 0)
		warn(rmdir(name) != 0, "remove test directory", name);
}

static void print_head(int argc, char **argv)
{
	int on_first, count = nodes(&on_first);
	if (rank != 0)
		return;
	printf("-- started at %s --\n\nmdtest-" STANDIN_VERSION " was launched with %d total task(s) on %d node(s)\nCommand line used: %s",
	       clock_text("%m/%d/%Y %H:%M:%S"), ranks, count, argv[0]);
	for (int i = 1; i < argc; i++)
		printf(" '%s'", argv[i]);
	printf("\n%s\n", STANDIN_NOTE);
	if (m.files && m.read_bytes == 0)
		printf("WARNING: Read bytes is 0, thus, a read test will actually just open/close\n");
	print_path(m.folder);
	printf("%d tasks, %lld %s\n", ranks, m.items * ranks, !m.directories ? "files" : !m.files ? "directories" : "files/directories");
	fflush(stdout);
}

static void print_summary(void)
{
	printf("\nSUMMARY rate: (of %lld iterations)\n   Operation                     Max            Min           Mean        Std Dev\n"
	       "   ---------                     ---            ---           ----        -------\n", m.iterations);
	for (int phase = m.directories ? 0 : FILE_CREATION; phase < PHASES; phase++) {
		double most = 0, least = HUGE_VAL, mean = 0, spread = 0;
		if (!m.files && phase >= FILE_CREATION && phase <= FILE_REMOVAL)
			continue;
		for (int i = 0; i < m.iterations; i++) {
			double rate = m.rates[phase][i];
			most = fmax(most, rate), least = fmin(least, rate), mean += rate / (double)m.iterations;
		}
		for (int i = 0; i < m.iterations && m.iterations > 1; i++)
			spread += pow(m.rates[phase][i] - mean, 2) / (double)(m.iterations - 1);
		printf("   %-18s   %14.3f %14.3f %14.3f %14.3f\n", names[phase], most, least, mean, sqrt(spread));
	}
	printf("-- finished at %s --\n\n", clock_text("%m/%d/%Y %H:%M:%S"));
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	read_options(argc, argv);
	int made = 0;
	if (rank == 0 && !m.dummy) {
		made = mkdir(m.folder, 0775) == 0;
		if (!made && errno != EEXIST)
			printf("WARNING: Unable to create test directory path %s\n", m.folder);
	}
	print_head(argc, argv);
	for (m.iteration = 0; m.iteration < m.iterations && !m.dummy; m.iteration++)
		iterate();
	if (made && rmdir(m.folder) != 0)
		fail("rmdir(\"%s\") failed", m.folder);
	if (rank == 0 && !m.dummy)
		print_summary();
	MPI_Finalize();
	return 0;
}
