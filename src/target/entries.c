/* SPDX-License-Identifier: MIT */
#include "target/entries.h"

#include "base/path.h"
#include "base/procfs.h"
#include "base/xalloc.h"
#include "core/bits.h"
#include "symbol/elf_image.h"
#include "target/entry_code.h"
#include "target/entries_write.h"
#include "target/entry_names.h"
#include "target/served_files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	FUNCTION_BYTES_MAX = 64 << 10,
	SWEPT_BYTES_MAX = 64 << 20, /* of a module's code */
	PIECE_BYTES = 1 << 20,
	BRANCH_BYTES = 6,
	PAGE_BYTES = 4096,
	JUMP = 0xe9,
	LOWEST = 1 << 16, /* address that a process may map */
};

#define ASIDE_BYTES (UINT64_C(1) << 28)
#define NEAR (UINT64_C(1) << 30) /* what a jump reaches, with room to spare */

/* What is found of one module. */
struct look {
	const struct seep_live_modules *modules;
	const struct seep_live_module *module;
	const struct seep_entry_pages *pages;
	struct seep_elf *elf;
	struct seep_entry_module *into;
	struct ledger_entry_page before;	/* that is in the process, if into->is_there */
	unsigned families[SEEP_ENTRY_FAMILIES]; /* which parts of each there are */
	char *why;
};

/* FUSE's files are not read: who serves them need not answer. */
static int open_module(const struct look *look)
{
	SEEP_FREED char *file = seep_xasprintf("root%s", look->module->path);
	const bool is_program = look->module->is_program;
	SEEP_CLOSED const int fd =
		open(seep_procfs_path(look->modules->pid, is_program ? "exe" : file).text,
		     O_PATH | O_CLOEXEC);

	if (fd < 0 || seep_served_is(fd, look->modules->pid))
		return -1;
	return open(seep_procfs_fd(fd).text, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/* @bytes of code as the file has them. */
static bool read_file(const struct look *look, uint64_t value, void *to, uint64_t bytes)
{
	Elf64_Phdr segment;

	for (size_t i = 0; seep_elf_segment(look->elf, i, &segment); i++)
		if (segment.p_type == PT_LOAD && value >= segment.p_vaddr &&
		    value - segment.p_vaddr < segment.p_filesz &&
		    bytes <= segment.p_filesz - (value - segment.p_vaddr))
			return seep_elf_read_at(
				look->elf, segment.p_offset + (value - segment.p_vaddr), to, bytes);
	return false;
}

static uint64_t address_of(uint64_t page, size_t index, size_t member)
{
	return page + offsetof(struct ledger_entry_page, items) +
	       index * sizeof(struct ledger_entry) + member;
}

void seep_entry_jump(const struct ledger_entry *entry, uint64_t page, size_t index,
		     uint8_t ret_jump[LEDGER_ENTRY_PATCH_BYTES])
{
	const uint64_t to = address_of(page, index, offsetof(struct ledger_entry, stub));
	const int32_t distance = (int32_t)(int64_t)(to - (entry->at + LEDGER_ENTRY_PATCH_BYTES));

	ret_jump[0] = JUMP;
	memcpy(ret_jump + 1, &distance, sizeof(distance));
}

/* push %rbp; lea the entry, %rbp; jmp *its hook */
static void make_stub(struct ledger_entry *entry)
{
	static const uint8_t stub[] = {
		0x55, 0x48, 0x8d, 0x2d, 0, 0, 0, 0, 0xff, 0x25, 0, 0, 0, 0
	};
	const int32_t to_entry = -(int32_t)(offsetof(struct ledger_entry, stub) + 8);
	const int32_t to_hook = (int32_t)offsetof(struct ledger_entry, hook) -
				(int32_t)(offsetof(struct ledger_entry, stub) + sizeof(stub));

	memcpy(entry->stub, stub, sizeof(stub));
	memcpy(entry->stub + 4, &to_entry, sizeof(to_entry));
	memcpy(entry->stub + 10, &to_hook, sizeof(to_hook));
}

/* Memory says what the file says, or has our jump there. */
static bool is_as_in_file(const struct look *look, const uint8_t *file, uint64_t at, size_t bytes)
{
	SEEP_FREED uint8_t *memory = seep_xcalloc(bytes, 1);

	if (!seep_memory_read(look->modules->memory, at, memory, bytes))
		return false;
	for (size_t i = 0; look->into->is_there && i < look->before.count; i++) {
		const struct ledger_entry *entry = &look->before.items[i];
		const uint64_t offset = entry->at - at;
		uint8_t jump[LEDGER_ENTRY_PATCH_BYTES];

		seep_entry_jump(entry, look->into->address, i, jump);
		if (entry->function == at && offset < bytes && sizeof(jump) <= bytes - offset &&
		    memcmp(memory + offset, jump, sizeof(jump)) == 0)
			memcpy(memory + offset, entry->before, sizeof(jump));
	}
	return memcmp(memory, file, bytes) == 0;
}

static const char *add_entry(struct look *look, const Elf64_Sym *symbol,
			     enum ledger_entry_form form)
{
	struct ledger_entry_page *page = &look->into->page;
	const uint64_t function = look->module->bias + symbol->st_value;
	struct ledger_entry *entry = &page->items[page->count];
	SEEP_FREED uint8_t *bytes = NULL;
	struct seep_entry_code code;
	const char *why;

	for (size_t i = 0; i < page->count; i++)
		if (page->items[i].function == function)
			return page->items[i].form == (uint32_t)form
				       ? NULL
				       : "is one with a function that does something else";
	if (page->count == LEDGER_ENTRIES_MAX)
		return "is one of too many";
	if (symbol->st_size == 0 || symbol->st_size > FUNCTION_BYTES_MAX)
		return "has no known size";
	bytes = seep_xcalloc((size_t)symbol->st_size, 1);
	if (!read_file(look, symbol->st_value, bytes, symbol->st_size) ||
	    !is_as_in_file(look, bytes, function, (size_t)symbol->st_size))
		return "is not in memory as it is in the file";
	*entry = (struct ledger_entry){
		.function = function,
		.next = address_of(look->into->address, page->count,
				   offsetof(struct ledger_entry, code)),
		.form = form,
	};
	why = seep_entry_code(bytes, (size_t)symbol->st_size, function, entry->next, &code);
	if (!why && code.bytes > sizeof(entry->before))
		why = "begins with instructions that are too long";
	if (why)
		return why;
	entry->at = function + code.skipped;
	entry->bytes = (uint32_t)code.bytes;
	memcpy(entry->before, bytes + code.skipped, code.bytes);
	memcpy(entry->code, code.code, code.code_bytes);
	make_stub(entry);
	page->count++;
	return NULL;
}

/* Only the program's own malloc: a library's may be a member function of something. */
static bool is_meant(const struct look *look, const Elf64_Sym *symbol,
		     const struct seep_entry_name *name)
{
	return name->form &&
	       (name->family != SEEP_ENTRY_PLAIN ||
		(look->module->is_program && ELF64_ST_BIND(symbol->st_info) != STB_LOCAL));
}

static void note_family(struct look *look, const Elf64_Sym *symbol, const char *name)
{
	const struct seep_entry_name found = seep_entry_name(name);

	if (is_meant(look, symbol, &found) && !found.is_copy)
		look->families[found.family] |= found.part;
	/* Operators go with whichever there is. */
	if (look->families[found.family] == SEEP_ENTRY_WHOLE)
		look->families[SEEP_ENTRY_OPERATORS] = SEEP_ENTRY_WHOLE;
}

static void look_at_symbol(struct look *look, const Elf64_Sym *symbol, const char *name)
{
	const struct seep_entry_name found = seep_entry_name(name);
	const char *why = NULL;

	if (!is_meant(look, symbol, &found) || look->families[found.family] != SEEP_ENTRY_WHOLE)
		return;
	if (found.is_copy)
		why = "is a copy that the compiler made, which may have been made of others, too";
	else
		why = add_entry(look, symbol, found.form);
	if (why)
		look->why = seep_xasprintf("%s of %s %s", name, seep_path_base(look->module->path),
					   why);
}

/* What is called, or branched to, by another name between the instructions that are moved. */
static void look_between(struct look *look, const Elf64_Sym *symbol, const char *name)
{
	const uint64_t at = look->module->bias + symbol->st_value;
	const struct ledger_entry_page *page = &look->into->page;

	for (size_t i = 0; i < page->count && !look->why; i++)
		if (at > page->items[i].at && at < page->items[i].at + page->items[i].bytes)
			look->why =
				seep_xasprintf("%s of %s begins inside of what would be replaced",
					       name, seep_path_base(look->module->path));
}

static void each_symbol(struct look *look,
			void (*act)(struct look *look, const Elf64_Sym *symbol, const char *name))
{
	struct seep_elf_symbols symbols = { .elf = look->elf };

	while (!look->why && seep_elf_next_symbol(&symbols))
		if (symbols.name && symbols.symbol.st_shndx != SHN_UNDEF &&
		    (ELF64_ST_TYPE(symbols.symbol.st_info) == STT_FUNC ||
		     ELF64_ST_TYPE(symbols.symbol.st_info) == STT_NOTYPE))
			act(look, &symbols.symbol, symbols.name);
}

/*
 * The same from anywhere in the module, by no name: from a part of a function that a compiler has put
 * elsewhere.
 */
static void sweep(struct look *look)
{
	const struct ledger_entry_page *page = &look->into->page;
	SEEP_FREED uint8_t *code = seep_xmalloc(PIECE_BYTES);
	uint64_t left = SWEPT_BYTES_MAX;
	Elf64_Phdr segment;

	for (size_t i = 0; seep_elf_segment(look->elf, i, &segment) && !look->why; i++) {
		const char *name = seep_path_base(look->module->path);
		uint64_t at = 0;

		if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X))
			continue;
		if (segment.p_filesz > left)
			look->why = seep_xasprintf("%s has more code than is looked through", name);
		else
			left -= segment.p_filesz;
		/* Pieces overlap by what is shorter than such a branch. */
		while (!look->why && at + BRANCH_BYTES <= segment.p_filesz) {
			const size_t bytes = (size_t)core_smaller(segment.p_filesz - at,
								  PIECE_BYTES);
			size_t found;

			if (!read_file(look, segment.p_vaddr + at, code, bytes))
				look->why = seep_xasprintf("the code of %s cannot be read", name);
			else if ((found = seep_entry_branches(
					  code, bytes, look->module->bias + segment.p_vaddr + at,
					  page)) < page->count)
				look->why = seep_xasprintf(
					"the function at %#" PRIx64
					" of %s is branched into from elsewhere",
					page->items[found].function - look->module->bias, name);
			at += bytes - (BRANCH_BYTES - 1);
		}
	}
}

/* Below the module, where its own data segment does not grow. 0: there is none. */
static uint64_t find_room(const struct seep_live_modules *modules,
			  const struct seep_live_module *module, const struct seep_entries *taken)
{
	const uint64_t needed = LEDGER_ENTRY_PAGE_BYTES + 2 * PAGE_BYTES;
	const struct seep_maps *maps = &modules->maps;

	for (size_t i = seep_maps_from(maps, module->start) + 1; i-- > 0;) {
		const uint64_t end = maps->items[i].begin;
		const uint64_t begin = i ? maps->items[i - 1].end : LOWEST;
		/* Not at the top, where the kernel puts what is loaded meanwhile: libseep.so. */
		uint64_t at = end - LEDGER_ENTRY_PAGE_BYTES -
			      core_larger(core_smaller((end - begin) / 2, ASIDE_BYTES) &
						  -(uint64_t)PAGE_BYTES,
					  PAGE_BYTES);

		for (size_t j = 0; j < taken->count; j++)
			if (at < taken->modules[j].address + needed &&
			    at + needed > taken->modules[j].address)
				at = taken->modules[j].address - needed;
		if (module->start > end && module->start - end > NEAR)
			break;
		if (end > module->start || end < begin + needed || at < begin + PAGE_BYTES)
			continue;
		return at;
	}
	return 0;
}

/* Where its page is, or is to be. */
static bool find_page(struct look *look, const struct seep_entries *taken)
{
	for (size_t i = 0; i < LEDGER_ENTRY_MODULES_MAX; i++)
		if (seep_entries_read(look->modules->memory, look->pages->items[i],
				      &look->before) &&
		    look->before.module == look->module->start) {
			look->into->address = look->pages->items[i];
			look->into->is_there = true;
			return true;
		}
	look->into->address = find_room(look->modules, look->module, taken);
	return look->into->address != 0;
}

/* A page that is there is not written to: a thread may stand in it. */
static bool is_same(const struct ledger_entry_page *there, const struct ledger_entry_page *wanted)
{
	if (there->count != wanted->count)
		return false;
	for (size_t i = 0; i < wanted->count; i++) {
		struct ledger_entry entry = there->items[i];

		entry.hook = 0;
		if (memcmp(&entry, &wanted->items[i], sizeof(entry)) != 0)
			return false;
	}
	return true;
}

static void look_at_module(struct look *look, struct seep_entries *into)
{
	struct seep_entry_module *found = look->into;
	const int fd = open_module(look);

	if (fd < 0) {
		if (!into->why)
			into->why = seep_xasprintf("the file of %s cannot be read",
						   seep_path_base(look->module->path));
		return;
	}
	if (!seep_elf_open_fd(fd, &look->elf))
		each_symbol(look, note_family);
	if (look->families[SEEP_ENTRY_OPERATORS] == SEEP_ENTRY_WHOLE) {
		if (!find_page(look, into))
			look->why = seep_xasprintf("there is no room for code beside %s",
						   seep_path_base(look->module->path));
		found->page.magic = LEDGER_ENTRY_MAGIC;
		found->page.module = look->module->start;
		each_symbol(look, look_at_symbol);
		if (!look->why)
			each_symbol(look, look_between);
		if (!look->why)
			sweep(look);
		if (!look->why && found->is_there && !is_same(&look->before, &found->page))
			look->why = seep_xasprintf("%s has functions that it had not before",
						   seep_path_base(look->module->path));
		if (!look->why && into->count < LEDGER_ENTRY_MODULES_MAX) {
			found->path = seep_xstrdup(look->module->path);
			*SEEP_APPEND(into->modules, into->count) = *found;
		}
	}
	if (look->why && !into->why)
		into->why = look->why;
	else
		free(look->why);
	seep_elf_close(look->elf);
	(void)close(fd);
}

/* A library that is the malloc of all others is bound by their GOTs, and by nothing else. */
static bool is_bound(const struct seep_live_modules *modules, struct seep_live_module *module)
{
	return module->is_libc || module->is_loader || module->is_ours || *module->path != '/' ||
	       (!module->is_program && seep_live_symbol(modules, module, "malloc"));
}

void seep_entries_find(const struct seep_live_modules *modules,
		       const struct seep_entry_pages *pages, struct seep_entries *ret_entries)
{
	*ret_entries = (struct seep_entries){ 0 };
	for (size_t i = 0; i < modules->count; i++) {
		struct look *look;

		if (is_bound(modules, &modules->items[i]))
			continue;
		look = seep_xcalloc(1, sizeof(*look));
		look->modules = modules;
		look->pages = pages;
		look->module = &modules->items[i];
		look->into = seep_xcalloc(1, sizeof(*look->into));
		look_at_module(look, ret_entries);
		free(look->into);
		free(look);
	}
}

void seep_entries_done(struct seep_entries *entries)
{
	for (size_t i = 0; i < entries->count; i++)
		free(entries->modules[i].path);
	free(entries->modules);
	free(entries->why);
	*entries = (struct seep_entries){ 0 };
}

char *seep_entries_say(const struct seep_entries *entries)
{
	const struct seep_entry_module *first = entries->modules;

	if (entries->count == 0)
		return NULL;
	return seep_xasprintf("%u functions of the allocator in %s%s are recorded where they begin",
			      (unsigned)first->page.count, seep_path_base(first->path),
			      entries->count > 1 ? " (and in other modules)" : "");
}
