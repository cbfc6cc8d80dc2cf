/* SPDX-License-Identifier: MIT */
/*
 * Preloaded with libtcmalloc: writes what its sampler took of the live heap to the file HEAP_SAMPLE when
 * the program ends. tcmalloc itself writes it only when it is asked.
 */
#include <stdio.h>
#include <stdlib.h>

#include <string>

#include <gperftools/malloc_extension.h>

__attribute__((destructor)) static void write_sample()
{
	const char *path = getenv("HEAP_SAMPLE");
	FILE *file = path ? fopen(path, "w") : nullptr;
	std::string sample;

	if (!file)
		return;
	MallocExtension::instance()->GetHeapSample(&sample);
	(void)fputs(sample.c_str(), file);
	(void)fclose(file);
}
