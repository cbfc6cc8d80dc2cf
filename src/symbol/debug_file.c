/* SPDX-License-Identifier: MIT */
#include "symbol/debug_file.h"

#include "base/file.h"
#include "base/path.h"
#include "base/work.h"
#include "base/xalloc.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static const char system_dir[] = "/usr/lib/debug";

static const char *dir_at(const struct seep_debug_dirs *dirs, size_t i)
{
	return i < dirs->count ? dirs->items[i] : system_dir;
}

char *seep_debug_place(const struct seep_debug_dirs *dirs, size_t index, const char *path)
{
	if (index <= dirs->count)
		return seep_xasprintf("%s/%s", dir_at(dirs, index), path);
	if (index > 2 * dirs->count)
		return NULL;
	return seep_xasprintf("%s/%s", dirs->items[index - dirs->count - 1], seep_path_base(path));
}

static bool has_checksum(const char *path, uint32_t expected)
{
	SEEP_CLOSED const int fd = seep_file_open_regular(path, geteuid());
	unsigned char block[16 << 10];
	uLong sum = crc32(0, NULL, 0);
	enum { ROOM_BYTES = 64 << 10 }; /* small files may take no blocks */
	ssize_t got = -1;
	struct stat st;
	bool is_there;

	if (fd < 0)
		return false;
	/* Not of holes for hours. */
	is_there = fstat(fd, &st) == 0 && st.st_blocks * 512 + ROOM_BYTES >= st.st_size / 64;
	while (is_there && !seep_work_is_over() && (got = read(fd, block, sizeof(block))) > 0)
		sum = crc32(sum, block, (uInt)got);
	return got == 0 && sum == expected;
}

/* Open the file at @path, which is taken, if it is the right one; NULL: it is not. */
static struct seep_elf *open_if_right(const struct seep_debug_query *wanted, char *path)
{
	SEEP_FREED char *taken = path;
	struct seep_elf *elf = NULL;

	if (!path || seep_elf_open(path, &elf))
		return NULL;
	if (wanted->build_id_bytes
		    ? seep_elf_has_build_id(elf, wanted->build_id, wanted->build_id_bytes)
		    : has_checksum(path, wanted->checksum))
		return elf;
	seep_elf_close(elf);
	return NULL;
}

/* At one of the places for a file that belongs to @name. */
static struct seep_elf *find_at_places(const struct seep_debug_dirs *dirs,
				       const struct seep_debug_query *wanted, const char *name)
{
	struct seep_elf *elf = NULL;
	char *path;

	for (size_t i = 0; !elf && (path = seep_debug_place(dirs, i, name)); i++)
		elf = open_if_right(wanted, path);
	return elf;
}

/* <dir><below>/.build-id/ab/cdef…<suffix>; ".debug", or "" for the file that was stripped */
static struct seep_elf *find_by_build_id(const struct seep_debug_dirs *dirs,
					 const struct seep_debug_query *wanted, const char *below,
					 const char *suffix)
{
	char digits[2 * SEEP_BUILD_ID_MAX_BYTES + 1];
	struct seep_elf *elf = NULL;

	if (wanted->build_id_bytes < 2 || wanted->build_id_bytes > SEEP_BUILD_ID_MAX_BYTES)
		return NULL;
	for (size_t i = 0; i < wanted->build_id_bytes; i++)
		(void)snprintf(digits + 2 * i, 3, "%02x", wanted->build_id[i]);
	for (size_t i = 0; !elf && i <= dirs->count; i++)
		elf = open_if_right(wanted,
				    seep_xasprintf("%s%s/.build-id/%.2s/%s%s", dir_at(dirs, i),
						   below, digits, digits + 2, suffix));
	return elf;
}

struct seep_elf *seep_debug_find_main(const struct seep_debug_dirs *dirs,
				      const struct seep_debug_query *query,
				      const char **ret_problem)
{
	struct seep_elf *elf = NULL;

	*ret_problem = seep_elf_open(query->path, &elf);
	if (!*ret_problem) {
		if (!query->build_id_bytes ||
		    seep_elf_has_build_id(elf, query->build_id, query->build_id_bytes))
			return elf;
		*ret_problem = "build-id differs: the file was replaced";
		seep_elf_close(elf);
		elf = NULL;
	}
	if (query->build_id_bytes)
		elf = find_at_places(dirs, query, query->path);
	return elf ? elf : find_by_build_id(dirs, query, "", "");
}

/* From a server. Not believed either: its build-id has to be that one. */
static struct seep_elf *fetch(const struct seep_debug_dirs *dirs, enum seep_debuginfod_kind kind,
			      const struct seep_debug_query *wanted, const char *name)
{
	return open_if_right(wanted, seep_debuginfod_find(dirs->servers, kind, wanted->build_id,
							  wanted->build_id_bytes, name));
}

struct seep_elf *seep_debug_fetch_main(const struct seep_debug_dirs *dirs,
				       const struct seep_debug_query *query)
{
	return fetch(dirs, SEEP_DEBUGINFOD_EXECUTABLE, query, seep_path_base(query->path));
}

/* A file name, a zero, padding to 4, the checksum. Names with a slash could lead anywhere. */
static const char *read_link(const struct seep_elf *main, struct seep_debug_query *wanted)
{
	struct seep_elf_bytes section = seep_elf_section(main, ".gnu_debuglink");
	const char *name = (const char *)section.data;
	size_t name_bytes = section.bytes ? strnlen(name, section.bytes) : 0;
	size_t at = (name_bytes + 1 + 3) & ~(size_t)3;

	if (name_bytes == 0 || name_bytes > NAME_MAX || at + 4 > section.bytes ||
	    memchr(name, '/', name_bytes))
		return NULL;
	memcpy(&wanted->checksum, section.data + at, 4);
	return name;
}

static struct seep_elf *find_by_link(const struct seep_debug_dirs *dirs, const char *main_path,
				     const struct seep_elf *main)
{
	struct seep_debug_query wanted = { .build_id = main->build_id,
					   .build_id_bytes = main->build_id_bytes };
	int folder_bytes = (int)(seep_path_base(main_path) - main_path);
	const char *name = read_link(main, &wanted);
	SEEP_FREED char *path = NULL;
	struct seep_elf *elf = NULL;

	if (!name)
		return NULL;
	path = seep_xasprintf("%.*s%s", folder_bytes, main_path, name);
	if (strcmp(seep_path_base(main_path), name) != 0)
		elf = open_if_right(&wanted, seep_xstrdup(path));
	if (!elf)
		elf = open_if_right(&wanted,
				    seep_xasprintf("%.*s.debug/%s", folder_bytes, main_path, name));
	return elf ? elf : find_at_places(dirs, &wanted, path);
}

/* DIR/name and DIR/name.debug, for a folder into which somebody copied debug files by hand. */
static struct seep_elf *find_by_name(const struct seep_debug_dirs *dirs,
				     const struct seep_debug_query *wanted, const char *name)
{
	for (size_t i = 0; i < dirs->count; i++) {
		struct seep_elf *elf =
			open_if_right(wanted, seep_xasprintf("%s/%s.debug", dirs->items[i], name));

		if (!elf)
			elf = open_if_right(wanted, seep_xasprintf("%s/%s", dirs->items[i], name));
		if (elf && seep_elf_has_section(elf, ".debug_info"))
			return elf;
		seep_elf_close(elf);
	}
	return NULL;
}

struct seep_elf *seep_debug_find_separate(const struct seep_debug_dirs *dirs,
					  const struct seep_debug_query *query,
					  const struct seep_elf *main)
{
	struct seep_debug_query wanted = *query;
	const char *name = seep_path_base(query->path);
	struct seep_elf *elf;

	if (!wanted.build_id_bytes && main) {
		wanted.build_id = main->build_id;
		wanted.build_id_bytes = main->build_id_bytes;
	}
	elf = find_by_build_id(dirs, &wanted, "", ".debug");
	if (!elf && main)
		elf = find_by_link(dirs, query->path, main);
	if (!elf && wanted.build_id_bytes)
		elf = find_by_name(dirs, &wanted, name);
	return elf ? elf : fetch(dirs, SEEP_DEBUGINFOD_DEBUG, &wanted, name);
}

/* The name in .gnu_debugaltlink, and after its zero the build-id; NULL: there is none. */
static const char *alternate_of(const struct seep_elf *elf, struct seep_debug_query *ret_wanted)
{
	struct seep_elf_bytes section = seep_elf_section(elf, ".gnu_debugaltlink");
	const char *name = (const char *)section.data;
	size_t name_bytes = section.bytes ? strnlen(name, section.bytes) : 0;

	if (name_bytes == section.bytes)
		return NULL;
	*ret_wanted = (struct seep_debug_query){ .build_id = section.data + name_bytes + 1,
						 .build_id_bytes = section.bytes - name_bytes - 1 };
	return name;
}

struct seep_elf *seep_debug_find_alternate(const struct seep_debug_dirs *dirs,
					   const struct seep_elf *elf, const char **ret_missing)
{
	const char *path = elf->path ? elf->path : "";
	struct seep_elf *found;
	struct seep_debug_query wanted;
	const char *name = alternate_of(elf, &wanted);

	*ret_missing = seep_elf_has_section(elf, ".gnu_debugaltlink") ? "a file" : NULL;
	if (name)
		*ret_missing = seep_path_base(name);
	if (!name || wanted.build_id_bytes == 0 || wanted.build_id_bytes > SEEP_BUILD_ID_MAX_BYTES)
		return NULL;
	if (name[0] == '/')
		found = open_if_right(&wanted, seep_xstrdup(name));
	else
		found = open_if_right(
			&wanted,
			seep_xasprintf("%.*s%s", (int)(seep_path_base(path) - path), path, name));
	for (size_t i = 0; !found && i <= dirs->count; i++)
		found = open_if_right(&wanted, seep_xasprintf("%s/.dwz/%s", dir_at(dirs, i),
							      seep_path_base(name)));
	if (!found)
		found = find_by_build_id(dirs, &wanted, "", ".debug");
	if (!found)
		found = find_by_build_id(dirs, &wanted, "/.dwz", ".debug");
	if (!found)
		found = fetch(dirs, SEEP_DEBUGINFOD_DEBUG, &wanted, seep_path_base(name));
	if (found)
		*ret_missing = NULL;
	return found;
}
