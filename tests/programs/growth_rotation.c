/* SPDX-License-Identifier: MIT */
/*
 * A log that is kept in memory until it is rotated, every 30 to 50 seconds: once as a list of lines,
 * once as one buffer that is enlarged by a quarter whenever it is full. Both are dropped whole. How
 * much is logged depends on the hour.
 */
#include "growth_play.h"

GROWTH_SITE(STEADY, log_line);
GROWTH_SITE(STEADY, log_bytes);

static struct growth_item *lines;
static char *buffer;
static size_t buffer_used, buffer_room;

static GROWTH_FN void log_line(size_t bytes)
{
	struct growth_item *line = malloc(bytes);

	growth_live(&site_log_line, line, bytes);
	line->bytes = bytes;
	line->next = lines;
	lines = line;
}

static GROWTH_FN void log_bytes(size_t bytes)
{
	if (buffer_used + bytes > buffer_room) {
		size_t room = buffer_room + buffer_room / 4 + 4096;

		growth_gone(&site_log_bytes, buffer_room);
		buffer = realloc(buffer, room);
		growth_live(&site_log_bytes, buffer, room);
		buffer_room = room;
	}
	memset(buffer + buffer_used, 'x', bytes);
	buffer_used += bytes;
}

static void drop_buffer(void)
{
	growth_free(&site_log_bytes, buffer, buffer_room);
	buffer = NULL;
	buffer_used = buffer_room = 0;
}

int main(int argc, char **argv)
{
	struct growth_clock clock = { 0 };
	double rate, noise = 1, lines_end, buffer_end, period, phase;
	uint64_t random;

	if (growth_start(argc, argv) != 0)
		return 2;
	random = growth_stream(0);
	rate = growth_uniform(&random, 3, 12);
	period = growth_uniform(&random, 40, 120);
	phase = growth_uniform(&random, 0, 1);
	lines_end = growth_uniform(&random, 5, 50);
	buffer_end = growth_uniform(&random, 5, 50);
	while (growth_tick(&clock)) {
		double now = growth_now(&clock);
		double load = 1 + 0.4 * growth_wave(now, period, phase);
		long count;

		load *= growth_noise(&random, &noise, 0.96, 0.12);
		count = growth_arrivals(&random, rate * load);
		while (count-- > 0) {
			size_t bytes = growth_size(&random, 40, 300);

			log_line(bytes);
			log_bytes(bytes);
		}
		if (now >= lines_end) {
			growth_free_list(&lines, &site_log_line);
			lines_end = now + growth_uniform(&random, 30, 50);
		}
		if (now >= buffer_end) {
			drop_buffer();
			buffer_end = now + growth_uniform(&random, 30, 50);
		}
	}
	growth_end();
	growth_free_list(&lines, &site_log_line);
	drop_buffer();
	return 0;
}
