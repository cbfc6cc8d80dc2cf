/* SPDX-License-Identifier: MIT */
#ifndef SEEP_PROFILE_FINDINGS_H
#define SEEP_PROFILE_FINDINGS_H

struct seep_profile;

/*
 * Set the hash of each finding, over kind, function and the hashes of the contexts of block and here,
 * which are there. Those that would read alike, with one hash and the same lines, become one, with the
 * figures of the first and all counts. The worst come first: those with the highest count. Doubtful ones go where the profile says that calls of malloc
 * bypass seep.
 */
void seep_findings_merge(struct seep_profile *profile);

#endif
