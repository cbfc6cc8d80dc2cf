/* SPDX-License-Identifier: MIT */
#include "runtime/life/bind.h"

#include "runtime/life/phase.h"
#include "runtime/next/next.h"
#include "runtime/next/rt_entries.h"
#include "runtime/sys/sys.h"
#include "runtime/unwind/stack.h"

#include <errno.h>
#include <link.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>

enum {
	PAGE_BYTES = 4096,
	PLACES = 512, /* by address; at most half of them are taken */
	/* Behind what a module's file holds: more of it is not looked through. */
	ZEROED_BYTES_MAX = 1 << 20,
	MODULES = 4096,
	UNKNOWN = -1,
};

static const char *const names[] = {
#define RT_HOOK(symbol, ...) #symbol,
#define RT_OPERATOR RT_HOOK
#define RT_WRAP(symbol) #symbol,
#include "runtime/next/hooks.def"
};

enum { NAMES = sizeof(names) / sizeof(names[0]) };

/* One hooked function. What the loader answers for it is an entry of an object's table of symbols. */
static struct function {
	uintptr_t found, own;
	struct rt_definition definition;
	uintptr_t before; /* value, as the table had it */
	bool is_led;	  /* it leads to our hook now */
} functions[NAMES];

#define OFFERED "seep_rt_"

/* Which words become which others. */
static struct change {
	uintptr_t from, to;
} changes[PLACES];
static uintptr_t lowest, span; /* all @from lie there */

/* As the loader's list has it. */
struct module {
	uintptr_t bias;
	const ElfW(Phdr) * segments;
	unsigned segment_count;
};

struct look {
	struct module module;
	uintptr_t opened, opened_end; /* pages that were made writable */
	int protection;		      /* that they had */
	uintptr_t usable;	      /* a page that can be written to; 0: not known of any */
};

static struct change *place_of(uintptr_t from)
{
	size_t at = (from >> 4) * 0x9e3779b97f4a7c15ull >> 55;

	while (changes[at].from && changes[at].from != from)
		at = (at + 1) % PLACES;
	return &changes[at];
}

/* Several names may be one function: the first name's hook is as good as the others'. */
static void add_change(uintptr_t from, uintptr_t to)
{
	struct change *change = place_of(from);

	if (change->from)
		return;
	*change = (struct change){ from, to };
	if (!span || from < lowest) {
		span = span ? span + (lowest - from) : 1;
		lowest = from;
	} else if (from - lowest >= span) {
		span = from - lowest + 1;
	}
}

/*
 * Adding nothing to it changes nothing, and fails with EFAULT where it cannot be written to; else it is
 * not known, as a filter answers.
 */
static long try_to_write(uintptr_t at)
{
	static _Atomic uint32_t nobody;

	return rt_syscall6(SYS_futex, (long)&nobody, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, 0,
			   (long)at, FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_LT, 0));
}

static bool protect(const struct look *look, int protection)
{
	return rt_syscall3(SYS_mprotect, (long)look->opened,
			   (long)(look->opened_end - look->opened), protection) == 0;
}

static void close_pages(struct look *look)
{
	if (look->opened_end > look->opened)
		(void)protect(look, look->protection);
	look->opened = look->opened_end = look->usable = 0;
}

static bool is_in_segment(const struct module *module, const ElfW(Phdr) * segment, uintptr_t at)
{
	return at - module->bias - segment->p_vaddr < segment->p_memsz;
}

/*
 * The protection that the loader gave to the page at @at, which cannot be written to. UNKNOWN: it gave none; the
 * program has protected it, and may execute it.
 */
static int protection_of(const struct module *module, uintptr_t at)
{
	bool is_relocated = false;
	unsigned flags = PF_W;

	for (unsigned i = 0; i < module->segment_count; i++) {
		const ElfW(Phdr) *segment = &module->segments[i];

		if (segment->p_type == PT_LOAD && is_in_segment(module, segment, at))
			flags = segment->p_flags;
		else if (segment->p_type == PT_GNU_RELRO && is_in_segment(module, segment, at))
			is_relocated = true;
	}
	if (is_relocated)
		return PROT_READ;
	return flags & PF_W ? UNKNOWN : PROT_READ | (flags & PF_X ? PROT_EXEC : 0);
}

static uintptr_t page_of(uintptr_t at)
{
	return at & ~(uintptr_t)(PAGE_BYTES - 1);
}

static bool is_opened(const struct look *look, uintptr_t at)
{
	return at - look->opened < look->opened_end - look->opened;
}

/* The page of @at, and those up to the one of @last that follow and are alike: most of the work is the call. */
static bool open_run(struct look *look, uintptr_t at, uintptr_t last)
{
	uintptr_t page = page_of(at);

	look->protection = protection_of(&look->module, at);
	if (look->protection == UNKNOWN)
		return false;
	look->opened = page;
	do
		page += PAGE_BYTES;
	while (page <= last && protection_of(&look->module, page) == look->protection &&
	       try_to_write(page) == -EFAULT);
	look->opened_end = page;
	if (protect(look, look->protection | PROT_WRITE))
		return true;
	/* Some of them may be opened. */
	close_pages(look);
	return false;
}

/* Make @at writable. What is opened for it ends at @last. */
static bool open_at(struct look *look, uintptr_t at, uintptr_t last)
{
	long tried;

	if (look->usable == page_of(at))
		return true;
	if (!is_opened(look, at))
		close_pages(look);
	tried = try_to_write(at);
	/* Protection keys (pkeys(7)) may forbid it still. */
	if (tried == -EFAULT && !is_opened(look, at) && open_run(look, at, last))
		tried = try_to_write(at);
	if (tried < 0)
		return false;
	look->usable = page_of(at);
	return true;
}

static void look_at_page(struct look *look, uintptr_t from, uintptr_t end)
{
	if (!rt_is_readable(from))
		return;
	for (; from < end; from += sizeof(uintptr_t)) {
		_Atomic uintptr_t *word = (_Atomic uintptr_t *)from;
		uintptr_t value = rt_load(word);
		const struct change *change;

		if (RT_LIKELY(value - lowest >= span))
			continue;
		change = place_of(value);
		if (change->from && open_at(look, from, from))
			(void)atomic_compare_exchange_strong_explicit(word, &value, change->to,
								      memory_order_release,
								      memory_order_relaxed);
	}
}

/* The words of a segment that can be written to, or could until it was relocated. */
static void look_at_segment(struct look *look, const ElfW(Phdr) * segment)
{
	const uintptr_t begin = look->module.bias + segment->p_vaddr;
	const size_t most = segment->p_filesz + (size_t)ZEROED_BYTES_MAX;
	const size_t bytes = segment->p_memsz < most ? segment->p_memsz : most;
	const uintptr_t end = (begin + bytes) & ~(sizeof(uintptr_t) - 1);
	uintptr_t from = (begin + sizeof(uintptr_t) - 1) & ~(sizeof(uintptr_t) - 1);

	for (uintptr_t next; from < end; from = next) {
		next = (from | (PAGE_BYTES - 1)) + 1;
		look_at_page(look, from, next < end ? next : end);
	}
}

/*
 * What a program may say to seep (seep/seep.h) is not there without us: such a call is a word that is 0. It
 * stays when we leave, since who has seen it may call at any time; the functions then do nothing.
 */
static void offer(struct look *look, const ElfW(Rela) * relocation, const ElfW(Sym) * symbols,
		  const char *texts)
{
	_Atomic uintptr_t *word = (_Atomic uintptr_t *)(look->module.bias + relocation->r_offset);
	uintptr_t none = 0, own;
	const char *name;

	if (RT_LIKELY(ELF64_R_TYPE(relocation->r_info) != R_X86_64_GLOB_DAT))
		return;
	name = texts + symbols[ELF64_R_SYM(relocation->r_info)].st_name;
	if (strncmp(name, OFFERED, sizeof(OFFERED) - 1) != 0 || rt_load(word))
		return;
	own = (uintptr_t)rt_next_hook(name);
	if (own && open_at(look, (uintptr_t)word, (uintptr_t)word))
		(void)atomic_compare_exchange_strong_explicit(
			word, &none, own, memory_order_release, memory_order_relaxed);
}

static void offer_to_module(struct look *look)
{
	const struct module *module = &look->module;
	const ElfW(Dyn) *dynamic = NULL;
	uintptr_t relocations = 0, bytes = 0, relative = 0, symbols = 0, texts = 0;

	for (unsigned i = 0; i < module->segment_count; i++)
		if (module->segments[i].p_type == PT_DYNAMIC)
			dynamic = (const ElfW(Dyn) *)(module->bias + module->segments[i].p_vaddr);
	for (; dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		if (dynamic->d_tag == DT_RELA)
			relocations = dynamic->d_un.d_ptr;
		else if (dynamic->d_tag == DT_RELASZ)
			bytes = dynamic->d_un.d_val;
		else if (dynamic->d_tag == DT_RELACOUNT)
			relative = dynamic->d_un.d_val; /* first ones, which have no symbol */
		else if (dynamic->d_tag == DT_SYMTAB)
			symbols = dynamic->d_un.d_ptr;
		else if (dynamic->d_tag == DT_STRTAB)
			texts = dynamic->d_un.d_ptr;
	}
	/* The loader has made addresses of these, but for its own and the kernel's. */
	if (relocations < module->bias || !symbols || !texts)
		return;
	for (uintptr_t i = relative; i < bytes / sizeof(ElfW(Rela)); i++)
		offer(look, (const ElfW(Rela) *)relocations + i, (const ElfW(Sym) *)symbols,
		      (const char *)texts);
}

struct module_search {
	uintptr_t address;
	struct module *found;
};

static int look_into_module(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	const struct module_search *search = argument;
	const struct module module = { info->dlpi_addr, info->dlpi_phdr, info->dlpi_phnum };

	(void)bytes;
	for (unsigned i = 0; i < module.segment_count; i++)
		if (module.segments[i].p_type == PT_LOAD &&
		    is_in_segment(&module, &module.segments[i], search->address)) {
			*search->found = module;
			return 1;
		}
	return 0;
}

/* The last entry of an object's table that is one of ours. */
static uintptr_t last_symbol(const struct link_map *map)
{
	uintptr_t last = 0;

	for (unsigned i = 0; i < NAMES; i++)
		if (functions[i].definition.map == map &&
		    (uintptr_t)functions[i].definition.symbol > last)
			last = (uintptr_t)functions[i].definition.symbol;
	return last;
}

/* What the loader answers, for modules to come, calls made for the first time and look-ups by name. */
static void lead(struct look *look, struct function *function, uintptr_t value)
{
	const uintptr_t at = (uintptr_t)&function->definition.symbol->st_value;
	struct module_search search = { at, &look->module };

	if (!is_opened(look, at) && !dl_iterate_phdr(look_into_module, &search))
		return;
	if (!open_at(look, at, last_symbol(function->definition.map)))
		return;
	__atomic_store_n((uintptr_t *)at, value, __ATOMIC_RELEASE);
	function->is_led = !function->is_led;
}

/* The loader adds an object's own address. One that asks which function to take would be called. */
static void lead_to_hook(struct look *look, struct function *function)
{
	const struct rt_definition *definition = &function->definition;

	function->before = definition->symbol->st_value;
	if (ELF64_ST_TYPE(definition->symbol->st_info) == STT_FUNC)
		lead(look, function, function->own - definition->map->l_addr);
}

/* Unless its object has gone meanwhile, with what led to us. */
static void lead_back(struct look *look, struct function *function)
{
	const struct rt_definition now = rt_next_definition(names[function - functions]);

	if (now.symbol == function->definition.symbol && now.map == function->definition.map)
		lead(look, function, function->before);
	else
		function->is_led = false;
}

static uintptr_t value_before(const ElfW(Sym) * symbol)
{
	for (unsigned i = 0; i < NAMES; i++)
		if (functions[i].is_led && functions[i].definition.symbol == symbol)
			return functions[i].before;
	return symbol->st_value;
}

static void find(struct function *function, const char *name,
		 const struct rt_definition *definition)
{
	if (function->is_led)
		return;
	function->definition = *definition;
	function->found = (uintptr_t)rt_next_address(definition);
	if (!function->own)
		function->own = (uintptr_t)rt_next_hook(name);
}

static void find_all(void)
{
	struct rt_definition definitions[NAMES];

	rt_next_definitions(names, NAMES, definitions);
	for (unsigned i = 0; i < NAMES; i++)
		find(&functions[i], names[i], &definitions[i]);
}

/* Calls of what is entered by a jump come to us once, from wherever they are made. */
static bool is_led_by_words(const struct function *function)
{
	return function->found && function->own && !rt_entries_have(function->found);
}

/* Those of one page follow each other: to open a page and to close it are most of the work. */
static void sort_by_symbol(struct function *sorted[NAMES])
{
	for (unsigned i = 0; i < NAMES; i++) {
		unsigned k = i;

		for (; k > 0 && sorted[k - 1]->definition.symbol > functions[i].definition.symbol;
		     k--)
			sorted[k] = sorted[k - 1];
		sorted[k] = &functions[i];
	}
}

static void change_functions(bool binds)
{
	struct function *sorted[NAMES];
	struct look look = { 0 };

	memset(changes, 0, sizeof(changes));
	span = 0;
	if (binds)
		find_all();
	sort_by_symbol(sorted);
	for (unsigned i = 0; i < NAMES; i++)
		if (is_led_by_words(sorted[i]) && sorted[i]->is_led != binds)
			(binds ? lead_to_hook : lead_back)(&look, sorted[i]);
	close_pages(&look);
	for (unsigned i = 0; i < NAMES; i++) {
		const struct function *f = &functions[i];

		if (is_led_by_words(f))
			add_change(binds ? f->found : f->own, binds ? f->own : f->found);
	}
}

/* The modules stay for as long as the caller holds the lock of loading. */
struct module_list {
	unsigned count;
	struct module modules[MODULES];
};

static int note_module(struct dl_phdr_info *info, size_t bytes, void *argument)
{
	const struct link_map *own = rt_own_map();
	struct module_list *list = argument;

	(void)bytes;
	if (list->count < MODULES && !(own && info->dlpi_addr == own->l_addr))
		list->modules[list->count++] = (struct module){ info->dlpi_addr, info->dlpi_phdr,
								info->dlpi_phnum };
	return 0;
}

static _Atomic bool was_attached; /* the process, or an ancestor; perhaps it is still */

void rt_bind(bool binds)
{
	/* On the stack that attaching has given us: what is static takes addresses of every process. */
	struct module_list list;

	list.count = 0;
	rt_store(&was_attached, true);
	rt_next_value = value_before;
	/* For a moment only: fork() gives a child the lock of this list as it is, for ever. */
	(void)dl_iterate_phdr(note_module, &list);
	change_functions(binds);
	for (unsigned i = 0; i < list.count; i++) {
		struct look look = { .module = list.modules[i] };
		const ElfW(Phdr) *segment = list.modules[i].segments;

		for (unsigned k = list.modules[i].segment_count; k-- > 0; segment++)
			if (segment->p_type == PT_LOAD && segment->p_flags & PF_W)
				look_at_segment(&look, segment);
		if (binds)
			offer_to_module(&look);
		close_pages(&look);
	}
}

static bool is_of_blocks(const char *name)
{
#define CORE_MALLOC(symbol, ...)        \
	if (strcmp(name, #symbol) == 0) \
		return true;
#define CORE_OPERATOR(symbol, ...)                               \
	if (!rt_operators_foreign && strcmp(name, #symbol) == 0) \
		return true;
#include "core/allocation.def"
	return strcmp(name, "malloc_usable_size") == 0;
}

/* Where somebody stands between us and that, what he calls next would be us: a circle. */
static bool lead_glibc(struct look *look, struct function *function, const char *name)
{
	function->definition = rt_next_lasting_definition(name);
	function->own = (uintptr_t)rt_next_hook(name);
	if (!function->definition.symbol)
		return true;
	if (rt_next_definition(name).symbol == function->definition.symbol)
		lead_to_hook(look, function);
	return function->is_led;
}

bool rt_bind_glibc(void)
{
	static _Atomic bool is_begun, are_led;
	struct look look = { 0 };
	bool all = true;

	rt_next_find();
	/* Who attaches and detaches does so itself, perhaps just now. */
	if (!rt_next_is_glibc() || rt_phase_now() == RT_OFF || rt_load(&was_attached) ||
	    atomic_exchange_explicit(&is_begun, true, memory_order_relaxed))
		return rt_load(&are_led);
	rt_next_value = value_before;
	for (unsigned i = 0; i < NAMES; i++)
		if (is_of_blocks(names[i]) && !functions[i].is_led)
			all &= lead_glibc(&look, &functions[i], names[i]);
	close_pages(&look);
	rt_store(&are_led, all);
	return all;
}
