/* SPDX-License-Identifier: MIT */
#include "recorder/ledgerdir.h"

#include "base/path.h"
#include "base/units.h"
#include "base/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* More than nearly all programs take. */
#define PLENTY_BYTES (UINT64_C(128) << 20)

char *seep_ledgerdir_usual(unsigned i)
{
	static const char *const roots[LEDGER_ROOT_COUNT] = { LEDGER_ROOTS };
	const unsigned uid = geteuid();

	if (i == LEDGER_ROOT_OF_USER)
		return seep_xasprintf("%s%u/seep-%u", roots[i], uid, uid);
	return seep_xasprintf("%s/seep-%u", roots[i], uid);
}

char *seep_ledgerdir_asked(void)
{
	const char *asked = getenv("SEEP_DIR");
	SEEP_FREED char *cwd = NULL;

	if (!asked || !*asked)
		return NULL;
	if (*asked == '/')
		return seep_xstrdup(asked);
	cwd = getcwd(NULL, 0);
	return seep_xasprintf("%s/%s", cwd ? cwd : "", asked);
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
	SEEP_CLOSED int fd = -1;
	int rc;

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
	if (rc < 0)
		return rc;
	*ret_fd = fd;
	fd = -1;
	return 0;
}

struct candidate {
	char *root; /* whose file system it is */
	char *path;
	uint64_t room_bytes; /* that one ledger can take */
	uint64_t rank;	     /* 0: not there, or not to be had; of equal ones the first is better */
};

/* The runtime lets a ledger take a quarter of a file system, where nobody says how much. */
static uint64_t room_of(const struct statfs *fs, bool is_said)
{
	uint64_t free_bytes = (uint64_t)fs->f_bavail * (uint64_t)fs->f_bsize;
	uint64_t quarter = (uint64_t)fs->f_blocks * (uint64_t)fs->f_bsize / 4;

	/* A tmpfs without a size. */
	if (fs->f_blocks == 0)
		return UINT64_MAX;
	return is_said || free_bytes < quarter ? free_bytes : quarter;
}

/* Best is memory that has room, then a disk that has; else the one with most room. */
static void look_at(struct candidate *candidate, bool is_said, uint64_t wanted_bytes)
{
	struct statfs fs;

	candidate->root = seep_path_folder(candidate->path);
	if (access(candidate->root, W_OK | X_OK) != 0 || statfs(candidate->root, &fs) != 0)
		return;
	candidate->room_bytes = room_of(&fs, is_said);
	if (candidate->room_bytes < wanted_bytes)
		candidate->rank = candidate->room_bytes + 1;
	else if (fs.f_type == TMPFS_MAGIC || fs.f_type == RAMFS_MAGIC)
		candidate->rank = UINT64_MAX;
	else
		candidate->rank = UINT64_MAX - 1;
}

static struct candidate *best_of(struct candidate *candidates)
{
	struct candidate *best = &candidates[0];

	for (unsigned i = 1; i < LEDGER_ROOT_COUNT; i++)
		if (candidates[i].rank > best->rank)
			best = &candidates[i];
	return best->rank ? best : NULL;
}

/* Why it is not the usual place, or what it lacks. @problem: of the usual one, or empty. */
static char *note_of(const struct candidate *usual, const struct candidate *chosen,
		     const char *problem, uint64_t wanted_bytes)
{
	if (chosen->room_bytes < wanted_bytes)
		return seep_xasprintf("%s has room for a ledger of %s only, and no other place has "
				      "more; set SEEP_DIR to a folder with room",
				      chosen->root, seep_bytes_text(chosen->room_bytes).text);
	if (chosen == usual)
		return NULL;
	if (*problem)
		return seep_xasprintf("%s; ledgers are in %s", problem, chosen->path);
	return seep_xasprintf("%s has room for a ledger of %s only; ledgers are in %s", usual->root,
			      seep_bytes_text(usual->room_bytes).text, chosen->path);
}

static int choose_usual(uint64_t ledger_bytes, struct seep_ledger_place *place,
			struct seep_error *err)
{
	const uint64_t wanted_bytes = ledger_bytes ? ledger_bytes : PLENTY_BYTES;
	struct candidate candidates[LEDGER_ROOT_COUNT] = { 0 };
	struct candidate *usual = NULL, *chosen;
	struct seep_error first = { 0 };
	int r = seep_fail(&first, SEEP_ENOTFOUND,
			  "there is no folder for ledgers; set SEEP_DIR to one");

	for (unsigned i = 0; i < LEDGER_ROOT_COUNT; i++) {
		candidates[i].path = seep_ledgerdir_usual(i);
		look_at(&candidates[i], ledger_bytes != 0, wanted_bytes);
		if (!usual && candidates[i].rank)
			usual = &candidates[i];
	}
	first.text[0] = usual ? '\0' : first.text[0];
	while ((chosen = best_of(candidates))) {
		struct seep_error problem = { 0 };

		place->was_made = access(chosen->path, F_OK) != 0;
		r = seep_ledgerdir_open(chosen->path, true, &place->fd, &problem);
		if (r == 0)
			break;
		if (chosen == usual || !first.text[0])
			first = problem;
		chosen->rank = 0;
	}
	if (chosen) {
		place->path = seep_xstrdup(chosen->path);
		place->note = note_of(usual, chosen, first.text, wanted_bytes);
	} else if (err) {
		*err = first;
	}
	for (unsigned i = 0; i < LEDGER_ROOT_COUNT; i++) {
		free(candidates[i].root);
		free(candidates[i].path);
	}
	return r;
}

int seep_ledger_place_choose(uint64_t ledger_bytes, struct seep_ledger_place *ret_place,
			     struct seep_error *err)
{
	struct seep_ledger_place place = { .fd = -1 };
	int r;

	place.path = seep_ledgerdir_asked();
	if (place.path) {
		r = seep_ledgerdir_open(place.path, false, &place.fd, err);
		if (r == 0 && faccessat(place.fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
			r = seep_fail_errno(err, errno, "cannot write to %s", place.path);
		if (r < 0)
			seep_error_prefix(err, "SEEP_DIR");
	} else {
		r = choose_usual(ledger_bytes, &place, err);
	}
	if (r < 0)
		seep_ledger_place_done(&place);
	else
		*ret_place = place;
	return r;
}

void seep_ledger_place_done(struct seep_ledger_place *place)
{
	if (place->fd >= 0)
		(void)close(place->fd);
	free(place->path);
	free(place->note);
	*place = (struct seep_ledger_place){ .fd = -1 };
}
