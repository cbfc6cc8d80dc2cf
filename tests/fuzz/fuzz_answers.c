/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: any bytes as a file of the symbol cache. See tests/fuzz/run.
 *
 * The sum in the header is made right, since it is there against disks and not against people. The
 * reader's source is included for that: how the sum is made is nobody else's business.
 */
#include "fuzz_common.h"

#include "symbol/answer_file.c"

enum { FRAMES_MAX = 4, ANSWERS = 5 };

static const struct seep_answer_key key = {
	.program = 1,
	.build_id = { 0x5e, 0xe9, 0x5e, 0xed },
	.build_id_bytes = 4,
};

static void *make_file(struct fuzz_random *random, size_t *ret_bytes)
{
	static const struct seep_symbol_frame frames[] = {
		{ .function = "inner", .file = "a.c", .line = 1, .inlined = true },
		{ .function = "outer(int)", .linkage_name = "_Z5outeri", .file = "b.c", .line = 2 },
	};
	struct seep_answer answers[ANSWERS];
	void *made;

	for (uint32_t i = 0; i < ANSWERS; i++)
		answers[i] = (struct seep_answer){ .address = 16 * i,
						   .frames = frames,
						   .count = 1 + (uint32_t)fuzz_below(random, 2) };
	made = seep_answer_file_make(&key, answers, ANSWERS, ret_bytes);
	if (!made)
		abort();
	return made;
}

/* From nothing, a sound file; else a word of one changed. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	struct fuzz_random random = { seed };
	void *made;

	if (size >= sizeof(struct file_header)) {
		size_t at = fuzz_below(&random, size / 4) * 4;
		uint32_t word;

		if (fuzz_below(&random, 4) == 0)
			return LLVMFuzzerMutate(data, size, max_size);
		memcpy(&word, data + at, sizeof(word));
		word = (uint32_t)fuzz_word(&random, word, size / 4);
		memcpy(data + at, &word, sizeof(word));
		return size;
	}
	made = make_file(&random, &size);
	if (size > max_size)
		abort();
	memcpy(data, made, size);
	free(made);
	return size;
}

static void read_all(const struct seep_answer_file *file)
{
	for (uint32_t i = 0; i < file->address_count; i++) {
		struct seep_symbol_frame frames[FRAMES_MAX];
		size_t count = seep_answer_file_frames(file, i, frames, FRAMES_MAX);

		if (count > FRAMES_MAX)
			abort();
		for (size_t k = 0; k < count; k++) {
			fuzz_length += frames[k].function ? strlen(frames[k].function) : 0;
			fuzz_length += frames[k].linkage_name ? strlen(frames[k].linkage_name) : 0;
			fuzz_length += frames[k].file ? strlen(frames[k].file) : 0;
		}
	}
}

/* What was just made is read. */
static void read_own(uint64_t choice)
{
	struct fuzz_random random = { choice };
	struct seep_answer_file file;
	size_t bytes;
	void *made = make_file(&random, &bytes);

	if (!seep_answer_file_read(made, bytes, &key, &file) || file.address_count > ANSWERS ||
	    seep_answer_program() == 0)
		abort();
	read_all(&file);
	free(made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Of that size exactly, so that any read outside is caught. */
	uint8_t *copy = malloc(size ? size : 1);
	struct seep_answer_file file;

	if (!copy)
		abort();
	if (size)
		memcpy(copy, data, size);
	if (size >= sizeof(struct file_header)) {
		uint64_t sum = sum_of_file(copy, size);

		memcpy(copy + offsetof(struct file_header, sum), &sum, sizeof(sum));
	}
	fuzz_begin();
	if (seep_answer_file_read(copy, size, &key, &file))
		read_all(&file);
	if (fuzz_hash(data, size) % 16 == 0)
		read_own(fuzz_hash(data, size));
	fuzz_end();
	free(copy);
	return 0;
}
