/* SPDX-License-Identifier: MIT */
#ifndef SEEP_PROFILE_FINDINGS_H
#define SEEP_PROFILE_FINDINGS_H

struct seep_profile;

/*
 * Set the hash of each finding, over kind, function and the hashes of the contexts of block and here,
 * which are there. Findings with one hash become one, with the figures of the first and all counts: call
 * stacks of the same functions are one to whoever reads them, to a suppression and to a baseline. The worst
 * come first: those with the highest count. Doubtful ones go where the profile says that calls of malloc
 * bypass seep.
 */
void seep_findings_merge(struct seep_profile *profile);

#endif
