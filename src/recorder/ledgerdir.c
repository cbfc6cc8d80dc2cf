/* SPDX-License-Identifier: MIT */
#include "recorder/ledgerdir.h"

#include "base/xalloc.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEDGER_SUFFIX ".ledger"

char *seep_ledgerdir_usual(unsigned i)
{
	static const char *const roots[SEEP_LEDGERDIR_USUAL] = { "/dev/shm", NULL, "/var/tmp",
								 "/tmp" };
	const unsigned uid = geteuid();

	if (!roots[i])
		return seep_xasprintf("/run/user/%u/seep-%u", uid, uid);
	return seep_xasprintf("%s/seep-%u", roots[i], uid);
}

char *seep_ledgerdir_asked(void)
{
	const char *asked = getenv("SEEP_DIR");
	char *cwd, *path;

	if (!asked || !*asked)
		return NULL;
	if (*asked == '/')
		return seep_xstrdup(asked);
	cwd = getcwd(NULL, 0);
	path = seep_xasprintf("%s/%s", cwd ? cwd : "", asked);
	free(cwd);
	return path;
}

static int check_directory(int fd, const char *path, struct seep_error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return seep_fail_errno(err, errno, "cannot access %s", path);
	if (st.st_uid != geteuid())
		return seep_fail(err, SEEP_EUNSUPPORTED,
				 "%s belongs to user %u, so user %u makes no ledgers there; set "
				 "SEEP_DIR to another folder",
				 path, (unsigned)st.st_uid, (unsigned)geteuid());
	/* The library is as strict and would make its ledgers elsewhere, where nobody looks. */
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		return seep_fail(
			err, SEEP_EUNSUPPORTED,
			"other users have access to %s; set SEEP_DIR to a folder of mode 0700",
			path);
	return 0;
}

int seep_ledgerdir_open(const char *path, bool create, int *ret_fd, struct seep_error *err)
{
	int fd, rc;

	/* The umask may have taken our own rights to it. */
	if (create && mkdir(path, 0700) == 0)
		(void)chmod(path, 0700);
	else if (create && errno != EEXIST)
		return seep_fail_errno(err, errno, "cannot make %s for ledgers", path);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return seep_fail(err, SEEP_ENOTFOUND, "%s: no such folder", path);
	if (fd < 0 && (errno == ELOOP || errno == ENOTDIR))
		return seep_fail(err, SEEP_EUNSUPPORTED, "%s is not a folder but a link or a file",
				 path);
	if (fd < 0)
		return seep_fail_errno(err, errno, "cannot open %s", path);
	rc = check_directory(fd, path, err);
	if (rc < 0) {
		(void)close(fd);
		return rc;
	}
	*ret_fd = fd;
	return 0;
}

/* The number before @end, after a dot. Moves *end to that dot. */
static bool number_before(const char *text, const char **end, uint64_t max, uint64_t *ret_number)
{
	const char *start = *end;
	uint64_t number = 0;

	while (start > text && isdigit((unsigned char)start[-1])) {
		start--;
	}
	if (start == *end || *end - start > 20 || start == text || start[-1] != '.')
		return false;
	for (const char *at = start; at < *end; at++) {
		if (__builtin_mul_overflow(number, 10u, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*at - '0'), &number))
			return false;
	}
	if (number > max)
		return false;
	*end = start - 1;
	*ret_number = number;
	return true;
}

bool seep_ledgerdir_parse(const char *file_name, struct seep_ledgerdir_name *ret_name)
{
	size_t bytes = strlen(file_name), suffix = strlen(LEDGER_SUFFIX);
	uint64_t instance, start, pid;
	const char *end;

	if (bytes <= suffix || strcmp(file_name + bytes - suffix, LEDGER_SUFFIX) != 0)
		return false;
	end = file_name + bytes - suffix;
	/* From the right: the program's own name may hold dots and digits. */
	if (!number_before(file_name, &end, UINT32_MAX, &instance) ||
	    !number_before(file_name, &end, UINT64_MAX, &start) ||
	    !number_before(file_name, &end, UINT32_MAX, &pid))
		return false;
	*ret_name = (struct seep_ledgerdir_name){
		.pid = (uint32_t)pid,
		.start_ticks = start,
		.instance = (uint32_t)instance,
		.exe_bytes = (uint32_t)(end - file_name),
	};
	return true;
}
