/* SPDX-License-Identifier: MIT */
/*
 * What is to be said of the growth of a process's contexts; and how its recorder leaves that in the
 * ledger, for who comes late. Whoever reads it there believes it no more than the rest of a ledger.
 */
#ifndef SEEP_PROFILE_LEDGER_GROWTH_H
#define SEEP_PROFILE_LEDGER_GROWTH_H

#include "ledger/ledger.h"
#include "profile/profile.h"

/* Of those that are GROWING now. */
struct seep_growth_sum {
	uint32_t contexts;
	uint64_t bytes;
	uint64_t bytes_per_hour;
};

struct seep_growth_list {
	struct seep_growth_item {
		uint32_t id;  /* of the context */
		bool is_news; /* it grows, and nobody was told; see seep_growth_tell() */
		struct seep_profile_growth growth; /* without evidence */
	} * items;				   /* growing ones first, the fastest first */
	uint32_t count;
	bool news; /* an item is */
	struct seep_growth_sum sum;
	uint32_t growing_count; /* those that are GROWING, or were until they gave it back */
	uint64_t after_ns;	/* 0: nobody has looked for so long */
	bool is_full;		/* there were more contexts than are followed */
	bool is_cut;		/* there are more items */
};

/* Zeroed storage is a no-op. */
void seep_growth_list_done(struct seep_growth_list *list);

/* @now_ns: monotonic, when @list was true. One thread of one process writes. */
void seep_ledger_growth_write(struct ledger_control *control, const struct seep_growth_list *list,
			      uint64_t now_ns);

/*
 * What was written there last; after_ns is 0 if there is no such thing. Times are in order and not
 * after @now_ns, contexts may not exist. Release with seep_growth_list_done().
 */
struct seep_growth_list seep_ledger_growth_read(const struct ledger_control *control,
						uint64_t now_ns);

#endif
