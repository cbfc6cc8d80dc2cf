/* SPDX-License-Identifier: MIT */
#include "symbol/answer_file.h"

#include "base/xalloc.h"
#include "core/fnv.h"
#include "symbol/pointer_map.h"

#include <link.h>
#include <stdlib.h>
#include <string.h>

#ifndef SEEP_VERSION
#define SEEP_VERSION "unknown"
#endif

enum { FLAG_INLINED = 1, COUNT_MAX = 1 << 24 };

struct file_header {
	char magic[8];
	uint32_t version;
	uint32_t build_id_bytes;
	uint64_t program;
	uint8_t build_id[SEEP_BUILD_ID_MAX_BYTES];
	uint32_t address_count;
	uint32_t frame_count;
	uint64_t text_bytes;
	uint64_t sum; /* of all, with 0 here */
};

/* Addresses follow, aligned. */
_Static_assert(sizeof(struct file_header) % sizeof(uint64_t) == 0, "header of a file of answers");

static const char magic[8] = "SEEPSYM";

/* ---- this program ------------------------------------------------------------------------- */

static bool is_build_id(const ElfW(Nhdr) * note)
{
	return note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
	       memcmp(note + 1, "GNU", 4) == 0;
}

static uint64_t hash_notes(const uint8_t *at, size_t left)
{
	while (left >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)at;
		const size_t name = (note->n_namesz + 3u) & ~(size_t)3;
		const size_t bytes = sizeof(*note) + name + ((note->n_descsz + 3u) & ~(size_t)3);

		if (bytes > left)
			break;
		if (is_build_id(note))
			return core_fnv_bytes(CORE_FNV_BASIS, at + sizeof(*note) + name,
					      note->n_descsz);
		at += bytes;
		left -= bytes;
	}
	return 0;
}

static int take_notes(struct dl_phdr_info *info, size_t bytes, void *ret_hash)
{
	uint64_t *hash = ret_hash;

	(void)bytes;
	for (int i = 0; i < info->dlpi_phnum && *hash == 0; i++)
		if (info->dlpi_phdr[i].p_type == PT_NOTE)
			*hash = hash_notes((const uint8_t *)info->dlpi_addr +
						   info->dlpi_phdr[i].p_vaddr,
					   info->dlpi_phdr[i].p_memsz);
	return 1; /* the program itself comes first */
}

uint64_t seep_answer_program(void)
{
	uint64_t hash = 0;

	(void)dl_iterate_phdr(take_notes, &hash);
	return hash ? hash : core_fnv_bytes(CORE_FNV_BASIS, SEEP_VERSION, sizeof(SEEP_VERSION));
}

/* ---- reading ------------------------------------------------------------------------------ */

/* Finds what a disk does to a file, not what an attacker does: bounds are checked besides. */
static uint64_t sum_of(const void *data, size_t bytes)
{
	const uint8_t *at = data;
	uint64_t sum = bytes;
	uint64_t word = 0;

	for (; bytes >= sizeof(word); bytes -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		sum = (sum ^ word) * 0x9e3779b97f4a7c15ull;
		sum ^= sum >> 32;
	}
	return core_fnv_bytes(sum, at, bytes);
}

static uint64_t sum_of_file(const void *data, size_t bytes)
{
	struct file_header header;

	memcpy(&header, data, sizeof(header));
	header.sum = 0;
	return sum_of(&header, sizeof(header)) ^
	       sum_of((const char *)data + sizeof(header), bytes - sizeof(header));
}

/* Of all parts, as the counts in @header ask for; 0 when those are beyond all bounds. */
static uint64_t expected_bytes(const struct file_header *header)
{
	if (header->address_count > COUNT_MAX || header->frame_count > COUNT_MAX ||
	    header->text_bytes > SEEP_ANSWER_FILE_BYTES_MAX)
		return 0;
	return sizeof(*header) + header->address_count * (uint64_t)sizeof(uint64_t) +
	       (header->address_count + 1ull) * sizeof(uint32_t) +
	       header->frame_count * (uint64_t)sizeof(struct seep_answer_frame) +
	       header->text_bytes;
}

static bool is_for(const struct file_header *header, const struct seep_answer_key *key)
{
	return memcmp(header->magic, magic, sizeof(magic)) == 0 &&
	       header->version == SEEP_ANSWER_FILE_VERSION && header->program == key->program &&
	       header->build_id_bytes == key->build_id_bytes &&
	       memcmp(header->build_id, key->build_id, sizeof(key->build_id)) == 0;
}

static void point(struct seep_answer_file *file, const struct file_header *header)
{
	file->address_count = header->address_count;
	file->addresses = (const uint64_t *)(const void *)(header + 1);
	file->firsts = (const uint32_t *)(const void *)(file->addresses + file->address_count);
	file->frames = (const void *)(file->firsts + file->address_count + 1);
	file->texts = (const char *)(file->frames + header->frame_count);
}

static bool check_addresses(const struct seep_answer_file *file, uint32_t frame_count)
{
	if (file->firsts[0] != 0 || file->firsts[file->address_count] != frame_count)
		return false;
	for (uint32_t i = 0; i < file->address_count; i++) {
		const uint32_t first = file->firsts[i];
		const uint32_t end = file->firsts[i + 1];

		if (end <= first || end > frame_count || end - first > SEEP_ANSWER_FRAMES_MAX)
			return false;
		if (i > 0 && file->addresses[i] <= file->addresses[i - 1])
			return false;
	}
	return true;
}

static bool check_frames(const struct seep_answer_file *file, uint32_t frame_count,
			 uint64_t text_bytes)
{
	for (uint32_t i = 0; i < frame_count; i++)
		if (file->frames[i].function > text_bytes || file->frames[i].linkage > text_bytes ||
		    file->frames[i].file > text_bytes)
			return false;
	return text_bytes == 0 || file->texts[text_bytes - 1] == '\0';
}

bool seep_answer_file_read(const void *data, size_t bytes, const struct seep_answer_key *key,
			   struct seep_answer_file *ret_file)
{
	const struct file_header *header = data;

	if (bytes < sizeof(*header) || bytes > SEEP_ANSWER_FILE_BYTES_MAX || !is_for(header, key) ||
	    expected_bytes(header) != bytes || sum_of_file(data, bytes) != header->sum)
		return false;
	point(ret_file, header);
	return check_addresses(ret_file, header->frame_count) &&
	       check_frames(ret_file, header->frame_count, header->text_bytes);
}

static const char *text_at(const struct seep_answer_file *file, uint32_t offset)
{
	return offset ? file->texts + (offset - 1) : NULL;
}

size_t seep_answer_file_frames(const struct seep_answer_file *file, uint32_t index,
			       struct seep_symbol_frame *frames, size_t frames_max)
{
	const uint32_t first = file->firsts[index];
	const size_t count = file->firsts[index + 1] - first;

	if (count > frames_max)
		return 0;
	for (size_t i = 0; i < count; i++) {
		const struct seep_answer_frame *from = &file->frames[first + i];

		frames[i] = (struct seep_symbol_frame){
			.function = text_at(file, from->function),
			.linkage_name = text_at(file, from->linkage),
			.file = text_at(file, from->file),
			.line = from->line,
			.inlined = (from->flags & FLAG_INLINED) != 0,
		};
	}
	return count;
}

/* ---- writing ------------------------------------------------------------------------------ */

struct maker {
	struct file_header header;
	struct seep_answer_frame *frames;
	size_t frame_room;
	char *texts;
	size_t text_room;
	struct seep_pointer_map known; /* by hash of a text: its offset + 1 */
	bool is_too_large;
};

/* By content: texts of the old file and of new answers are often the same. */
static uint32_t keep_text(struct maker *m, const char *text)
{
	uint64_t hash;
	size_t bytes;
	uintptr_t known;

	if (!text)
		return 0;
	bytes = strlen(text) + 1;
	hash = sum_of(text, bytes) | 1;
	known = (uintptr_t)seep_pointer_map_get(&m->known, hash);
	if (known && strcmp(m->texts + known - 1, text) == 0)
		return (uint32_t)known;
	if (bytes > SEEP_ANSWER_FILE_BYTES_MAX - m->header.text_bytes) {
		m->is_too_large = true;
		return 0;
	}
	m->texts = seep_xgrow(m->texts, &m->text_room, m->header.text_bytes + bytes, 1);
	memcpy(m->texts + m->header.text_bytes, text, bytes);
	if (!known)
		seep_pointer_map_put(&m->known, hash, (void *)(m->header.text_bytes + 1));
	known = m->header.text_bytes + 1;
	m->header.text_bytes += bytes;
	return (uint32_t)known;
}

static void keep_frames(struct maker *m, const struct seep_answer *answer)
{
	for (uint32_t i = 0; i < answer->count; i++) {
		const struct seep_symbol_frame *from = &answer->frames[i];
		struct seep_answer_frame *to;

		m->frames = seep_xgrow(m->frames, &m->frame_room, m->header.frame_count + 1ull,
				       sizeof(*m->frames));
		to = &m->frames[m->header.frame_count++];
		to->function = keep_text(m, from->function);
		to->linkage = keep_text(m, from->linkage_name);
		to->file = keep_text(m, from->file);
		to->line = from->line;
		to->flags = from->inlined ? FLAG_INLINED : 0;
	}
}

static char *put(char *at, const void *bytes, size_t count)
{
	if (count)
		memcpy(at, bytes, count);
	return at + count;
}

static void *assemble(struct maker *m, const struct seep_answer *answers, size_t bytes)
{
	char *data = seep_xmalloc(bytes);
	char *at = data + sizeof(m->header);
	uint32_t first = 0;

	for (uint32_t i = 0; i < m->header.address_count; i++)
		at = put(at, &answers[i].address, sizeof(answers[i].address));
	for (uint32_t i = 0; i < m->header.address_count; i++) {
		at = put(at, &first, sizeof(first));
		first += answers[i].count;
	}
	at = put(at, &first, sizeof(first));
	at = put(at, m->frames, m->header.frame_count * sizeof(*m->frames));
	(void)put(at, m->texts, m->header.text_bytes);
	(void)put(data, &m->header, sizeof(m->header));
	m->header.sum = sum_of_file(data, bytes);
	(void)put(data, &m->header, sizeof(m->header));
	return data;
}

void *seep_answer_file_make(const struct seep_answer_key *key, const struct seep_answer *answers,
			    uint32_t count, size_t *ret_bytes)
{
	struct maker m = { .header = { .version = SEEP_ANSWER_FILE_VERSION,
				       .build_id_bytes = key->build_id_bytes,
				       .program = key->program,
				       .address_count = count } };
	void *data = NULL;
	uint64_t bytes;

	memcpy(m.header.magic, magic, sizeof(magic));
	memcpy(m.header.build_id, key->build_id, sizeof(key->build_id));
	for (uint32_t i = 0; i < count; i++)
		keep_frames(&m, &answers[i]);
	bytes = expected_bytes(&m.header);
	if (!m.is_too_large && bytes != 0 && bytes <= SEEP_ANSWER_FILE_BYTES_MAX) {
		data = assemble(&m, answers, bytes);
		*ret_bytes = bytes;
	}
	seep_pointer_map_done(&m.known);
	free(m.frames);
	free(m.texts);
	return data;
}
