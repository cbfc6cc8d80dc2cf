/* SPDX-License-Identifier: MIT */
/* Opening a file that may have been made to harm its reader. */
#include "recording/recording.h"

#include "profile/ledger_load.h"
#include "recording/recording_db.h"
#include "recording/recording_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	HEAD_BYTES = 100,
	PAGE_BYTES_AT = 16,
	CHANGES_AT = 24,
	PAGES_AT = 28,
	USER_VERSION_AT = 60,
	APPLICATION_ID_AT = 68,
	PAGES_VALID_FOR_AT = 92,
};

static uint32_t big_endian(const unsigned char *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 |
	       (uint32_t)bytes[3];
}

bool seep_recording_is_recording(const void *head, size_t bytes)
{
	static const char magic[16] = "SQLite format 3";
	const unsigned char *at = head;

	return bytes >= HEAD_BYTES && memcmp(head, magic, sizeof(magic)) == 0 &&
	       big_endian(at + APPLICATION_ID_AT) == SEEP_RECORDING_APPLICATION_ID;
}

struct head {
	unsigned char bytes[HEAD_BYTES];
	size_t count;
	uint64_t file_bytes;
};

/* The first bytes of a regular file. */
static int read_head(const char *path, struct head *ret_head, struct seep_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	ssize_t got;

	if (fd < 0 && errno == ENOENT)
		return seep_fail(err, SEEP_ENOTFOUND, "%s: no such file", path);
	if (fd < 0)
		return seep_fail_errno(err, errno, "cannot open %s", path);
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		(void)close(fd);
		return seep_fail(err, SEEP_ECORRUPT, "%s: not a regular file", path);
	}
	got = pread(fd, ret_head->bytes, HEAD_BYTES, 0);
	(void)close(fd);
	if (got < 0)
		return seep_fail_errno(err, errno, "cannot read %s", path);
	ret_head->count = (size_t)got;
	ret_head->file_bytes = (uint64_t)st.st_size;
	return 0;
}

/*
 * SQLite takes what is missing of the last page for zeros. Its header has the number of pages, if
 * whoever changed the file last has entered it.
 */
static bool is_cut(const struct head *head)
{
	const uint32_t changes = big_endian(head->bytes + CHANGES_AT);
	const uint32_t pages = big_endian(head->bytes + PAGES_AT);
	uint64_t page_bytes = big_endian(head->bytes + PAGE_BYTES_AT) >> 16;

	if (page_bytes == 1) /* does not fit in two bytes */
		page_bytes = 65536;
	return changes == big_endian(head->bytes + PAGES_VALID_FOR_AT) &&
	       head->file_bytes < page_bytes * pages;
}

static int check_head(const char *path, struct seep_error *err)
{
	struct head read = { .count = 0 };
	const unsigned char *head = read.bytes;
	int r = read_head(path, &read, err);

	if (r < 0)
		return r;
	if (!seep_recording_is_recording(head, read.count))
		return seep_fail(err, SEEP_ECORRUPT, "%s: not a recording", path);
	if (big_endian(head + USER_VERSION_AT) != SEEP_RECORDING_VERSION)
		return seep_fail(err, SEEP_EVERSION, "%s: version %u, this seep reads %d", path,
				 big_endian(head + USER_VERSION_AT), SEEP_RECORDING_VERSION);
	if (is_cut(&read))
		return seep_fail(err, SEEP_ECORRUPT, "%s: damaged: its end is missing", path);
	return 0;
}

int seep_recording_open_database(const char *path, struct sqlite3 **ret_db, struct seep_error *err)
{
	struct seep_sql_found found;
	struct sqlite3 *db = NULL;
	int r = check_head(path, err);

	if (r < 0)
		return r;
	r = seep_db_fail(NULL, seep_db_open_immutable(path, &db), err);
	if (r == 0)
		r = seep_db_fail(db, seep_db_harden(db), err);
	if (r == 0)
		r = seep_sql_look(db, &found, err);
	if (r < 0) {
		(void)sqlite3_close(db);
		seep_error_prefix(err, "%s: %s", path, r == -SEEP_ECORRUPT ? "damaged" : "refused");
		return r;
	}
	*ret_db = db;
	return 0;
}

int seep_profile_open(const char *path, struct seep_profile **ret_profile, struct seep_error *err)
{
	struct head head = { .count = 0 };
	int r = read_head(path, &head, err);

	if (r < 0)
		return r;
	if (seep_profile_is_ledger(head.bytes, head.count))
		return seep_profile_load_ledger(path, NULL, ret_profile, err);
	if (!seep_recording_is_recording(head.bytes, head.count))
		return seep_fail(err, SEEP_ECORRUPT, "%s: neither a recording nor a ledger", path);
	return seep_recording_load(path, ret_profile, err);
}
