/* SPDX-License-Identifier: MIT */
#include "base/xalloc.h"
#include "symbol/debug_file.h"
#include "target/capture.h"
#include "target/doctor_look.h"
#include "target/preflight.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* ---- libraries ---------------------------------------------------------------------------- */

/* Asks the loader for a list; without what would change or spoil it. Release with free(). */
static char **listing_environment(void)
{
	size_t count = 0, kept = 0;
	char **list;

	while (environ[count]) {
		count++;
	}
	list = seep_xcalloc(count + 2, sizeof(*list));
	for (size_t i = 0; i < count; i++) {
		if (strncmp(environ[i], "LD_", 3) != 0 ||
		    strncmp(environ[i], "LD_LIBRARY_PATH=", 16) == 0)
			list[kept++] = environ[i];
	}
	/* The loader's own option --list gives up where a library is missing. */
	list[kept] = (char *)(uintptr_t) "LD_TRACE_LOADED_OBJECTS=1";
	return list;
}

/* "\tlibc.so.6 => /lib/.../libc.so.6 (0x7f...)", "\tlibx.so => not found", "\t/lib64/ld... (0x...)" */
static void take_line(struct seep_doctor_facts *facts, char *line)
{
	struct seep_doctor_program *program = &facts->program;
	char *arrow = strstr(line, " => "), *path = arrow ? arrow + 4 : line, *end;

	while (*line == '\t' || *line == ' ') {
		line++;
	}
	if (arrow && strncmp(path, "not found", 9) == 0) {
		*arrow = '\0';
		program->missing_library = seep_doctor_keep(facts, line);
		return;
	}
	path = arrow ? path : line;
	end = strstr(path, " (0x");
	if (*path != '/' || !end || program->library_count == SEEP_DOCTOR_LIBRARIES_MAX)
		return;
	*end = '\0';
	program->libraries[program->library_count++] = seep_doctor_keep(facts, path);
}

static void list_libraries(struct seep_doctor_facts *facts)
{
	struct seep_doctor_program *program = &facts->program;
	/* Of a link the loader would take $ORIGIN for the link's folder, the kernel does not. */
	char *real = realpath(program->loaded, NULL);
	char *argv[] = { program->kind.loader, real, NULL };
	struct seep_capture capture;
	char **envp;

	if (!program->kind.loader[0] || !real) {
		free(real);
		return;
	}
	envp = listing_environment();
	if (seep_capture_run(argv, envp, SEEP_CAPTURE_STDOUT, &capture, NULL) == 0) {
		char *rest = capture.text, *line;

		while ((line = strsep(&rest, "\n"))) {
			take_line(facts, line);
		}
		free(capture.text);
	}
	free(envp);
	free(real);
}

/* ---- names -------------------------------------------------------------------------------- */

static bool has_names(const struct seep_elf *elf)
{
	return elf && (seep_elf_has_section(elf, ".symtab") ||
		       seep_elf_has_section(elf, ".gnu_debugdata"));
}

static void look_at_symbols(struct seep_doctor_program *program)
{
	const struct seep_debug_dirs dirs = { 0 };
	struct seep_debug_query query = { .path = program->loaded };
	struct seep_elf *elf = NULL, *separate;
	const char *problem;

	if (!seep_elf_open(program->loaded, &elf, &problem))
		return;
	query.build_id = elf->build_id_bytes ? elf->build_id : NULL;
	query.build_id_bytes = elf->build_id_bytes;
	program->has_build_id = elf->build_id_bytes > 0;
	program->has_lines = seep_elf_has_dwarf(elf);
	program->has_names = has_names(elf);
	if (!program->has_lines) {
		separate = seep_debug_find_separate(&dirs, &query, elf);
		program->has_lines = separate != NULL;
		program->has_names |= has_names(separate);
		seep_elf_close(separate);
	}
	seep_elf_close(elf);
}

/* "bash: /bin/bash", "libc6:amd64: /lib/...", "a, b: /usr/share": the first name. */
static const char *owner_of(struct seep_doctor_facts *facts, const char *path)
{
	static const char query[] = "/usr/bin/dpkg-query";
	char *argv[] = { (char *)(uintptr_t)query, (char *)(uintptr_t) "-S",
			 (char *)(uintptr_t)path, NULL };
	const char *found = NULL;
	struct seep_capture capture;

	if (access(query, X_OK) < 0 ||
	    seep_capture_run(argv, environ, SEEP_CAPTURE_STDOUT, &capture, NULL) < 0)
		return NULL;
	if (capture.status == 0 && strncmp(capture.text, "diversion ", 10) != 0)
		found = seep_arena_strndup(facts->arena, capture.text,
					   strcspn(capture.text, ":, \n"));
	free(capture.text);
	return found && *found ? found : NULL;
}

/* Packages name a file by the path that it had before /bin became a link to /usr/bin, or after. */
static const char *package_of(struct seep_doctor_facts *facts, const char *path)
{
	char *real = realpath(path, NULL);
	const char *found = real ? owner_of(facts, real) : NULL;

	if (!found && real && strncmp(real, "/usr/", 5) == 0)
		found = owner_of(facts, real + 4);
	free(real);
	return found;
}

/* ---- the program -------------------------------------------------------------------------- */

/* "#!/usr/bin/env [-S] python3 ...": the word after env. NULL: it is no such script. */
static char *env_word(const char *path)
{
	char line[256] = "", *rest = line, *word;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool after_env = false;

	if (fd < 0)
		return NULL;
	if (read(fd, line, sizeof(line) - 1) <= 2 || strncmp(line, "#!", 2) != 0)
		line[0] = '\0';
	(void)close(fd);
	line[strcspn(line, "\n")] = '\0';
	while (*rest && (word = strsep(&rest, " \t"))) {
		if (after_env && *word && *word != '-' && !strchr(word, '='))
			return seep_xstrdup(word);
		after_env |= strstr(word, "/env") != NULL;
		if (!rest)
			break;
	}
	return NULL;
}

/* What stays in the process in the end. Takes @found. */
static struct seep_program follow_env(struct seep_program found)
{
	char *word = env_word(found.path);
	struct seep_program next = { 0 };

	if (word && seep_preflight(word, &next, NULL) == 0) {
		char *script = found.path;

		found.path = next.path;
		next.path = script;
		seep_program_done(&found);
		found = next;
	}
	free(word);
	return found;
}

void seep_doctor_look_at_program(struct seep_doctor_facts *facts, const char *name)
{
	struct seep_doctor_program *program = &facts->program;
	struct seep_program found = { 0 };
	struct seep_error err = { 0 };
	int fd;

	facts->subjects |= SEEP_DOCTOR_PROGRAM;
	program->name = seep_doctor_keep(facts, name);
	if (seep_preflight(name, &found, &err) < 0) {
		program->problem = seep_doctor_keep(facts, err.text);
		return;
	}
	found = follow_env(found);
	program->path = seep_doctor_keep(facts, found.path);
	program->loaded = seep_doctor_keep(facts, found.loaded);
	program->is_script = strcmp(found.path, found.loaded) != 0;
	seep_program_done(&found);
	fd = open(program->loaded, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	program->was_read = seep_elfkind_read(fd, program->loaded, &program->kind, NULL) == 0;
	(void)close(fd);
	if (!program->was_read)
		return;
	list_libraries(facts);
	look_at_symbols(program);
	if (!program->has_lines)
		program->package = package_of(facts, program->loaded);
}
