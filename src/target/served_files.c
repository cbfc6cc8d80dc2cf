/* SPDX-License-Identifier: MIT */
/*
 * Told by the device, for what tells the type of a file system would ask its server. A device
 * counts as served if nothing says that it is not: the file may be of a mount namespace that
 * nobody sees any more.
 */
#include "target/served_files.h"

#include "base/idtable.h"
#include "base/maps.h"
#include "base/procfs.h"
#include "base/release.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* In place of a device's major number, of mounts: those of btrfs have other devices than their files. */
#define MOUNT UINT32_MAX

/* @unserved: devices and mounts that no user serves. */
static bool has(const struct seep_idtable *unserved, unsigned major, unsigned minor)
{
	size_t at = SEEP_IDTABLE_START;

	return seep_idtable_find(unserved, (uint64_t)major << 32 | minor, &at) != SEEP_IDTABLE_NONE;
}

static void add(struct seep_idtable *unserved, unsigned major, unsigned minor)
{
	if (!has(unserved, major, minor))
		seep_idtable_add(unserved, (uint64_t)major << 32 | minor, 0);
}

/*
 * @line is of mountinfo. In a mount namespace of his own a user may mount FUSE and, over it,
 * overlays; in ours what somebody else has mounted names him.
 */
static bool is_served(const char *line, bool is_ours)
{
	static const char own_id[] = ",user_id=";
	const char *type = strstr(line, " - "), *options = strrchr(line, ' '), *user;

	if (!type)
		return true;
	type += 3;
	if (strncmp(type, "fuse", 4) != 0)
		return !is_ours && strncmp(type, "overlay ", 8) == 0;
	user = strstr(options, own_id);
	return !is_ours || !user || strtoul(user + strlen(own_id), NULL, 10) != geteuid();
}

static void add_mounts(struct seep_idtable *unserved, uint32_t pid, bool is_ours)
{
	SEEP_FREED char *text = seep_procfs_read(pid, "mountinfo", NULL);
	char *rest = text, *line;
	unsigned number, major, minor;

	while (rest && (line = strsep(&rest, "\n"))) {
		if (sscanf(line, "%u %*u %u:%u", &number, &major, &minor) != 3 ||
		    is_served(line, is_ours))
			continue;
		add(unserved, major, minor);
		/* Ours have numbers of their own, even where they are mounted there too. */
		if (!is_ours)
			add(unserved, MOUNT, number);
	}
}

/* Memory, which is mounted nowhere, and what we run from, which may be above the root of a chroot. */
static void add_own(struct seep_idtable *unserved)
{
	static const unsigned kinds[] = { 0, MFD_HUGETLB };
	SEEP_RELEASED(seep_maps_done) struct seep_maps ours = { 0 };
	struct stat st;

	for (size_t i = 0; i < 2; i++) {
		SEEP_CLOSED const int fd = memfd_create("seep", MFD_CLOEXEC | kinds[i]);

		if (fd >= 0 && fstat(fd, &st) == 0)
			add(unserved, major(st.st_dev), minor(st.st_dev));
	}
	(void)!seep_maps_read(getpid(), &ours, NULL);
	for (size_t i = 0; i < ours.count; i++)
		if (ours.items[i].name[0] == '/')
			add(unserved, ours.items[i].device_major, ours.items[i].device_minor);
}

static struct seep_idtable find_unserved(pid_t pid)
{
	struct seep_idtable unserved = { 0 };

	add_mounts(&unserved, (uint32_t)getpid(), true);
	add_mounts(&unserved, (uint32_t)pid, false);
	add_own(&unserved);
	return unserved;
}

void seep_served_find(pid_t pid, struct seep_ranges *ret_ranges)
{
	SEEP_RELEASED(seep_maps_done) struct seep_maps maps = { 0 };
	SEEP_RELEASED(seep_idtable_done) struct seep_idtable unserved = { 0 };

	*ret_ranges = (struct seep_ranges){ 0 };
	if (seep_procfs_is_ours((uint32_t)pid))
		return;
	if (seep_maps_read(pid, &maps, NULL) < 0)
		seep_ranges_add(ret_ranges, 0, UINT64_MAX);
	unserved = find_unserved(pid);
	for (size_t i = 0; i < maps.count; i++) {
		const struct seep_mapping *mapping = &maps.items[i];

		/* What is no file has another name than a path. */
		if (mapping->name[0] == '/' &&
		    !has(&unserved, mapping->device_major, mapping->device_minor))
			seep_ranges_add(ret_ranges, mapping->begin, mapping->end);
	}
}

bool seep_served_is(int fd, pid_t pid)
{
	SEEP_RELEASED(seep_idtable_done) struct seep_idtable unserved = find_unserved(pid);
	struct statx st;

	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_MNT_ID, &st) < 0 ||
	       !(has(&unserved, st.stx_dev_major, st.stx_dev_minor) ||
		 has(&unserved, MOUNT, (unsigned)st.stx_mnt_id));
}
