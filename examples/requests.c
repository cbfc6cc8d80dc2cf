/* SPDX-License-Identifier: MIT */
// build: -pthread
/*
 * Scopes in C: requests of three tenants are parsed by one thread and answered by another.
 *
 *	cc -g -pthread $(pkg-config --cflags seep) requests.c -o requests
 *	seep run -o requests.seep ./requests
 *	seep report requests.seep --json | jq '.scopes[] | {tag, entries, held_bytes}'
 *
 * The tag of a request is that of its tenant, so it is made at run time; "parse" and "render" are known
 * where they are written. Tenant "blue" has a cache that nobody empties: 100 answers of 1,000 bytes.
 */
#include <pthread.h>
#include <seep/seep.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REQUESTS = 300, ANSWER_BYTES = 1000, CACHED_MAX = 100 };

struct request {
	struct request *next;
	const char *tenant;
	char *path;
	seep_scope scope;
};

static const char *const tenants[] = { "red", "green", "blue" };
static char *cache[CACHED_MAX];
static unsigned cached;

static struct request *queue;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER;

static void *need(void *block)
{
	if (!block)
		abort();
	return block;
}

static struct request *parse(const char *tenant, unsigned number)
{
	SEEP_SCOPE("parse"); /* from here to the end of the block, however that is left */
	struct request *request = need(calloc(1, sizeof(*request)));
	char path[32];

	snprintf(path, sizeof(path), "/pages/%u", number);
	request->tenant = tenant;
	request->path = need(strdup(path));
	return request;
}

/* The request goes on in another thread. What this one does meanwhile is not the request's. */
static void receive(unsigned number)
{
	const char *tenant = tenants[number % 3];
	seep_scope scope;
	struct request *request;
	char tag[64];

	snprintf(tag, sizeof(tag), "tenant=%s", tenant);
	scope = seep_scope_begin(tag);
	request = parse(tenant, number);
	request->scope = scope;
	seep_scope_suspend(scope);

	pthread_mutex_lock(&lock);
	request->next = queue;
	queue = request;
	pthread_cond_signal(&not_empty);
	pthread_mutex_unlock(&lock);
}

static void render(const struct request *request)
{
	SEEP_FUNCTION_SCOPE();
	char *answer = need(malloc(ANSWER_BYTES));

	snprintf(answer, ANSWER_BYTES, "this is %s", request->path);
	if (strcmp(request->tenant, "blue") == 0 && cached < CACHED_MAX)
		cache[cached++] = answer;
	else
		free(answer);
}

static struct request *take(void)
{
	struct request *request;

	pthread_mutex_lock(&lock);
	while (!queue)
		pthread_cond_wait(&not_empty, &lock);
	request = queue;
	queue = request->next;
	pthread_mutex_unlock(&lock);
	return request;
}

static void *answer_all(void *unused)
{
	for (unsigned i = 0; i < REQUESTS; i++) {
		struct request *request = take();
		seep_scope scope = request->scope;

		seep_scope_resume(scope);
		render(request);
		free(request->path);
		free(request);
		seep_scope_end(scope);
	}
	return unused;
}

/* Where one function does all of the work, a scope with a tag of the moment does. */
static char *report(const char *tenant)
{
	char tag[64], *line;

	snprintf(tag, sizeof(tag), "report=%s", tenant);
	SEEP_SCOPE_NAMED(tag);
	line = need(malloc(80));
	snprintf(line, 80, "%s: %u answers in the cache", tenant,
		 strcmp(tenant, "blue") == 0 ? cached : 0);
	return line;
}

int main(void)
{
	pthread_t worker;

	if (pthread_create(&worker, NULL, answer_all, NULL) != 0)
		return 1;
	for (unsigned number = 0; number < REQUESTS; number++)
		receive(number);
	pthread_join(worker, NULL);
	for (unsigned i = 0; i < 3; i++) {
		char *line = report(tenants[i]);

		puts(line);
		free(line);
	}
	return 0;
}
