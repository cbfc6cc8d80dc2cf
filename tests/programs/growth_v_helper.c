/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * One helper copies text for all handlers of a server, in two threads. Three handlers free their
 * copies when the request is over. The fourth copies the fields of an audit record one by one, and
 * its early return at a field that is not valid leaves those behind that it had copied.
 */
#include <pthread.h>

#include "growth_play.h"

enum { WORKERS = 2, FIELDS = 4 };

GROWTH_SITE(STEADY, log_in);
GROWTH_SITE(STEADY, search_items);
GROWTH_SITE(STEADY, show_page);
GROWTH_SITE(GROWING, audit_action);

struct worker {
	struct growth_clock clock;
	struct growth_wheel logins, searches, pages, audits;
	uint64_t random;
};

static double rate, invalid, day, phase;

static GROWTH_FN void *copy_text(size_t bytes)
{
	char *copy = malloc(bytes);

	if (copy)
		memset(copy, 'c', bytes);
	return copy;
}

static GROWTH_FN void log_in(struct worker *self)
{
	size_t bytes = (size_t)growth_between(&self->random, 24, 120);
	void *name = copy_text(bytes);

	growth_live(&site_log_in, name, bytes);
	growth_later(&self->logins, &self->clock, name, bytes,
		     growth_between(&self->random, 20, 300));
}

static GROWTH_FN void search_items(struct worker *self)
{
	size_t bytes = growth_size(&self->random, 32, 512);
	void *query = copy_text(bytes);

	growth_live(&site_search_items, query, bytes);
	growth_later(&self->searches, &self->clock, query, bytes,
		     growth_between(&self->random, 1, 15));
}

static GROWTH_FN void show_page(struct worker *self)
{
	size_t bytes = growth_size(&self->random, 1024, 32768);
	void *page = copy_text(bytes);

	growth_live(&site_show_page, page, bytes);
	growth_later(&self->pages, &self->clock, page, bytes, growth_between(&self->random, 1, 30));
}

static GROWTH_FN void audit_action(struct worker *self)
{
	long bad = growth_chance(&self->random, invalid)
			   ? growth_between(&self->random, 0, FIELDS - 1)
			   : FIELDS;
	size_t bytes[FIELDS];
	void *fields[FIELDS];
	long i, ticks = growth_between(&self->random, 5, 40);

	for (i = 0; i < FIELDS; i++) {
		if (i == bad)
			return;
		bytes[i] = (size_t)growth_between(&self->random, 24, 200);
		fields[i] = copy_text(bytes[i]);
		growth_live(&site_audit_action, fields[i], bytes[i]);
	}
	for (i = 0; i < FIELDS; i++)
		growth_later(&self->audits, &self->clock, fields[i], bytes[i], ticks);
}

static void *work(void *arg)
{
	struct worker *self = arg;
	double noise = 1;

	while (growth_tick(&self->clock)) {
		double load = 1 + 0.6 * growth_wave(growth_now(&self->clock), day, phase);
		long requests;

		growth_expire(&self->logins, &self->clock, &site_log_in);
		growth_expire(&self->searches, &self->clock, &site_search_items);
		growth_expire(&self->pages, &self->clock, &site_show_page);
		growth_expire(&self->audits, &self->clock, &site_audit_action);
		load *= growth_noise(&self->random, &noise, 0.95, 0.12);
		requests = growth_arrivals(&self->random, rate * load / WORKERS);
		while (requests-- > 0) {
			double what = growth_uniform(&self->random, 0, 1);

			if (what < 0.1)
				log_in(self);
			else if (what < 0.35)
				search_items(self);
			else if (what < 0.7)
				show_page(self);
			else
				audit_action(self);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct worker workers[WORKERS];
	pthread_t threads[WORKERS];
	uint64_t random;
	unsigned i;

	if (growth_start(argc, argv) != 0)
		return 2;
	random = growth_stream(0);
	rate = growth_uniform(&random, 3, 12);
	invalid = growth_uniform(&random, 0.04, 0.2);
	day = growth_uniform(&random, 20, 60);
	phase = growth_uniform(&random, 0, 1);
	for (i = 0; i < WORKERS; i++) {
		workers[i].random = growth_stream(i + 1);
		(void)pthread_create(&threads[i], NULL, work, &workers[i]);
	}
	for (i = 0; i < WORKERS; i++)
		(void)pthread_join(threads[i], NULL);
	growth_end();
	for (i = 0; i < WORKERS; i++) {
		growth_drain(&workers[i].logins, &site_log_in);
		growth_drain(&workers[i].searches, &site_search_items);
		growth_drain(&workers[i].pages, &site_show_page);
		growth_drain(&workers[i].audits, &site_audit_action);
	}
	return 0;
}
