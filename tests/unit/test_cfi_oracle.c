/* SPDX-License-Identifier: MIT */
/*
 * src/cfi against libdw on real libraries and programs: for random pcs, what our rule yields in a
 * made-up frame must be what libdw's expressions yield there, and where we have no rule, libdw
 * must show why.
 *
 * SEEP_CFI_PCS changes the number of pcs per object, SEEP_CFI_SEED the choice, SEEP_CFI_VERBOSE
 * prints every pc without a rule.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "cfi_image.h"
#include "cfi_libdw.h"
#include "unit.h"

enum {
	DEFAULT_PCS = 5000,
	MISMATCHES_SHOWN = 10,
	REASONS_MAX = 64,
	EXAMPLES_MAX = 3,
	PLT_BYTES = 512,
	SCANNED_PCS = 1000,
};

/* ---- the comparison ------------------------------------------------------------------- */

struct reason {
	char text[128];
	unsigned long count;
	uintptr_t examples[EXAMPLES_MAX]; /* offsets in the file */
};

struct tally {
	struct image *image;
	unsigned long pcs, by_kind[8], mismatches;
	struct reason reasons[REASONS_MAX];
	unsigned reason_count;
	uint64_t compile_ns, compile_calls;
};

static void count_reason(struct tally *t, uintptr_t pc, const char *what, const char *why)
{
	char text[128];
	unsigned i;

	(void)snprintf(text, sizeof(text), "%s: %s", what, why);
	for (i = 0; i < t->reason_count; i++)
		if (strcmp(t->reasons[i].text, text) == 0)
			break;
	if (i == REASONS_MAX)
		return;
	if (i == t->reason_count)
		strcpy(t->reasons[t->reason_count++].text, text);
	if (t->reasons[i].count < EXAMPLES_MAX)
		t->reasons[i].examples[t->reasons[i].count] = pc - t->image->bias;
	t->reasons[i].count++;
	if (getenv("SEEP_CFI_VERBOSE"))
		printf("no rule %s %#" PRIxPTR " %s\n", t->image->path, pc - t->image->bias, text);
}

static const struct cfi_rule no_rule;

static void mismatch(struct tally *t, uintptr_t pc, bool exact, struct cfi_rule rule,
		     const char *what)
{
	if (t->mismatches++ < MISMATCHES_SHOWN)
		print_error("%s+%#" PRIxPTR "%s: kind %d cfa %d fp %d: %s\n", t->image->path,
			    pc - t->image->bias, exact ? " exact" : "", rule.kind, rule.cfa_offset,
			    rule.fp_offset, what);
}

/* The CFAs that a rule can say, by the shape of libdw's expression for them. */
static bool is_expressible(const Dwarf_Op *ops, size_t count)
{
	if (count == 1)
		return true;
	if (count == 2)
		return ops[0].atom == DW_OP_breg6 && ops[1].atom == DW_OP_deref;
	return count == 9 && ops[0].atom == DW_OP_breg7 && ops[1].atom == DW_OP_breg16;
}

static void describe_ops(const Dwarf_Op *ops, size_t count, char why[64])
{
	int used = snprintf(why, 64, "operations");

	for (size_t i = 0; i < count && used < 56; i++)
		used += snprintf(why + used, 64 - (size_t)used, " %02x", ops[i].atom);
}

/* No rule: right if libdw shows something that a rule cannot say. */
static void check_no_rule(struct tally *t, uintptr_t pc, bool exact, enum cfi_result result,
			  Dwarf_Frame *frame)
{
	char why[64] = "";
	struct evaluation e = { .pc = pc, .why = why };
	struct place ra, fp;
	Dwarf_Op *ops;
	size_t count;
	uint64_t cfa;

	if (!frame && result == CFI_MISS_PC)
		return count_reason(t, pc, "no entry",
				    image_section(t->image, exact ? pc : pc - 1) ?: "no section");
	if (!frame || result == CFI_MISS_PC)
		return mismatch(t, pc, exact, no_rule, "only one of us has an entry");
	if (dwarf_frame_cfa(frame, &ops, &count) != 0 || !evaluate(&e, ops, count, &cfa)) {
		if (result == CFI_MISS_CFA)
			return count_reason(t, pc, "CFA", why);
		return mismatch(t, pc, exact, no_rule, "libdw has no CFA");
	}
	if (result == CFI_MISS_CFA && !is_expressible(ops, count)) {
		describe_ops(ops, count, why);
		return count_reason(t, pc, "CFA", why);
	}
	ra = place_of(frame, 16, pc, cfa);
	fp = place_of(frame, 6, pc, cfa);
	if (result == CFI_MISS_FP && fp.kind == PLACE_OTHER)
		return count_reason(t, pc, "FP", fp.why);
	if (result == CFI_MISS_RA && (ra.kind != PLACE_MEMORY || ra.address != cfa - 8))
		return count_reason(t, pc, "RA", ra.why);
	mismatch(t, pc, exact, no_rule, "libdw has a usable row");
}

static void check_signal(struct tally *t, uintptr_t pc, bool exact, struct cfi_rule rule,
			 uint64_t cfa, Dwarf_Frame *frame)
{
	struct place ra = place_of(frame, 16, pc, cfa), fp = place_of(frame, 6, pc, cfa);
	bool is_signal;

	(void)dwarf_frame_info(frame, NULL, NULL, &is_signal);
	/* rsp, rip and rbp in the ucontext_t at the stack pointer */
	if (!is_signal || cfa != memory_at(frame_sp + 160) || ra.kind != PLACE_MEMORY ||
	    ra.address != frame_sp + 168 || fp.kind != PLACE_MEMORY || fp.address != frame_sp + 120)
		mismatch(t, pc, exact, rule, "not a signal frame");
}

static uint64_t rule_cfa(struct cfi_rule rule)
{
	int64_t offset = rule.cfa_offset;

	if (rule.kind == CFI_SP)
		return frame_sp + offset;
	if (rule.kind == CFI_FP)
		return frame_fp + offset;
	if (rule.kind == CFI_SP_MEMORY)
		return memory_at(frame_sp + offset) + 8;
	return memory_at(frame_fp + offset);
}

static void check_rule(struct tally *t, uintptr_t pc, bool exact, struct cfi_rule rule,
		       Dwarf_Frame *frame)
{
	enum cfi_kind kind = rule.kind;
	char why[64];
	struct evaluation e = { .pc = pc, .why = why };
	struct place ra, fp;
	Dwarf_Op *ops;
	size_t count;
	uint64_t cfa = 0, fp_address;

	t->by_kind[kind]++;
	if (!frame)
		return mismatch(t, pc, exact, rule, dwarf_errmsg(-1));
	if (kind == CFI_STOP) {
		if (place_of(frame, 16, pc, 0).kind != PLACE_UNDEFINED)
			mismatch(t, pc, exact, rule, "libdw has a return address");
		return;
	}
	if (dwarf_frame_cfa(frame, &ops, &count) != 0 || !evaluate(&e, ops, count, &cfa))
		return mismatch(t, pc, exact, rule, "libdw has no CFA");
	if (kind == CFI_SIGNAL)
		return check_signal(t, pc, exact, rule, cfa, frame);
	if (cfa != rule_cfa(rule))
		return mismatch(t, pc, exact, rule, "another CFA");
	ra = place_of(frame, 16, pc, cfa);
	if (ra.kind != PLACE_MEMORY || ra.address != cfa - 8)
		return mismatch(t, pc, exact, rule, "return address not at CFA - 8");
	fp = place_of(frame, 6, pc, cfa);
	fp_address = (kind == CFI_DRAP ? frame_fp : cfa) + (int64_t)rule.fp_offset;
	if (kind != CFI_DRAP && rule.fp_offset == 0) {
		if (fp.kind != PLACE_SAME && fp.kind != PLACE_UNDEFINED)
			mismatch(t, pc, exact, rule, "libdw has a saved FP");
	} else if (fp.kind != PLACE_MEMORY || fp.address != fp_address) {
		mismatch(t, pc, exact, rule, "another saved FP");
	}
}

static void compare(struct tally *t, uintptr_t pc, bool exact)
{
	Dwarf_Frame *frame = NULL;
	enum cfi_result result;
	struct cfi_rule rule;

	result = cfi_compile(&t->image->module, pc, exact, &(struct cfi_work){ 0 }, &rule);
	if (dwarf_cfi_addrframe(t->image->cfi, (exact ? pc : pc - 1) - t->image->bias, &frame) != 0)
		frame = NULL;
	t->pcs++;
	if (result == CFI_FOUND)
		check_rule(t, pc, exact, rule, frame);
	else
		check_no_rule(t, pc, exact, result, frame);
	free(frame);
}

/* ---- choosing pcs --------------------------------------------------------------------- */

static uint64_t random_state;

static uint64_t random_next(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint64_t number_from_environment(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static uintptr_t random_pc(const struct image *image)
{
	uintptr_t total = 0, at;
	unsigned i;

	for (i = 0; i < image->code_count; i++)
		total += image->code[i].bytes;
	at = random_next() % total;
	for (i = 0; at >= image->code[i].bytes; i++)
		at -= image->code[i].bytes;
	return image->code[i].start + at;
}

/* The start of .plt: all of it is one entry, with a CFA that depends on the pc. */
static void compare_plt(struct tally *t)
{
	for (unsigned i = 0; i < t->image->code_count; i++) {
		if (strcmp(t->image->code[i].name, ".plt") != 0)
			continue;
		for (uintptr_t at = 0; at < t->image->code[i].bytes && at < PLT_BYTES; at++)
			compare(t, t->image->code[i].start + at, true);
	}
}

static void measure(struct tally *t, unsigned long calls)
{
	struct timespec from, to;
	struct cfi_rule rule;

	clock_gettime(CLOCK_MONOTONIC, &from);
	for (unsigned long i = 0; i < calls; i++)
		(void)cfi_compile(&t->image->module, random_pc(t->image), false,
				  &(struct cfi_work){ 0 }, &rule);
	clock_gettime(CLOCK_MONOTONIC, &to);
	t->compile_ns = (uint64_t)(to.tv_sec - from.tv_sec) * 1000000000 +
			(uint64_t)(to.tv_nsec - from.tv_nsec);
	t->compile_calls = calls;
}

static void report(const struct tally *t)
{
	printf("%s: %lu compared, %lu wrong; SP %lu FP %lu DRAP %lu signal %lu stop %lu; "
	       "%" PRIu64 " ns per rule\n",
	       t->image->path, t->pcs, t->mismatches, t->by_kind[CFI_SP], t->by_kind[CFI_FP],
	       t->by_kind[CFI_DRAP], t->by_kind[CFI_SIGNAL], t->by_kind[CFI_STOP],
	       t->compile_ns / t->compile_calls);
	for (unsigned i = 0; i < t->reason_count; i++) {
		const struct reason *reason = &t->reasons[i];

		printf("    no rule %7lu  %s, as at", reason->count, reason->text);
		for (unsigned j = 0; j < EXAMPLES_MAX && j < reason->count; j++)
			printf(" %#" PRIxPTR, reason->examples[j]);
		printf("\n");
	}
}

static void compare_image(struct image *image)
{
	unsigned long pcs = number_from_environment("SEEP_CFI_PCS", DEFAULT_PCS);
	struct tally t = { .image = image };

	random_state = number_from_environment("SEEP_CFI_SEED", 1) * 2654435761 + 1;
	for (unsigned long i = 0; i < pcs; i++) {
		uintptr_t pc = random_pc(image);

		compare(&t, pc, false);
		compare(&t, pc, true);
	}
	compare_plt(&t);
	measure(&t, pcs);
	report(&t);
	image_close(image);
	assert_int_equal(t.mismatches, 0);
}

/*
 * Realigned frames with arguments on the stack: rare in libraries, so this program brings some.
 * gcc gives them a CFA that is loaded from the frame (CFI_DRAP).
 */
extern int realigned(int a, int b, int c, int d, int e, int f, int g, volatile int *h);
__attribute__((noinline, noclone)) int realigned(int a, int b, int c, int d, int e, int f, int g,
						 volatile int *h)
{
	volatile int local[64] __attribute__((aligned(64)));
	volatile char *variable = __builtin_alloca((size_t)(g & 15) + 1);

	for (int i = 0; i < 64; i++)
		local[i] = a + b * i;
	variable[0] = (char)c;
	return local[d & 63] + local[e & 63] + f + *h + variable[0];
}

TEST(covers_realigned_frames)
{
	struct image image;
	struct tally t = { .image = &image };
	uintptr_t start;

	assert_true(image_map(&image, "/proc/self/exe"));
	start = (uintptr_t)realigned - image_self_bias() + image.bias;
	for (uintptr_t at = 0; at < 64; at++) {
		compare(&t, start + at, true);
		compare(&t, start + at, false);
	}
	image_close(&image);
	assert_int_equal(t.mismatches, 0);
#ifndef __clang__ /* which keeps rbp and lets the arguments be found from there */
	assert_in_range(t.by_kind[CFI_DRAP], 1, t.pcs);
#endif
}

/* The scan of .eh_frame that replaces a missing table finds what the table finds. */
TEST(scan_equals_table)
{
	static struct {
		uint8_t version, frame_encoding, count_encoding, table_encoding;
		int64_t eh_frame;
	} __attribute__((packed)) header = { 1, 0x1c, 0xff, 0xff, 0 };
	const struct cfi_module scanned = { .eh_frame_hdr = (const uint8_t *)&header,
					    .start = 1,
					    .end = UINTPTR_MAX };
	unsigned found = 0, missed = 0;
	struct image image;
	int32_t offset;

	assert_true(image_load(&image, "libc.so.6"));
	memcpy(&offset, image.module.eh_frame_hdr + 4, sizeof(offset));
	header.eh_frame = (int64_t)((uintptr_t)image.module.eh_frame_hdr + 4 + offset -
				    (uintptr_t)&header.eh_frame);
	random_state = 1;
	for (int i = 0; i < SCANNED_PCS; i++) {
		uintptr_t pc = random_pc(&image);
		enum cfi_result result;
		struct cfi_rule rule, scanned_rule;

		result = cfi_compile(&image.module, pc, true, &(struct cfi_work){ 0 }, &rule);
		assert_int_equal(
			cfi_compile(&scanned, pc, true, &(struct cfi_work){ 0 }, &scanned_rule),
			result);
		assert_memory_equal(&scanned_rule, &rule, sizeof(rule));
		*(result == CFI_FOUND ? &found : &missed) += 1;
	}
	image_close(&image);
	assert_in_range(found, SCANNED_PCS / 2, SCANNED_PCS);
	assert_in_range(missed, 1, SCANNED_PCS);
}

static void compare_if(bool is_here, struct image *image, const char *name)
{
	if (!is_here) {
		print_message("skipped: %s is not here\n", name);
		image_close(image);
		skip();
	}
	compare_image(image);
}

static void compare_loaded(void **state)
{
	struct image image;

	compare_if(image_load(&image, *state), &image, *state);
}

static void compare_mapped(void **state)
{
	struct image image;

	compare_if(image_map(&image, *state), &image, *state);
}

#define LOADED(name, file) TEST_OF(agrees_with_libdw_on_##name, compare_loaded, file)
#define MAPPED(name, file) TEST_OF(agrees_with_libdw_on_##name, compare_mapped, file)

LOADED(libc, "libc.so.6");
LOADED(libstdcxx, "libstdc++.so.6");
LOADED(libcrypto, "libcrypto.so.3");
LOADED(libpython, "libpython3.11.so.1.0");
MAPPED(the_loader, "/lib64/ld-linux-x86-64.so.2");
MAPPED(libLLVM_14, "/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1");
MAPPED(libLLVM_19, "/usr/lib/x86_64-linux-gnu/libLLVM.so.19.1");
MAPPED(cc1plus, "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus");
MAPPED(perl, "/usr/bin/perl");
MAPPED(gdb, "/usr/bin/gdb");
