/* What both stand-ins need; see standin.h. */
#include "standin.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <time.h>

int rank, ranks;

/* now is the wall clock, since ranks on other machines read it too. */
double now(void)
{
	struct timespec at;
	clock_gettime(CLOCK_REALTIME, &at);
	return (double)at.tv_sec + (double)at.tv_nsec / 1e9;
}

void fail(const char *format, ...)
{
	char text[5000];
	int cause = errno;
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (cause != 0)
		printf("ERROR: %s. Error: %s, (stand-in)\n", text, strerror(cause));
	else
		printf("ERROR: %s, (stand-in)\n", text);
	fflush(stdout);
	MPI_Abort(MPI_COMM_WORLD, -1);
	exit(255);
}

const char *clock_text(const char *format)
{
	static char text[64];
	time_t at = time(NULL);
	struct tm parts;
	strftime(text, sizeof text, format, localtime_r(&at, &parts));
	return text;
}

void print_path(const char *path)
{
	struct statvfs fs;
	char folder[4096];
	const char *slash = strrchr(path, '/');
	snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
	printf("Path                : %s\n", path);
	if (statvfs(folder, &fs) == 0 && fs.f_blocks > 0 && fs.f_files > 0)
		printf("FS                  : %.1f GiB   Used FS: %.1f%%   Inodes: %.1f Mi   Used Inodes: %.1f%%\n",
		       (double)fs.f_blocks * (double)fs.f_frsize / (1 << 30), 100.0 * (double)(fs.f_blocks - fs.f_bfree) / (double)fs.f_blocks,
		       (double)fs.f_files / (1 << 20), 100.0 * (double)(fs.f_files - fs.f_ffree) / (double)fs.f_files);
}

double largest(double value)
{
	MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return value;
}

double smallest(double value)
{
	MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
	return value;
}

long long total(long long value)
{
	MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
	return value;
}

int nodes(int *on_first)
{
	int local;
	MPI_Comm node;
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	MPI_Comm_size(node, on_first);
	MPI_Comm_rank(node, &local);
	MPI_Comm_free(&node);
	MPI_Bcast(on_first, 1, MPI_INT, 0, MPI_COMM_WORLD);
	return (int)total(local == 0);
}
