/* SPDX-License-Identifier: MIT */
#include "target/preflight.h"

#include "base/path.h"
#include "base/procfs.h"
#include "base/xalloc.h"
#include "target/elfkind.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
	SCRIPT_HEAD_BYTES = 256, /* what the kernel reads of a "#!" line */
	SCRIPT_DEPTH_MAX = 4,	 /* interpreters that are scripts themselves, as the kernel */
};

/* 0, or the errno that execve() would give for this file. */
static int executable_errno(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? EISDIR : EACCES;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0 ? errno : 0;
}

static int fail_not_executable(const char *name, int problem, struct seep_error *err)
{
	if (problem == ENOENT || problem == ENOTDIR)
		return seep_fail(err, SEEP_ENOTFOUND, "%s: no such program", name);
	return seep_fail_errno(err, problem, "cannot execute %s", name);
}

static int find_in_path(const char *name, char **ret_path, struct seep_error *err)
{
	const char *path = getenv("PATH");
	int problem = ENOENT;

	if (!path)
		path = "/bin:/usr/bin";
	for (const char *dir = path;; dir++) {
		size_t bytes = strcspn(dir, ":");
		char *candidate = seep_xasprintf("%.*s%s%s", (int)bytes, dir, bytes ? "/" : "./",
						 name);
		int found = executable_errno(candidate);

		if (found == 0) {
			*ret_path = candidate;
			return 0;
		}
		free(candidate);
		/* As execvp(): a file that may not be run does not end the search. */
		if (found == EACCES)
			problem = EACCES;
		dir += bytes;
		if (!*dir)
			break;
	}
	return fail_not_executable(name, problem, err);
}

static int find_program(const char *name, char **ret_path, struct seep_error *err)
{
	int problem;

	if (!strchr(name, '/') && *name)
		return find_in_path(name, ret_path, err);
	problem = *name ? executable_errno(name) : ENOENT;
	if (problem != 0)
		return fail_not_executable(*name ? name : "''", problem, err);
	*ret_path = seep_xstrdup(name);
	return 0;
}

/* The kernel passes over set-id bits there, so that the program starts like any other. */
static bool set_id_is_void(const char *path)
{
	struct statvfs fs;

	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
	       (statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOSUID));
}

/* Where the kernel would set AT_SECURE, the loader ignores LD_PRELOAD without a word. */
static int check_privileges(const char *path, struct seep_error *err)
{
	const char *what, *advice;
	struct stat st;
	bool gains;

	if (getuid() != geteuid() || getgid() != getegid())
		return seep_fail(err, SEEP_EUNSUPPORTED,
				 "seep itself was started with the rights of another user or "
				 "group; start it as a plain user or as root");
	if (stat(path, &st) < 0)
		return seep_fail_errno(err, errno, "cannot access %s", path);
	gains = (st.st_mode & (S_ISUID | S_ISGID)) && !set_id_is_void(path);
	if (gains && (st.st_mode & S_ISUID) && st.st_uid != geteuid()) {
		what = "is a set-user-id program";
		advice = "run seep as its owner";
	} else if (gains && (st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) &&
		   st.st_gid != getegid()) {
		what = "is a set-group-id program";
		advice = "record a copy of it, which has no such bit";
	} else if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0) {
		what = "has file capabilities";
		advice = "run seep as root, or record a copy of it";
	} else {
		return 0;
	}
	return seep_fail(err, SEEP_EUNSUPPORTED, "%s %s: no library can be preloaded into it; %s",
			 path, what, advice);
}

/*
 * The interpreter's path from "#! path arg", or NULL when the line names none. As the kernel has
 * it: the carriage return of a foreign line end is part of the name.
 */
static char *script_interpreter(const char *head, size_t bytes)
{
	size_t start = 2, end;

	while (start < bytes && (head[start] == ' ' || head[start] == '\t'))
		start++;
	for (end = start; end < bytes; end++)
		if (strchr(" \t\n", head[end])) /* or the zero byte */
			break;
	return end > start ? seep_xstrndup(head + start, end - start) : NULL;
}

static int check_elf(const char *path, int fd, struct seep_error *err)
{
	struct seep_elfkind kind;
	int rc;

	rc = seep_elfkind_read(fd, path, &kind, err);
	if (rc < 0)
		return rc;
	rc = seep_elfkind_check(&kind, path, err);
	if (rc == 0 && kind.loader[0] && access(kind.loader, F_OK) < 0)
		rc = seep_fail(err, SEEP_ENOTFOUND, "%s needs the loader %s, which is not there",
			       path, kind.loader);
	if (rc == 0)
		rc = check_privileges(path, err);
	return rc;
}

/*
 * One file on the way from what was asked for to the ELF file that runs. *ret_next: the
 * interpreter to look at next, NULL when @path was the last one.
 */
static int check_file(const char *path, char **ret_next, struct seep_error *err)
{
	SEEP_CLOSED const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char head[SCRIPT_HEAD_BYTES];
	ssize_t bytes;

	*ret_next = NULL;
	/* Executable but not readable: the kernel can, we cannot; nothing to judge. */
	if (fd < 0 && errno == EACCES)
		return check_privileges(path, err);
	if (fd < 0)
		return seep_fail_errno(err, errno, "cannot open %s", path);
	bytes = pread(fd, head, sizeof(head), 0);
	if (bytes < 0)
		return seep_fail_errno(err, errno, "cannot read %s", path);
	if (bytes >= 4 && memcmp(head, "\177ELF", 4) == 0)
		return check_elf(path, fd, err);
	if (bytes >= 2 && memcmp(head, "#!", 2) == 0)
		*ret_next = script_interpreter(head, (size_t)bytes);
	else
		*ret_next = seep_xstrdup("/bin/sh");
	return 0;
}

/* From *@path, which is replaced, to the ELF file that runs. */
static int follow_interpreters(char **path, struct seep_error *err)
{
	for (int depth = 0; depth <= SCRIPT_DEPTH_MAX; depth++) {
		char *next, *from = *path;
		int rc = check_file(from, &next, err), problem;

		if (rc < 0 || !next)
			return rc;
		problem = executable_errno(next);
		if (problem != 0) {
			rc = fail_not_executable(next, problem, err);
			seep_error_prefix(err, "interpreter of %s", from);
		}
		*path = next;
		free(from);
		if (rc < 0)
			return rc;
	}
	return seep_fail(err, SEEP_EUNSUPPORTED, "%s: more than %d interpreters in a row", *path,
			 SCRIPT_DEPTH_MAX);
}

int seep_preflight(const char *name, struct seep_program *ret_program, struct seep_error *err)
{
	struct seep_program program = { 0 };
	int rc;

	rc = find_program(name, &program.path, err);
	if (rc < 0)
		return rc;
	program.name = seep_xstrdup(seep_path_base(name));
	program.loaded = seep_xstrdup(program.path);
	rc = follow_interpreters(&program.loaded, err);
	if (rc < 0)
		seep_program_done(&program);
	else
		*ret_program = program;
	return rc;
}

void seep_program_done(struct seep_program *program)
{
	free(program->path);
	free(program->name);
	free(program->loaded);
	*program = (struct seep_program){ 0 };
}

/* An absolute path if @path can be read, else NULL. Takes @path. */
static char *readable_library(char *path)
{
	char *absolute = access(path, R_OK) == 0 ? realpath(path, NULL) : NULL;

	free(path);
	return absolute;
}

/* Beside this executable, where it is installed from there, the installation's folder. */
static char *find_library(void)
{
	static const char *const places[] = { "libseep.so", SEEP_LIBRARY_FROM_TOOL "/libseep.so" };
	SEEP_FREED char *self = seep_procfs_exe(seep_procfs_self());
	SEEP_FREED char *folder = self ? seep_path_folder(self) : NULL;
	char *path = NULL;

	for (size_t i = 0; folder && !path && i < sizeof(places) / sizeof(*places); i++)
		path = readable_library(seep_xasprintf("%s/%s", folder, places[i]));
	return path ? path : readable_library(seep_xstrdup(SEEP_LIBRARY_DIR "/libseep.so"));
}

int seep_runtime_find(char **ret_path, struct seep_error *err)
{
	const char *asked = getenv("SEEP_LIB");
	bool is_asked = asked && *asked;
	char *path = is_asked ? readable_library(seep_xstrdup(asked)) : find_library();
	int rc;

	if (!path && is_asked)
		return seep_fail(err, SEEP_ENOTFOUND, "cannot read %s, which SEEP_LIB names",
				 asked);
	if (!path)
		return seep_fail(err, SEEP_ENOTFOUND,
				 "libseep.so is neither beside seep nor in %s; set SEEP_LIB to its "
				 "path",
				 SEEP_LIBRARY_DIR);
	if (strpbrk(path, ": \t\n")) {
		rc = seep_fail(err, SEEP_EUNSUPPORTED,
			       "the path of %s has a space or colon, which separate libraries in "
			       "LD_PRELOAD; set SEEP_LIB to a copy elsewhere",
			       path);
		free(path);
		return rc;
	}
	*ret_path = path;
	return 0;
}
