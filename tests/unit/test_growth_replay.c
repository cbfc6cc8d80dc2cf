/* SPDX-License-Identifier: MIT */
/*
 * Growth verdicts on series that were recorded from programs (tests/programs/growth_*), each with
 * what the program says of itself. tests/soak/growth_table.py --series records them.
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/growth_series.h"

#define MS 1000000ull

/* "MS:BYTES:BLOCKS" for each reading, since the one before. */
static bool replay(char *readings, uint64_t after_ns)
{
	struct seep_growth_series series = { 0 };
	uint64_t now_ns = MS, bytes = 0, blocks = 0;
	char *rest = readings;

	for (char *word; (word = strtok_r(NULL, " \n", &rest)) != NULL;) {
		long long ms, more_bytes, more_blocks;

		assert_int_equal(sscanf(word, "%lld:%lld:%lld", &ms, &more_bytes, &more_blocks), 3);
		now_ns += (uint64_t)ms * MS;
		bytes += (uint64_t)more_bytes;
		blocks += (uint64_t)more_blocks;
		seep_growth_series_add(&series, after_ns, now_ns, bytes, blocks);
	}
	return series.growing || series.returned;
}

struct tally {
	unsigned right;
	unsigned missed;
	unsigned wrong;
	unsigned steady;
};

static void replay_line(char *line, struct tally *tally)
{
	char program[64], function[64], truth[16];
	unsigned seed, after_ms;
	int used = 0;
	bool grows, found;

	if (sscanf(line, "%63s %u %63s %15s %u %n", program, &seed, function, truth, &after_ms,
		   &used) != 5)
		fail_msg("not a series: %.60s", line);
	grows = strcmp(truth, "GROWING") == 0;
	found = replay(line + used, after_ms * MS);
	tally->right += grows && found;
	tally->missed += grows && !found;
	tally->wrong += !grows && found;
	tally->steady += !grows && !found;
	if (grows != found)
		print_message("%s %u: %s %s\n", program, seed, function,
			      grows ? "missed" : "said to grow");
}

static struct tally replay_folder(const char *folder)
{
	struct tally tally = { 0 };
	struct dirent **names;
	const int count = scandir(folder, &names, NULL, alphasort);
	char *line = NULL;
	size_t room = 0;

	assert_true(count > 2);
	for (int i = 0; i < count; i++) {
		char path[4096];
		FILE *file;

		(void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]->d_name);
		free(names[i]);
		if (!strstr(path, ".txt"))
			continue;
		file = fopen(path, "r");
		assert_non_null(file);
		while (getline(&line, &room, file) > 1)
			replay_line(line, &tally);
		(void)fclose(file);
	}
	free(line);
	free(names);
	print_message(
		"%u GROWING found, %u missed, %u false, %u STEADY; precision %.3f, recall %.3f\n",
		tally.right, tally.missed, tally.wrong, tally.steady,
		(double)tally.right / (tally.right + tally.wrong),
		(double)tally.right / (tally.right + tally.missed));
	return tally;
}

int main(int argc, char **argv)
{
	if (argc > 1)
		(void)replay_folder(argv[1]);
	return 0;
}
