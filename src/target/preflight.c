/* SPDX-License-Identifier: MIT */
#include "target/preflight.h"

#include "base/path.h"
#include "base/procfs.h"
#include "base/xalloc.h"
#include "symbol/elf_image.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
	SCRIPT_HEAD_BYTES = 256, /* what the kernel reads of a "#!" line */
	SCRIPT_DEPTH_MAX = 4,	 /* interpreters that are scripts themselves, as the kernel */
};

/* Sanitizers whose runtime must come first in the search order, or replaces malloc itself. */
static const struct {
	const char *library; /* prefix of a DT_NEEDED name */
	const char *symbol;  /* in .dynsym when the runtime is linked statically */
	const char *name;
} sanitizers[] = {
	{ "libasan.so", "__asan_init", "AddressSanitizer" },
	{ "libclang_rt.asan", "__asan_init", "AddressSanitizer" },
	{ "libtsan.so", "__tsan_init", "ThreadSanitizer" },
	{ "libclang_rt.tsan", "__tsan_init", "ThreadSanitizer" },
	{ "libhwasan.so", "__hwasan_init", "HWAddressSanitizer" },
	{ "libclang_rt.hwasan", "__hwasan_init", "HWAddressSanitizer" },
	{ "libmsan.so", "__msan_init", "MemorySanitizer" },
	{ "liblsan.so", "__lsan_init", "LeakSanitizer" },
	{ "libclang_rt.lsan", "__lsan_init", "LeakSanitizer" },
};

enum { SANITIZER_COUNT = sizeof(sanitizers) / sizeof(sanitizers[0]) };

const char *seep_sanitizer_library(const char *name)
{
	for (int k = 0; k < SANITIZER_COUNT; k++)
		if (seep_begins_with(name, sanitizers[k].library))
			return sanitizers[k].name;
	return NULL;
}

/* There is one such section; more of them would only take time. */
static void read_dynamic(const struct seep_elf *elf, struct seep_elfkind *kind)
{
	struct seep_elf_table table;
	Elf64_Dyn entry;
	size_t at = 1;

	while (at < elf->section_count && elf->sections[at].sh_type != SHT_DYNAMIC)
		at++;
	if (at >= elf->section_count)
		return;
	kind->is_library = kind->type == ET_DYN;
	table = seep_elf_table(elf, &elf->sections[at]);
	for (size_t i = 0; seep_elf_table_item(&table, i, &entry, sizeof(entry)); i++) {
		const char *text = seep_elf_table_string(&table, entry.d_un.d_val);

		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_PIE))
			kind->is_library = false;
		if (text && entry.d_tag == DT_SONAME && seep_begins_with(text, "ld-linux"))
			kind->is_loader = true;
		if (text && entry.d_tag == DT_NEEDED && seep_sanitizer_library(text))
			kind->sanitizer = seep_sanitizer_library(text);
	}
}

static void read_symbols(const struct seep_elf *elf, struct seep_elfkind *kind)
{
	struct seep_elf_symbols symbols = { .elf = elf, .is_dynamic = true };

	while (seep_elf_next_symbol(&symbols))
		for (int k = 0; symbols.name && k < SANITIZER_COUNT; k++)
			if (symbols.symbol.st_shndx != SHN_UNDEF &&
			    strcmp(symbols.name, sanitizers[k].symbol) == 0)
				kind->sanitizer = sanitizers[k].name;
}

/* Programs without section headers, or with damaged ones, only lose what sections tell. */
static void read_sections(int fd, struct seep_elfkind *kind)
{
	SEEP_RELEASED(seep_elf_close_at) struct seep_elf *elf = NULL;

	if (seep_elf_open_fd(fd, &elf))
		return;
	kind->has_unwind = seep_elf_has_section(elf, ".eh_frame");
	kind->is_go = seep_elf_has_section(elf, ".go.buildinfo");
	read_dynamic(elf, kind);
	read_symbols(elf, kind);
}

/* Returns false where the kernel cannot read what it needs to start the file either. */
static bool read_loader(const struct seep_elf *elf, struct seep_elfkind *kind)
{
	Elf64_Phdr segment;
	size_t i = 0;

	for (; seep_elf_segment(elf, i, &segment); i++) {
		if (segment.p_type != PT_INTERP || segment.p_filesz > sizeof(kind->loader))
			continue;
		if (!seep_elf_read_at(elf, segment.p_offset, kind->loader, segment.p_filesz))
			return false;
		kind->loader[sizeof(kind->loader) - 1] = '\0';
	}
	return i > 0 && i == elf->header.e_phnum;
}

/* Which stands in the same place whatever the class. */
static bool read_start(struct seep_elf *elf, struct seep_elfkind *kind)
{
	Elf64_Ehdr *header = &elf->header;
	const uint8_t *ident = header->e_ident;

	if (!seep_elf_read_at(elf, 0, header, sizeof(*header)) ||
	    memcmp(ident, ELFMAG, SELFMAG) != 0)
		return false;
	kind->is_64bit = ident[EI_CLASS] == ELFCLASS64;
	kind->is_little_endian = ident[EI_DATA] == ELFDATA2LSB;
	kind->type = kind->is_little_endian ? header->e_type : __builtin_bswap16(header->e_type);
	kind->machine = kind->is_little_endian ? header->e_machine
					       : __builtin_bswap16(header->e_machine);
	return (kind->is_64bit || ident[EI_CLASS] == ELFCLASS32) &&
	       (kind->is_little_endian || ident[EI_DATA] == ELFDATA2MSB);
}

/* Of what is not for this machine the first bytes say enough. */
int seep_elfkind_read(int fd, const char *name, struct seep_elfkind *ret_kind,
		      struct seep_error *err)
{
	struct seep_elfkind kind = { 0 };
	struct seep_elf elf = { .fd = fd };
	struct stat st;
	bool is_ours;

	if (fstat(fd, &st) < 0)
		return seep_fail_errno(err, errno, "cannot access %s", name);
	elf.file_bytes = (uint64_t)st.st_size;
	if (!read_start(&elf, &kind))
		return seep_fail(err, SEEP_ECORRUPT, "%s is a damaged ELF file", name);
	is_ours = kind.is_64bit && kind.is_little_endian;
	if (is_ours && kind.type != ET_EXEC && kind.type != ET_DYN)
		return seep_fail(err, SEEP_ECORRUPT, "%s is an ELF file, but not a program", name);
	if (is_ours && !read_loader(&elf, &kind))
		return seep_fail(err, SEEP_ECORRUPT, "%s is a damaged ELF file", name);
	if (is_ours)
		read_sections(fd, &kind);
	*ret_kind = kind;
	return 0;
}

static const char *machine_name(uint16_t machine)
{
	static const struct {
		uint16_t machine;
		const char *name;
	} names[] = {
		{ EM_ARM, "32-bit ARM" }, { EM_AARCH64, "64-bit ARM" },
		{ EM_RISCV, "RISC-V" },	  { EM_PPC64, "64-bit PowerPC" },
		{ EM_S390, "IBM Z" },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i].machine == machine)
			return names[i].name;
	return "other";
}

/* Why not; NULL: it can. A half sentence that begins with a verb. */
static const char *refusal(const struct seep_elfkind *kind)
{
	const char *loader = seep_path_base(kind->loader);

	if (!kind->is_64bit || !kind->is_little_endian || kind->machine == EM_386)
		return "is a 32-bit program; this seep records 64-bit ones";
	if (seep_begins_with(loader, "ld-musl"))
		return "is linked with musl; this seep records programs linked with glibc";
	if (*loader || kind->is_loader)
		return NULL;
	if (kind->is_library)
		return "is a shared library, not a program";
	if (kind->is_go)
		return "is a Go program without C code: it is static and takes its memory by mmap; "
		       "use Go's own heap profile, runtime/pprof";
	return "is statically linked, so that no library can be preloaded into it; link it without "
	       "-static";
}

/* Can it be preloaded into? 0, or -SEEP_EUNSUPPORTED with why, and what to do. */
static int check_kind(const struct seep_elfkind *kind, const char *name, struct seep_error *err)
{
	const char *loader = seep_path_base(kind->loader), *why = refusal(kind);

	if (kind->machine != EM_X86_64 && kind->machine != EM_386)
		return seep_fail(err, SEEP_EUNSUPPORTED,
				 "%s is built for %s processors (ELF machine %u); this seep "
				 "records programs for x86-64",
				 name, machine_name(kind->machine), kind->machine);
	if (why)
		return seep_fail(err, SEEP_EUNSUPPORTED, "%s %s", name, why);
	if (*loader && !seep_begins_with(loader, "ld-linux") && !seep_begins_with(loader, "ld-2."))
		return seep_fail(err, SEEP_EUNSUPPORTED,
				 "%s starts with the loader %s, which is not glibc's; this seep "
				 "records programs linked with glibc",
				 name, kind->loader);
	if (kind->sanitizer)
		return seep_fail(err, SEEP_EUNSUPPORTED,
				 "%s is built with %s, which replaces malloc itself; record a "
				 "build without it",
				 name, kind->sanitizer);
	return 0;
}

/* 0, or the errno that execve() would give for this file. */
static int executable_errno(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno;
	if (!S_ISREG(st.st_mode))
		return S_ISDIR(st.st_mode) ? EISDIR : EACCES;
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0 ? errno : 0;
}

static int fail_not_executable(const char *name, int problem, struct seep_error *err)
{
	if (problem == ENOENT || problem == ENOTDIR)
		return seep_fail(err, SEEP_ENOTFOUND, "%s: no such program", name);
	return seep_fail_errno(err, problem, "cannot execute %s", name);
}

static int find_in_path(const char *name, char **ret_path, struct seep_error *err)
{
	const char *path = getenv("PATH");
	int problem = ENOENT;

	if (!path)
		path = "/bin:/usr/bin";
	for (const char *dir = path;; dir++) {
		size_t bytes = strcspn(dir, ":");
		char *candidate = seep_xasprintf("%.*s%s%s", (int)bytes, dir, bytes ? "/" : "./",
						 name);
		int found = executable_errno(candidate);

		if (found == 0) {
			*ret_path = candidate;
			return 0;
		}
		free(candidate);
		/* As execvp(): a file that may not be run does not end the search. */
		if (found == EACCES)
			problem = EACCES;
		dir += bytes;
		if (!*dir)
			break;
	}
	return fail_not_executable(name, problem, err);
}

static int find_program(const char *name, char **ret_path, struct seep_error *err)
{
	int problem;

	if (!strchr(name, '/') && *name)
		return find_in_path(name, ret_path, err);
	problem = *name ? executable_errno(name) : ENOENT;
	if (problem != 0)
		return fail_not_executable(*name ? name : "''", problem, err);
	*ret_path = seep_xstrdup(name);
	return 0;
}

/* The kernel passes over set-id bits there, so that the program starts like any other. */
static bool set_id_is_void(const char *path)
{
	struct statvfs fs;

	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ||
	       (statvfs(path, &fs) == 0 && (fs.f_flag & ST_NOSUID));
}

/* Where the kernel would set AT_SECURE, the loader ignores LD_PRELOAD without a word. */
static int check_privileges(const char *path, struct seep_error *err)
{
	const char *what, *advice;
	struct stat st;
	bool gains;

	if (getuid() != geteuid() || getgid() != getegid())
		return seep_fail(err, SEEP_EUNSUPPORTED,
				 "seep itself was started with the rights of another user or "
				 "group; start it as a plain user or as root");
	if (stat(path, &st) < 0)
		return seep_fail_errno(err, errno, "cannot access %s", path);
	gains = (st.st_mode & (S_ISUID | S_ISGID)) && !set_id_is_void(path);
	if (gains && (st.st_mode & S_ISUID) && st.st_uid != geteuid()) {
		what = "is a set-user-id program";
		advice = "run seep as its owner";
	} else if (gains && (st.st_mode & S_ISGID) && (st.st_mode & S_IXGRP) &&
		   st.st_gid != getegid()) {
		what = "is a set-group-id program";
		advice = "record a copy of it, which has no such bit";
	} else if (getuid() != 0 && getxattr(path, "security.capability", NULL, 0) > 0) {
		what = "has file capabilities";
		advice = "run seep as root, or record a copy of it";
	} else {
		return 0;
	}
	return seep_fail(err, SEEP_EUNSUPPORTED, "%s %s: no library can be preloaded into it; %s",
			 path, what, advice);
}

/*
 * The interpreter's path from "#! path arg", or NULL when the line names none. As the kernel has
 * it: the carriage return of a foreign line end is part of the name.
 */
static char *script_interpreter(const char *head, size_t bytes)
{
	size_t start = 2, end;

	while (start < bytes && (head[start] == ' ' || head[start] == '\t'))
		start++;
	for (end = start; end < bytes; end++)
		if (strchr(" \t\n", head[end])) /* or the zero byte */
			break;
	return end > start ? seep_xstrndup(head + start, end - start) : NULL;
}

static int check_elf(const char *path, int fd, struct seep_error *err)
{
	struct seep_elfkind kind;
	int rc;

	rc = seep_elfkind_read(fd, path, &kind, err);
	if (rc < 0)
		return rc;
	rc = check_kind(&kind, path, err);
	if (rc == 0 && kind.loader[0] && access(kind.loader, F_OK) < 0)
		rc = seep_fail(err, SEEP_ENOTFOUND, "%s needs the loader %s, which is not there",
			       path, kind.loader);
	if (rc == 0)
		rc = check_privileges(path, err);
	return rc;
}

/*
 * One file on the way from what was asked for to the ELF file that runs. *ret_next: the
 * interpreter to look at next, NULL when @path was the last one.
 */
static int check_file(const char *path, char **ret_next, struct seep_error *err)
{
	SEEP_CLOSED const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char head[SCRIPT_HEAD_BYTES];
	ssize_t bytes;

	*ret_next = NULL;
	/* Executable but not readable: the kernel can, we cannot; nothing to judge. */
	if (fd < 0 && errno == EACCES)
		return check_privileges(path, err);
	if (fd < 0)
		return seep_fail_errno(err, errno, "cannot open %s", path);
	bytes = pread(fd, head, sizeof(head), 0);
	if (bytes < 0)
		return seep_fail_errno(err, errno, "cannot read %s", path);
	if (bytes >= 4 && memcmp(head, "\177ELF", 4) == 0)
		return check_elf(path, fd, err);
	if (bytes >= 2 && memcmp(head, "#!", 2) == 0)
		*ret_next = script_interpreter(head, (size_t)bytes);
	else
		*ret_next = seep_xstrdup("/bin/sh");
	return 0;
}

/* From *@path, which is replaced, to the ELF file that runs. */
static int follow_interpreters(char **path, struct seep_error *err)
{
	for (int depth = 0; depth <= SCRIPT_DEPTH_MAX; depth++) {
		char *next, *from = *path;
		int rc = check_file(from, &next, err), problem;

		if (rc < 0 || !next)
			return rc;
		problem = executable_errno(next);
		if (problem != 0) {
			rc = fail_not_executable(next, problem, err);
			seep_error_prefix(err, "interpreter of %s", from);
		}
		*path = next;
		free(from);
		if (rc < 0)
			return rc;
	}
	return seep_fail(err, SEEP_EUNSUPPORTED, "%s: more than %d interpreters in a row", *path,
			 SCRIPT_DEPTH_MAX);
}

int seep_preflight(const char *name, struct seep_program *ret_program, struct seep_error *err)
{
	struct seep_program program = { 0 };
	int rc;

	rc = find_program(name, &program.path, err);
	if (rc < 0)
		return rc;
	program.name = seep_xstrdup(seep_path_base(name));
	program.loaded = seep_xstrdup(program.path);
	rc = follow_interpreters(&program.loaded, err);
	if (rc < 0)
		seep_program_done(&program);
	else
		*ret_program = program;
	return rc;
}

void seep_program_done(struct seep_program *program)
{
	free(program->path);
	free(program->name);
	free(program->loaded);
	*program = (struct seep_program){ 0 };
}

/* An absolute path if @path can be read, else NULL. Takes @path. */
static char *readable_library(char *path)
{
	char *absolute = access(path, R_OK) == 0 ? realpath(path, NULL) : NULL;

	free(path);
	return absolute;
}

/* Beside this executable, where it is installed from there, the installation's folder. */
static char *find_library(void)
{
	static const char *const places[] = { "libseep.so", SEEP_LIBRARY_FROM_TOOL "/libseep.so" };
	SEEP_FREED char *self = seep_procfs_exe(seep_procfs_self());
	SEEP_FREED char *folder = self ? seep_path_folder(self) : NULL;
	char *path = NULL;

	for (size_t i = 0; folder && !path && i < sizeof(places) / sizeof(*places); i++)
		path = readable_library(seep_xasprintf("%s/%s", folder, places[i]));
	return path ? path : readable_library(seep_xstrdup(SEEP_LIBRARY_DIR "/libseep.so"));
}

int seep_runtime_find(char **ret_path, struct seep_error *err)
{
	const char *asked = getenv("SEEP_LIB");
	bool is_asked = asked && *asked;
	char *path = is_asked ? readable_library(seep_xstrdup(asked)) : find_library();
	int rc;

	if (!path && is_asked)
		return seep_fail(err, SEEP_ENOTFOUND, "cannot read %s, which SEEP_LIB names",
				 asked);
	if (!path)
		return seep_fail(err, SEEP_ENOTFOUND,
				 "libseep.so is neither beside seep nor in %s; set SEEP_LIB to its "
				 "path",
				 SEEP_LIBRARY_DIR);
	if (strpbrk(path, ": \t\n")) {
		rc = seep_fail(err, SEEP_EUNSUPPORTED,
			       "the path of %s has a space or colon, which separate libraries in "
			       "LD_PRELOAD; set SEEP_LIB to a copy elsewhere",
			       path);
		free(path);
		return rc;
	}
	*ret_path = path;
	return 0;
}
