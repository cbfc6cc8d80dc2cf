/* SPDX-License-Identifier: MIT */
/*
 * Whole files: read with a bound, write all or nothing. Paths in error sentences are given as they
 * are; src/cli escapes control bytes when it prints them.
 */
#ifndef SEEP_BASE_FILE_H
#define SEEP_BASE_FILE_H

#include <fcntl.h> /* AT_FDCWD */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"

/**
 * seep_file_read - read a whole file into memory
 * @max_bytes: refuse more than this; also the bound for files whose size is unknown (/proc)
 * @ret_data:  set on success only; one NUL byte follows the content; release with free()
 * @ret_bytes: set on success only; may be NULL; content may contain NUL bytes
 * @err:       filled on failure only; may be NULL
 *
 * Returns: 0, or
 *   -SEEP_ENOTFOUND  there is no such file
 *   -SEEP_ESYS       it cannot be opened or read
 *   -SEEP_ELIMIT     it is longer than @max_bytes
 */
SEEP_NODISCARD int seep_file_read(const char *path, size_t max_bytes, char **ret_data,
				  size_t *ret_bytes, struct seep_error *err);

/* The same from a descriptor's present position; @name is used in the error sentence. */
SEEP_NODISCARD int seep_file_read_fd(int fd, const char *name, size_t max_bytes, char **ret_data,
				     size_t *ret_bytes, struct seep_error *err);

/*
 * The beginning of a file, @max - 1 bytes at most, ended by a zero. Returns the length, or -1 when
 * it cannot be opened or read.
 */
long seep_file_read_start(const char *path, char *buffer, size_t max);

/**
 * seep_file_open_regular - open a regular file to read, and nothing else
 * @reader: the user whose rights count, if we are root, without those of any group; links are
 *          followed
 *
 * For names that somebody else gave: to open a device can have effects already.
 *
 * Returns: a descriptor, close-on-exec, or -1 with errno: ENODEV where it is no regular file, EPERM
 * where we are root and may not act as that user.
 */
int seep_file_open_regular(const char *path, uid_t reader);

/**
 * seep_folder_each - call @each for all that is in a folder but "." and ".."
 * @dir_fd: the folder, which stays open and may be read again
 *
 * Returns: 0, or -SEEP_ESYS.
 */
SEEP_NODISCARD int seep_folder_each(int dir_fd,
				    void (*each)(int dir_fd, const char *name, void *context),
				    void *context, struct seep_error *err);

/*
 * The next bytes from *@from on that are no hole: *@from up to *@ret_to. Returns false where there
 * are none. A file system without holes has one run of bytes in each file.
 */
bool seep_file_next_data(int fd, uint64_t *from, uint64_t *ret_to);

/* How many bytes of the file are there, holes left out; of one that cannot be looked at, none. */
uint64_t seep_file_held_bytes(const char *path);

/**
 * seep_folder_open_own - open a folder of this process's user, made with mode 0700 if need be
 * @folder_fd: as for seep_atomic_open()
 * @ret_fd:    set on success only; close-on-exec
 *
 * For where others may put links and exchange names meanwhile: a link is not followed, and what is
 * there already is not changed. The umask has to leave us our own rights.
 *
 * Returns: 0, or
 *   -SEEP_ESYS          it cannot be made or opened
 *   -SEEP_EUNSUPPORTED  it is a link or a file, or another user's
 */
SEEP_NODISCARD int seep_folder_open_own(int folder_fd, const char *path, int *ret_fd,
					struct seep_error *err);

/* What stands at a path that is to be written; links are not followed. */
enum seep_target {
	SEEP_TARGET_FREE,
	SEEP_TARGET_FILE,
	SEEP_TARGET_LINK,  /* to wherever, /dev/fd/N too */
	SEEP_TARGET_OTHER, /* a folder, device, pipe or socket */
};

/* Returns 0, or -SEEP_ESYS: it cannot be looked at. */
SEEP_NODISCARD int seep_target_look(const char *path, enum seep_target *ret_target,
				    struct seep_error *err);

/*
 * A file that appears under its name only when it is complete. Until then it has none where the
 * file system can do that (O_TMPFILE), so that a kill leaves nothing behind; elsewhere it is
 * @path.XXXXXX, and a kill leaves that.
 */
struct seep_atomic_file {
	FILE *stream; /* write here */
	char *name;   /* for people */
	char *path;
	char *temp_path; /* opens the same file again, until _commit or _abandon; NULL: in place */
	bool is_unnamed;
	bool keep_old; /* _commit refuses if @path has come into being; set it after _open */
};

/**
 * seep_atomic_open - start writing a file that will replace @path
 * @folder_fd: the folder that it lies in, open until the end, wherever @path leads by then; AT_FDCWD:
 *             where @path leads
 * @mode:      permissions of the result, not changed by the umask; 0600 for anything about a process
 * @ret_file:  filled on success only; end with _commit or _abandon
 *
 * Returns: 0, or -SEEP_ESYS.
 */
SEEP_NODISCARD int seep_atomic_open(int folder_fd, const char *path, mode_t mode,
				    struct seep_atomic_file *ret_file, struct seep_error *err);

/*
 * seep_atomic_open() for what may go anywhere: into a link, device or pipe it is written in place,
 * as a shell's ">" does, and what was in there is gone at once. A new file's mode is 0600.
 */
SEEP_NODISCARD int seep_output_open(const char *path, struct seep_atomic_file *ret_file,
				    struct seep_error *err);

/*
 * Flush, sync and rename over the old file. Releases @file whether it succeeds or not; on failure
 * the old file is as it was and the temporary one is gone. Returns 0, -SEEP_ESYS, or with keep_old
 * -SEEP_EEXIST.
 */
SEEP_NODISCARD int seep_atomic_commit(struct seep_atomic_file *file, struct seep_error *err);

/* Remove the temporary file and release @file. Zeroed storage is a no-op. */
void seep_atomic_abandon(struct seep_atomic_file *file);

#endif
