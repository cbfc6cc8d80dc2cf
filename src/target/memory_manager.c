/* SPDX-License-Identifier: MIT */
#include "target/memory_manager.h"

#include "base/path.h"

#include <string.h>

static const struct seep_memory_manager managers[] = {
	{ "python", "libpython", "PYTHONMALLOC=malloc",
	  "Python keeps objects of up to 512 bytes in memory that it maps itself: these are not "
	  "recorded",
	  "set PYTHONMALLOC=malloc to record every object" },
	{ "node", "libnode", NULL,
	  "Node keeps the objects of JavaScript in memory that it maps itself: these are not "
	  "recorded; native code, buffers and the engine are",
	  "start it with --perf-basic-prof to have names for compiled functions" },
	{ "java", "libjvm", NULL,
	  "Java keeps its objects in memory that it maps itself: these are not recorded; native code "
	  "and libraries are",
	  "use -XX:NativeMemoryTracking=summary and jcmd for the virtual machine's own memory" },
	{ "php", "libphp", "USE_ZEND_ALLOC=0",
	  "PHP keeps what a request needs in memory that it maps itself: this is not recorded",
	  "set USE_ZEND_ALLOC=0 to record every piece" },
	{ "beam.smp", NULL, NULL,
	  "Erlang takes memory in large pieces and gives out parts of them: only the pieces are "
	  "recorded",
	  "start it with +Mea min to record every part" },
	{ NULL, "libgc.so", NULL,
	  "the Boehm collector keeps its objects in memory that it maps itself: these are not "
	  "recorded",
	  "" },
};

const struct seep_memory_manager *seep_memory_manager_of(const char *path)
{
	const char *name = seep_path_base(path);

	for (size_t i = 0; i < sizeof(managers) / sizeof(managers[0]); i++) {
		const struct seep_memory_manager *manager = &managers[i];

		if ((manager->program && !strstr(name, ".so") &&
		     strncmp(name, manager->program, strlen(manager->program)) == 0) ||
		    (manager->library && strstr(name, manager->library)))
			return manager;
	}
	return NULL;
}

bool seep_memory_manager_is_off(const struct seep_memory_manager *manager, const char *environment,
				size_t bytes)
{
	const char *end = environment + bytes;

	for (const char *at = environment; manager->off && at < end; at += strlen(at) + 1)
		if (strncmp(at, manager->off, strlen(manager->off)) == 0)
			return true;
	return false;
}
