/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: any message of profile.proto. See tests/fuzz/run.
 *
 * The mutator works on the message's fields: bytes changed at random mostly change lengths, and what
 * follows is no message any more.
 */
#include "fuzz_import.h"

#include "base/arena.h"

#include <base/pprof.pb-c.h>

#define PICK(random, array, count) ((array)[fuzz_below(random, count)])

static void change_number(struct fuzz_random *random, int64_t *number)
{
	*number = (int64_t)fuzz_word(random, (uint64_t)*number, 40);
}

static void change_sample(struct fuzz_random *random, Pprof__Profile *p)
{
	Pprof__Sample *sample = PICK(random, p->sample, p->n_sample);

	if (sample->n_location_id && fuzz_below(random, 2))
		change_number(random,
			      (int64_t *)&PICK(random, sample->location_id, sample->n_location_id));
	else if (sample->n_value && fuzz_below(random, 4))
		change_number(random, &PICK(random, sample->value, sample->n_value));
	else if (sample->n_label)
		change_number(random, fuzz_below(random, 2) ? &sample->label[0]->key
							    : &sample->label[0]->str);
	else
		sample->n_value -= sample->n_value > 0;
}

static void change_location(struct fuzz_random *random, Pprof__Profile *p)
{
	Pprof__Location *location = PICK(random, p->location, p->n_location);
	uint64_t *const fields[] = { &location->id, &location->mapping_id, &location->address };

	if (location->n_line && fuzz_below(random, 2))
		change_number(random, fuzz_below(random, 2)
					      ? (int64_t *)&location->line[0]->function_id
					      : &location->line[0]->line);
	else
		change_number(random, (int64_t *)PICK(random, fields, 3));
}

static void change_mapping(struct fuzz_random *random, Pprof__Profile *p)
{
	Pprof__Mapping *mapping = PICK(random, p->mapping, p->n_mapping);
	int64_t *const fields[] = { (int64_t *)&mapping->id,
				    (int64_t *)&mapping->memory_start,
				    (int64_t *)&mapping->memory_limit,
				    (int64_t *)&mapping->file_offset,
				    &mapping->filename,
				    &mapping->build_id };

	change_number(random, PICK(random, fields, 6));
}

static void change_function(struct fuzz_random *random, Pprof__Profile *p)
{
	Pprof__Function *function = PICK(random, p->function, p->n_function);
	int64_t *const fields[] = { (int64_t *)&function->id, &function->name,
				    &function->system_name, &function->filename };

	change_number(random, PICK(random, fields, 4));
}

static void change_head(struct fuzz_random *random, Pprof__Profile *p)
{
	int64_t *const fields[] = { &p->time_nanos, &p->duration_nanos, &p->period,
				    p->n_sample_type ? &p->sample_type[0]->type : &p->period,
				    p->n_sample_type ? &p->sample_type[0]->unit : &p->period };

	change_number(random, PICK(random, fields, 5));
}

/* Strings of the same length stay where they are. */
static void change_string(struct fuzz_random *random, Pprof__Profile *p)
{
	/* Changed themselves later. */
	static char texts[][32] = { "_ZN4work4keepEi",
				    "operator new(unsigned long)",
				    "thread",
				    "kind",
				    "calloc",
				    "0123abcd",
				    "bytes" };
	char *text = PICK(random, p->string_table, p->n_string_table);

	if (fuzz_below(random, 2) && *text)
		text[fuzz_below(random, strlen(text))] = (char)fuzz_next(random);
	else
		PICK(random, p->string_table,
		     p->n_string_table) = PICK(random, texts, sizeof(texts) / sizeof(texts[0]));
}

static void change(struct fuzz_random *random, Pprof__Profile *p)
{
	switch (fuzz_below(random, 8)) {
	case 0:
	case 1:
		if (p->n_sample)
			change_sample(random, p);
		break;
	case 2:
		if (p->n_location)
			change_location(random, p);
		break;
	case 3:
		if (p->n_mapping)
			change_mapping(random, p);
		break;
	case 4:
		if (p->n_function)
			change_function(random, p);
		break;
	case 5:
		change_head(random, p);
		break;
	case 6:
		if (p->n_string_table)
			change_string(random, p);
		break;
	default:
		if (p->n_sample)
			PICK(random, p->sample, p->n_sample) = PICK(random, p->sample, p->n_sample);
	}
}

static void *take(void *arena, size_t bytes)
{
	return seep_arena_alloc(arena, bytes);
}

static void give(void *arena, void *memory)
{
	(void)arena;
	(void)memory;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	struct fuzz_random random = { seed };
	struct seep_arena *arena = seep_arena_new();
	ProtobufCAllocator allocator = { take, give, arena };
	Pprof__Profile *message = pprof__profile__unpack(&allocator, size, data);
	size_t bytes;

	if (fuzz_below(&random, 4) == 0 || !message) {
		seep_arena_free(arena);
		return LLVMFuzzerMutate(data, size, max_size);
	}
	for (uint64_t left = 1 + fuzz_below(&random, 3); left > 0; left--)
		change(&random, message);
	bytes = pprof__profile__get_packed_size(message);
	if (bytes <= max_size)
		size = pprof__profile__pack(message, data);
	seep_arena_free(arena);
	return size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_import(&seep_import_pprof, data, size);
}
