/* SPDX-License-Identifier: MIT */
#include "base/maps.h"

#include "base/file.h"
#include "base/search.h"
#include "base/procfs.h"
#include "base/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* vm.max_map_count is 65,530 as a rule; with a million lines of long paths this is enough. */
enum { MAPS_MAX_BYTES = 256 << 20 };

/* The hexadecimal number at *@at, which moves behind it and the byte that follows. */
static uint64_t take_number(char **at, char follows, bool *is_good)
{
	char *end;
	const uint64_t number = strtoull(*at, &end, 16);

	*is_good &= end != *at && *end == follows;
	*at = end + (*end != '\0');
	return number;
}

/* "begin-end perms offset major:minor inode name" */
static bool take_line(char *line, struct seep_mapping *ret_mapping)
{
	bool is_good = true;
	char *at = line;

	ret_mapping->begin = take_number(&at, '-', &is_good);
	ret_mapping->end = take_number(&at, ' ', &is_good);
	if (strnlen(at, 5) < 5 || at[4] != ' ')
		return false;
	ret_mapping->readable = at[0] == 'r';
	ret_mapping->writable = at[1] == 'w';
	ret_mapping->executable = at[2] == 'x';
	ret_mapping->shared = at[3] == 's';
	at += 5;
	ret_mapping->offset = take_number(&at, ' ', &is_good);
	ret_mapping->device_major = (uint32_t)take_number(&at, ':', &is_good);
	ret_mapping->device_minor = (uint32_t)take_number(&at, ' ', &is_good);
	ret_mapping->inode = strtoull(at, &at, 10);
	ret_mapping->name = at + strspn(at, " ");
	return is_good && ret_mapping->begin < ret_mapping->end;
}

void seep_maps_parse(char *text, struct seep_maps *ret_maps)
{
	*ret_maps = (struct seep_maps){ .text = text };
	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		struct seep_mapping mapping;
		const size_t count = ret_maps->count;

		*end = '\0';
		if (take_line(line, &mapping) &&
		    (count == 0 || mapping.begin >= ret_maps->items[count - 1].end))
			*SEEP_APPEND(ret_maps->items, ret_maps->count) = mapping;
	}
}

/* Returns 0 with no text where the thread has no memory any more. */
static int read_text(pid_t tid, char **ret_text, struct seep_error *err)
{
	const struct seep_procfs_path path = seep_procfs_path(tid, "maps");
	SEEP_CLOSED const int fd = open(path.text, O_RDONLY | O_CLOEXEC);
	int rc;

	*ret_text = NULL;
	if (fd < 0 && (errno == ENOENT || errno == ESRCH))
		return 0;
	if (fd < 0 && (errno == EACCES || errno == EPERM))
		return seep_fail(err, SEEP_EREFUSED, "the kernel does not show us %s", path.text);
	if (fd < 0)
		return seep_fail_errno(err, errno, "cannot open %s", path.text);
	rc = seep_file_read_fd(fd, path.text, MAPS_MAX_BYTES, ret_text, NULL, err);
	if (rc == 0 && (*ret_text)[0] == '\0') {
		free(*ret_text);
		*ret_text = NULL;
	}
	return rc == -SEEP_ELIMIT ? -SEEP_ESYS : rc;
}

int seep_maps_read(pid_t pid, struct seep_maps *ret_maps, struct seep_error *err)
{
	char *text;
	pid_t tid = pid;
	int rc = read_text(pid, &text, err);
	/* The first thread may have ended before the others: then it shows nothing. */
	SEEP_RELEASED(seep_procfs_threads_done_at)
	DIR *threads = rc == 0 && !text ? seep_procfs_threads(pid) : NULL;

	while (rc == 0 && !text && (tid = seep_procfs_thread(threads)))
		rc = read_text(tid, &text, err);
	if (rc < 0)
		return rc;
	if (!text)
		return seep_fail(err, SEEP_ENOTFOUND, "process %d has ended", (int)pid);
	seep_maps_parse(text, ret_maps);
	ret_maps->tid = tid;
	return 0;
}

void seep_maps_done(struct seep_maps *maps)
{
	free(maps->items);
	free(maps->text);
	*maps = (struct seep_maps){ 0 };
}

size_t seep_maps_from(const struct seep_maps *maps, uint64_t address)
{
	const size_t begun = seep_search_upto(maps->items, maps->count, sizeof(*maps->items),
					      address);

	return begun && maps->items[begun - 1].end > address ? begun - 1 : begun;
}

const struct seep_mapping *seep_maps_find(const struct seep_maps *maps, uint64_t address)
{
	const size_t at = seep_maps_from(maps, address);

	return at < maps->count && maps->items[at].begin <= address ? &maps->items[at] : NULL;
}

static const struct seep_mapping *of_file(const struct seep_maps *maps, uint64_t inode,
					  unsigned major, unsigned minor)
{
	for (size_t i = 0; i < maps->count; i++)
		if (maps->items[i].inode == inode && maps->items[i].device_major == major &&
		    maps->items[i].device_minor == minor)
			return &maps->items[i];
	return NULL;
}

/* On some file systems (btrfs, overlays) maps name another device than fstat() does: as of ours. */
const struct seep_mapping *seep_maps_of_file(const struct seep_maps *maps, int fd)
{
	const struct seep_mapping *mapping, *found = NULL;
	SEEP_RELEASED(seep_maps_done) struct seep_maps ours = { 0 };
	struct stat st;
	void *at;

	if (fstat(fd, &st) == 0)
		found = of_file(maps, st.st_ino, major(st.st_dev), minor(st.st_dev));
	if (found)
		return found;
	at = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
	if (at != MAP_FAILED && seep_maps_read((pid_t)seep_procfs_self(), &ours, NULL) == 0) {
		mapping = seep_maps_find(&ours, (uint64_t)(uintptr_t)at);
		if (mapping && mapping->inode)
			found = of_file(maps, mapping->inode, mapping->device_major,
					mapping->device_minor);
	}
	if (at != MAP_FAILED)
		(void)munmap(at, 1);
	return found;
}
