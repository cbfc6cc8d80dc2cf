/* SPDX-License-Identifier: MIT */
#include "recorder/outname.h"

#include "base/file.h"
#include "base/path.h"
#include "base/strbuf.h"
#include "base/xalloc.h"
#include "recording/recording.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SUFFIX ".seep"

enum { EXE_MAX_BYTES = 64, HOST_BYTES = 65, SNAPSHOT_DIGITS = 3 };

static bool ends_in_suffix(const char *name)
{
	const size_t bytes = strlen(name), suffix = strlen(SUFFIX);

	return bytes > suffix && strcmp(name + bytes - suffix, SUFFIX) == 0;
}

/* What follows the last slash, even if that is nothing. */
static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Program names come from outside: nothing in them may climb folders or upset a terminal. */
static void add_component(struct seep_strbuf *buf, const char *path)
{
	const char *name = last_name(path);

	for (size_t i = 0; name[i] && i < EXE_MAX_BYTES; i++)
		seep_strbuf_addc(buf, iscntrl((unsigned char)name[i]) ? '_' : name[i]);
}

static void add_host(struct seep_strbuf *buf)
{
	char host[HOST_BYTES] = "";

	if (gethostname(host, sizeof(host) - 1) == 0)
		add_component(buf, host);
}

int seep_outname_expand(const char *pattern, const char *exe, uint32_t pid, char **ret_path,
			struct seep_error *err)
{
	SEEP_STRBUF(path, PATH_MAX);

	for (const char *at = pattern ? pattern : "./%e.%p.seep"; *at; at++) {
		if (*at != '%') {
			seep_strbuf_addc(&path, *at);
			continue;
		}
		at++;
		switch (*at) {
		case 'p':
			seep_strbuf_addf(&path, "%u", pid);
			break;
		case 'e':
			add_component(&path, exe);
			break;
		case 'h':
			add_host(&path);
			break;
		case '%':
			seep_strbuf_addc(&path, '%');
			break;
		default:
			return seep_fail(err, SEEP_EUSAGE,
					 "%s: %%%.1s must be one of %%p (pid), %%e (program), "
					 "%%h (host), %%%%",
					 pattern, at);
		}
	}
	if (path.overflowed || path.length == 0)
		return seep_fail(err, SEEP_EUSAGE, "the name of the recording is %s",
				 path.overflowed ? "too long" : "empty");
	*ret_path = seep_strbuf_take(&path);
	return 0;
}

/*
 * Permissions alone do not tell: a working directory that was removed, or a file system of the
 * kernel's own, allows everything but new files.
 */
static int check_folder(const char *path, struct seep_error *err)
{
	SEEP_FREED char *folder = seep_path_folder(path);
	SEEP_FREED char *trial = seep_xasprintf("%s/.seep-XXXXXX", folder);
	SEEP_CLOSED int fd = mkostemp(trial, O_CLOEXEC);

	if (fd < 0)
		return seep_fail_errno(err, errno, "cannot write to the folder %s", folder);
	(void)unlink(trial);
	return 0;
}

static void note_file(int dir_fd, const char *name, void *found)
{
	(void)dir_fd;
	(void)name;
	*(bool *)found = true;
}

struct clearing {
	const char *stem; /* of a recording whose snapshots go; NULL: recordings of children go */
	size_t kept_count;
};

/* As seep_outname_child() and seep_outname_snapshot() name them. */
static bool has_name_of_ours(const char *name, const char *stem)
{
	const size_t stem_bytes = stem ? strlen(stem) : 0;
	size_t digits;

	if (stem && (strncmp(name, stem, stem_bytes) != 0 || name[stem_bytes] != '.'))
		return false;
	name += stem ? stem_bytes + 1 : 0;
	digits = strspn(name, "0123456789");
	return stem ? digits >= SNAPSHOT_DIGITS && strcmp(name + digits, SUFFIX) == 0
		    : digits > 0 && ends_in_suffix(name);
}

static void remove_recording(int dir_fd, const char *name, void *context)
{
	struct clearing *clearing = context;
	SEEP_FREED char *path = seep_xasprintf("/proc/self/fd/%d/%s", dir_fd, name);
	const char *kind = NULL;
	struct stat st;

	if (has_name_of_ours(name, clearing->stem) && lstat(path, &st) == 0 && S_ISREG(st.st_mode))
		kind = seep_profile_file_kind(path);
	if (kind && strcmp(kind, "recording") == 0)
		(void)unlinkat(dir_fd, name, 0);
	else
		clearing->kept_count++;
}

/* Returns how many files are left. */
static size_t clear(const char *folder, const char *stem)
{
	struct clearing clearing = { .stem = stem };
	SEEP_CLOSED int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return 0;
	if (seep_folder_each(fd, remove_recording, &clearing, NULL) < 0)
		clearing.kept_count = 0; /* not known */
	return clearing.kept_count;
}

size_t seep_outname_clear(const char *main_path)
{
	SEEP_FREED char *children = seep_outname_folder(main_path);
	SEEP_FREED char *folder = seep_path_folder(main_path);
	SEEP_FREED char *snapshot = seep_outname_snapshot(main_path, 0);
	size_t kept = clear(children, NULL);

	if (kept == 0)
		(void)rmdir(children);
	snapshot[strlen(snapshot) - strlen(".000" SUFFIX)] = '\0';
	(void)clear(folder, last_name(snapshot));
	return kept;
}

static int check_children(const char *path, bool force, struct seep_error *err)
{
	SEEP_FREED char *folder = seep_outname_folder(path);
	SEEP_CLOSED int fd = -1;
	bool found = false;
	int rc = 0;

	if (access(folder, F_OK) == 0 || errno != ENOENT)
		rc = seep_folder_open_own(AT_FDCWD, folder, &fd, err);
	if (fd >= 0)
		rc = seep_folder_each(fd, note_file, &found, err);
	if (rc == 0 && found && !force)
		rc = seep_fail(err, SEEP_EEXIST,
			       "%s holds recordings of an earlier run; --force replaces them",
			       folder);
	return rc;
}

int seep_outname_check(const char *path, bool force, struct seep_error *err)
{
	const char *kind = seep_profile_file_kind(path);
	enum seep_target target;
	int rc;

	if (strcmp(path, "-") == 0)
		return seep_fail(
			err, SEEP_EUSAGE,
			"a recording cannot be written to standard output; write ./- for a "
			"file named -");
	rc = seep_target_look(path, &target, err);
	if (rc < 0)
		return rc;
	if (target == SEEP_TARGET_LINK)
		return seep_fail(err, SEEP_EEXIST,
				 "%s is a symbolic link; give the name of a file itself", path);
	if (target == SEEP_TARGET_OTHER)
		return seep_fail(err, SEEP_EEXIST, "%s exists and is not a regular file", path);
	/* Of a process that may still count into it. */
	if (kind && strcmp(kind, "ledger") == 0)
		return seep_fail(err, SEEP_EEXIST,
				 "%s is a ledger; a recording does not replace it", path);
	if (target == SEEP_TARGET_FILE && !force)
		return seep_fail(err, SEEP_EEXIST, "%s exists; --force replaces it", path);
	rc = check_folder(path, err);
	return rc < 0 ? rc : check_children(path, force, err);
}

char *seep_outname_folder(const char *main_path)
{
	return seep_path_with_suffix(main_path, 0, ".d");
}

char *seep_outname_child(const char *folder, uint32_t pid, const char *exe, unsigned number)
{
	SEEP_STRBUF(path, PATH_MAX + 2 * EXE_MAX_BYTES);

	seep_strbuf_addf(&path, "%s/%u.", folder, pid);
	add_component(&path, exe);
	if (number > 1)
		seep_strbuf_addf(&path, ".%u", number);
	seep_strbuf_adds(&path, SUFFIX);
	return seep_strbuf_take(&path);
}

char *seep_outname_snapshot(const char *path, unsigned number)
{
	char suffix[EXE_MAX_BYTES];

	(void)snprintf(suffix, sizeof(suffix), ".%0*u" SUFFIX, SNAPSHOT_DIGITS, number);
	return seep_path_with_suffix(path, ends_in_suffix(last_name(path)) ? strlen(SUFFIX) : 0,
				     suffix);
}
