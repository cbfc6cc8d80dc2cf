/* SPDX-License-Identifier: MIT */
#include "symbol/debuginfod.h"

#include "base/progress.h"
#include "base/terminal.h"
#include "base/work.h"
#include "base/xalloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TROUBLE_MAX_BYTES = 256, WHAT_MAX_BYTES = 128 };

struct debuginfod_client;

typedef struct debuginfod_client *begin_fn(void);
typedef void end_fn(struct debuginfod_client *library);
typedef int find_fn(struct debuginfod_client *library, const unsigned char *build_id, int bytes,
		    char **ret_path);
typedef int progress_fn(struct debuginfod_client *library, long done, long all);
typedef void set_progress_fn(struct debuginfod_client *library, progress_fn *progress);

struct seep_debuginfod {
	void *handle;
	struct debuginfod_client *library;
	end_fn *end;
	find_fn *find_debug;
	find_fn *find_executable;
	struct seep_progress progress;
	char trouble[TROUBLE_MAX_BYTES];
	bool was_interrupted; /* the transfer under way */
};

/* Whose transfer is under way in this thread: older libraries have no way to say so. */
static _Thread_local struct seep_debuginfod *asking;

/* Called about once a second and for what arrives. */
static int note_progress(struct debuginfod_client *library, long done, long all)
{
	struct seep_debuginfod *client = asking;

	(void)library;
	client->progress.total = all > 0 ? (uint64_t)all : 0;
	if (all > 0)
		seep_progress_step(&client->progress, (uint64_t)done);
	client->was_interrupted = seep_work_is_interrupted();
	return client->was_interrupted;
}

static int load(struct seep_debuginfod *client, struct seep_error *err)
{
	set_progress_fn *set_progress;
	begin_fn *begin;

	client->handle = dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!client->handle)
		return seep_fail(err, SEEP_EUNSUPPORTED,
				 "libdebuginfod.so.1 is not installed (Debian's libdebuginfod1)");
	*(void **)&begin = dlsym(client->handle, "debuginfod_begin");
	*(void **)&client->end = dlsym(client->handle, "debuginfod_end");
	*(void **)&client->find_debug = dlsym(client->handle, "debuginfod_find_debuginfo");
	*(void **)&client->find_executable = dlsym(client->handle, "debuginfod_find_executable");
	*(void **)&set_progress = dlsym(client->handle, "debuginfod_set_progressfn");
	if (begin && client->end && client->find_debug && client->find_executable && set_progress)
		client->library = begin();
	if (!client->library)
		return seep_fail(err, SEEP_EUNSUPPORTED, "libdebuginfod.so.1 cannot be started");
	set_progress(client->library, note_progress);
	return 0;
}

int seep_debuginfod_new(struct seep_debuginfod **ret, struct seep_error *err)
{
	const char *servers = getenv("DEBUGINFOD_URLS");
	struct seep_debuginfod *client;
	int rc;

	if (!servers || servers[strspn(servers, " ")] == '\0')
		return seep_fail(err, SEEP_EUSAGE,
				 "the environment variable DEBUGINFOD_URLS names no server");
	client = seep_xcalloc(1, sizeof(*client));
	rc = load(client, err);
	if (rc < 0)
		seep_debuginfod_free(client);
	else
		*ret = client;
	return rc;
}

void seep_debuginfod_free(struct seep_debuginfod *client)
{
	if (!client)
		return;
	if (client->library)
		client->end(client->library);
	/* The library stays loaded: what it uses has threads and exit handlers. */
	free(client);
}

const char *seep_debuginfod_trouble(const struct seep_debuginfod *client)
{
	return client && client->trouble[0] ? client->trouble : NULL;
}

static void note_trouble(struct seep_debuginfod *client, int problem)
{
	if (client->was_interrupted)
		(void)snprintf(client->trouble, sizeof(client->trouble),
			       "downloading symbols was interrupted");
	else if (problem == ETIME)
		(void)snprintf(client->trouble, sizeof(client->trouble),
			       "the debuginfod server did not answer in time (DEBUGINFOD_TIMEOUT), "
			       "and was not asked again");
	else if (problem != ENOENT)
		(void)snprintf(client->trouble, sizeof(client->trouble),
			       "the debuginfod server cannot be asked: %s", strerror(problem));
}

char *seep_debuginfod_find(struct seep_debuginfod *client, enum seep_debuginfod_kind kind,
			   const uint8_t *build_id, size_t build_id_bytes, const char *name)
{
	SEEP_FREED char *safe = NULL;
	char what[WHAT_MAX_BYTES], *path = NULL;
	find_fn *find;
	int fd;

	if (!client || client->trouble[0] || build_id_bytes == 0)
		return NULL;
	find = kind == SEEP_DEBUGINFOD_DEBUG ? client->find_debug : client->find_executable;
	safe = seep_escape_dup(name);
	(void)snprintf(what, sizeof(what), "downloading symbols of %s, bytes", safe);
	seep_progress_start(&client->progress, what);
	asking = client;
	fd = find(client->library, build_id, (int)build_id_bytes, &path);
	asking = NULL;
	seep_progress_done(&client->progress);
	if (fd >= 0)
		(void)close(fd);
	else
		note_trouble(client, -fd);
	return path;
}
