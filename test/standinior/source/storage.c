/* Files of the stand-in for ior, by POSIX or MPI; see standin.h. */
#define _GNU_SOURCE /* O_DIRECT */
#include "standin.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void storage_name(char *name, size_t size, const struct test *t, int writer)
{
	if (t->per_process)
		snprintf(name, size, "%s.%08d", t->file, writer);
	else
		snprintf(name, size, "%s", t->file);
}

static void check_mpi(int status, const char *what, const char *name)
{
	char text[MPI_MAX_ERROR_STRING];
	int length;
	if (status == MPI_SUCCESS)
		return;
	MPI_Error_string(status, text, &length);
	errno = 0;
	fail("%s(\"%s\") failed, MPI %s", what, name, text);
}

void storage_open(struct storage *s, const struct test *t, int writer, int writes)
{
	storage_name(s->name, sizeof s->name, t, writer);
	s->mpi = strcmp(t->api, "MPIIO") == 0;
	if ((s->dummy = strcmp(t->api, "DUMMY") == 0))
		return;
	if (s->mpi) {
		int mode = writes ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY;
		check_mpi(MPI_File_open(t->per_process ? MPI_COMM_SELF : MPI_COMM_WORLD, s->name, mode, MPI_INFO_NULL, &s->file), "MPI_File_open", s->name);
		return;
	}
	int flags = (writes ? O_CREAT | O_RDWR : O_RDONLY) | (t->direct ? O_DIRECT : 0);
	s->descriptor = open(s->name, flags, 0664);
	if (s->descriptor < 0)
		fail("open64(\"%s\", %d, %#o) failed", s->name, flags, writes ? 0664 : 0);
}

static void move_mpi(struct storage *s, const struct test *t, int writes, char *buffer, long long bytes, long long offset)
{
	MPI_Status status;
	int count, result;
	if (writes)
		result = t->collective ? MPI_File_write_at_all(s->file, offset, buffer, (int)bytes, MPI_BYTE, &status) :
					 MPI_File_write_at(s->file, offset, buffer, (int)bytes, MPI_BYTE, &status);
	else
		result = t->collective ? MPI_File_read_at_all(s->file, offset, buffer, (int)bytes, MPI_BYTE, &status) :
					 MPI_File_read_at(s->file, offset, buffer, (int)bytes, MPI_BYTE, &status);
	check_mpi(result, writes ? "MPI_File_write_at" : "MPI_File_read_at", s->name);
	MPI_Get_count(&status, MPI_BYTE, &count);
	errno = 0;
	if (count != bytes)
		fail("%s of \"%s\" moved %d of %lld bytes at %lld", writes ? "write" : "read", s->name, count, bytes, offset);
}

/* transfer_failed ends as IOR 4 does: a warning tells of the call; then a write aborts, and a read is an error. */
static void transfer_failed(const struct storage *s, int writes, const void *buffer, long long bytes, ssize_t moved)
{
	const char *why = moved < 0 ? strerror(errno) : "";
	printf("WARNING: %s(%d, %p, %lld) %s%s\n", writes ? "write" : "read", s->descriptor, buffer, bytes,
	       moved < 0 ? "failed " : "returned EOF prematurely", why);
	fflush(stdout);
	if (writes)
		abort();
	errno = 0;
	fail("cannot read from file");
}

void storage_move(struct storage *s, const struct test *t, int writes, char *buffer, long long bytes, long long offset)
{
	if (s->mpi) {
		move_mpi(s, t, writes, buffer, bytes, offset);
		return;
	}
	for (long long done = 0; done < bytes && !s->dummy;) {
		ssize_t moved = writes ? pwrite(s->descriptor, buffer + done, (size_t)(bytes - done), offset + done) :
					 pread(s->descriptor, buffer + done, (size_t)(bytes - done), offset + done);
		if (moved <= 0)
			transfer_failed(s, writes, buffer + done, bytes - done, moved);
		done += moved;
	}
	if (writes && t->fsync_each)
		storage_sync(s);
}

void storage_sync(struct storage *s)
{
	if (s->mpi && MPI_File_sync(s->file) != MPI_SUCCESS)
		printf("WARNING: fsync() failed\n");
	if (!s->mpi && !s->dummy && fsync(s->descriptor) != 0)
		printf("WARNING: fsync(%d) failed\n", s->descriptor);
	fflush(stdout);
}

void storage_close(struct storage *s)
{
	if (s->mpi)
		check_mpi(MPI_File_close(&s->file), "MPI_File_close", s->name);
	else if (!s->dummy && close(s->descriptor) != 0)
		fail("close(%d) of \"%s\" failed", s->descriptor, s->name);
}

long long storage_size(const struct test *t)
{
	struct stat about = {0};
	char name[4096];
	if (strcmp(t->api, "DUMMY") == 0)
		return t->block * t->segments * ranks;
	storage_name(name, sizeof name, t, rank);
	if ((t->per_process || rank == 0) && stat(name, &about) != 0)
		fail("stat(\"%s\") failed", name);
	return total(t->per_process || rank == 0 ? (long long)about.st_size : 0);
}
