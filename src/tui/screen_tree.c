/* SPDX-License-Identifier: MIT */
/*
 * Who called whom on the way to what is alive. The tree is made anew as the process is read, but
 * for a twentieth of the time at most; which branches are open is remembered by names.
 */
#include <stdlib.h>

#include "analysis/tree.h"
#include "base/clock.h"
#include "base/idtable.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "tui/screens.h"
#include "tui/tui_draw.h"
#include "view/frame_text.h"
#include "view/tree_view.h"

enum { DEPTH_MAX = 200, INDENT = 2, LEAST_PARTS = 500, REST_TIMES = 20 };

struct row {
	uint32_t node;
	uint32_t depth;
	uint64_t key;
	bool open;
};

struct seep_tui_branches {
	struct seep_live_process *process; /* as it was drawn last */
	uint64_t number;
	uint64_t read_ns; /* of the reading that it is made from */
	uint64_t next_ns; /* not made anew before */
	struct seep_tree *tree;
	struct row *rows;
	uint32_t count;
	uint64_t *turned; /* keys of branches that are not as they are at first */
	size_t turned_count;
};

static size_t find_turned(const struct seep_tui_branches *b, uint64_t key)
{
	size_t i = 0;

	while (i < b->turned_count && b->turned[i] != key)
		i++;
	return i;
}

static void turn(struct seep_tui_branches *b, uint64_t key)
{
	const size_t at = find_turned(b, key);

	if (at < b->turned_count)
		b->turned[at] = b->turned[--b->turned_count];
	else
		*SEEP_APPEND(b->turned, b->turned_count) = key;
}

static char *name_of(const struct seep_tui_branches *b, const struct seep_tree_node *node)
{
	const struct seep_profile *profile = b->process->profile;

	if (node->entry.frame >= SEEP_TREE_SPECIAL)
		return seep_xstrdup(seep_tree_special_words(node->entry.frame));
	return seep_frame_name(profile, &profile->frames[node->entry.frame], SEEP_NAME_BRIEF);
}

/* At first the outermost branches are open, and those that do not divide. */
static void add_rows(struct seep_tui_branches *b, uint32_t first, uint32_t depth, uint64_t above)
{
	for (uint32_t i = first; i; i = b->tree->nodes[i].next) {
		const struct seep_tree_node *node = &b->tree->nodes[i];
		const bool alone = i == first && node->next == 0;
		SEEP_FREED char *name = name_of(b, node);
		struct row row = { i, depth, seep_hash_text(above, name), false };

		row.open = node->first_child &&
			   (alone || depth == 0) != (find_turned(b, row.key) < b->turned_count);
		*SEEP_APPEND(b->rows, b->count) = row;
		if (row.open && depth < DEPTH_MAX)
			add_rows(b, node->first_child, depth + 1, row.key);
	}
}

/* The chosen row stays chosen wherever it goes, but for the first one. */
static void make_rows(struct seep_tui *tui, struct seep_tui_branches *b)
{
	const uint32_t chosen = tui->tree.chosen;
	const uint64_t key = chosen > 0 && chosen < b->count ? b->rows[chosen].key : 0;

	b->count = 0;
	add_rows(b, b->tree->nodes[0].first_child, 0, 0);
	for (uint32_t i = 0; i < b->count && key; i++)
		if (b->rows[i].key == key)
			tui->tree.chosen = i;
}

static void make_tree(struct seep_tui *tui, struct seep_tui_branches *b,
		      struct seep_live_process *process)
{
	const uint64_t now_ns = seep_monotonic_ns();
	const bool same = b->number == process->number;

	b->process = process;
	if (same && b->tree && (b->read_ns == process->read_ns || now_ns < b->next_ns))
		return;
	seep_live_name(tui->live, process);
	seep_tree_free(b->tree);
	b->number = process->number;
	b->read_ns = process->read_ns;
	b->tree = seep_tree_new(process->sites, false, SEEP_BY_LIVE,
				(int64_t)(process->profile->totals.live_bytes / LEAST_PARTS));
	b->next_ns = now_ns + (seep_monotonic_ns() - now_ns) * REST_TIMES;
	make_rows(tui, b);
}

static void draw_row(struct seep_tui *tui, const struct seep_tui_branches *b, const struct row *row,
		     int at, bool chosen)
{
	const struct seep_tree_node *node = &b->tree->nodes[row->node];
	const struct seep_profile *profile = b->process->profile;
	const uint64_t bytes = node->value > 0 ? (uint64_t)node->value : 0;
	SEEP_FREED char *name = name_of(b, node), *place = NULL;

	if (node->entry.frame < SEEP_TREE_SPECIAL && !node->several_lines)
		place = seep_frame_place(profile, &profile->frames[node->entry.frame], true);
	seep_tui_row(tui, at, chosen ? SEEP_LOOK_BAR : SEEP_LOOK_PLAIN, "%9s %6s  %*s%c %s  %s",
		     seep_bytes_text(bytes).text,
		     seep_percent_text(bytes, profile->totals.live_bytes).text,
		     (int)(row->depth * INDENT < (unsigned)tui->columns / 2
				   ? row->depth * INDENT
				   : (unsigned)tui->columns / 2),
		     "",
		     !node->first_child ? ' '
		     : row->open	? '-'
					: '+',
		     name, place ? place : "");
}

static void draw(struct seep_tui *tui)
{
	struct seep_live_process *process = seep_live_first(tui->live);
	struct seep_tui_branches *b = tui->branches;

	if (!process)
		return;
	if (!b)
		b = tui->branches = seep_xcalloc(1, sizeof(*b));
	make_tree(tui, b, process);
	seep_tui_list_fit(tui, &tui->tree, b->count);
	seep_tui_row(tui, SEEP_TUI_BODY - 1, SEEP_LOOK_BOLD,
		     "     LIVE  SHARE  FUNCTION, callers first (process %u%s)",
		     process->profile->process.pid,
		     tui->live->count > 1 ? "; 5 and Enter choose another" : "");
	for (uint32_t i = tui->tree.first;
	     i < b->count && i < tui->tree.first + (uint32_t)seep_tui_room(tui); i++)
		draw_row(tui, b, &b->rows[i], SEEP_TUI_BODY + (int)(i - tui->tree.first),
			 i == tui->tree.chosen);
	if (b->tree->pruned_count > 0)
		seep_tui_row(tui, SEEP_TUI_BODY + seep_tui_room(tui), SEEP_LOOK_DIM,
			     " branches below 0.2%% are left out: %u with %s",
			     b->tree->pruned_count,
			     seep_bytes_text((uint64_t)b->tree->pruned_value).text);
}

/* To the row that this one is called from. */
static void go_up(struct seep_tui *tui)
{
	const struct row *rows = tui->branches->rows;
	const uint32_t depth = rows[tui->tree.chosen].depth;

	while (tui->tree.chosen > 0 && rows[tui->tree.chosen].depth >= depth && depth > 0)
		tui->tree.chosen--;
}

static bool key(struct seep_tui *tui, int key)
{
	struct seep_tui_branches *b = tui->branches;
	struct row *row;

	if (seep_tui_list_key(tui, &tui->tree, key))
		return true;
	if (key != SEEP_KEY_ENTER && key != SEEP_KEY_LEFT && key != SEEP_KEY_RIGHT)
		return false;
	if (!b || tui->tree.chosen >= b->count)
		return true;
	row = &b->rows[tui->tree.chosen];
	if (key == SEEP_KEY_LEFT && !row->open) {
		go_up(tui);
	} else if (b->tree->nodes[row->node].first_child &&
		   (key == SEEP_KEY_ENTER || row->open == (key == SEEP_KEY_LEFT))) {
		turn(b, row->key);
		make_rows(tui, b);
	}
	return true;
}

void seep_screen_tree_done(struct seep_tui *tui)
{
	if (!tui->branches)
		return;
	seep_tree_free(tui->branches->tree);
	free(tui->branches->rows);
	free(tui->branches->turned);
	free(tui->branches);
}

const struct seep_tui_screen seep_screen_tree = {
	.name = "call tree",
	.keys = "Enter Left Right open and close",
	.draw = draw,
	.key = key,
};
