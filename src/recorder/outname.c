/* SPDX-License-Identifier: MIT */
#include "recorder/outname.h"

#include "base/strbuf.h"
#include "base/xalloc.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXE_MAX_BYTES = 64, HOST_BYTES = 65 };

/* Program names come from outside: nothing in them may climb folders or upset a terminal. */
static void add_component(struct seep_strbuf *buf, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	for (size_t i = 0; name[i] && i < EXE_MAX_BYTES; i++) {
		seep_strbuf_addc(buf, iscntrl((unsigned char)name[i]) ? '_' : name[i]);
	}
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
	struct seep_strbuf path;

	seep_strbuf_init(&path, PATH_MAX);
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
			seep_strbuf_done(&path);
			return seep_fail(err, SEEP_EUSAGE,
					 "%s: %%%.1s is none of %%p (pid), %%e (program), "
					 "%%h (host), %%%%",
					 pattern, at);
		}
	}
	if (path.overflowed || path.length == 0) {
		seep_strbuf_done(&path);
		return seep_fail(err, SEEP_EUSAGE, "the name of the recording is %s",
				 path.overflowed ? "too long" : "empty");
	}
	*ret_path = seep_strbuf_take(&path);
	return 0;
}

/*
 * Returns 0 or an errno. Permissions alone do not tell: a working directory that was removed, or a
 * file system of the kernel's own, allows everything but new files.
 */
static int try_folder(const char *folder)
{
	char *path = seep_xasprintf("%s/.seep-XXXXXX", folder);
	int fd = mkostemp(path, O_CLOEXEC);
	int problem = fd < 0 ? errno : 0;

	if (fd >= 0) {
		(void)close(fd);
		(void)unlink(path);
	}
	free(path);
	return problem;
}

static int check_folder(const char *path, struct seep_error *err)
{
	const char *slash = strrchr(path, '/');
	char *folder;
	int problem, rc = 0;

	if (!slash)
		folder = seep_xstrdup(".");
	else
		folder = seep_xstrndup(path, slash == path ? 1 : (size_t)(slash - path));
	problem = try_folder(folder);
	if (problem != 0)
		rc = seep_fail_errno(err, problem, "cannot write to the output's folder %s",
				     folder);
	free(folder);
	return rc;
}

int seep_outname_check(const char *path, bool force, struct seep_error *err)
{
	struct stat st;

	if (stat(path, &st) == 0) {
		if (!S_ISREG(st.st_mode))
			return seep_fail(err, SEEP_EEXIST, "%s is there and not a plain file",
					 path);
		if (!force)
			return seep_fail(err, SEEP_EEXIST, "%s exists; --force replaces it", path);
	} else if (errno != ENOENT) {
		return seep_fail_errno(err, errno, "cannot write %s", path);
	}
	return check_folder(path, err);
}

/* @path, of its last component no more than @name_max bytes: what tells children apart comes after. */
static void add_fitting(struct seep_strbuf *buf, const char *path, size_t name_max)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t bytes = strlen(name);

	if (bytes > name_max)
		bytes = name_max;
	seep_strbuf_add(buf, path, (size_t)(name - path) + bytes);
}

char *seep_outname_child(const char *main_path, uint32_t pid, const char *exe, unsigned number)
{
	struct seep_strbuf path, suffix;

	seep_strbuf_init(&path, PATH_MAX + 2 * EXE_MAX_BYTES);
	seep_strbuf_init(&suffix, 2 * EXE_MAX_BYTES);
	seep_strbuf_addf(&suffix, ".%u", pid);
	if (exe) {
		seep_strbuf_addc(&suffix, '.');
		add_component(&suffix, exe);
	}
	if (number > 1)
		seep_strbuf_addf(&suffix, ".%u", number);
	seep_strbuf_adds(&suffix, ".seep");
	add_fitting(&path, main_path, NAME_MAX - suffix.length);
	seep_strbuf_adds(&path, suffix.text);
	seep_strbuf_done(&suffix);
	return seep_strbuf_take(&path);
}

char *seep_outname_snapshot(const char *path, unsigned number)
{
	static const char ending[] = ".seep";
	const size_t ending_bytes = sizeof(ending) - 1;
	size_t bytes = strlen(path);
	struct seep_strbuf name, suffix;
	char *stem;

	if (bytes > ending_bytes && strcmp(path + bytes - ending_bytes, ending) == 0 &&
	    path[bytes - ending_bytes - 1] != '/')
		bytes -= ending_bytes;
	stem = seep_xstrndup(path, bytes);
	seep_strbuf_init(&name, PATH_MAX + 2 * EXE_MAX_BYTES);
	seep_strbuf_init(&suffix, EXE_MAX_BYTES);
	seep_strbuf_addf(&suffix, ".%03u%s", number, ending);
	add_fitting(&name, stem, NAME_MAX - suffix.length);
	seep_strbuf_adds(&name, suffix.text);
	seep_strbuf_done(&suffix);
	free(stem);
	return seep_strbuf_take(&name);
}
