/* SPDX-License-Identifier: MIT */
// build: -O1 -g -fno-inline
/*
 * A server whose requests are of several tenants, of which one leaks:
 *
 *	scope_server REQUESTS [PAUSE_US]
 *
 * Each request is a scope "tenant=NAME" with "parse" and "query" in it. Prints what is true of each
 * tenant: "tenant=NAME entries=... held=... allocated=...". Without requests, it serves for ever.
 */
#include "seep/seep.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TENANTS = 4, PARSED_BYTES = 300, ROWS_BYTES = 2000, SESSION_BYTES = 1000 };

static const char *const names[TENANTS] = { "acme", "globex", "initech", "umbrella" };
static struct {
	unsigned long entries, held, allocated;
} truth[TENANTS];

static char *parse(int tenant)
{
	SEEP_SCOPE("parse");
	truth[tenant].allocated += PARSED_BYTES;
	return malloc(PARSED_BYTES);
}

static char *query(int tenant)
{
	SEEP_SCOPE("query");
	truth[tenant].allocated += ROWS_BYTES;
	return malloc(ROWS_BYTES);
}

static void *volatile last_session;

static void open_session(int tenant)
{
	truth[tenant].allocated += SESSION_BYTES;
	truth[tenant].held += SESSION_BYTES;
	last_session = malloc(SESSION_BYTES);
}

static void handle(int tenant)
{
	char tag[64], *request, *rows;

	snprintf(tag, sizeof(tag), "tenant=%s", names[tenant]);
	SEEP_SCOPE_NAMED(tag);
	truth[tenant].entries++;
	request = parse(tenant);
	rows = query(tenant);
	/* The session of one tenant is opened with each request, and never closed. */
	if (tenant == 1)
		open_session(tenant);
	free(rows);
	free(request);
}

int main(int argc, char **argv)
{
	const unsigned long requests = argc > 1 ? strtoul(argv[1], NULL, 10) : 0;
	const unsigned pause_us = argc > 2 ? (unsigned)atoi(argv[2]) : 0;

	for (unsigned long i = 0; requests == 0 || i < requests; i++) {
		handle((int)(i % TENANTS));
		if (pause_us)
			usleep(pause_us);
	}
	for (int i = 0; i < TENANTS; i++)
		printf("tenant=%s entries=%lu held=%lu allocated=%lu\n", names[i], truth[i].entries,
		       truth[i].held, truth[i].allocated);
	return 0;
}
