/* SPDX-License-Identifier: MIT */
/*
 * The identity of a context across runs: which kind of allocation, from which functions.
 *
 * 64-bit FNV-1a (offset basis cbf29ce484222325, prime 100000001b3) over these bytes:
 *
 *	kind		1 byte, enum ledger_kind
 *	marks		1 byte: 1 no stack, 2 other, 4 truncated, 8 cut, 16 site; sum of those
 *			that hold
 *	then per frame, innermost first, inlined ones too:
 *	period		1 byte, 0 when the frame does not end a repetition; repeats are left out
 *	frame		8 bytes little-endian: FNV-1a over
 *			named:      'F', the function's name, a zero byte; "{lambda:37}" is
 *				    "{lambda}", and "{{closure:37}}" likewise
 *			build-id:   'B', the build-id's bytes, the address as 8 bytes little-endian
 *			no build-id: 'P', the module's last path component, a zero byte, the address
 *			no module:  'A'
 *
 * The address is the link-time one, so neither ASLR nor a load order changes it; without a module
 * (JIT code) it means nothing in another run and is left out, like lines, alignment and
 * thread. Before a profile is symbolised no frame is named: its hashes join only with other
 * profiles without names.
 */
#ifndef SEEP_PROFILE_CONTEXT_HASH_H
#define SEEP_PROFILE_CONTEXT_HASH_H

#include <stddef.h>
#include <stdint.h>

struct seep_profile;
struct seep_profile_context;

/* Bytes at @at in @name that are a lambda's or closure's line, or its number: ":37" of "{lambda:37}". */
size_t seep_name_lambda_bytes(const char *name, const char *at);

/*
 * Set the hash of every context whose hash is 0, and that of every leak to its context's; merge
 * findings (profile/findings.h). Loading a ledger and looking up names leave it at 0, since a name that is found later changes it: call this
 * when all names are there.
 */
void seep_profile_hash_contexts(struct seep_profile *profile);

/*
 * A number that is the same for contexts of one hash whose frames are in the same lines of the same files and modules.
 * What has no line is known by its address.
 */
uint64_t seep_profile_lines_hash(const struct seep_profile *profile,
				 const struct seep_profile_context *context);

/*
 * A number that is the same for contexts that differ in nothing but addresses, as those of the copies of a call do that
 * an unrolled loop has.
 */
uint64_t seep_profile_copies_hash(const struct seep_profile *profile,
				  const struct seep_profile_context *context);

/* The hash of core/stack_hash.h, by which the library knows the stack of @context, for SEEP_BREAK. */
uint64_t seep_profile_stack_hash(const struct seep_profile *profile,
				 const struct seep_profile_context *context);

/* Allocations by stacks of that hash. */
uint64_t seep_profile_stack_allocs(const struct seep_profile *profile, uint64_t stack_hash);

#endif
