/* SPDX-License-Identifier: MIT */
/*
 * Texts that contexts are told apart by, threads' names and scopes' tags, as small numbers: in a
 * context's key there is room for no more. A number stays its text's for good, also in forked children.
 */
#ifndef SEEP_RUNTIME_LABEL_H
#define SEEP_RUNTIME_LABEL_H

#include "runtime/rt.h"

enum {
	RT_LABEL_BYTES = 63, /* of a longer text only so many count */
	RT_LABELS_MAX = 4096,
	RT_LABEL_NONE = 0,
	RT_LABEL_OTHERS = 1, /* "(all others)": of those beyond the limit */
};

/* The number of @text; RT_LABEL_OTHERS when there are too many, or no memory. Any thread, any signal. */
uint32_t rt_label(const char *text, size_t bytes);

/* The text of @label in the ledger; {0, 0} for RT_LABEL_NONE, and where the ledger has no room. */
struct ledger_string rt_label_text(uint32_t label);

/* The text of @label, and "" for RT_LABEL_NONE, which is good for ever; its length. */
size_t rt_label_say(uint32_t label, const char **ret_text);

/* The label whose text this is in the ledger; RT_LABEL_NONE: none. */
uint32_t rt_label_find(struct ledger_string text);

/* The ledger is a new one, in which none of them stands yet. */
void rt_labels_forked(void);

#endif
