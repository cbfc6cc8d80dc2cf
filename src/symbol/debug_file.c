/* SPDX-License-Identifier: MIT */
#include "symbol/debug_file.h"

#include "base/error.h"
#include "base/path.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

static const char system_dir[] = "/usr/lib/debug";

static const char *dir_at(const struct seep_debug_dirs *dirs, size_t i)
{
	return i < dirs->count ? dirs->items[i] : system_dir;
}

static SEEP_PRINTF(2, 3) bool join(char path[PATH_MAX], const char *fmt, ...)
{
	va_list args;
	int bytes;

	va_start(args, fmt);
	bytes = vsnprintf(path, PATH_MAX, fmt, args);
	va_end(args);
	return bytes > 0 && bytes < PATH_MAX;
}

size_t seep_debug_place_count(const struct seep_debug_dirs *dirs)
{
	return 2 * dirs->count + 1;
}

bool seep_debug_place(const struct seep_debug_dirs *dirs, size_t index, const char *path,
		      char ret[PATH_MAX])
{
	if (index <= dirs->count)
		return join(ret, "%s/%s", dir_at(dirs, index), path);
	return join(ret, "%s/%s", dirs->items[index - dirs->count - 1], seep_path_base(path));
}

/* Open @path if it is an ELF file with that build-id. */
static struct seep_elf *open_with_id(const char *path, const uint8_t *build_id, size_t bytes)
{
	const char *problem;
	struct seep_elf *elf;

	if (!seep_elf_open(path, &elf, &problem))
		return NULL;
	if (seep_elf_has_build_id(elf, build_id, bytes))
		return elf;
	seep_elf_close(elf);
	return NULL;
}

static bool hex(char *to, size_t to_bytes, const uint8_t *bytes, size_t count)
{
	size_t i;

	if (to_bytes < 2 * count + 1)
		return false;
	for (i = 0; i < count; i++)
		(void)snprintf(to + 2 * i, 3, "%02x", bytes[i]);
	return true;
}

/* <dir><below>/.build-id/ab/cdef…<suffix>; ".debug", or "" for the file that was stripped */
static struct seep_elf *find_by_build_id(const struct seep_debug_dirs *dirs, const char *below,
					 const char *suffix, const uint8_t *build_id, size_t bytes)
{
	char digits[2 * SEEP_BUILD_ID_MAX_BYTES + 1];
	char path[PATH_MAX];
	size_t i;

	if (bytes < 2 || !hex(digits, sizeof(digits), build_id, bytes))
		return NULL;
	for (i = 0; i <= dirs->count; i++) {
		struct seep_elf *elf = NULL;

		if (join(path, "%s%s/.build-id/%.2s/%s%s", dir_at(dirs, i), below, digits,
			 digits + 2, suffix))
			elf = open_with_id(path, build_id, bytes);
		if (elf)
			return elf;
	}
	return NULL;
}

static struct seep_elf *find_main_in_dirs(const struct seep_debug_dirs *dirs,
					  const struct seep_debug_query *query)
{
	char path[PATH_MAX];
	size_t i;

	for (i = 0; i < dirs->count; i++) {
		struct seep_elf *elf = NULL;

		if (join(path, "%s/%s", dirs->items[i], query->path))
			elf = open_with_id(path, query->build_id, query->build_id_bytes);
		if (!elf && join(path, "%s/%s", dirs->items[i], seep_path_base(query->path)))
			elf = open_with_id(path, query->build_id, query->build_id_bytes);
		if (elf)
			return elf;
	}
	return find_by_build_id(dirs, "", "", query->build_id, query->build_id_bytes);
}

struct seep_elf *seep_debug_find_main(const struct seep_debug_dirs *dirs,
				      const struct seep_debug_query *query,
				      const char **ret_problem)
{
	struct seep_elf *elf;

	if (seep_elf_open(query->path, &elf, ret_problem)) {
		if (!query->build_id_bytes ||
		    seep_elf_has_build_id(elf, query->build_id, query->build_id_bytes))
			return elf;
		*ret_problem = "build-id differs: the file was replaced";
		seep_elf_close(elf);
	}
	return query->build_id_bytes ? find_main_in_dirs(dirs, query) : NULL;
}

/* From a server. Not believed either: its build-id has to be that one. */
static struct seep_elf *fetch(const struct seep_debug_dirs *dirs, enum seep_debuginfod_kind kind,
			      const uint8_t *build_id, size_t bytes, const char *name)
{
	char path[PATH_MAX];

	if (!seep_debuginfod_find(dirs->servers, kind, build_id, bytes, name, path))
		return NULL;
	return open_with_id(path, build_id, bytes);
}

struct seep_elf *seep_debug_fetch_main(const struct seep_debug_dirs *dirs,
				       const struct seep_debug_query *query)
{
	return fetch(dirs, SEEP_DEBUGINFOD_EXECUTABLE, query->build_id, query->build_id_bytes,
		     seep_path_base(query->path));
}

static bool has_checksum(const char *path, uint32_t expected)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	unsigned char block[16 << 10];
	uLong sum = crc32(0, NULL, 0);
	ssize_t got;

	if (fd < 0)
		return false;
	while ((got = read(fd, block, sizeof(block))) > 0)
		sum = crc32(sum, block, (uInt)got);
	(void)close(fd);
	return got == 0 && sum == expected;
}

struct link {
	char name[NAME_MAX + 1];
	uint32_t checksum;
};

/* A file name, a zero, padding to 4, the checksum. Names with a slash could lead anywhere. */
static bool read_link(const struct seep_elf *main, struct link *link)
{
	struct seep_elf_bytes section = seep_elf_section(main, ".gnu_debuglink");
	size_t name_bytes;
	size_t at;

	if (!section.bytes)
		return false;
	name_bytes = strnlen((const char *)section.data, section.bytes);
	at = (name_bytes + 1 + 3) & ~(size_t)3;
	if (name_bytes == 0 || name_bytes > NAME_MAX || at + 4 > section.bytes ||
	    memchr(section.data, '/', name_bytes))
		return false;
	memcpy(link->name, section.data, name_bytes);
	link->name[name_bytes] = '\0';
	memcpy(&link->checksum, section.data + at, 4);
	return true;
}

static struct seep_elf *open_linked(const char *path, const struct seep_elf *main,
				    uint32_t checksum)
{
	const char *problem;
	struct seep_elf *elf;

	if (!seep_elf_open(path, &elf, &problem))
		return NULL;
	if (main->build_id_bytes ? seep_elf_has_build_id(elf, main->build_id, main->build_id_bytes)
				 : has_checksum(path, checksum))
		return elf;
	seep_elf_close(elf);
	return NULL;
}

static struct seep_elf *find_by_link(const struct seep_debug_dirs *dirs, const char *main_path,
				     const struct seep_elf *main)
{
	int folder_bytes = (int)(seep_path_base(main_path) - main_path);
	struct seep_elf *elf = NULL;
	char path[PATH_MAX];
	struct link link;
	size_t i;

	if (!read_link(main, &link))
		return NULL;
	if (join(path, "%.*s%s", folder_bytes, main_path, link.name) &&
	    strcmp(path, main_path) != 0)
		elf = open_linked(path, main, link.checksum);
	if (!elf && join(path, "%.*s.debug/%s", folder_bytes, main_path, link.name))
		elf = open_linked(path, main, link.checksum);
	for (i = 0; !elf && i <= dirs->count; i++)
		if (join(path, "%s/%.*s%s", dir_at(dirs, i), folder_bytes, main_path, link.name))
			elf = open_linked(path, main, link.checksum);
	for (i = 0; !elf && i < dirs->count; i++)
		if (join(path, "%s/%s", dirs->items[i], link.name))
			elf = open_linked(path, main, link.checksum);
	return elf;
}

/* DIR/name and DIR/name.debug, for a folder into which somebody copied debug files by hand. */
static struct seep_elf *find_by_name(const struct seep_debug_dirs *dirs,
				     const struct seep_debug_query *query)
{
	const char *name = seep_path_base(query->path);
	char path[PATH_MAX];
	size_t i;

	for (i = 0; i < dirs->count; i++) {
		struct seep_elf *elf = NULL;

		if (join(path, "%s/%s.debug", dirs->items[i], name))
			elf = open_with_id(path, query->build_id, query->build_id_bytes);
		if (!elf && join(path, "%s/%s", dirs->items[i], name))
			elf = open_with_id(path, query->build_id, query->build_id_bytes);
		if (elf && seep_elf_has_dwarf(elf))
			return elf;
		seep_elf_close(elf);
	}
	return NULL;
}

struct seep_elf *seep_debug_find_separate(const struct seep_debug_dirs *dirs,
					  const struct seep_debug_query *query,
					  const struct seep_elf *main)
{
	struct seep_debug_query known = *query;
	struct seep_elf *elf = NULL;

	if (!known.build_id_bytes && main) {
		known.build_id = main->build_id;
		known.build_id_bytes = main->build_id_bytes;
	}
	if (known.build_id_bytes)
		elf = find_by_build_id(dirs, "", ".debug", known.build_id, known.build_id_bytes);
	if (!elf && main)
		elf = find_by_link(dirs, known.path, main);
	if (!elf && known.build_id_bytes)
		elf = find_by_name(dirs, &known);
	if (!elf)
		elf = fetch(dirs, SEEP_DEBUGINFOD_DEBUG, known.build_id, known.build_id_bytes,
			    seep_path_base(known.path));
	return elf;
}

const char *seep_debug_alternate_name(const struct seep_elf *elf)
{
	struct seep_elf_bytes section = seep_elf_section(elf, ".gnu_debugaltlink");
	const char *name = (const char *)section.data;

	if (!section.bytes || strnlen(name, section.bytes) == section.bytes)
		return "a file";
	return seep_path_base(name);
}

struct seep_elf *seep_debug_find_alternate(const struct seep_debug_dirs *dirs,
					   const struct seep_elf *elf)
{
	struct seep_elf_bytes section = seep_elf_section(elf, ".gnu_debugaltlink");
	const char *name = (const char *)section.data;
	const char *path = elf->path ? elf->path : "";
	struct seep_elf *found = NULL;
	char joined[PATH_MAX];
	const uint8_t *id;
	size_t id_bytes;
	size_t i;

	if (!section.bytes || strnlen(name, section.bytes) == section.bytes)
		return NULL;
	id = section.data + strlen(name) + 1;
	id_bytes = section.bytes - strlen(name) - 1;
	if (id_bytes == 0 || id_bytes > SEEP_BUILD_ID_MAX_BYTES)
		return NULL;
	if (name[0] == '/' ? join(joined, "%s", name)
			   : join(joined, "%.*s%s", (int)(seep_path_base(path) - path), path, name))
		found = open_with_id(joined, id, id_bytes);
	for (i = 0; !found && i <= dirs->count; i++)
		if (join(joined, "%s/.dwz/%s", dir_at(dirs, i), seep_path_base(name)))
			found = open_with_id(joined, id, id_bytes);
	if (!found)
		found = find_by_build_id(dirs, "", ".debug", id, id_bytes);
	if (!found)
		found = find_by_build_id(dirs, "/.dwz", ".debug", id, id_bytes);
	return found ? found
		     : fetch(dirs, SEEP_DEBUGINFOD_DEBUG, id, id_bytes, seep_path_base(name));
}
