/* SPDX-License-Identifier: MIT */
#include "symbol/line_table.h"

#include "base/search.h"
#include "base/xalloc.h"
#include "symbol/line_parts.h"

#include <stdlib.h>
#include <string.h>

/* Longer than any path the system would open. */
enum { PATH_MAX_BYTES = 16 << 10 };

static int compare_sequences(const void *a, const void *b)
{
	const struct line_sequence *x = a;
	const struct line_sequence *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

struct seep_line_table *seep_line_table_new(const struct seep_line_source *source,
					    struct seep_arena *arena)
{
	struct seep_line_table *table = seep_xcalloc(1, sizeof(*table));
	struct line_program program = { 0 };

	table->source = *source;
	table->arena = arena;
	if (line_header_read(table, &program))
		line_program_run(table, &program);
	if (table->sequence_count)
		qsort(table->sequences, table->sequence_count, sizeof(*table->sequences),
		      compare_sequences);
	if (table->row_count < table->row_room / 2) {
		table->row_room = table->row_count;
		table->rows = seep_xrealloc(table->rows, table->row_room, sizeof(struct line_row));
	}
	return table;
}

void seep_line_table_free(struct seep_line_table *table)
{
	if (!table)
		return;
	free(table->rows);
	free(table->sequences);
	free(table->dirs);
	free(table->files);
	free(table);
}

/* Sequences do not overlap in honest files; a few steps back forgive those that touch. */
static const struct line_sequence *find_sequence(const struct seep_line_table *table,
						 uint64_t address)
{
	size_t low = seep_search_upto(table->sequences, table->sequence_count,
				      sizeof(*table->sequences), address);
	size_t steps;

	for (steps = 0; low-- > 0 && steps < 16; steps++)
		if (address < table->sequences[low].to)
			return &table->sequences[low];
	return NULL;
}

bool seep_line_table_find(const struct seep_line_table *table, uint64_t address, uint32_t *ret_file,
			  uint32_t *ret_line)
{
	const struct line_sequence *sequence = find_sequence(table, address);
	const struct line_row *rows;
	size_t count;

	if (!sequence || !sequence->count)
		return false;
	rows = table->rows + sequence->first;
	/* The first row is at or before the address. */
	count = seep_search_upto(rows, sequence->count, sizeof(*rows), address);
	*ret_file = rows[count - 1].file;
	*ret_line = rows[count - 1].line;
	return true;
}

/* Append @part to the path of @used bytes at @path, taking "." and ".." as they read. */
static size_t append(char *path, size_t used, const char *part)
{
	if (*part == '/')
		used = 0;
	while (*part) {
		size_t bytes = strcspn(part, "/");
		bool absolute = *part == '/' && used == 0;

		if (absolute)
			path[used++] = '/';
		if (bytes == 2 && part[0] == '.' && part[1] == '.' && used > 1 &&
		    !(used >= 2 && memcmp(path + used - 2, "..", 2) == 0)) {
			while (used && path[used - 1] != '/')
				used--;
			used -= used > 1;
		} else if (bytes && !(bytes == 1 && part[0] == '.') &&
			   used + bytes + 2 < PATH_MAX_BYTES) {
			if (used && path[used - 1] != '/')
				path[used++] = '/';
			memcpy(path + used, part, bytes);
			used += bytes;
		}
		part += bytes;
		part += strspn(part, "/");
	}
	return used;
}

static const char *make_path(struct seep_line_table *table, const struct line_file *file)
{
	const char *unit_dir = table->source.unit_dir;
	char path[PATH_MAX_BYTES];
	size_t used = 0;

	if (*file->name == '\0')
		return NULL;
	/* Directory 0 is the unit's own. */
	if (unit_dir && file->dir != 0)
		used = append(path, used, unit_dir);
	if (file->dir < table->dir_count)
		used = append(path, used, table->dirs[file->dir]);
	used = append(path, used, file->name);
	return seep_arena_strndup(table->arena, path, used);
}

bool seep_line_table_has_files(const struct seep_line_table *table)
{
	return table->file_count > 0;
}

const char *seep_line_table_path(struct seep_line_table *table, uint64_t file)
{
	if (file >= table->file_count)
		return NULL;
	if (!table->files[file].path)
		table->files[file].path = make_path(table, &table->files[file]);
	return table->files[file].path;
}
