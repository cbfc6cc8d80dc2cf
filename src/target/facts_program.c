/* SPDX-License-Identifier: MIT */
#include "base/file.h"
#include "base/xalloc.h"
#include "target/allocators.h"
#include "target/spawn.h"
#include "target/facts.h"
#include "target/preflight.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

void seep_facts_note_library(struct seep_facts *facts, const char *path)
{
	struct seep_program_facts *program = &facts->program;
	const char *allocator = seep_allocator_library(path);

	if (allocator && !program->allocator) {
		program->allocator = allocator;
		program->allocator_library = seep_facts_keep(facts, path);
	}
	if (!program->manager)
		program->manager = seep_memory_manager_of(path);
}

/* "\tlibc.so.6 => /lib/.../libc.so.6 (0x7f...)", "\tx.so => not found", "\t/lib64/ld... (0x...)" */
static void take_line(struct seep_facts *facts, char *line)
{
	char *name = line + strspn(line, "\t "), *arrow = strstr(name, " => "), *end;
	char *path = arrow ? arrow + 4 : name;

	if (arrow && strncmp(path, "not found", 9) == 0) {
		*arrow = '\0';
		facts->program.missing_library = seep_facts_keep(facts, name);
		return;
	}
	end = strstr(path, " (0x");
	if (*path != '/' || !end)
		return;
	*end = '\0';
	seep_facts_note_library(facts, path);
}

static void list_libraries(struct seep_facts *facts)
{
	/* Of a link the loader would take $ORIGIN for the link's folder, the kernel does not. */
	SEEP_FREED char *real = realpath(facts->program.loaded, NULL);
	char *argv[] = { facts->program.kind.loader, real, NULL };
	const char *path = getenv("LD_LIBRARY_PATH");
	SEEP_FREED char *search = seep_xasprintf("LD_LIBRARY_PATH=%s", path ? path : "");
	/* The loader's own option --list gives up where a library is missing. */
	char *envp[] = { (char *)(uintptr_t) "LD_TRACE_LOADED_OBJECTS=1", search, NULL };
	struct seep_capture capture;

	if (*argv[0] && real && seep_capture_run(argv, envp, SEEP_CAPTURE_STDOUT, &capture)) {
		char *rest = capture.text, *line;

		while ((line = strsep(&rest, "\n")))
			take_line(facts, line);
		free(capture.text);
	}
}

/* "#!/usr/bin/env [-S] python3 ...": the word after env. NULL: it is no such script. */
static char *env_word(const char *path)
{
	char line[256], *rest = line, *word;
	bool after_env = false;

	(void)seep_file_read_start(path, line, sizeof(line));
	line[strcspn(line, "\n")] = '\0';
	while (strncmp(line, "#!", 2) == 0 && (word = strsep(&rest, " \t"))) {
		if (after_env && *word && *word != '-' && !strchr(word, '='))
			return seep_xstrdup(word);
		after_env |= strstr(word, "/env") != NULL;
	}
	return NULL;
}

/* What stays in the process in the end. Takes @found. */
static struct seep_program follow_env(struct seep_program found)
{
	SEEP_FREED char *word = env_word(found.path);
	struct seep_program next = { 0 };

	if (word && seep_preflight(word, &next, NULL) == 0) {
		char *script = found.path;

		found.path = next.path;
		next.path = script;
		seep_program_done(&found);
		found = next;
	}
	return found;
}

void seep_facts_look_at_program(struct seep_facts *facts, const char *name)
{
	struct seep_program_facts *program = &facts->program;
	struct seep_program found = { 0 };
	struct seep_error err = { 0 };
	int rc;

	facts->looked |= SEEP_FACTS_PROGRAM;
	program->name = seep_facts_keep(facts, name);
	rc = seep_preflight(name, &found, &err);
	if (rc < 0) {
		program->is_unsupported = rc == -SEEP_EUNSUPPORTED;
		program->problem = seep_facts_keep(facts, err.text);
		return;
	}
	found = follow_env(found);
	program->path = seep_facts_keep(facts, found.path);
	program->loaded = seep_facts_keep(facts, found.loaded);
	program->is_script = strcmp(found.path, found.loaded) != 0;
	seep_program_done(&found);
}

/* By the process's environment, or, of a program, by what it would inherit from here. */
static bool is_turned_off(const struct seep_facts *facts)
{
	const struct seep_memory_manager *manager = facts->program.manager;

	if (!manager || !manager->off)
		return false;
	if (facts->process.environment)
		return seep_memory_manager_is_off(manager, facts->process.environment,
						  facts->process.environment_bytes);
	for (char **at = environ; *at; at++)
		if (seep_memory_manager_is_off(manager, *at, strlen(*at)))
			return true;
	return false;
}

void seep_facts_look_inside_program(struct seep_facts *facts, const char *name)
{
	struct seep_program_facts *program = &facts->program;
	SEEP_CLOSED int fd = -1;

	seep_facts_look_at_program(facts, name);
	if (program->problem)
		return;
	facts->looked |= SEEP_FACTS_INSIDE;
	fd = open(program->loaded, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	program->was_read = seep_elfkind_read(fd, program->loaded, &program->kind, NULL) == 0;
	seep_facts_note_library(facts, program->loaded);
	if (!program->was_read)
		return;
	program->linked_allocator = seep_allocator_in(program->loaded);
	list_libraries(facts);
	if (is_turned_off(facts))
		program->manager = NULL;
}
