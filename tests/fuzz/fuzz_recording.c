/* SPDX-License-Identifier: MIT */
/*
 * libFuzzer: a sound recording with any bytes of it replaced. Build and run, with the libraries
 * of the tool (dw elf iberty sqlite3 z zstd lzma):
 *
 *   clang -g -O1 -D_GNU_SOURCE= -fsanitize=fuzzer,address,undefined -Isrc \
 *	tests/fuzz/fuzz_recording.c src/{recording,profile,ledger,base,symbol}/<all>.c -l<libraries>
 *   ./a.out -max_len=256
 *
 * Input: records of 8 bytes, four for where (modulo the size), four for what. Inputs that begin
 * with "SQLite format 3" are taken as whole files.
 */
#include "profile/profile.h"
#include "recording/recording.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RECORD_BYTES = 8, FILE_BYTES_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[64];
static unsigned char sound[FILE_BYTES_MAX];
static unsigned char whole[FILE_BYTES_MAX];
static size_t sound_bytes;

static void fill(struct seep_profile *profile)
{
	enum { COUNT = 40 };

	profile->module_count = 1;
	profile->modules = seep_profile_calloc(profile, 1, sizeof(*profile->modules));
	profile->modules[0].path = seep_profile_strdup(profile, "/usr/bin/prog");
	profile->frame_count = COUNT;
	profile->frames = seep_profile_calloc(profile, COUNT, sizeof(*profile->frames));
	profile->context_count = COUNT;
	profile->contexts = seep_profile_calloc(profile, COUNT, sizeof(*profile->contexts));
	for (uint32_t i = 0; i < COUNT; i++) {
		struct seep_profile_context *context = &profile->contexts[i];

		profile->frames[i].module = 1;
		profile->frames[i].function = "some::function(int)";
		context->id = i + 1;
		context->stack_count = i % 7;
		context->stack = seep_profile_calloc(profile, 7, sizeof(*context->stack));
		for (uint32_t k = 0; k < 7; k++)
			context->stack[k].frame = (i * k) % COUNT;
		context->epoch_count = 1;
		context->epochs = seep_profile_calloc(profile, 1, sizeof(*context->epochs));
	}
	seep_profile_add_unseen(profile, "code", "detail");
}

static void write_file(const unsigned char *bytes, size_t count)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, bytes, count) != (ssize_t)count)
		abort();
	(void)close(fd);
}

static void remove_file(void)
{
	(void)unlink(path);
}

static void build_once(void)
{
	struct seep_profile *profile;
	ssize_t got;
	int fd;

	if (sound_bytes)
		return;
	(void)snprintf(path, sizeof(path), "/dev/shm/seep_fuzz.%d", (int)getpid());
	profile = seep_profile_new();
	fill(profile);
	if (seep_recording_write(path, profile, true, NULL) != 0)
		abort();
	seep_profile_free(profile);
	fd = open(path, O_RDONLY);
	got = read(fd, sound, sizeof(sound));
	(void)close(fd);
	if (got <= 0)
		abort();
	sound_bytes = (size_t)got;
	(void)atexit(remove_file);
}

static void poke(const uint8_t *data, size_t size)
{
	memcpy(whole, sound, sound_bytes);
	for (; size >= RECORD_BYTES; data += RECORD_BYTES, size -= RECORD_BYTES) {
		uint32_t where;

		memcpy(&where, data, sizeof(where));
		memcpy(whole + where % (sound_bytes - 3), data + 4, 4);
	}
	write_file(whole, sound_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seep_profile *profile = NULL;

	build_once();
	if (size >= 16 && memcmp(data, "SQLite format 3", 16) == 0)
		write_file(data, size);
	else
		poke(data, size);
	if (seep_profile_open(path, &profile, NULL) == 0)
		seep_profile_free(profile);
	return 0;
}
