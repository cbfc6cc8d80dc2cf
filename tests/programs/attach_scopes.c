// SPDX-License-Identifier: MIT
// build: -O1 -g -pthread
/*
 * Scopes that are open, entered and left while it is attached to, or not. Lines say what is done, as
 * attach_talk.h has it: "request" and "parse" enter such a scope, "leave" leaves it; "job",
 * "suspend", "resume" and "finish" are of one that is held by a handle; "keep" and "drop" allocate and
 * free in whatever is open; "thread" does both in another thread, in a scope of its own. The test
 * knows what each holds.
 */
#include "seep/seep.h"

#include <pthread.h>

#include "attach_talk.h"

enum { BLOCK_BYTES = 100 };

static void *volatile kept[64];
static unsigned kept_count;
static seep_scope handle;

static void listen(void);

static SITE void enter_request(void)
{
	SEEP_SCOPE("request");
	talk_answer();
	listen();
}

static SITE void enter_parse(void)
{
	SEEP_SCOPE("parse");
	talk_answer();
	listen();
}

static SITE void keep(void)
{
	kept[kept_count] = malloc(BLOCK_BYTES);
	free(kept[kept_count]);
	kept[kept_count++] = malloc(BLOCK_BYTES);
}

static void *work(void *unused)
{
	SEEP_SCOPE("thread");
	keep();
	return unused;
}

static void in_thread(void)
{
	pthread_t id;

	EXPECT(pthread_create(&id, NULL, work, NULL) == 0);
	EXPECT(pthread_join(id, NULL) == 0);
}

static void follow(const char *line)
{
	if (strcmp(line, "request") == 0)
		enter_request();
	else if (strcmp(line, "parse") == 0)
		enter_parse();
	else if (strcmp(line, "job") == 0)
		handle = seep_scope_begin("job");
	else if (strcmp(line, "suspend") == 0)
		(void)seep_scope_suspend(handle);
	else if (strcmp(line, "resume") == 0)
		(void)seep_scope_resume(handle);
	else if (strcmp(line, "finish") == 0)
		(void)seep_scope_end(handle);
	else if (strcmp(line, "keep") == 0)
		keep();
	else if (strcmp(line, "drop") == 0)
		free(kept[--kept_count]);
	else if (strcmp(line, "thread") == 0)
		in_thread();
	talk_answer();
}

/* Until the scope that it was called in is to be left. */
static void listen(void)
{
	const char *line;

	while ((line = talk_line(-1)) != NULL && strcmp(line, "leave") != 0)
		follow(line);
}

int main(void)
{
	talk_ready();
	listen();
	return talk_end();
}
