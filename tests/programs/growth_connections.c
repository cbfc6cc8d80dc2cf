/* SPDX-License-Identifier: MIT */
/*
 * A pool of database connections whose size follows the load up and down: opened when there are too
 * few, closed one by one when too many are idle. Each gathers prepared statements while it lives.
 */
#include "growth_play.h"

enum { MOST = 400, STATEMENTS = 24 };

GROWTH_SITE(STEADY, open_connection);
GROWTH_SITE(STEADY, prepare_statement);
GROWTH_SITE(STEADY, fetch_result);

struct connection {
	size_t bytes;
	long statement_count;
	struct growth_item *statements;
};

static struct connection *pool[MOST];
static long pool_count;

static GROWTH_FN struct connection *open_connection(size_t bytes)
{
	struct connection *connection = calloc(1, bytes);

	growth_live(&site_open_connection, connection, bytes);
	connection->bytes = bytes;
	return connection;
}

static GROWTH_FN struct growth_item *prepare_statement(size_t bytes)
{
	struct growth_item *statement = malloc(bytes);

	growth_live(&site_prepare_statement, statement, bytes);
	statement->bytes = bytes;
	return statement;
}

static GROWTH_FN void *fetch_result(size_t bytes)
{
	void *result = malloc(bytes);

	growth_live(&site_fetch_result, result, bytes);
	return result;
}

static void close_connection(long at)
{
	struct connection *connection = pool[at];

	pool[at] = pool[--pool_count];
	growth_free_list(&connection->statements, &site_prepare_statement);
	growth_free(&site_open_connection, connection, connection->bytes);
}

static void query(struct connection *connection, uint64_t *random)
{
	struct growth_item *statement;

	/* One of so many statements; is it prepared here already? */
	if (growth_between(random, 0, STATEMENTS - 1) < connection->statement_count)
		return;
	statement = prepare_statement(growth_size(random, 200, 3000));
	statement->next = connection->statements;
	connection->statements = statement;
	connection->statement_count++;
}

int main(int argc, char **argv)
{
	static struct growth_wheel results;
	struct growth_clock clock = { 0 };
	double usual, noise = 1, period, phase, swing, idle = 0;
	uint64_t random;

	if (growth_start(argc, argv) != 0)
		return 2;
	random = growth_stream(0);
	usual = growth_uniform(&random, 30, 150);
	period = growth_uniform(&random, 30, 110);
	phase = growth_uniform(&random, 0, 1);
	swing = growth_uniform(&random, 0.3, 0.8);
	while (growth_tick(&clock)) {
		double load = 1 + swing * growth_wave(growth_now(&clock), period, phase);
		long wanted, count;

		load *= growth_noise(&random, &noise, 0.98, 0.04);
		wanted = (long)(usual * load);
		if (wanted > MOST)
			wanted = MOST;
		growth_expire(&results, &clock, &site_fetch_result);
		while (pool_count < wanted)
			pool[pool_count++] = open_connection(growth_size(&random, 2048, 8192));
		/* Idle ones are closed slowly: the load may come back. */
		idle += (double)(pool_count - wanted) * 0.03;
		for (; idle >= 1 && pool_count > wanted; idle--)
			close_connection(growth_between(&random, 0, pool_count - 1));
		/* And a few fail in any case. */
		if (pool_count > 0 && growth_chance(&random, 0.1))
			close_connection(growth_between(&random, 0, pool_count - 1));
		count = growth_arrivals(&random, (double)wanted * 0.1);
		while (count-- > 0 && pool_count > 0) {
			size_t bytes = growth_size(&random, 256, 16384);

			query(pool[growth_between(&random, 0, pool_count - 1)], &random);
			growth_later(&results, &clock, fetch_result(bytes), bytes,
				     growth_between(&random, 1, 10));
		}
	}
	growth_end();
	while (pool_count > 0)
		close_connection(pool_count - 1);
	growth_drain(&results, &site_fetch_result);
	return 0;
}
