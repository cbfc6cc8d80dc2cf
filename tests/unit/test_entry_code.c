/* SPDX-License-Identifier: MIT */
/* The first instructions of functions, moved or refused. */
#include <string.h>

#include "target/entry_code.h"
#include "target/entry_names.h"
#include "unit.h"

#define AT UINT64_C(0x401000)
#define TO UINT64_C(0x3f0000)
#define CODE(...) { __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ })

TEST(the_length_of_an_instruction_is_told)
{
	static const struct {
		uint8_t code[16];
		size_t bytes, rip, branch; /* the length; where distances are */
	} cases[] = {
		{ CODE(0x55), 0, 0 },				       /* push %rbp */
		{ CODE(0x41, 0x57), 0, 0 },			       /* push %r15 */
		{ CODE(0x48, 0x89, 0xe5), 0, 0 },		       /* mov %rsp, %rbp */
		{ CODE(0x48, 0x83, 0xec, 0x18), 0, 0 },		       /* sub $24, %rsp */
		{ CODE(0x48, 0x81, 0xec, 0, 1, 0, 0), 0, 0 },	       /* sub $256, %rsp */
		{ CODE(0xf3, 0x0f, 0x1e, 0xfa), 0, 0 },		       /* endbr64 */
		{ CODE(0x48, 0x8d, 0x3d, 1, 2, 3, 4), 3, 0 },	       /* lea (%rip), %rdi */
		{ CODE(0x83, 0x3d, 1, 2, 3, 4, 5), 2, 0 },	       /* cmpl $5, (%rip) */
		{ CODE(0x64, 0x48, 0x8b, 4, 0x25, 0, 0, 0, 0), 0, 0 }, /* mov %fs:0, %rax */
		{ CODE(0x48, 0x8b, 0x44, 0x24, 8), 0, 0 },	       /* mov 8(%rsp), %rax */
		{ CODE(0x66, 0xc7, 0x07, 1, 2), 0, 0 },		       /* movw $…, (%rdi) */
		{ CODE(0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8), 0, 0 },    /* movabs $…, %rax */
		{ CODE(0xf7, 0xc7, 1, 2, 3, 4), 0, 0 },		       /* test $…, %edi */
		{ CODE(0xf7, 0xdf), 0, 0 },			       /* neg %edi */
		{ CODE(0x74, 5), 0, 1 },			       /* je */
		{ CODE(0x0f, 0x84, 1, 2, 3, 4), 0, 2 },		       /* je */
		{ CODE(0xe8, 1, 2, 3, 4), 0, 1 },		       /* call */
		{ CODE(0xf0, 0x48, 0x0f, 0xb1, 0x0a), 0, 0 },	       /* lock cmpxchg */
		{ CODE(0x66, 0x0f, 0x6f, 0x05, 1, 2, 3, 4), 4, 0 },    /* movdqa (%rip), %xmm0 */
		{ CODE(0x66, 0x0f, 0x3a, 0x0f, 0xc1, 8), 0, 0 },       /* palignr */
		{ CODE(0xc5, 0xf8, 0x77), 0, 0 },		       /* vzeroupper */
		{ CODE(0xc5, 0xfd, 0x70, 0xc0, 1), 0, 0 },	       /* vpshufd */
		{ CODE(0xc4, 0xe2, 0x7d, 0x18, 0x07), 0, 0 },	       /* vbroadcastss */
		{ CODE(0x62, 0xf1, 0x7c, 0x48, 0x11, 0x07), 0, 0 },    /* vmovups %zmm0, (%rdi) */
		{ CODE(0x62, 0xf3, 0x7d, 0x48, 0x25, 0xc0, 7), 0, 0 }, /* vpternlogd */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t rip, branch;

		assert_int_equal(
			seep_instruction_bytes(cases[i].code, sizeof(cases[i].code), &rip, &branch),
			cases[i].bytes);
		assert_int_equal(rip, cases[i].rip);
		assert_int_equal(branch, cases[i].branch);
		assert_int_equal(
			seep_instruction_bytes(cases[i].code, cases[i].bytes - 1, &rip, &branch),
			0);
	}
}

TEST(a_beginning_that_cannot_be_replaced_is_refused)
{
	static const struct {
		const char *why;
		uint8_t code[16];
		size_t bytes;
	} cases[] = {
		{ "is too short", CODE(0x31, 0xc0, 0x90) },
		{ "is too short",
		  CODE(0xeb, 0x10, 0x90, 0x90, 0x90, 0x90) }, /* what follows is not run */
		{ "cannot be moved", CODE(0xc3, 0x90, 0x90, 0x90, 0x90, 0x90) }, /* ret */
		{ "cannot be moved", CODE(0x31, 0xc0, 0xc3, 0x90, 0x90, 0x90) },
		{ "cannot be moved", CODE(0xe8, 0, 0, 0, 0, 0xc3) },		 /* call */
		{ "cannot be moved", CODE(0xff, 0x25, 0, 0, 0, 0, 0x90) },	 /* jmp *(%rip) */
		{ "cannot be moved", CODE(0xff, 0xe0, 0x90, 0x90, 0x90, 0x90) }, /* jmp *%rax */
		{ "cannot be moved", CODE(0xe3, 0x10, 0x90, 0x90, 0x90, 0x90) }, /* jrcxz */
		{ "cannot be moved", CODE(0xcc, 0x90, 0x90, 0x90, 0x90, 0x90) }, /* int3 */
		{ "cannot be moved", CODE(0x0f, 0x05, 0x90, 0x90, 0x90, 0x90) }, /* syscall */
		{ "cannot be moved", CODE(0xf0, 0x48, 0x0f, 0xb1, 0x0a, 0x90) }, /* lock */
		{ "cannot be moved", CODE(0xf3, 0xa4, 0x90, 0x90, 0x90, 0x90) }, /* rep movsb */
		{ "cannot be moved", CODE(0xc5, 0xf8, 0x77, 0x90, 0x90, 0x90) }, /* vzeroupper */
		{ "cannot be moved", CODE(0x06, 0x90, 0x90, 0x90, 0x90, 0x90) }, /* none */
		{ "branch to its first",
		  CODE(0x48, 0x89, 0xf8, 0x83, 0xe8, 1, 0x75, 0xfb, 0xc3) },	  /* jne 3 */
		{ "branch to its first", CODE(0x74, 2, 0x90, 0x90, 0x90, 0xc3) }, /* je 4 */
		{ "branch to its first",
		  CODE(0x55, 0x90, 0x90, 0x90, 0x90, 0xe8, 0xf7, 0xff, 0xff, 0xff) },
		{ "branch to its first", /* jne 0: it would be entered again */
		  CODE(0x90, 0x90, 0x90, 0x90, 0x90, 0x75, 0xf9, 0xc3) },
		{ "branch to its first", /* jmp 0, behind an endbr64 */
		  CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x90, 0x90, 0x90, 0x90, 0x90, 0xeb, 0xf5) },
		{ "does not know", CODE(0x55, 0x90, 0x90, 0x90, 0x90, 0x06, 0xc3) },
		{ "too far away", CODE(0x48, 0x8b, 0x05, 0xf0, 0xff, 0xff, 0x7f) },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct seep_entry_code code;
		const char *why = seep_entry_code(cases[i].code, cases[i].bytes, AT, TO, &code);

		assert_non_null(why);
		assert_non_null(strstr(why, cases[i].why));
	}
}

/* Where the 4-byte distance at the end of @bytes of code leads. */
static uint64_t target_of(const struct seep_entry_code *code, size_t end)
{
	int32_t distance;

	memcpy(&distance, code->code + end - sizeof(distance), sizeof(distance));
	return TO + end + (uint64_t)(int64_t)distance;
}

TEST(what_is_moved_does_the_same_in_another_place)
{
	static const struct {
		uint8_t code[16];
		size_t bytes;
		size_t skipped, moved,
			end; /* @end: in the moved code, of one with a distance; 0 none */
		uint64_t target;
	} cases[] = {
		{ CODE(0x55, 0x48, 0x89, 0xe5, 0x53, 0xc3), 0, 5, 0, 0 },
		{ CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x57, 0x41, 0x56, 0x55, 0xc3), 4, 5, 0, 0 },
		{ CODE(0x48, 0x85, 0xff, 0x74, 0x10, 0x55, 0xc3), 0, 5, 9, AT + 0x15 },
		{ CODE(0x48, 0x8b, 0x05, 0, 1, 0, 0, 0xc3), 0, 7, 7, AT + 0x107 },
		{ CODE(0xe9, 0, 1, 0, 0), 0, 5, 5, AT + 0x105 },
		{ CODE(0x0f, 0x84, 0, 1, 0, 0, 0xc3), 0, 6, 6, AT + 0x106 },
		/* It calls itself. */
		{ CODE(0x90, 0x90, 0x90, 0x90, 0x90, 0xe8, 0xf6, 0xff, 0xff, 0xff, 0xc3), 0, 5, 0,
		  0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct seep_entry_code code;

		assert_null(seep_entry_code(cases[i].code, cases[i].bytes, AT, TO, &code));
		assert_int_equal(code.skipped, cases[i].skipped);
		assert_int_equal(code.bytes, cases[i].moved);
		if (cases[i].end)
			assert_int_equal(target_of(&code, cases[i].end), cases[i].target);
		assert_int_equal(code.code[code.code_bytes - 5], 0xe9);
		assert_int_equal(target_of(&code, code.code_bytes), AT + code.skipped + code.bytes);
	}
}

TEST(a_branch_from_elsewhere_into_what_is_moved_is_found)
{
	static const struct ledger_entry_page page = {
		.count = 2, .items = { { .at = AT + 0x800, .bytes = 5 }, { .at = AT, .bytes = 7 } }
	};
	static const struct {
		uint8_t code[8];
		size_t bytes, found;
	} cases[] = {
		{ CODE(0xe9, 0xfc, 0xfe, 0xff, 0xff), 1 },	 /* AT + 1 */
		{ CODE(0x90, 0xe8, 0x00, 0xff, 0xff, 0xff), 1 }, /* AT + 6 */
		{ CODE(0x0f, 0x8f, 0xfe, 0x06, 0, 0), 0 },	 /* AT + 0x804 */
		{ CODE(0xe9, 0xfb, 0xfe, 0xff, 0xff), 2 },	 /* the beginning */
		{ CODE(0xe9, 0x02, 0xff, 0xff, 0xff), 2 },	 /* behind it */
		{ CODE(0xe9, 0xfc, 0xfe, 0xff), 2 },		 /* no whole one */
		{ CODE(0x0f, 0x8f, 0xfe, 0x06, 0), 2 },
		{ CODE(0xeb, 0xfc, 0xfe, 0xff, 0xff), 2 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(
			seep_entry_branches(cases[i].code, cases[i].bytes, AT + 0x100, &page),
			cases[i].found);
}

TEST(functions_are_known_by_their_names)
{
	enum { PLAIN, JE, RJEM, MI, TC, OPERATORS };
	static const struct {
		const char *name;
		enum ledger_entry_form form;
		unsigned family, part;
		bool is_copy;
	} cases[] = {
		{ "malloc", LEDGER_ENTRY_ALLOC, PLAIN, SEEP_ENTRY_MALLOC, false },
		{ "je_malloc", LEDGER_ENTRY_ALLOC, JE, SEEP_ENTRY_MALLOC, false },
		{ "_rjem_mallocx", LEDGER_ENTRY_ALLOC, RJEM, 0, false },
		{ "_rjem_sdallocx", LEDGER_ENTRY_FREE, RJEM, 0, false },
		{ "mi_realloc_aligned", LEDGER_ENTRY_RESIZE, MI, 0, false },
		{ "mi_calloc", LEDGER_ENTRY_ALLOC_MANY, MI, SEEP_ENTRY_REALLOC, false },
		{ "tc_posix_memalign", LEDGER_ENTRY_POSIX, TC, 0, false },
		{ "je_free.part.0", LEDGER_ENTRY_FREE, JE, SEEP_ENTRY_FREE, true },
		{ "_Znwm", LEDGER_ENTRY_ALLOC, OPERATORS, 0, false },
		{ "_ZdaPvmSt11align_val_t", LEDGER_ENTRY_FREE, OPERATORS, 0, false },
		/* Places an object. */
		{ "_ZnwmPv", .form = 0 },
		{ "je_free.cold", .form = 0 },
		{ "new", .form = 0 },
		{ "je_mallo", .form = 0 },
		{ "je_", .form = 0 },
		{ "je__Znwm", .form = 0 },
		{ "", .form = 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const struct seep_entry_name found = seep_entry_name(cases[i].name);

		assert_int_equal(found.form, cases[i].form);
		if (!found.form)
			continue;
		assert_int_equal(found.family, cases[i].family);
		assert_int_equal(found.part, cases[i].part);
		assert_int_equal(found.is_copy, cases[i].is_copy);
	}
}
